"""How near a search comes to the certified optima: ``python tests/benchmarks/cosearch.py [SEEDS EVALUATIONS ENGINE]``.

For three workloads and 14 cost levels: (T - T0) of the best design at or under the cost, over that of the oracle;
the median over the seeds, and the worst level.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from evo_libra.front.archive import Archive
from evo_libra.problem.file.registry import load_problem
from evo_libra.searching.generations import generations
from evo_libra.searching.registry import load_engine

GOLDEN = Path(__file__).parents[1] / "golden" / "libra_cosearch.json"
PROBLEMS = {"GPT_3": "gpt3-4k", "MSFT_1T": "msft-1t-4k", "Turing_NLG": "turing-nlg-4k"}
# 60 * 2^40 FLOP/s, the rate behind the oracle's layer tables; the caps of the technologies are the only upper bounds.
SETTINGS = ["workloads[0].compute_TFLOPS=65.97069766656", "bandwidth={mode: search, min_GBps: 0.05, max_GBps: 700}"]


def ratios(row: dict[str, object], archive: Archive) -> list[float]:
    base = row["compute_ns"]
    found = []
    for level in row["front_with_caps"]:
        times = archive.objectives[0, archive.objectives[1] <= level["cost_cap"] * (1 + 1e-12)] * 1e9
        found.append((times.min() - base) / (level["e2e_ns"] - base) if len(times) else np.inf)
    return found


def main(seeds: int, evaluations: int, engine: str) -> None:
    for row in json.loads(GOLDEN.read_text())["rows"]:
        problem = load_problem(PROBLEMS[row["workload"]], SETTINGS)
        assert len(problem.structures) == 60
        table, start = [], time.perf_counter()
        for seed in range(seeds):
            *_, last = generations(
                problem,
                load_engine(engine, problem),
                population=problem.settings.population,
                seed=seed,
                evaluations=evaluations,
            )
            table.append(ratios(row, last.archive))
        wall = (time.perf_counter() - start) / seeds
        median = np.median(table, axis=0)
        print(f"{row['workload']:12s} {engine} {evaluations} evaluations, {seeds} seeds, {wall:.2f} s each")
        print(f"  median by level: {' '.join(f'{x:.4f}' for x in median)}")
        print(
            f"  worst level: median {median.max():.4f}, best seed {np.min(np.max(table, axis=1)):.4f}, "
            f"worst seed {np.max(table):.4f}; archive {len(last.archive)}"
        )


if __name__ == "__main__":
    given = dict(enumerate(sys.argv[1:]))
    main(int(given.get(0, 10)), int(given.get(1, 100_000)), given.get(2, "nsga2"))
