"""Evaluations of searches under ASTRA-sim's time: ``python tests/benchmarks/astra_search.py [numpy]``.

Searches of population 650 are run once, and the genes that they evaluate are kept. Then these are evaluated again,
generation by generation: CPU time from genes to objectives, of the fastest of some rounds. With ``numpy`` numba is not
used. The digest is of all objectives: equal digests are equal results, to the last bit.
"""

from __future__ import annotations

import sys
import time
from hashlib import sha256

if "numpy" in sys.argv[1:]:
    sys.modules["numba"] = None  # type: ignore[assignment]

from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.searching.generations import generations
from evo_libra.searching.registry import load_engine

POPULATION, EVALUATIONS = 650, 13_000
OPEN = "chunks: [4, 16, 64, 256], scheduler: [baseline, offline-greedy], algorithms: search"
CASES = (
    ("gpt3-4k", "{model: astra, latency_ns: 500}"),
    ("experiments/problems/dense-4k.yaml", "{model: astra}"),
    ("moe-4k", "{model: astra}"),
    ("gpt3-4k", "{model: themis, latency_ns: 500}"),
    ("experiments/problems/dense-4k.yaml", "{model: themis}"),
    ("gpt3-4k", f"{{model: themis, latency_ns: 500, {OPEN}}}"),
)


def evaluated(problem):
    """Return the genes of a search, an array for each generation, and its CPU time."""
    found, evaluate = [], Problem.evaluate_genes

    def kept(self, genes):
        found.append(genes.copy())
        return evaluate(self, genes)

    Problem.evaluate_genes = kept
    start = time.process_time()
    options = {"population": POPULATION, "seed": 1, "evaluations": EVALUATIONS}
    for _ in generations(problem, load_engine("nsga2", problem), **options):
        pass
    Problem.evaluate_genes = evaluate
    return found, time.process_time() - start


def main(rounds: int) -> None:
    print("| problem | time | designs | genes to objectives, us | designs a second | search, s | digest |")
    print("|---|---|---:|---:|---:|---:|---|")
    for name, given in CASES:
        problem = load_problem(name, [f"time={given}"])
        if rounds > 1:
            evaluated(problem)  # compiles what is not compiled yet
        genes, search = evaluated(problem)
        designs, times = sum(mine.shape[1] for mine in genes), []
        for _ in range(rounds):
            start = time.process_time()
            found = [problem.evaluate_genes(mine).objectives for mine in genes]
            times.append(time.process_time() - start)
        digest = sha256(b"".join(objectives.tobytes() for objectives in found)).hexdigest()[:8]
        each = min(times) / designs * 1e6
        row = f"{name} | `{given}` | {designs:,} | {each:.2f} | {1e6 / each:,.0f} | {search:.2f} | {digest}"
        print(f"| {row} |", flush=True)


if __name__ == "__main__":
    main(1 if "numpy" in sys.argv[1:] else 5)
