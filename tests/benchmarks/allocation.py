"""Certified optima per second, beside clarabel on the same programs: ``python tests/benchmarks/allocation.py``.

Random programs, one process; clarabel solves some of the same ones in the same run, one at a time. Then the exact
fronts of LIBRA's five workloads at the 14 cost levels of the co-search. Prints a Markdown table.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from evo_libra.bandwidth import conic
from evo_libra.bandwidth.program import BandwidthProgram
from evo_libra.bandwidth.solve import optimal_bandwidth, violation
from evo_libra.optimality.ideal_bandwidth import bound_variants, ideal_of
from evo_libra.problem.file.registry import load_problem

GOLDEN = Path(__file__).parents[1] / "golden" / "libra_cosearch.json"
PROBLEMS = {
    "GPT_3": "gpt3-4k",
    "MSFT_1T": "msft-1t-4k",
    "Turing_NLG": "turing-nlg-4k",
    "DLRM": "dlrm-4k",
    "ResNet_50": "resnet50-4k",
}
LIMITS = "bandwidth={mode: optimal, min_GBps: 0, max_GBps: 700}"
# 60 * 2^40 FLOP/s, the rate behind the oracle's layer tables.
COMPUTE = "workloads[0].compute_TFLOPS=65.97069766656"
REFERENCES, ROUNDS, GOOD = 200, 20, 1e-6


def programs(seed: int, count: int, patterns: int, depth: int, *, box: bool, total: bool) -> BandwidthProgram:
    """Draw programs: traffic over three decades with 30 % zeros, prices over 1.5, half of the caps within reach."""
    rng = np.random.default_rng(seed)
    shape = (depth, count)
    traffic = 10.0 ** rng.uniform(-2, 1, (patterns, *shape)) * (rng.random((patterns, *shape)) < 0.7)
    traffic[:, 0] = np.where(traffic.any(axis=1), traffic[:, 0], 1.0)
    rows, limits = [10.0 ** rng.uniform(0, 1.5, shape)], [10.0 ** rng.uniform(1, 3, count)]
    if total:
        rows, limits = [*rows, np.ones(shape)], [*limits, 10.0 ** rng.uniform(1, 2.5, count)]
    low, high = np.zeros(shape), np.full(shape, np.inf)
    if box:
        low = 10.0 ** rng.uniform(-2, -1.3, shape)
        high = np.where(rng.random(shape) < 0.5, 10.0 ** rng.uniform(0, 2, shape), 1000.0)
    size = 10.0 ** rng.uniform(0, 1, (patterns, 1))
    equality = np.zeros(len(rows), dtype=np.bool_)
    return BandwidthProgram(
        np.zeros(1), size, traffic, np.zeros(shape), low, high, np.array(rows), np.array(limits), equality
    )


def clarabel(program: BandwidthProgram) -> tuple[np.ndarray, float, float]:
    """Return its objectives and seconds a program: all, and those inside its solver."""
    solve, inside = conic._solve, []  # noqa: SLF001 - what clarabel itself takes is known there only

    def timed(*arguments):
        solution = solve(*arguments)
        inside.append(solution.solve_time)
        return solution

    conic._solve = timed  # noqa: SLF001
    start = time.perf_counter()
    bandwidth, _, solved = conic.conic(program)
    wall = time.perf_counter() - start
    conic._solve = solve  # noqa: SLF001
    assert solved.all()
    return program.objective(bandwidth), wall / len(program), sum(inside) / len(program)


def row(name: str, program: BandwidthProgram) -> str:
    optimal_bandwidth(program.select(slice(0, 100)))
    start = time.perf_counter()
    found = optimal_bandwidth(program)
    wall = time.perf_counter() - start
    gap = found.gap()
    assert (violation(program, found.bandwidth) <= 1e-9).all()
    some = np.linspace(0, len(program) - 1, REFERENCES).astype(int)
    reference, each, inside = clarabel(program.select(some))
    apart = np.abs(found.objective[some] / reference - 1.0).max()
    quantiles = ", ".join(f"{q:.0e}" for q in np.quantile(gap, [0.5, 0.99, 1.0]))
    rate = len(program) / wall
    return (
        f"| {name} | {len(program):,} | {rate:,.0f} | {quantiles} | {(gap <= GOOD).mean():.3%} | {1.0 / each:,.0f} "
        f"({1.0 / inside:,.0f}) | {rate * each:,.0f} ({rate * inside:,.0f}) | {apart:.0e} |"
    )


def fronts() -> str:
    """Time the exact fronts after start-up; tables of a space, which it keeps, are made anew."""
    golden = json.loads(GOLDEN.read_text())
    levels = np.array(golden["space"]["cost_levels"])
    oracle = {row["workload"]: [level["e2e_ns"] for level in row["front_with_caps"]] for row in golden["rows"]}
    total, gap, apart, variants = 0.0, 0.0, 0.0, 0
    for workload, name in PROBLEMS.items():
        problem = load_problem(name, [LIMITS, COMPUTE] if workload in oracle else [LIMITS])
        times = []
        for _ in range(ROUNDS):
            for table in ("pricing", "traffic", "sections"):
                problem.__dict__.pop(table, None)
            start = time.perf_counter()
            bounds = bound_variants(problem)
            ideal = ideal_of(problem, levels, bounds)
            times.append(time.perf_counter() - start)
        total += float(np.median(times[1:]))
        variants += len(bounds)
        gap = max(gap, float((ideal.time / ideal.bound - 1.0).max()))
        if workload in oracle:
            apart = max(apart, float(np.abs(ideal.time * 1e9 / oracle[workload] - 1.0).max()))
    return (
        f"Exact fronts of {len(PROBLEMS)} workloads, {variants} structures and {len(levels)} cost levels: "
        f"{total * 1e3:.1f} ms together, largest gap {gap:.0e}, off the oracle by {apart:.0e} at most"
    )


def main() -> None:
    cases = {
        "2 patterns, 4 dimensions, cost budget": programs(0, 200_000, 2, 4, box=False, total=False),
        "4 patterns, 5 dimensions, caps, floors, cost budget": programs(1, 20_000, 4, 5, box=True, total=False),
        "the same and a total budget": programs(2, 20_000, 4, 5, box=True, total=True),
    }
    print("| programs | number | optima a second | gap: median, 99 %, largest | gap <= 1e-6 | clarabel, a second (its "
          "solver alone) | ratio | objectives apart |")  # fmt: skip
    print("|---|---:|---:|---|---:|---:|---:|---:|")
    for name, program in cases.items():
        print(row(name, program))
    print()
    print(fronts())


if __name__ == "__main__":
    main()
