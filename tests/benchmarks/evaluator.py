"""Designs per second of the evaluator: ``taskset -c 0 python tests/benchmarks/evaluator.py``; needs extra ``bench``.

GPT-3 with up to 4 and with up to 5 dimensions, populations of 650 and of 4096, one core; beside it numba-fused loops of
the same arithmetic as the limit, from designs to objectives and from genes to objectives. All are timed in turn in one
run; the ratio is what to quote. NumPy is what a short run takes, compiled a long one where numba is installed.
"""

from __future__ import annotations

import time

import numba
import numpy as np

from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.fused import WORTH_COMPILING

SPACES = {
    "up to 4 dimensions": [],
    "up to 5 dimensions": [
        "fabric.catalog=libra", "fabric.max_dimensions=5", "fabric.one_dimension_per_technology=false",
    ],
}  # fmt: skip
POPULATIONS, ROUNDS = (650, 4096), 200


@numba.njit(fastmath=False)
def from_designs(traffic, price, bandwidth, compute, size, objectives):
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


@numba.njit(fastmath=False)
def from_genes(genes, npus, technology, traffic, blocks, prices, low, high, compute, size, objectives):  # noqa: PLR0913, PLR0917 - numba
    channels, depth, _ = traffic.shape
    bandwidth = np.empty(depth)
    world = 1
    for d in range(depth):
        world *= npus[d, 0]
    for n in range(genes.shape[1]):
        structure = int(genes[0, n])
        shares = 0.0
        for d in range(depth):
            bandwidth[d] = np.exp(genes[depth + 2 + d, n]) if npus[d, structure] > 1 else 0.0
            shares += bandwidth[d]
        level = np.exp(genes[depth + 1, n]) / shares
        cost = 0.0
        for d in range(depth):
            kind = technology[d, structure]
            bandwidth[d] = min(max(bandwidth[d] * level, low[d, kind]), high[d, kind])
            if npus[d, structure] > 1:
                cost += prices[blocks[d, kind, int(genes[1 + d, n])], kind] * world * bandwidth[d]
        total = compute
        for c in range(channels):
            slowest = 0.0
            for d in range(depth):
                slowest = max(slowest, traffic[c, d, structure] / bandwidth[d])
            total += size[c] * slowest
        objectives[0, n], objectives[1, n] = total, cost


def rates(count, *functions):
    """Return the million designs a second of each function, in turn, by the median."""
    times = [[] for _ in functions]
    for _ in range(ROUNDS):
        for mine, function in zip(times, functions, strict=True):
            start = time.perf_counter()
            function()
            mine.append(time.perf_counter() - start)
    return [count / float(np.median(mine)) / 1e6 for mine in times]


def measure(problem, count):
    """Return the rates of evaluator and loop, from designs and from genes."""
    genes = np.ascontiguousarray(problem.genome.sample(np.random.default_rng(0), count))
    designs, table = problem.decode(genes), problem.structures.table
    traffic = problem.time.traffic(designs.npus, designs.technology)
    topologies = problem.pricing.built(designs)
    bandwidth = np.where(designs.bandwidth > 0, designs.bandwidth, 1.0)
    time_of, pricing = problem.time.loops[0].time, problem.pricing
    found = np.empty((2, count))
    few = (traffic, topologies.price, bandwidth, time_of.compute, time_of.size, found)
    every = problem.time.traffic(table.npus, table.technology)
    many = (
        genes, table.npus, table.technology, every, pricing.blocks, pricing.prices, pricing.low, pricing.high,
        time_of.compute, time_of.size, found,
    )  # fmt: skip

    def evaluate():
        return problem.evaluator.evaluate(designs, topologies, traffic)

    for loop, arguments in ((from_designs, few), (from_genes, many)):
        loop(*arguments)
        np.testing.assert_allclose(found, evaluate().objectives, rtol=1e-12)
        np.testing.assert_allclose(found, problem.evaluate_genes(genes).objectives, rtol=1e-12)
    return rates(
        count,
        evaluate,
        lambda: from_designs(*few),
        lambda: evaluate_after(problem, genes, 0),
        lambda: evaluate_after(problem, genes, WORTH_COMPILING),
        lambda: from_genes(*many),
    )


def evaluate_after(problem, genes, designs):
    """Evaluate as in a run that has had so many designs."""
    problem.fused.evaluated = designs
    return problem.evaluate_genes(genes)


def main() -> None:
    print("Million designs a second, and in brackets the share of a numba-fused loop of the same arithmetic.\n")
    print("| space | designs to objectives | genes to objectives, NumPy | compiled (extra `fast`) | loop from genes |")
    print("|---|---:|---:|---:|---:|")
    for space, settings in SPACES.items():
        problem = load_problem("gpt3-4k", settings)
        for count in POPULATIONS:
            prepared, few, plain, compiled, many = measure(problem, count)
            head = f"{space}, {len(problem.structures):,} structures, population {count:,}"
            print(f"| {head} | {prepared:.2f} ({prepared / few:.2f}) | {plain:.2f} ({plain / many:.2f}) ", end="")
            print(f"| {compiled:.2f} ({compiled / many:.2f}) | {many:.2f} |")


if __name__ == "__main__":
    main()
