"""Reference designs that fit a problem, under their best plans, and how much better a front is than each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np

from evo_libra.arrays import IntArray, Population
from evo_libra.front.front import Front
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.designs import ReferenceDesign, reference_designs
from evo_libra.network.catalog.technologies import Catalog
from evo_libra.network.fabric import Fabric, parse_fabric, population_of
from evo_libra.problem.designs import violations
from evo_libra.problem.plans import fitting
from evo_libra.problem.pricing.catalog import with_own_technologies
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import COST, FOLDED, TIME, HasReferences, SearchProblem

if TYPE_CHECKING:
    from evo_libra.network.catalog.clusters import ReferenceOrder
    from evo_libra.problem.orders import OrderBook

CHEAPER, FASTER = "cheaper_at_equal_time_percent", "faster_at_equal_cost_percent"

_COSTS = (COST.column, "order_cost_usd")
"""Columns of the cost that designs are compared by, the first that a front has."""

_ROUNDING = 1e-12


@dataclass(frozen=True)
class ReferencePoint:
    """A reference design of a problem's size, under its best plans.

    Attributes
    ----------
    design : in the notation, with plans and accelerator where the problem leaves them open.
    figures : its objectives, by column.
    not_allowed : what the problem does not allow of it, as a sentence; empty for a design of the problem.
    """

    name: str
    design: str
    figures: Mapping[str, float]
    source: str
    year: int
    not_allowed: str = ""


@dataclass(frozen=True)
class References:
    """The reference designs of a problem's size: those with figures, and a sentence for each that has none."""

    points: Sequence[ReferencePoint] = ()
    absent: Sequence[str] = ()


def reference_points(problem: SearchProblem) -> list[ReferencePoint]:
    """Return the reference designs of a problem's size with their figures; see `references_of`."""
    return list(references_of(problem).points)


def references_of(problem: SearchProblem) -> References:
    """Return the reference designs that are designs of a problem and meet its limits, and orders of its systems.

    Orders that its file does not allow are evaluated, too, and say what it does not allow of them.

    Their figures are those of `evaluate`. If workloads leave plans open, each has the plans that are fastest on it.
    If some workload is served, all have the plans within the limits whose objectives have the least product: the
    fastest one of a served workload serves a single user of each replica, and is expensive.
    """
    if isinstance(problem, HasReferences):
        return References([
            ReferencePoint(one.name, one.design, _figures(problem, one.objectives), one.source, one.year)
            for one in problem.references()
        ])  # fmt: skip
    if not isinstance(problem, Problem):
        return References()
    found = list(_designs(problem) if problem.book is None else _orders(problem, problem.book))
    absent = [one for one in found if isinstance(one, str)]
    return References([one for one in found if isinstance(one, ReferencePoint)], absent)


def _designs(problem: Problem) -> Iterator[ReferencePoint]:
    """Yield the references that are designs of a problem and meet its limits, under their best plans."""
    for name, reference in reference_designs().items():
        for design in _designs_of(problem, reference):
            point = _point(problem, name, reference, design)
            if point is not None:
                yield point


def _orders(problem: Problem, book: OrderBook) -> Iterator[ReferencePoint | str]:
    """Yield the references that are orders of a problem's systems and size, under their best plans, or why not."""
    from evo_libra.explain.order_references import AbsentReference, placed_orders  # noqa: PLC0415 - of orders alone

    for one in placed_orders(problem, book):
        if isinstance(one, AbsentReference):
            yield f"{one.name} is not evaluated: {one.reason}"
            continue
        plans = _best_plans(one.problem, one.network)
        design = " | ".join([one.order, *(plans or ())])
        point = None if plans is None else _point(one.problem, one.name, one.reference, design)
        if point is not None:
            yield replace(point, not_allowed=one.not_allowed)
        elif plans is None:
            yield f"{one.name} is not evaluated: no plan of the file fits {one.order}"
        else:
            yield f"{one.name} is not shown: {violations(one.problem, one.problem.read(design))[0]}"


def _point(
    problem: Problem, name: str, reference: ReferenceDesign | ReferenceOrder, design: str
) -> ReferencePoint | None:
    """Return a reference with its figures; None where it breaks a limit of a problem."""
    evaluation = problem.evaluate(design)
    if evaluation.violation[0] > 0:
        return None
    figures, source = _figures(problem, evaluation.objectives[:, 0].tolist()), " ".join(reference.source.split())
    return ReferencePoint(name, design, figures, source, reference.year)


def _figures(problem: SearchProblem, values: Sequence[float]) -> Mapping[str, float]:
    """Return (m,) objectives by their columns, in the units of these."""
    return {one.column: float(value) / one.scale for one, value in zip(problem.objectives, values, strict=True)}


def _designs_of(problem: Problem, reference: ReferenceDesign) -> list[str]:
    """Return the notation of a reference design under its best plans, for each accelerator and name of a technology."""
    npu = problem.sources.npu
    names = npu.names if npu.several else (None,)
    found = [
        _planned(problem, replace(fabric, npu=name), name)
        for fabric in map(parse_fabric, reference.at(problem.npus))
        for name in names
        if len(fabric.dimensions) <= len(problem.choices) and _can_be_wired(problem.catalog, fabric, name)
    ]
    return [str(one) for one in found if one is not None]


