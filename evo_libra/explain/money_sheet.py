"""Sections of where the money of a design goes, and of its failures: bills, parts by dimension, spares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evo_libra.explain.labels import cell, dollars, percent, pieces
from evo_libra.explain.record import Breakdown, Failures, OrderLine, PartRow, SystemRow
from evo_libra.explain.sheet import Row, Section, Table, section
from evo_libra.explain.system_bill import sum_of
from evo_libra.quantities import number

_PERCENT = 100.0
_EACH_USD = ",.10g"


def money_section(found: Breakdown) -> Section:
    """Return the bill of the network, that of the whole system, and what fails."""
    if found.order:
        return section("", order_table(found.order), system_table(found.system))
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


def _order_row(line: OrderLine) -> Row:
    each = "-" if line.unit_usd is None else f"{line.unit_usd:{_EACH_USD}}"
    name = f"  {line.product}, {line.what}"
    return (name, pieces(line.pieces), each, dollars(line.cost_usd), _watts(line.power_W))


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
