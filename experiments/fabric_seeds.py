"""Ten searches of each fabric problem: hypervolume of each seed over that of their union, and what became of ZCube.

``python experiments/fabric_seeds.py [PROBLEM ...] [--seeds N] [--evaluations N] [--engine NAME] [--population N]``
"""

from __future__ import annotations

from dataclasses import dataclass

import moocore
import numpy as np
from command_line import parser_of
from common import markdown

from evo_libra.arrays import FloatArray
from evo_libra.front.indicators import hypervolume
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.protocol import SearchProblem
from evo_libra.problem.switch_fabrics.problem import FabricProblem
from evo_libra.searching.generations import search

PROBLEMS = ("fabric-1k", "fabric-4k", "fabric-16k")
ROUTINGS = (("striped", "server"), ("shortest", "server"))
"""Paths and forwarding: ZCube is as fast as trees with the first, and slower with the second."""


@dataclass(frozen=True)
class Settings:
    """How often and how long each problem is searched."""

    seeds: int
    evaluations: int
    engine: str | None
    population: int | None


def fronts(problem: SearchProblem, settings: Settings) -> list[FloatArray]:
    """Return the (m, k) objectives of the front of each seed."""
    found = []
    for seed in range(settings.seeds):
        front = search(
            problem, engine=settings.engine, evaluations=settings.evaluations, population=settings.population, seed=seed
        )
        found.append(front.frame.select(front.objectives).to_numpy().T)
    return found


def volumes(found: list[FloatArray]) -> list[float]:
    """Return the hypervolume of each front over that of the union of all."""
    every = np.concatenate(found, axis=1)
    union = every[:, moocore.is_nondominated(every.T)]
    ideal, nadir = union.min(axis=1), union.max(axis=1)
    whole = hypervolume(union, ideal, nadir)
    return [hypervolume(one, ideal, nadir) / whole for one in found]


def cheaper(front: FloatArray, time: float, cost: float) -> float:
    """Return the share of the cost of a design that the cheapest design saves which is not slower; below 0 for none."""
    rows = front[:, front[0] <= time * (1 + 1e-12)]
    return float(1.0 - rows[1].min() / cost) if rows.shape[1] else -1.0


def row(name: str, routing: tuple[str, str], settings: Settings) -> list[str]:
    """Return what the searches of a problem found."""
    assignments = [f"routing.{key}={value}" for key, value in zip(("paths", "forwarding"), routing, strict=True)]
    problem = load_problem(name, assignments)
    assert isinstance(problem, FabricProblem), "it is one of fabrics"  # noqa: S101 - internal error
    zcube = next(one for one in problem.references() if one.name.startswith("zcube"))
    scale = [objective.scale for objective in problem.objectives]
    time, cost = (value / size for value, size in zip(zcube.objectives, scale, strict=True))
    found = fronts(problem, settings)
    shares, saved = volumes(found), np.array([cheaper(front, time, cost) for front in found])
    dominated, equalled = int((saved > 1e-9).sum()), int((np.abs(saved) <= 1e-9).sum())  # noqa: PLR2004 - rounding
    return [
        name, " ".join(routing), zcube.name, f"{dominated}", f"{equalled}", f"{100 * saved.min():.1f} %",
        f"{min(shares):.4f}", f"{np.median(shares):.4f}",
    ]  # fmt: skip


def main() -> None:
    """Print a row for each problem and routing."""
    parser = parser_of(__doc__)
    parser.add_argument("problems", nargs="*", default=PROBLEMS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=200_000)
    parser.add_argument("--engine")
    parser.add_argument("--population", type=int)
    given = parser.parse_args()
    settings = Settings(given.seeds, given.evaluations, given.engine, given.population)
    rows = [row(name, routing, settings) for name in given.problems for routing in ROUTINGS]
    head = (
        "problem", "routing", "reference", "dominated", "equalled", "saved at least", "hypervolume, least", "median",
    )  # fmt: skip
    print(markdown(head, rows))


if __name__ == "__main__":
    main()
