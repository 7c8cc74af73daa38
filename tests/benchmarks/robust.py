"""What objectives over scenarios take: ``taskset -c 0 python tests/benchmarks/robust.py``.

Genes to objectives, population 4096, one core: the plain objectives, one scenario, and 64 of them, timed in turn in one
run. Quote the medians of the rounds' ratios. Times are CPU times.
"""

from __future__ import annotations

import time

import numpy as np

from evo_libra.problem.file.registry import load_problem

POPULATION, SCENARIOS = 4096, (1, 64)
RANGE = "workloads[0].weight={low: 0.5, value: 1, high: 2}"
PARTS = ["fabric={catalog: parts-2024, max_dimensions: 3}", "bandwidth=ports"]
CASES = (
    ("gpt3-4k", PARTS, "[time, cost.p95]", 60),
    ("gpt3-4k", PARTS, "[time.p95, cost.p95]", 60),
    ("gpt3-4k", PARTS, "[time.mean, cost.worst]", 60),
    ("dense-1k", ["workloads[0].parallelism.tp=8"], "[time.p95, cost.p95]", 10),
    ("experiments/problems/mixed-models-4k.yaml", [], "[time.p95, cost.p95]", 20),
)


def main() -> None:
    for name, changes, objectives, rounds in CASES:
        plain = load_problem(name, [*changes, "objectives=[time, cost]"])
        robust = [*changes, RANGE, f"objectives={objectives}"]
        problems = [plain, *(load_problem(name, [*robust, f"uncertainty.scenarios={s}"]) for s in SCENARIOS)]
        genes = plain.genome.sample(np.random.default_rng(0), POPULATION)
        times = np.empty((rounds, len(problems)))
        for row in [times[0], *times]:  # once more, to warm up
            for p, problem in enumerate(problems):
                start = time.thread_time()
                problem.evaluate_genes(genes)
                row[p] = time.thread_time() - start
        alone, one, many = (np.median(times, axis=0) / POPULATION * 1e6).tolist()
        print(f"{name:16} {objectives:24} plain {alone:6.2f}  1 scenario {one:6.2f}  64 {many:6.2f} us a design; "
              f"64 over 1: {np.median(times[:, 2] / times[:, 1]):.2f}, "
              f"over plain: {np.median(times[:, 2] / times[:, 0]):.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
