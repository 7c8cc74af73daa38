"""Memory of a search that keeps every design that it evaluates on disk.

    python tests/benchmarks/memory.py [PROBLEM EVALUATIONS POPULATION]

Prints the peak memory of the process, what the files hold, and what keeping them adds to the time.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from evo_libra import load_problem
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.experiment.store.search_state import Record, designs_files, keep_first, kept_designs
from evo_libra.problem.problem import Problem
from evo_libra.searching.generations import generations
from evo_libra.searching.loop import NO_OPTIONS, SearchOptions, Snapshot
from evo_libra.searching.registry import load_engine

MEGA = 1e6


def peak() -> float:
    """Return the most memory that this process has had resident, in megabytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1 if sys.platform == "darwin" else 1024) / MEGA


def searched(problem: Problem, population: int, evaluations: int, options: SearchOptions) -> tuple[Snapshot, float]:
    """Return the end of a search and its seconds."""
    start = time.perf_counter()
    engine = load_engine("nsga2", problem)
    for snapshot in generations(
        problem, engine, population=population, seed=1, evaluations=evaluations, options=options
    ):
        last = snapshot
    return last, time.perf_counter() - start


def main(name: str = "gpt3-4k", evaluations: int = 10_000_000, population: int = 1000) -> None:
    """Print the figures."""
    problem = load_problem(name)
    searched(problem, population, 10 * population, NO_OPTIONS)
    print(f"{name}, nsga2, population {population:,}; before: {peak():.0f} MB")
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place))
        record = Record(folder, problem)
        last, seconds = searched(problem, population, evaluations, SearchOptions(observe=record))
        record.flush()
        print(f"{last.evaluations:,} evaluations, {len(last.archive):,} on the front: peak {peak():.0f} MB")
        files = designs_files(folder.path)
        size = sum(file.stat().st_size for file in files) / MEGA
        rows, best = kept_designs(folder.path).select(pl.len(), pl.col("time_ms").min()).collect().row(0)
        print(f"{len(files)} files, {size:.0f} MB, {rows:,} designs, fastest {best:.6g} ms")
        assert keep_first(folder, evaluations), "every design is kept"
        Record(folder, problem, evaluations)
        print(f"read and gone on from: peak {peak():.0f} MB")
        assert rows == last.evaluations, "every design is kept"
    part = max(evaluations // 10, 1)
    _, plain = searched(problem, population, part, NO_OPTIONS)
    print(f"{seconds / evaluations * 1e6:.2f} us a design, {plain / part * 1e6:.2f} without keeping them")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:]))
