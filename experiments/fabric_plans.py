"""Fabrics of 4,096 NPUs under the published plan and with the plan open: the knee, and the fastest step at some costs.

``python experiments/fabric_plans.py [--evaluations N]``
"""

from __future__ import annotations

import numpy as np
from command_line import parser_of
from common import markdown

from evo_libra.arrays import FloatArray
from evo_libra.explain.recommend import knee
from evo_libra.problem.file.registry import load_problem
from evo_libra.searching.generations import search

PROBLEM = "fabric-4k"
OPEN = "workloads[0].parallelism={tp: [1, 2, 4, 8], pp: [1, 2, 4, 8, 16], vp: any}"
PLANS = {"published": (), "open": (OPEN,)}
PATHS = ("striped", "shortest")
COSTS = (12e6, 18.7e6, 50e6)
"""USD at which the fastest step is shown; ZCube(64, 2) costs 18.6 million."""


def row(paths: str, plans: str, evaluations: int) -> list[str]:
    """Return what a search found."""
    front = search(load_problem(PROBLEM, [f"routing.paths={paths}", *PLANS[plans]]), evaluations=evaluations, seed=0)
    found: FloatArray = front.frame.select(front.objectives).to_numpy().T
    time, cost = found[:, knee(found)]
    fastest = [found[0, found[1] <= limit].min(initial=np.inf) for limit in COSTS]
    return [paths, plans, f"{time:.0f}", f"{cost / 1e6:.1f}", *(f"{one:.0f}" for one in fastest)]


def main() -> None:
    """Print a row for each choice of paths and plans."""
    parser = parser_of(__doc__)
    parser.add_argument("--evaluations", type=int, default=200_000)
    evaluations = parser.parse_args().evaluations
    rows = [row(paths, plans, evaluations) for paths in PATHS for plans in PLANS]
    at = [f"at {cost / 1e6:g} MUSD [ms]" for cost in COSTS]
    print(markdown(("paths", "plan", "knee [ms]", "knee [MUSD]", *at), rows))


if __name__ == "__main__":
    main()
