"""What the objective goodput takes: ``taskset -c 0 python tests/benchmarks/faults.py``.

Genes to objectives, population 4096, one core: time and cost alone, with failures that nothing asks for, with goodput,
and with goodput and spares, timed in turn in one run. Quote the medians of the rounds' ratios. Times are CPU times.
"""

from __future__ import annotations

import time

import numpy as np

from evo_libra.problem.file.registry import load_problem

POPULATION = 4096
PARTS = ["fabric={catalog: parts-2024, max_dimensions: 3}", "bandwidth=ports"]
FAULTS = "faults={checkpoint_s: 10, restart_s: 600}"
SPARES = "faults={checkpoint_s: 10, restart_s: 600, spares: [0, 32, 64, 128, 256]}"
BOTH, ALL = "objectives=[time, cost]", "objectives=[time, cost, goodput]"
CASES = (
    ("gpt3-4k", PARTS, 60),
    ("experiments/problems/dense-4k.yaml", [], 30),
    ("experiments/problems/dlrm-1k-parts.yaml", [], 60),
    ("experiments/problems/llama3-405b-16k.yaml", [], 30),
)


def main() -> None:
    for name, changes, rounds in CASES:
        variants = [[BOTH], [BOTH, FAULTS], [ALL, FAULTS], [ALL, SPARES]]
        problems = [load_problem(name, [*changes, *more]) for more in variants]
        genes = [problem.genome.sample(np.random.default_rng(0), POPULATION) for problem in problems]
        times = np.empty((rounds, len(problems)))
        for row in [times[0], *times]:  # once more, to warm up
            for p, problem in enumerate(problems):
                start = time.thread_time()
                problem.evaluate_genes(genes[p])
                row[p] = time.thread_time() - start
        each = (np.median(times, axis=0) / POPULATION * 1e6).tolist()
        over = np.median(times / times[:, :1], axis=0).tolist()
        print(f"{name:16} plain {each[0]:6.2f} us a design; with failures {over[1]:.3f}, goodput {over[2]:.3f}, "
              f"spares {over[3]:.3f} of it")  # fmt: skip


if __name__ == "__main__":
    main()
