"""Designs per second of problems of parts beside those of prices per bandwidth: ``python tests/benchmarks/parts.py``.

GPT-3 on 4096 NPUs, population 4096, one core; both catalogues are timed in turn in one run, and the ratio is what to
quote. ``parts-2024`` with all technologies at up to 3 dimensions, and with four of them at up to 4: all of them have
11 million structures there, more than tables hold. Then all structures are screened: bounds with parts in any fraction.
Rates and screening are in CPU time, which a busy machine disturbs less than wall time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from evo_libra.front.screen import screen
from evo_libra.problem.problem import Problem
from evo_libra.problem.registry import load_problem

POPULATION, ROUNDS = 4096, 40
FOUR = "[xgmi, nvlink4, pcie5, optics-400g]"
CASES = (
    ("all technologies, 3 dimensions", 3, "{catalog: parts-2024, max_dimensions: 3}"),
    ("4 technologies, 4 dimensions", 4, f"{{catalog: parts-2024, max_dimensions: 4, technologies: {FOUR}}}"),
)


def evaluators(problem: Problem) -> tuple[Callable[[], object], Callable[[], object]]:
    genes = problem.genome.sample(np.random.default_rng(0), POPULATION)
    designs = problem.decode(genes)
    traffic, price = problem.time.traffic(designs.npus, designs.technology), problem.unit_prices(designs)
    kits = problem.tables.kits
    hardware = problem.tables.hardware_of(designs.npus, designs.technology) if kits else None
    return (
        lambda: problem.evaluate_prepared(designs, price, traffic, hardware),
        lambda: problem.evaluate_genes(genes),
    )


def rates(functions: list[Callable[[], object]]) -> list[float]:
    """Return million designs a second of each, in turn, so that noise of the machine meets all of them."""
    times = np.empty((ROUNDS, len(functions)))
    for row in times:
        for f, function in enumerate(functions):
            start = time.thread_time()
            function()
            row[f] = time.thread_time() - start
    return (POPULATION / np.median(times, axis=0) / 1e6).tolist()


def main() -> None:
    for label, depth, fabric in CASES:
        linear = [f"fabric.max_dimensions={depth}", "fabric.one_dimension_per_technology=false"]
        libra = load_problem("gpt3-4k", ["fabric.catalog=libra", *linear])
        start = time.process_time()
        parts = load_problem("gpt3-4k", [f"fabric={fabric}", "bandwidth=lanes"])
        loaded = time.process_time()
        one, two = evaluators(libra), evaluators(parts)
        tabulated = time.process_time() - loaded
        print(f"{label}: {len(libra.structures):,} structures of libra, {len(parts.structures):,} of parts-2024, "
              f"loaded in {loaded - start:.1f} s, tables in {tabulated:.1f} s")  # fmt: skip
        found = rates([one[0], two[0], one[1], two[1]])
        for what, (a, b) in (("designs to objectives", found[:2]), ("genes to objectives", found[2:])):
            print(f"  {what:24} libra {a:6.2f}  parts {b:6.2f} million a second, ratio {b / a:.2f}")
        # Without tables, and with them.
        relaxed = replace(parts.relaxed())
        for state in ("first", "again"):
            used = time.process_time()
            bounds = screen(relaxed)
            used = time.process_time() - used
            print(
                f"  {len(bounds):,} structures screened {state}: {used:.2f} s, 1e6 in {used / len(bounds) * 1e6:.2f} s"
            )


if __name__ == "__main__":
    main()
