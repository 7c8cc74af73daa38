"""Long searches with a population that grows, and with one that does not.

``python tests/benchmarks/long_searches.py [SEEDS EVALUATIONS PROBLEM ...]``: processor time, and the share of the
hypervolume that a search misses of the front of all searches of the problem together.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from evo_libra.front.archive import front
from evo_libra.front.indicators import hypervolume
from evo_libra.problem.file.registry import load_problem
from evo_libra.searching.engines.nsga import Nsga
from evo_libra.searching.engines.survival import Crowding
from evo_libra.searching.engines.variation import Operators
from evo_libra.searching.generations import generations, memetic_share, memetic_step
from evo_libra.searching.loop import SearchOptions

PROBLEMS = ("gpt3-4k", "msft-1t-4k", "turing-nlg-4k", "dlrm-4k", "language-models-4k")


def run(problem, seed, evaluations, share, *, grows):
    """Return processor time [s] and the (m, k) objectives of the front."""
    engine, population = Nsga(Crowding(), Operators(), problem, grows=grows), problem.settings.population
    begun = time.process_time()
    options = SearchOptions(improve=memetic_step(problem, share, population))
    *_, last = generations(problem, engine, population=population, seed=seed, evaluations=evaluations, options=options)
    return time.process_time() - begun, last.archive.objectives


def main(seeds: int, evaluations: int, names: list[str]) -> None:
    print("| problem | memetic step | constant: missed | s | grows: missed | s |\n|---|---|---:|---:|---:|---:|")
    for name in names:
        problem = load_problem(name)
        shares = {"no": 0.0, "yes": memetic_share(problem, "nsga2")}
        found = {
            (step, grows): [run(problem, 2000 + seed, evaluations, share, grows=grows) for seed in range(seeds)]
            for step, share in shares.items()
            for grows in (False, True)
        }
        every = np.concatenate([objectives for runs in found.values() for _, objectives in runs], axis=1)
        best = every[:, front(every)]
        ends = best.min(axis=1), best.max(axis=1)
        whole = hypervolume(best, *ends)
        for step in shares:
            cells = []
            for grows in (False, True):
                missed = statistics.median(1 - hypervolume(one, *ends) / whole for _, one in found[step, grows])
                seconds = statistics.median(taken for taken, _ in found[step, grows])
                cells.append(f"{missed:.5%} | {seconds:.2f}")
            print(f"| {name} | {step} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    main(int(words[0]) if words else 5, int(words[1]) if words[1:] else 1_000_000, words[2:] or list(PROBLEMS))
