"""Designs per second of the evaluator: ``python tests/benchmarks/evaluator.py``; needs the extra ``bench``.

GPT-3 with up to 5 dimensions, population 4096, one core; beside it a numba-fused loop of the same arithmetic as the
limit. Both are timed in turn in one run; the ratio is what to quote.
"""

from __future__ import annotations

import time

import numba
import numpy as np

from evo_libra.problem.file.registry import load_problem

SETTINGS = ["fabric.catalog=libra", "fabric.max_dimensions=5", "fabric.one_dimension_per_technology=false"]
POPULATION, ROUNDS = 4096, 60


@numba.njit(fastmath=False)
def fused(traffic, price, bandwidth, compute, size, objectives):
    channels, depth, count = traffic.shape
    for n in range(count):
        cost = 0.0
        for d in range(depth):
            cost += price[d, n] * bandwidth[d, n]
        total = compute
        for c in range(channels):
            slowest = 0.0
            for d in range(depth):
                slowest = max(slowest, traffic[c, d, n] / bandwidth[d, n])
            total += size[c] * slowest
        objectives[0, n], objectives[1, n] = total, cost


def rate(function) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return POPULATION / float(np.median(times)) / 1e6


def main() -> None:
    problem = load_problem("gpt3-4k", SETTINGS)
    genes = problem.genome.sample(np.random.default_rng(0), POPULATION)
    designs = problem.decode(genes)
    traffic = problem.time.traffic(designs.npus, designs.technology)
    topologies = problem.pricing.built(designs)
    bandwidth = np.where(designs.bandwidth > 0, designs.bandwidth, 1.0)
    loop = problem.time.loops[0]
    found = np.empty((2, POPULATION))
    arguments = (traffic, topologies.price, bandwidth, loop.time.compute, loop.time.size, found)
    fused(*arguments)

    def evaluate():
        return problem.evaluate_prepared(designs, topologies, traffic)

    np.testing.assert_allclose(found, evaluate().objectives, rtol=1e-12)
    np.testing.assert_allclose(found, problem.evaluate_genes(genes).objectives, rtol=1e-12)
    structures = len(problem.structures)
    print(f"GPT-3, up to 5 dimensions, {structures} structures, population {POPULATION}; million designs a second")
    print(f"  evaluator (designs to objectives)            {rate(evaluate):8.2f}")
    print(f"  numba-fused loop of the same arithmetic      {rate(lambda: fused(*arguments)):8.2f}")
    print(f"  genes to objectives (decoding, repair too)   {rate(lambda: problem.evaluate_genes(genes)):8.2f}")


if __name__ == "__main__":
    main()
