"""Designs per second with plans of their own beside those with one plan: ``python tests/benchmarks/plans.py``.

Random designs of `llama3-405b-16k`, population 2000, one core: designs to times where every design has its plan, and
where all of them have one and the same, the mean of ten plans of the population. Both are timed in turn in one run; the
median of the rounds' ratios is what to quote.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem

POPULATION, ONE_PLAN = 2000, 10
ROUNDS = {"libra": 40, "astra": 20, "themis": 3}


def seconds(runs: Sequence[Callable[[], object]]) -> float:
    """Return the mean CPU seconds of some runs."""
    start = time.process_time()
    for run in runs:
        run()
    return (time.process_time() - start) / len(runs)


def row(model: str, rounds: int) -> str:
    settings = [f"time={{model: {model}, efficiency: {{optics-400g: 0.85}}}}", "fabric.blocks=[switch]"]
    problem = load_problem("experiments/problems/llama3-405b-16k.yaml", settings)
    assert isinstance(problem, Problem)
    random = np.random.default_rng(0)
    genes = problem.genome.sample(random, POPULATION)
    designs = problem.decode(genes)
    plans = random.choice(np.unique(designs.plans[0]), ONE_PLAN, replace=False).tolist()
    networks = replace(designs, plan=None)
    own = [partial(problem.time, designs)]
    one = [partial(problem.time.pinned([plan]), networks) for plan in plans]
    every = [partial(problem.evaluate_genes, genes)]
    for runs in (own, one, every):
        seconds(runs)
    times = np.array([[seconds(own), seconds(one), seconds(every)] for _ in range(rounds)])
    rates = POPULATION / np.median(times, axis=0)
    ratio = float(np.median(times[:, 1] / times[:, 0]))
    distinct = len(np.unique(designs.plans))
    return f"| {model} | {distinct:,} | {rates[0]:,.0f} | {rates[1]:,.0f} | {ratio:.2f} | {rates[2]:,.0f} |"


def main() -> None:
    print("| time | plans in the population | own plan | one plan | ratio | genes to objectives, own plan |")
    print("|---|---:|---:|---:|---:|---:|")
    for model, rounds in ROUNDS.items():
        print(row(model, rounds), flush=True)


if __name__ == "__main__":
    main()
