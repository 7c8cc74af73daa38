"""Topologies of switches per second, beside the published 100,000 in 71.2 h on 256 cores (ATOP, SIGCOMM 2025).

All have 16,384 NPUs and the published plan. Random fabrics are those that a search begins with; they are evaluated as
in a search, with limits, parts and prices, and without engine. Then the search itself. One core.
``python tests/benchmarks/fabrics.py [DESIGNS]``
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from evo_libra import load_problem, search
from evo_libra.network.fabrics.population import evaluate

PUBLISHED = 100_000 / (71.2 * 3600)
NAMES = ("zcube(128, 2)", "hpn(16384, 256)", "rail-only(16384, 128)", "roft(16384, 128)")


def seconds_of(call):
    """Return the seconds of a call, the least of five, after one that compiles."""
    call()
    found = []
    for _ in range(5):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


def main(designs: int) -> None:
    problem = load_problem("fabric-16k")
    traffic, policy = problem.times[0].traffic, problem.policy
    print(f"published: {PUBLISHED:.2f} topologies/s on 256 cores")
    for name in NAMES:
        fabrics = problem.fabrics(np.repeat(problem.genes_of([name]), 2000, axis=1))
        fast = seconds_of(lambda: evaluate(fabrics, traffic, policy, compiles=True)) / 2000  # noqa: B023 - called at once
        few = fabrics.select(np.arange(20))
        plain = seconds_of(lambda: evaluate(few, traffic, policy, compiles=False)) / 20  # noqa: B023 - the same
        print(f"{name:24} {fast * 1e6:6.1f} us compiled, {plain * 1e3:5.2f} ms without numba")
    genes = problem.genome.sample(np.random.default_rng(0), designs)
    problem.evaluate_genes(genes[:, :6000])  # from here on it compiles
    parts = np.array_split(genes, max(designs // 5000, 1), axis=1)
    spent = seconds_of(lambda: [problem.evaluate_genes(part) for part in parts])
    usable = (problem.evaluate_genes(genes).violation <= 0).mean()
    rate = f"{designs / spent:,.0f}/s, {designs / spent / PUBLISHED:,.0f} times as many"
    print(f"random: {designs:,} in {spent:.2f} s, {rate}; {100 * usable:.0f} % keep the limits and join all NPUs")
    start = time.process_time()
    search(problem, evaluations=designs, seed=0)
    spent = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"search: {designs:,} in {spent:.2f} s, {designs / spent:,.0f}/s; {memory:.2f} GiB at most")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
