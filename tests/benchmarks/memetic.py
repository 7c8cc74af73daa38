"""What the memetic step is worth: ``python tests/benchmarks/memetic.py [SEEDS [ENGINE [PROBLEM ...]]]``.

For each problem that is shipped: the hypervolume that a search of the usual size misses of the exact front (of 2000
designs, so that a denser front may have more), the processor's time, and the wall time from the start of the engine
until no more than 0.1 % is missing; without the step and with it.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from evo_libra.front.indicators import hypervolume
from evo_libra.problem.registry import load_problem, problem_names
from evo_libra.search.engine import load_engine
from evo_libra.search.memetic import usual
from evo_libra.search.run import Options, generations, search

NEAR = 0.999


def exact(problem):
    frame = search(problem, engine="exhaustive", population=2000, evaluations=1_000_000).frame
    scales = {objective.column: objective.scale for objective in problem.objectives}
    return np.stack([frame[column].to_numpy() * scale for column, scale in scales.items()])


def main(seeds, engine, names):
    print(f"{engine}, {seeds} seeds; median (worst)\n")
    print("| problem | step | missed hypervolume | processor s | wall s to 0.1 % |")
    print("|---|---|---:|---:|---:|")
    for name in names:
        problem = load_problem(name)
        best = exact(problem)
        low, high = best.min(axis=1), best.max(axis=1)
        largest = hypervolume(best, low, high)
        for label, options in (("none", Options()), ("bandwidths", Options(improve=usual(problem, engine)))):
            missed, spent, reached = [], [], []
            for seed in range(seeds):
                start, began = time.process_time(), time.perf_counter()
                numbers = {"population": problem.settings.population, "seed": seed, "evaluations": 50_000}
                snapshots = generations(problem, load_engine(engine, problem), **numbers, options=options)
                history = [(time.perf_counter() - began, snapshot.found) for snapshot in snapshots]
                spent.append(time.process_time() - start)
                share = [(at, hypervolume(found.archive.objectives, low, high) / largest) for at, found in history]
                missed.append(1 - share[-1][1])
                reached.append(next((at for at, value in share if value >= NEAR), np.inf))
            volume = f"{100 * np.median(missed):.4f} % ({100 * max(missed):.4f} %)"
            seconds = f"{np.median(reached):.2f} ({max(reached):.2f})"
            print(f"| {name} | {label} | {volume} | {np.median(spent):.2f} | {seconds} |", flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int((given or [10])[0]), (given[1:] or ["nsga2"])[0], given[2:] or problem_names())
