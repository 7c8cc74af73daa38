"""Designs per second of problems of parts beside those of prices per bandwidth: ``python tests/benchmarks/parts.py``.

GPT-3 on 4096 NPUs, population 4096, one core; both catalogues are timed in turn in one run, and the median of the
rounds' ratios is what to quote. ``parts-2024`` with all technologies at up to 3 dimensions, and with four of them at up
to 4: all of them have 11 million structures there, more than tables hold. Then all structures are prune: bounds with
parts in any fraction. At last whole exhaustive searches of spaces of more than a million structures, loading included.
Rates and screening are in CPU time, which a busy machine disturbs less than wall time; ``taskset -c 0`` keeps them to
one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from evo_libra.optimality.bounds import bound_variants
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.searching.generations import search

POPULATION, ROUNDS = 4096, 200
FOUR = "[xgmi, nvlink4, pcie5, optics-400g]"
CASES = (
    ("all technologies, 3 dimensions", 3, "{catalog: parts-2024, max_dimensions: 3}"),
    ("4 technologies, 4 dimensions", 4, f"{{catalog: parts-2024, max_dimensions: 4, technologies: {FOUR}}}"),
)
LARGE = (
    ("all technologies, 3 dimensions, 18432 NPUs",
     ["npus=18432", "fabric={catalog: parts-2024, max_dimensions: 3}", "bandwidth=ports"]),
    ("libra, 5 dimensions, 23040 NPUs",
     ["npus=23040", "fabric.catalog=libra", "fabric.max_dimensions=5", "fabric.one_dimension_per_technology=false"]),
)  # fmt: skip


def evaluators(problem: Problem) -> tuple[Callable[[], object], Callable[[], object]]:
    genes = problem.genome.sample(np.random.default_rng(0), POPULATION)
    designs = problem.decode(genes)
    traffic, topologies = problem.time.traffic(designs.npus, designs.technology), problem.pricing.built(designs)
    return (
        lambda: problem.evaluator.evaluate(designs, topologies, traffic),
        lambda: problem.evaluate_genes(genes),
    )


def rates(one: Callable[[], object], other: Callable[[], object]) -> tuple[float, float, float]:
    """Return million designs a second of both, and the median ratio of the other's rate to the one's.

    They take turns, so that noise of the machine meets both and cancels in the ratio.
    """
    times = np.empty((ROUNDS, 2))
    for row in times:
        for f, function in enumerate((one, other)):
            start = time.thread_time()
            function()
            row[f] = time.thread_time() - start
    first, second = (POPULATION / np.median(times, axis=0) / 1e6).tolist()
    return first, second, float(np.median(times[:, 0] / times[:, 1]))


def exhaustive() -> None:
    """Print how long the engine takes for more than a million structures."""
    for label, assignments in LARGE:
        used, wall = time.process_time(), time.perf_counter()
        problem = load_problem("gpt3-4k", assignments)
        loaded = time.process_time() - used
        front = search(problem, engine="exhaustive", population=100, evaluations=10**6)
        used, wall = time.process_time() - used, time.perf_counter() - wall
        print(f"{label}: {len(problem.structures):,} structures, exhaustive in {used:.2f} s of CPU time "
              f"({loaded:.2f} s of it loading), {wall:.2f} s, front of {len(front)}")  # fmt: skip


def main() -> None:
    for label, depth, fabric in CASES:
        linear = [f"fabric.max_dimensions={depth}", "fabric.one_dimension_per_technology=false"]
        libra = load_problem("gpt3-4k", ["fabric.catalog=libra", *linear])
        start = time.process_time()
        parts = load_problem("gpt3-4k", [f"fabric={fabric}", "bandwidth=ports"])
        loaded = time.process_time()
        one, two = evaluators(libra), evaluators(parts)
        tabulated = time.process_time() - loaded
        print(f"{label}: {len(libra.structures):,} structures of libra, {len(parts.structures):,} of parts-2024, "
              f"loaded in {loaded - start:.1f} s, tables in {tabulated:.1f} s")  # fmt: skip
        for what, f in (("designs to objectives", 0), ("genes to objectives", 1)):
            a, b, ratio = rates(one[f], two[f])
            print(f"  {what:24} libra {a:6.2f}  parts {b:6.2f} million a second, ratio {ratio:.2f}")
        # Without tables, and with them.
        relaxed = replace(parts.relaxed())
        for state in ("first", "again"):
            used = time.process_time()
            bounds = bound_variants(relaxed)
            used = time.process_time() - used
            print(f"  {len(bounds):,} structures prune {state}: {used:.2f} s, 1e6 in {used / len(bounds) * 1e6:.2f} s")
    exhaustive()


if __name__ == "__main__":
    main()
