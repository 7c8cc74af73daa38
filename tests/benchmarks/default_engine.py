"""What `auto` and nsga2 reach of exact fronts: ``python tests/benchmarks/default_engine.py [any] [PROBLEM ...]``.

Of problems of whole ports: their designs and what a look at each takes, what `auto` chooses for the evaluations of the
problem, and what nsga2 reaches in 50,000 evaluations, median and worst of 10 seeds, without and with a memetic step.
``any`` has domains of any size and wiring beside those that are sold. Processor seconds.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from evo_libra import load_problem, search
from evo_libra.front.indicators import hypervolume
from evo_libra.optimality.whole_designs import effort_of
from evo_libra.searching.registry import choose

PARTS = (
    "wafer-20",
    "dense-1k",
    "experiments/problems/dense-4k.yaml",
    "experiments/problems/dense-32k.yaml",
    "moe-4k",
    "experiments/problems/dlrm-1k-parts.yaml",
)
SEEDS, EVALUATIONS, SHARE = 10, 50_000, 0.05


def timed(problem, **settings):
    start = time.process_time()
    front = search(problem, **settings)
    seconds = time.process_time() - start
    return np.stack([front.frame[one.column].to_numpy() * one.scale for one in problem.objectives]), seconds


def searched(problem, best, memetic):
    low, high = best.min(axis=1), best.max(axis=1)
    most = hypervolume(best, low, high)
    runs = [
        timed(problem, engine="nsga2", evaluations=EVALUATIONS, seed=seed, memetic=memetic) for seed in range(SEEDS)
    ]
    share = [100 * hypervolume(found, low, high) / most for found, _ in runs]
    return f"{np.median(share):.2f} ({min(share):.2f}) | {np.median([seconds for _, seconds in runs]):.2f}"


def main(words):
    changes = ["fabric.domains=any"] if "any" in words else []
    print("| problem | designs | on the front | exhaustive, s | auto | nsga2, % | s | with a memetic step, % | s |")
    print("|---|---:|---:|---:|---|---:|---:|---:|---:|")
    for name in [word for word in words if word != "any"] or PARTS:
        problem = load_problem(name, changes if name != "wafer-20" else [])
        problem.evaluate_genes(problem.genome.sample(np.random.default_rng(0), 100))  # tables and imports
        best, seconds = timed(problem, engine="exhaustive")
        plain = searched(problem, best, 0.0)
        memetic = searched(problem, best, SHARE) if problem.time.exact else " | "
        chosen = choose(problem, problem.settings.evaluations)[0]
        effort = f"{effort_of(problem):,} | {best.shape[1]} | {seconds:.2f}"
        print(f"| {name} | {effort} | {chosen} | {plain} | {memetic} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
