"""Sections of a design's record: its figures, its bottlenecks and slack, its steps away, and its money and failures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from evo_libra.explain.labels import cell, change, dollars, percent, pieces, short_design
from evo_libra.explain.neighbours import Neighbour
from evo_libra.explain.record import (
    Breakdown,
    DesignRecord,
    DimensionUse,
    Failures,
    OrderLine,
    PartRow,
    Spares,
    SystemRow,
)
from evo_libra.explain.sheet import Row, Section, Table, band_sentences, figure_rows, section
from evo_libra.explain.system_bill import sum_of
from evo_libra.explain.time_sheet import streams_table, workload_sections
from evo_libra.network.orders.text import is_order
from evo_libra.quantities import money_text, number

_PERCENT = 100.0
_KILO, _MEGA = 1e3, 1e6
_EACH_USD = ",.10g"


def money_section(found: Breakdown) -> Section:
    """Return the bill of the network, that of the whole system, and what fails."""
    if found.order:
        return section("", order_table(found.order), shares_table(found.order))
    return section(
        "",
        bill_table(found) if found.bill else parts_table(found),
        system_table(found.system) if found.system else (),
        () if found.faults is None else failure_parts(found.faults),
    )


def parts_table(found: Breakdown) -> Table:
    """Return what each dimension costs, where parts come in any fraction or prices are per bandwidth."""
    title, figures = "cost by part [USD]", {"link": "link_usd", "switch": "switch_usd", "nic": "nic_usd"}
    formats = dict.fromkeys((*figures, "total"), ",.0f")
    if "ports" in found.dimensions[0].figures:
        title = "parts in any fraction; whole ones cost no less"
        figures = {"ports": "ports", "cost [USD]": "cost_usd", "power [W]": "power_W"}
        formats = {"ports": ".5g", "cost [USD]": ",.2f", "power [W]": ",.1f"}
    else:
        figures["total"] = "cost_usd"
    return Table(
        title=title,
        columns=("dimension", "GB/s", *figures),
        rows=tuple(
            (str(one), f"{one.bandwidth_GBps:.5g}", *(f"{one.figures[key]:{formats[n]}}" for n, key in figures.items()))
            for one in found.dimensions
        ),
        folds=("dimension",),
    )


def bill_table(found: Breakdown) -> Table:
    """Return the bill of materials by dimension, then spares and the sum."""
    rows: list[Row | None] = []
    heads = []
    for one in found.dimensions:
        heads.append(len(rows) + 1)
        rows += [None, (f"{one}, {one.figures['ports']} ports", *[""] * 5)]
        rows += [_part_row(part) for part in found.bill if part.dimension == one.dimension]
    for spare in found.spares:
        rows += [None, (f"spares, {spare.npus:,} NPUs", "", "", dollars(spare.cost_usd), _watts(spare.power_W), "")]
    power = sum(row.power_W for row in found.bill) + sum(one.power_W for one in found.spares)
    rows += [None, ("total", "", "", dollars(found.cost_usd), _watts(power), "")]
    return Table(
        title="bill of materials",
        columns=("part", "pieces", "each [USD]", "cost [USD]", "power [W]", "idle [W]"),
        rows=tuple(rows),
        folds=("part",),
        strong=tuple((head, 0) for head in heads),
    )


def order_table(lines: Sequence[OrderLine]) -> Table:
    """Return the lines of an order by section, with the sum."""
    rows: list[Row | None] = []
    heads = []
    for name in dict.fromkeys(line.section for line in lines):
        heads.append(len(rows) + 1)
        rows += [None, (name, *[""] * 4)]
        rows += [_order_row(line) for line in lines if line.section == name]
    cost, power = (sum(getattr(line, key) or 0.0 for line in lines) for key in ("cost_usd", "power_W"))
    rows += [None, ("the whole order", "", "", dollars(cost), _watts(power))]
    return Table(
        title="bill of the order",
        columns=("line", "pieces", "each [USD]", "cost [USD]", "power [W]"),
        rows=tuple(rows),
        folds=("line",),
        strong=tuple((head, 0) for head in heads),
    )


def shares_table(lines: Sequence[OrderLine]) -> Table:
    """Return the sum of each section of an order, and its share of the whole."""
    whole = _sum_of(lines, "cost_usd")
    rows = [
        (name, *_shares([line for line in lines if line.section == name], whole))
        for name in dict.fromkeys(line.section for line in lines)
    ]
    return Table(
        title="the order by section, with prices at their lowest and at their highest",
        columns=("section", "%", "cost [USD]", "lowest\n[MUSD]", "highest\n[MUSD]", "power\n[kW]"),
        rows=(*rows, None, ("the whole order", *_shares(lines, whole))),
        words=("section",),
    )


def _shares(lines: Sequence[OrderLine], whole: float) -> Row:
    """Return the share of some lines in the whole, and their sums."""
    usd, low, high, watts = (_sum_of(lines, key) for key in ("cost_usd", "low_usd", "high_usd", "power_W"))
    share = percent(_PERCENT * usd / whole) if whole else "-"
    return (share, dollars(usd), *(dollars(end / _MEGA, 3) for end in (low, high)), dollars(watts / _KILO))


def _sum_of(lines: Sequence[OrderLine], key: str) -> float:
    return math.fsum(getattr(line, key) or 0.0 for line in lines)


def _order_row(line: OrderLine) -> Row:
    each = "-" if line.unit_usd is None else f"{line.unit_usd:{_EACH_USD}}"
    return (f"  {line.product}, {line.what}", pieces(line.pieces), each, dollars(line.cost_usd), _watts(line.power_W))


def _part_row(part: PartRow) -> Row:
    each = "-" if part.unit_usd is None else f"{part.unit_usd:{_EACH_USD}}"
    figures = (dollars(part.cost_usd), _watts(part.power_W), _watts(part.idle_W))
    return (f"  {part.item} {part.part or ''}", f"{part.pieces:,}", each, *figures)


def _watts(value: float | None) -> str:
    return dollars(value, 1)


def system_table(rows: Sequence[SystemRow]) -> Table:
    """Return what a system is bought of, with the sums; a dash is a figure that no source gives."""
    cells = [
        (row.item, pieces(row.pieces), dollars(row.unit_usd), dollars(row.cost_usd), dollars(row.power_kW))
        for row in rows
    ]
    total = ("all", "", "", dollars(sum_of(rows, "cost_usd")), dollars(sum_of(rows, "power_kW")))
    return Table(
        title="the whole system",
        columns=("item", "pieces", "each [USD]", "cost [USD]", "power [kW]"),
        rows=(*cells, None, total),
        words=("item",),
    )


def failure_parts(found: Failures) -> Iterator[Table | str]:
    """Yield where the time goes under failures, how often each part stops the job, and what the spares are."""
    yield Table(
        title="time under failures [%]",
        columns=("part of the time", "%"),
        rows=tuple((name, cell(_PERCENT * share)) for name, share in found.time_shares.items()),
        words=("part of the time",),
    )
    yield Table(
        title="failures, and stops of the job, per day by part; units in repair",
        columns=("part", "pieces", "failures", "stops", "in repair", "waited for [%]"),
        rows=tuple(
            (
                one.part,
                pieces(one.pieces),
                *map(percent, (one.failures_per_day, one.interruptions_per_day, one.units_in_repair)),
                percent(_PERCENT * one.share_waited_for),
            )
            for one in found.parts
        ),
        folds=("part",),
    )
    yield from _failure_sentences(found)


def _failure_sentences(found: Failures) -> Iterator[str]:
    per_day, spares, most = found.interruptions_per_day, found.spares, ""
    if found.dominant_part is not None:
        most = f", most of them of {found.dominant_part}; one every {number(24 / per_day)} h"
    yield f"{number(per_day)} interruptions per day{most}"
    if found.dominant_loss is not None:
        yield f"most time is lost to {found.dominant_loss}"
    if found.checkpoint_interval_s is not None:
        yield f"a checkpoint after every {number(found.checkpoint_interval_s)} s of work"
    if spares.npus:
        yield f"{spares.npus:,} spare NPUs: {spares.units:,} units of {spares.unit_npus:,} NPUs"
    yield from _needed_sentences(spares)


def _needed_sentences(spares: Spares) -> Iterator[str]:
    """Yield how many spare units keep shares of the time useful, and which share none reaches."""
    known = [f"{units:,} for {share} %" for share, units in spares.needed.items() if units is not None]
    if known:
        yield f"spare units of {spares.unit_npus:,} NPUs that keep time useful: {' and '.join(known)}"
    if short := [share for share, units in spares.needed.items() if units is None]:
        most = percent(_PERCENT * spares.most_useful)
        yield f"no number of spares keeps {short[0]} % of the time useful: {most} % at most"


_NONE = 1e-9
_TIGHT = 0.1
"""Percent of slack that is none."""
_TIME, _COST = "time_ms", "cost_usd"


def evaluated(record: DesignRecord) -> list[Section]:
    """Return the figures of a design, and where time and money go."""
    figures = figure_rows(record)
    wide = max(len(name) for name, _ in figures)
    lines = [f"{name:<{wide}}  {text}" for name, text in figures]
    broken = [f"broken: {sentence}" for sentence in record.violations]
    head = section(short_design(record.design), lines, band_sentences(record), broken, record.remarks)
    return [head, *workload_sections(record.breakdown), money_section(record.breakdown)]


def explained(record: DesignRecord) -> list[Section]:
    """Return why nothing on its front beats a design, its bottlenecks and slack, and what each step costs."""
    uses, steps = record.dimensions or (), record.steps or ()
    streams = [(one.name, one.training.optimizer_streams) for one in record.breakdown.workloads if one.training]
    better = record.better_steps or ()
    return [
        section(record.title, short_design(record.design), record.standing, record.approximation),
        section(
            "", uses_table(record.design, uses), bottleneck_sentences(uses),
            [streams_table(one, name) for name, one in streams if one],
        ),
        section(
            "", [steps_table(steps, record.objectives)] if steps else (), cheapest_ms(steps, record.objectives),
            [f"better in one objective and no worse in the others: {one}" for one in better], map(str, record.warnings),
        ),
    ]  # fmt: skip


def uses_table(design: str, uses: Sequence[DimensionUse]) -> Table:
    """Return how long each dimension is busy, what it could lose, and what more of it saves."""
    parts = [f"{one.block}({one.npus}) {one.technology}" for one in uses]
    if not is_order(design):
        parts = short_design(design).split(" ", maxsplit=1)[0].split("_")
    return Table(
        title="dimensions, GB/s per NPU; each row changes one dimension only",
        columns=("dimension", "busy\n[ms]", "of the\ntime [%]", "slack\n[%]", "saves\n[ms per GB/s]", "cost"),
        rows=tuple(
            (
                f"{one.dimension}: {part}", cell(one.busy_ms), percent(one.busy_percent), percent(one.slack_percent),
                percent(one.saves_ms_per_GBps), money_text(one.cost_usd, 3),
            )
            for part, one in zip(parts, uses, strict=True)
        ),
        folds=("dimension",),
    )  # fmt: skip


def bottleneck_sentences(uses: Sequence[DimensionUse]) -> list[str]:
    """Return which dimension holds a design back, and which have more bandwidth than it can use."""
    best = max(uses, key=lambda one: one.saves_ms_per_GBps)
    tight = [one for one in uses if one.slack_percent <= _TIGHT]
    names = " and ".join(f"dim {one.dimension}" for one in tight)
    if best.saves_ms_per_GBps > _NONE:
        head = f"the bottleneck is dim {best.dimension}: one GB/s more saves {number(best.saves_ms_per_GBps)} ms"
    elif len(tight) > 1:
        head = f"{names} wait for each other: more of one alone saves nothing, less of it takes longer"
    else:
        head = "no dimension alone holds it back"
    loose = [one for one in uses if one.slack_percent > _TIGHT]
    return [
        head,
        *(
            f"dim {one.dimension} could lose {percent(one.slack_percent)} % of its bandwidth at the same time"
            for one in loose
        ),
    ]


def steps_table(steps: Sequence[Neighbour], objectives: Mapping[str, float]) -> Table:
    """Return what each step away changes, in percent of each objective, what a ms costs, and what forbids it."""
    broken, priced = any(step.broken for step in steps), objectives.keys() >= {_TIME, _COST}
    heads = (f"{column.rpartition('_')[0] or column}\n[%]" for column in objectives)
    return Table(
        title="one step away",
        columns=("change", *heads, *(["a ms costs"] if priced else []), *(["but"] if broken else [])),
        rows=tuple(
            (
                step.change, *(change(step.percent[f"{column}_percent"]) for column in objectives),
                *([_price_text(step, objectives)] if priced else []),
                *(["; ".join(step.broken)] if broken else []),
            )
            for step in steps
        ),
        folds=("change", "but"),
    )  # fmt: skip


def _price_text(step: Neighbour, objectives: Mapping[str, float]) -> str:
    price = _price(step, objectives)
    return "" if price is None else money_text(price, 3)


def cheapest_ms(steps: Sequence[Neighbour], objectives: Mapping[str, float]) -> Iterator[str]:
    """Yield which feasible step saves time for the least money, if one does."""
    faster = [step for step in steps if not step.broken and step.percent.get(f"{_TIME}_percent", 0.0) < 0]
    priced = [(price, step.change) for step in faster if (price := _price(step, objectives)) is not None]
    if priced:
        price, least = min(priced)
        yield f"the cheapest step to a shorter time: {least}, {money_text(price, 3)} per ms"


def _price(step: Neighbour, objectives: Mapping[str, float]) -> float | None:
    """Return the USD of a ms that a step saves, or that it saves for a ms more; None where it is no such exchange."""
    if not objectives.keys() >= {_TIME, _COST}:
        return None
    ms, usd = objectives[_TIME] - step.values[_TIME], step.values[_COST] - objectives[_COST]
    return usd / ms if ms * usd > 0 else None