def _can_be_wired(catalog: Catalog, fabric: Fabric, npu: str | None) -> bool:
    """Return whether an accelerator has the technology and block of every dimension; None is the only one."""
    known = {
        (technology.name, block)
        for technology in catalog.technologies
        for block in technology.blocks
        if npu in (None, technology.npu)
    }
    return all((one.technology, BLOCKS[one.block].name) in known for one in fabric.dimensions)


def _planned(problem: Problem, fabric: Fabric, npu: str | None) -> Fabric | None:
    """Return a network with the plan of each workload that is fastest on it; None where none fits."""
    bare = replace(fabric, npu=None)
    network = population_of([bare], problem.catalog.names, len(problem.choices))
    network = with_own_technologies(network, problem.catalog, [npu])
    if not problem.time.fits(network.npus, technology=network.technology)[0]:
        return None
    network = replace(network, schedule=problem.time.schedules.read([bare], network.block))
    plans = _best_plans(problem, network)
    return None if plans is None else replace(fabric, plans=plans)


def _best_plans(problem: Problem, network: Population) -> tuple[str, ...] | None:
    """Return the fastest plan of each workload on one network, or the balanced ones; None where none fits."""
    held = [_held(problem, network, place) for place in range(len(problem.time.tables))]
    if not all(map(len, held)):
        return None
    served = any(loop.served is not None for loop in problem.time.open_loops)
    return (_balanced if served else _fastest)(problem, network, held)


def _balanced(problem: Problem, network: Population, held: Sequence[IntArray]) -> tuple[str, ...]:
    """Return the plans with the least product of objectives, that break the limits least.

    Of several workloads, plans are chosen one workload after the other, with the plans of the others fixed, until
    none changes.
    """
    some, before = np.array([plans[0] for plans in held], dtype=np.int64), None
    while before is None or (some != before).any():
        before = some.copy()
        for place, plans in enumerate(held):
            chosen = np.repeat(some[:, None], len(plans), axis=1)
            chosen[place] = plans
            found = problem.evaluate(replace(network.select(np.zeros(len(plans), dtype=np.int64)), plan=chosen))
            product = np.log(found.objectives).sum(axis=0)
            some[place] = plans[np.lexsort((product, found.violation))[0]]
    return tuple(table.text(int(plan)) for table, plan in zip(problem.time.tables, some, strict=True))


def _fastest(problem: Problem, network: Population, held: Sequence[IntArray]) -> tuple[str, ...]:
    """Return the plan of each workload with the least time of that workload, among (w,) arrays of plans that fit."""
    # Times add up and each NPU's memory is that of one workload at a time: plans of different workloads do not meet.
    open_ = [place for place, loop in enumerate(problem.time.loops) if loop.open_place is not None]
    found, some = [], np.array([plans[0] for plans in held], dtype=np.int64)
    for place, (plans, loop) in enumerate(zip(held, open_, strict=True)):
        chosen = np.repeat(some[:, None], len(plans), axis=1)
        chosen[place] = plans
        many = replace(network.select(np.zeros(len(plans), dtype=np.int64)), plan=chosen)
        times = problem.time.workload_times(many)[loop]
        found.append(problem.time.tables[place].text(int(plans[times.argmin()])))
    return tuple(found)


def _held(problem: Problem, network: Population, place: int) -> IntArray:
    """Return the plans of one workload that fit the memory and whose groups fit a network."""
    table = problem.time.tables[place]
    mine = fitting(table, problem.constraints)
    if problem.sources.npu.several:
        owner = problem.sources.npu.named(network.technology)[0]
        mine = mine[table.npu[mine] == table.npus.index(owner)]
    many = network.select(np.zeros(len(mine), dtype=np.int64))
    return np.asarray(mine[problem.time.holds(many.npus, mine, place, many.technology)])


def compared(front: Front, point: ReferencePoint) -> dict[str, float | None]:
    """Return what the cheapest design that is as fast saves of the cost, in %, and the fastest as cheap of the time.

    A figure is negative where the front is worse, None where it has no such design. There is none without both
    objectives. Of orders a row is as fast or as cheap to 1 %, as a front of orders has no two rows that are nearer.
    """
    time, cost = TIME.column, next((name for name in _COSTS if name in front.objectives), "")
    if not {time, cost} <= set(front.objectives):
        return {}
    near = _ROUNDING if cost == COST.column else FOLDED
    found: dict[str, float | None] = {}
    for key, saved, limit in ((CHEAPER, cost, time), (FASTER, time, cost)):
        as_good = front.frame[limit].to_numpy() <= point.figures[limit] * (1.0 + near)
        best = front.frame[saved].to_numpy()[as_good]
        found[key] = 100.0 * (1.0 - float(best.min()) / point.figures[saved]) if len(best) else None
    return found


def reference_rows(points: Sequence[ReferencePoint], front: Front) -> list[dict[str, Any]]:
    """Return reference designs as plain data, with what a front is better by."""
    return [
        {
            "name": point.name, "design": point.design, **point.figures, **compared(front, point),
            "source": point.source, "year": point.year,
            **({"not_allowed": point.not_allowed} if point.not_allowed else {}),
        }
        for point in points
    ]  # fmt: skip


class ReferenceKeys(TypedDict):
    """The keys of reference designs in JSON."""

    references: NotRequired[list[dict[str, Any]]]
    absent_references: NotRequired[list[str]]


def add_references(answer: ReferenceKeys, references: References, front: Front) -> None:
    """Add reference designs with figures, and sentences of those without, to an answer that has some."""
    if rows := reference_rows(references.points, front):
        answer["references"] = rows
    if references.absent:
        answer["absent_references"] = list(references.absent)
