"""The exact front of each system of a problem of orders, and the front of all of them.

A system hides the networks of the others: whole orders differ by far more than their networks. So each system has a
front of its own, and the front of all systems is the best of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.front.archive import non_dominated
from evo_libra.optimality.whole_designs import Designs, effort_of, plans_of
from evo_libra.optimality.whole_front import WholeFront, whole_front
from evo_libra.problem.problem import Problem


@dataclass(frozen=True)
class SystemFront:
    """The orders of one system that no other order of it beats: designs, and (m, n) objectives in SI."""

    designs: Designs
    objectives: FloatArray


def system_fronts(problem: Problem) -> Mapping[str, SystemFront] | None:
    """Return the exact front of each system, by its name; None where there are too many designs to evaluate.

    It is found once for a problem.
    """
    kept = vars(problem)
    if "_system_fronts" not in kept:
        kept["_system_fronts"] = None if effort_of(problem) is None else _fronts(problem)
    found: Mapping[str, SystemFront] | None = kept["_system_fronts"]
    return found


def _fronts(problem: Problem) -> Mapping[str, SystemFront]:
    assert problem.book is not None, "the problem is of orders"  # noqa: S101 - internal error
    systems = np.array([order.system for order in problem.book.orders])
    found = {name: front_of_some(problem, np.flatnonzero(systems == name)) for name in dict.fromkeys(systems.tolist())}
    return {name: front for name, front in found.items() if front is not None and len(front.designs)}


def front_of_some(problem: Problem, places: np.ndarray) -> SystemFront | None:
    """Return the exact front of some orders, by their places; None where there are too many designs to evaluate."""
    table = problem.structures.table
    assert table is not None, "orders are listed"  # noqa: S101 - internal error
    chosen = np.isin(np.arange(len(table)), places)
    mine = replace(problem, structures=table.select(chosen))
    vars(mine)["_whole_plans"] = plans_of(problem)  # the same, and long to make
    front = whole_front(mine)
    if front is None:
        return None
    designs = replace(front.designs, structure=places[front.designs.structure])
    return SystemFront(designs, front.objectives)


def front_of_orders(problem: Problem) -> WholeFront | None:
    """Return the exact front of all orders, as `whole_front` does of designs."""
    fronts = system_fronts(problem)
    if fronts is None or not fronts:
        return whole_front(problem)
    first, *others = (one.designs for one in fronts.values())
    designs, objectives = first.join(*others), np.concatenate([one.objectives for one in fronts.values()], axis=1)
    kept = np.flatnonzero(non_dominated(objectives))
    kept = kept[np.lexsort(objectives[:, kept])]
    return WholeFront(
        designs=designs.select(kept), objectives=objectives[:, kept], networks=len(problem.structures), timed=0,
        waiting=0, bound=objectives[:, :0],
    )  # fmt: skip
