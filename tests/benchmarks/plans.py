"""Designs with open plans per second, beside one plan: ``python tests/benchmarks/plans.py`` prints a Markdown table.

From genes to objectives, one core, in processor time; the problem that pins its plan is timed in the same run.
"""

from __future__ import annotations

import time

import numpy as np

from evo_libra.problem.file.registry import load_problem

PINNED = [
    "workloads[0].parallelism={tp: 8, pp: 16}", "workloads[0].training.micro_batch=1", "workloads[0].training.zero=1",
    "workloads[0].training.recompute=full", "workloads[0].training.order=[tp, cp, dp, pp]",
    "workloads[0].training.overlap={}",
]  # fmt: skip
COUNTS = {"libra": 20_000, "astra": 5_000, "themis": 2_000}
ROUNDS = 5


def rate(problem, count):
    genes = problem.genome.sample(np.random.default_rng(0), count)
    problem.evaluate_genes(genes)
    best = np.inf
    for _ in range(ROUNDS):
        start = time.process_time()
        problem.evaluate_genes(genes)
        best = min(best, time.process_time() - start)
    return count / best


def main():
    print("| llama3-405b-16k under | open plans, designs/s | one plan, designs/s | ratio |")
    print("|---|---:|---:|---:|")
    for model, count in COUNTS.items():
        changes = [f"time.model={model}"]
        several = rate(load_problem("llama3-405b-16k", changes), count)
        one = rate(load_problem("llama3-405b-16k", [*changes, *PINNED]), count)
        print(f"| {model} | {several:,.0f} | {one:,.0f} | {several / one:.2f} |")


if __name__ == "__main__":
    main()
