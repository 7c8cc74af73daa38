"""What a front loses that has one design of each box: designs and hypervolume, by problem and epsilon.

python tests/benchmarks/epsilon.py [EVALUATIONS]
"""

from __future__ import annotations

import sys

from evo_libra import load_problem
from evo_libra.front.indicators import hypervolume
from evo_libra.searching.generations import generations
from evo_libra.searching.registry import load_engine

PROBLEMS = ("gpt3-4k", "msft-1t-4k", "turing-nlg-4k", "dlrm-4k", "language-models-4k")
EPSILONS = (1e-5, 1e-4, 1e-3)


def main() -> None:
    """Print a row per problem."""
    evaluations = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"{'problem':20} {'designs':>8} " + " ".join(f"{f'{e:g}: designs, lost':>26}" for e in EPSILONS))
    for name in PROBLEMS:
        problem = load_problem(name)
        for snapshot in generations(
            problem, load_engine("nsga2", problem), population=650, seed=0, evaluations=evaluations
        ):
            archive = snapshot.archive if snapshot.ended else None
        assert archive is not None
        low, high = archive.objectives.min(axis=1), archive.objectives.max(axis=1)
        whole, cells = hypervolume(archive.objectives, low, high), []
        for epsilon in EPSILONS:
            part = archive.thinned(epsilon)
            cells.append(f"{len(part):>13,} {100 * (1 - hypervolume(part.objectives, low, high) / whole):>11.5f}%")
        print(f"{name:20} {len(archive):>8,} " + " ".join(cells), flush=True)


if __name__ == "__main__":
    main()
