"""How much of the exact hypervolume `bandwidth: optimal` reaches in 20,000 evaluations, on every shipped problem.

The exact hypervolume is bounded from above by lower bounds of the ideal, sampled at 100,000 costs; see
`evo_libra.optimality.certificate`.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from evo_libra import certify, load_problem, search
from evo_libra.problem.problem import Problem

PROBLEMS = ("gpt3-4k", "msft-1t-4k", "turing-nlg-4k", "dlrm-4k", "resnet50-4k", "language-models-4k")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=20_000)
    options = parser.parse_args()
    print("| problem | hypervolume, median | worst | seconds a search |\n|---|---:|---:|---:|")
    for name in PROBLEMS:
        problem = load_problem(name, ["bandwidth={mode: optimal, min_GBps: 1, max_GBps: 700}"])
        assert isinstance(problem, Problem)
        shares, seconds = [], []
        for seed in range(options.seeds):
            start = time.perf_counter()
            front = search(problem, engine="nsga2", evaluations=options.evaluations, seed=seed)
            seconds.append(time.perf_counter() - start)
            proof = certify(problem, front)
            shares.append(proof.hypervolume / proof.max_hypervolume)
        print(f"| {name} | {np.median(shares):.5%} | {min(shares):.5%} | {np.median(seconds):.2f} |", flush=True)


if __name__ == "__main__":
    main()
