"""What the memetic step is worth: ``python tests/benchmarks/memetic.py [SEEDS [ENGINE [PROBLEM ...]]]``.

For each problem that is shipped: the hypervolume that a search of the usual size misses of the exact front (`exact.py`:
so dense that twice as many designs change nothing here), the processor's time, and the processor's and the wall time
from the start of the engine until no more than 0.1 % is missing; without the step and with it. Wall time counts other
work, too: the load of the machine is told.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np
from exact import exact, of_files

from evo_libra.front.indicators import hypervolume
from evo_libra.problem.file.registry import load_problem
from evo_libra.searching.generations import generations, memetic_share, memetic_step
from evo_libra.searching.loop import SearchOptions
from evo_libra.searching.registry import load_engine

NEAR = 0.999


def main(seeds, engine, names):
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{engine}, {seeds} seeds; median (worst); load of {os.cpu_count()} cores: {load}\n")
    print("| problem | step | missed hypervolume | processor s | to 0.1 %: processor s | wall s |")
    print("|---|---|---:|---:|---:|---:|")
    for name in names:
        problem = load_problem(name)
        best, _ = exact(problem)
        low, high = best.min(axis=1), best.max(axis=1)
        largest = hypervolume(best, low, high)
        step = memetic_step(problem, memetic_share(problem, engine), problem.settings.population)
        steps = {"none": None, "bandwidths": step}
        for label, options in ((label, SearchOptions(improve=step)) for label, step in steps.items()):
            missed, spent, reached = [], [], []
            for seed in range(seeds):
                start, began = time.process_time(), time.perf_counter()
                numbers = {"population": problem.settings.population, "seed": seed, "evaluations": 50_000}
                snapshots = generations(problem, load_engine(engine, problem), **numbers, options=options)
                history = [
                    (time.process_time() - start, time.perf_counter() - began, snapshot.found) for snapshot in snapshots
                ]
                spent.append(time.process_time() - start)
                share = [hypervolume(found.archive.objectives, low, high) / largest for *_, found in history]
                missed.append(1 - share[-1])
                near = (at for at, value in zip(history, share, strict=True) if value >= NEAR)
                reached.append(next(near, (np.inf, np.inf))[:2])
            volume = f"{100 * np.median(missed):.3f} % ({100 * max(missed):.3f} %)"
            seconds = [f"{np.median(values):.2f} ({max(values):.2f})" for values in zip(*reached, strict=True)]
            print(f"| {name} | {label} | {volume} | {np.median(spent):.2f} | {' | '.join(seconds)} |", flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int((given or [10])[0]), (given[1:] or ["nsga2"])[0], given[2:] or of_files())
