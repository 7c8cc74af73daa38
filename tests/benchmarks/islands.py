"""What islands find and how long they take, in 0 (none but this one), 1, 2 and 4 worker processes.

    python tests/benchmarks/islands.py [PROBLEM ISLANDS EVALUATIONS POPULATION]

The front depends on the number of islands, not on that of processes; the table says so.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time

from evo_libra import load_problem
from evo_libra.front.indicators import hypervolume
from evo_libra.searching.engine import EngineState
from evo_libra.searching.generations import generations
from evo_libra.searching.islands import Archipelago, island_generations
from evo_libra.searching.loop import Snapshot
from evo_libra.searching.registry import load_engine

WORKERS = (0, 1, 2, 4)


def digest(last: Snapshot) -> str:
    """Return a hash of a front and of the state of all islands."""
    found = last.archive
    return hashlib.sha256(
        found.genes.tobytes() + found.objectives.tobytes() + EngineState.to_bytes(last.engine)
    ).hexdigest()[:8]


def main(name: str = "gpt3-4k", islands: int = 4, evaluations: int = 2_000_000, population: int = 500) -> None:
    """Print a row for one search without islands, and for islands in each number of processes."""
    problem = load_problem(name)
    numbers = {"population": population, "seed": 1, "evaluations": evaluations}
    start = time.perf_counter()
    *_, alone = generations(problem, load_engine("nsga2", problem), **numbers)
    rows = [("no islands", alone, time.perf_counter() - start)]
    for workers in WORKERS:
        start = time.perf_counter()
        *_, last = island_generations(problem, "nsga2", Archipelago(islands, workers), **numbers)
        rows.append((f"{islands} islands, {workers} workers", last, time.perf_counter() - start))
    ideal, nadir = (getattr(alone.archive.objectives, end)(axis=1) for end in ("min", "max"))
    message = sum(a.nbytes for key, a in rows[-1][1].engine.arrays.items() if key.startswith("0/"))
    print(f"{name}, nsga2, {evaluations:,} evaluations, population {population:,}; {os.cpu_count()} processors")
    print(f"an island is sent {message / 1e3:.0f} kB an epoch")
    for what, last, seconds in rows:
        volume = hypervolume(last.archive.objectives, ideal, nadir)
        print(f"{what:24} {seconds:6.2f} s  {evaluations / seconds:10,.0f} designs/s  {volume:.6f}  {digest(last)}")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:]))
