"""The part of a report about one design: its time and money, and the reason that it is on the front."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.difference import parts_of_time
from evo_libra.explain.drawn_network import drawn_network
from evo_libra.explain.labels import cell, groups_text, value_text
from evo_libra.explain.reason_sheet import money_section
from evo_libra.explain.sheet import Table, band_sentences, figure_rows
from evo_libra.pictures.networks.captions import pieces_text
from evo_libra.quantities import time_text, time_unit
from evo_libra.report.orders import order_drawing
from evo_libra.report.records import Detail, Step, Waterfall

if TYPE_CHECKING:
    from evo_libra.explain.record import Breakdown, DesignRecord
    from evo_libra.explain.time_record import WorkloadTime
    from evo_libra.front.front import Front
    from evo_libra.problem.problem import Problem

MOST = 500
"""Designs of a result that have details."""

_SMALL = 1e-6


def detailed_rows(front: Front, families: IntArray, most: int = MOST, first: Sequence[int] = ()) -> list[int]:
    """Return the places of the designs that have details: all where they are few.

    Of many, these are the first ones, the best of each family in each objective, then some in even steps along the
    front.
    """
    if len(front) <= most:
        return list(range(len(front)))
    values = front.frame.select(front.objectives).to_numpy()
    chosen = dict.fromkeys(
        int(mine[row]) for family in np.unique(families) for mine in [np.flatnonzero(families == family)]
        for row in values[mine].argmin(axis=0)
    )  # fmt: skip
    ids = front.frame["id"].to_list()
    place = {one: row for row, one in enumerate(ids)}
    along = [place[one] for one in front.spread(most)["id"]]
    return sorted(list(dict.fromkeys([*first, *chosen, *along]))[:most])


def rule_text(designs: int, detailed: int, noun: str = "design") -> str:
    """Return which designs have details, as a sentence."""
    if detailed >= designs:
        return f"Every {noun} has its waterfall, bill and explanation here."
    return (
        f"{detailed:,} of {designs:,} {noun}s have their waterfall, bill and explanation here: those that are "
        "recommended, the best of each family in each objective, and some in even steps along the front. The command "
        f"below shows those of the other {noun}s."
    )


def details_of(front: Front, problem: Problem, rows: Sequence[int]) -> list[Detail]:
    """Return the details of some designs of a front."""
    from evo_libra.explain.design_record import design_record  # noqa: PLC0415 - it takes the time models

    candidates = candidates_of(front)
    return [
        detail_of(
            # The times of other plans take most of the time of a record, and the page has no room for them.
            design_record(problem, front.frame["design"][row], front=candidates, row=row, alternatives=False), problem
        )
        for row in rows
    ]  # fmt: skip


def detail_of(record: DesignRecord, problem: Problem) -> Detail:
    """Return what the page shows of a design."""
    found = record.breakdown
    said = map(_sentence, (*record.standing, *band_sentences(record)))
    sentences = [*said, *_bottlenecks(found), *_prices(found)]
    return Detail(
        figures=figure_rows(record),
        waterfalls=[_waterfall(workload, found) for workload in found.workloads],
        tables=[part for part in money_section(found).parts if isinstance(part, Table)],
        slots={} if problem.book is not None else _slots(record.design, problem),
        drawing="" if problem.book is None else order_drawing(record.design, problem),
        sentences=sentences + ([] if record.shares is None else [f"{record.shares}."]),
    )


def _waterfall(workload: WorkloadTime, found: Breakdown) -> Waterfall:
    total = workload.time_ms
    parts = [part for part in parts_of_time(workload) if abs(part.ms) > _SMALL * total]
    ends = np.cumsum([0.0, *(part.ms for part in parts)]) / sum(max(part.ms, 0.0) for part in parts)
    unit, size = time_unit(total)
    steps = [
        Step(
            name=part.name,
            time_ms=part.ms,
            text=cell(part.ms / size),
            where="" if part.dimension is None else _network(found, part.dimension),
            start=float(min(start, end)),
            share=float(abs(end - start)),
        )
        for part, start, end in zip(parts, ends[:-1], ends[1:], strict=True)
    ]
    title = f"{workload.name} {groups_text(workload.size)}: {time_text(total)}"
    return Waterfall(title=title, unit=unit, weight=workload.weight, total_ms=total, steps=steps)


def _slots(design: str, problem: Problem) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, dimension in enumerate(drawn_network(design, problem).dimensions):
        pieces = pieces_text(dimension)
        found |= {f"pieces-{place}-{at // 2}": ", ".join(pieces[at : at + 2]) for at in range(0, len(pieces), 2)}
    return found


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def _bottlenecks(found: Breakdown) -> Iterator[str]:
    """Yield which dimension holds back how much of the communication of each workload."""
    for workload in found.workloads:
        sent = [one for one in workload.collectives if one.bottleneck_dimension is not None]
        total = sum(one.time_ms for one in sent)
        held = dict.fromkeys((one.bottleneck_dimension for one in sent), 0.0)
        for one in sent:
            held[one.bottleneck_dimension] += one.time_ms
        if total:
            worst = max(held, key=lambda dimension: held[dimension])
            whole = time_text(float(cell(total)))
            name = f"the {_network(found, worst)}" if found.order else _network(found, worst)
            yield (
                f"If nothing overlapped, {workload.name} would communicate for {whole}; {name} is the slowest one in "
                f"{100 * held[worst] / total:.0f} % of that."
            )


def _network(found: Breakdown, dimension: int | None) -> str:
    """Return the name of a dimension; an order has two networks at most."""
    return ("scale-up network", "scale-out network")[dimension or 0] if found.order else f"dimension {dimension}"


def _prices(found: Breakdown) -> Iterator[str]:
    total = sum(one.cost_usd for one in found.dimensions)
    if found.order:
        whole = found.order_cost_usd
        yield f"The network takes {100 * total / whole:.3g} % of the order's {value_text('order_cost_usd', whole)}."
    elif total:
        worst = max(found.dimensions, key=lambda one: one.cost_usd)
        share = 100 * worst.cost_usd / total
        yield f"Dimension {worst.dimension} takes {share:.0f} % of {value_text('cost_usd', total)}."


def price_ranges(front: Front, problem: Problem) -> tuple[FloatArray, FloatArray] | None:
    """Return the (n,) USD of designs with all prices at their lowest, and at their highest; None without ranges."""
    from evo_libra.explain.prices import price_front  # noqa: PLC0415 - it takes the pricing
    from evo_libra.problem.pricing.parts import BillOfMaterials  # noqa: PLC0415 - the same
    from evo_libra.problem.protocol import COST, TIME  # noqa: PLC0415 - the same

    priced = isinstance(problem.pricing, BillOfMaterials) and not problem.optimal
    cost = COST.column if problem.book is None else "order_cost_usd"
    if not priced or not {TIME.column, cost} <= set(front.objectives):
        return None
    frame = price_front(front, problem, drawn=1, seed=0).frame
    low, high = (frame[f"cost_{end}_usd"].to_numpy() for end in ("low", "high"))
    return (low, high) if (high > low).any() else None
