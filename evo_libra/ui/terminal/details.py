"""Details of one design, as lines of texts with roles that a theme has a style for."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evo_libra.errors import InputError
from evo_libra.explain.labels import cell, groups_text, interval_text, noun
from evo_libra.quantities import money_text, number, time_text, time_unit
from evo_libra.ui.terminal.queue_view import bar, clipped

if TYPE_CHECKING:
    from evo_libra.experiment.results.comparison import Subject
    from evo_libra.explain.drawn_network import DrawnNetwork
    from evo_libra.explain.drawn_order import DrawnOrder
    from evo_libra.explain.record import DesignRecord, SystemRow
    from evo_libra.explain.sheet import Table
    from evo_libra.explain.time_record import Alternatives, WorkloadTime


Line = tuple[tuple[str, str], ...]
_LABEL, _NUMBER, _BAR, _MONEY = 12, 8, 12, 12
_WIDE = 40  # Characters from which on a line of the breakdown names the slowest dimension.
_WHERE = 7
_MIN_NAME = 25  # Characters for the name of a collective.
_SAME = 5e-4


@dataclass(frozen=True)
class Design:
    """A design on a front.

    Attributes
    ----------
    run : id of its run.
    name : what it is called.
    objectives : column -> value; `ends` : of their bands, where they have some.
    notation : the design; empty when it is not known yet.
    subject : what its run searched; None when that is not known.
    """

    run: str
    name: str
    objectives: Mapping[str, float]
    notation: str = ""
    subject: Subject | None = None
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Breakdown:
    """Parts of the objectives of a design, and the design that it is compared with unless there is a baseline.

    Attributes
    ----------
    notation : the design, where only its objectives were known.
    record : of the design; None when it cannot be had.
    equal : the best that can be built of the same network with equal bandwidths; None where nothing can.
    note : what is to be known about both.
    references : how much better the front is than each reference design.
    network : what a picture of it shows; None when that cannot be had.
    """

    record: DesignRecord | None = None
    equal: Design | None = None
    note: str = ""
    notation: str = ""
    references: tuple[str, ...] = ()
    network: DrawnNetwork | DrawnOrder | None = None


def _unlike(design: Design, baseline: Design | None) -> str:
    if baseline is None or baseline.run == design.run:
        return ""
    from evo_libra.experiment.results.comparison import unlike

    return unlike(design.subject, baseline.subject)


def detail_lines(
    design: Design, breakdown: Breakdown | None, baseline: Design | None, width: int, *, ascii_only: bool = False
) -> list[Line]:
    """Return everything there is to say of a design, as lines of `width` characters.

    Parameters
    ----------
    breakdown : where its objectives come from; None while it is worked out.
    baseline : what it is compared with; None for equal bandwidths.
    """
    other = baseline or (breakdown.equal if breakdown else None)
    reason = _unlike(design, baseline)
    lines = [((f"{design.name}", "head"),), *_objective_lines(design, None if reason else other, width)]
    if reason and baseline:
        lines += [(), *_folded(f"Not compared with {baseline.name}: {reason}. B takes equal bandwidths again.", width)]
    if design.notation:
        lines += [(), *_network_lines(design.notation, breakdown, width, ascii_only=ascii_only)]
    if breakdown is None:
        return [*lines, (), (("working out where time and cost come from", "dim"),)]
    if breakdown.note:
        lines += [(), *_folded(breakdown.note, width)]
    if breakdown.references:
        lines += [(), (("reference designs", "label"),)]
        lines += [line for sentence in breakdown.references for line in _folded(sentence, width)]
    workloads = () if breakdown.record is None else breakdown.record.breakdown.workloads
    for workload in workloads:
        lines += [(), *_workload_lines(workload, width, ascii_only=ascii_only)]
        if workload.alternatives is not None:
            batch = None if workload.training is None else workload.training.stated_batch
            lines += [(), *_plan_lines(workload.alternatives, width, several=len(workloads) > 1, batch=batch)]
    return lines


def _objective_lines(design: Design, other: Design | None, width: int) -> Iterator[Line]:
    for column, value in design.objectives.items():
        text = interval_text(column, value, design.ends.get(column))
        line: Line = ((f"{noun(column):<{_LABEL}}", "label"), (text, "value"))
        if other is not None and column in other.objectives:
            used = sum(len(text) for text, _ in line)
            change, role = difference(value, other.objectives[column])
            line = (*line, (" " * max(_LABEL + 14 - used, 1), ""), (change, role))
        yield line
    if other is not None:
        yield (("against", "label"), (" " * (_LABEL - 7), ""), (clipped(other.name, width - _LABEL), "dim"))


def difference(value: float, other: float) -> tuple[str, str]:
    """Return how much more or less a value is than another, and whether that is good; all objectives are minimised.

    >>> difference(77.0, 100.0), difference(104.0, 100.0), difference(100.0, 100.0)
    (('-23.0 %', 'good'), ('+4.0 %', 'bad'), ('the same', 'dim'))
    """
    if not other:
        return "", "dim"
    share = value / other - 1.0
    if abs(share) < _SAME:
        return "the same", "dim"
    return f"{'+' if share > 0 else '-'}{100 * abs(share):.1f} %", "bad" if share > 0 else "good"


def _network_lines(notation: str, breakdown: Breakdown | None, width: int, *, ascii_only: bool) -> Iterator[Line]:
    from evo_libra.arrays import GIGA
    from evo_libra.network.blocks.registry import BLOCKS
    from evo_libra.network.fabric import parse_fabric

    try:
        fabric = parse_fabric(notation)
    except InputError:
        yield from _folded(notation, width)
        yield from _order_parts(None if breakdown is None else breakdown.record, width, ascii_only=ascii_only)
        return
    yield from _pairs("topology", " ".join(f"{BLOCKS[d.block].code}({d.npus})" for d in fabric.dimensions), width)
    for key, value in (*fabric.options, *([] if fabric.npu is None else [("NPU", fabric.npu)])):
        yield _pair(key, value)
    yield ()
    record = None if breakdown is None else breakdown.record
    costs = {} if record is None else {one.dimension: one.cost_usd for one in record.breakdown.dimensions}
    widest = max(((d.bandwidth or 0.0) for d in fabric.dimensions), default=0.0)
    rows = [("dim", "technology", "GB/s", "cost" if costs else "")]
    for index, d in enumerate(fabric.dimensions):
        bandwidth = "-" if d.bandwidth is None else number(d.bandwidth / GIGA)
        cost = money_text(costs[index], 3) if index in costs else ""
        rows.append((f"{index} {BLOCKS[d.block].code}({d.npus})", d.technology or "-", bandwidth, cost))
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    second = max(min(second, width - first - 2 * _NUMBER - 1), 1)
    room = min(max(width - first - second - 2 * _NUMBER - 3, 0), _BAR)
    for index, row in enumerate(rows):
        words = f"{row[0]:<{first}} {clipped(row[1], second):<{second}}{row[2]:>{_NUMBER}} "
        share = (fabric.dimensions[index - 1].bandwidth or 0.0) / widest if index and widest else 0.0
        role, drawn = "value" if index else "dim", bar(share, room, ascii_only=ascii_only)
        yield (words, role), (f"{drawn:<{room}}", "bar"), (f"{row[3]:>{_NUMBER}}", role)


def _order_parts(record: DesignRecord | None, width: int, *, ascii_only: bool) -> Iterator[Line]:
    """Yield the networks of an order, and what each section of its bill costs."""
    if record is None or not record.breakdown.order:
        return
    names = ("scale-up", "scale-out")
    yield ()
    for one in record.breakdown.dimensions:
        text = f"dim {one.dimension}, {one.technology}, {number(one.bandwidth_GBps)} GB/s per NPU"
        yield from _pairs(names[one.dimension], text, width)
    yield ()
    most = max(row.cost_usd or 0.0 for row in record.breakdown.system)
    for row in record.breakdown.system:
        yield _section(row, most, min(max(width - _LABEL - _MONEY - 1, 0), _BAR), ascii_only=ascii_only)


def _section(row: SystemRow, most: float, room: int, *, ascii_only: bool) -> Line:
    cost = row.cost_usd or 0.0
    drawn = bar(cost / most if most else 0.0, room, ascii_only=ascii_only)
    return ((f"{row.item:<{_LABEL}}", "label"), (f"{money_text(cost, 4):>{_MONEY}} ", "value"), (drawn, "bar"))


def _workload_lines(workload: WorkloadTime, width: int, *, ascii_only: bool) -> Iterator[Line]:
    size = time_unit(workload.time_ms)[1]
    head = f"{workload.name} {groups_text(workload.size)}".rstrip()
    yield (clipped(head, width - 12), "head"), (f" {time_text(workload.time_ms)}", "")
    split = {"compute": workload.compute_ms} if workload.training is None else workload.training.split_ms
    entries = [(part, time, "") for part, time in split.items()]
    for one in workload.collectives:
        where = "" if one.bottleneck_dimension is None else f"dim {one.bottleneck_dimension}"
        what = f"{one.phase.replace('_gradient', ' grad')} {one.collective.replace('_', '-')} {one.group}"
        entries.append((what, one.time_ms, where))
    longest = max(time for _, time, _ in entries)
    room = min(max(width - _MIN_NAME - _NUMBER - _WHERE, 0), _BAR)
    wide = width - room - _NUMBER - (_WHERE if width >= _WIDE else 0)
    for what, time, where in entries:
        share = time / longest if longest else 0.0
        yield (
            (f"{clipped(what, wide - 1):<{wide}}", "label"),
            (f"{cell(time / size):>{_NUMBER}}", "value"),
            (" " if room else "", ""),
            (f"{bar(share, room, ascii_only=ascii_only):<{room}}", "bar"),
            (f" {where}" if width >= _WIDE else "", "dim"),
        )


def picture_lines(breakdown: Breakdown | None, width: int, *, ascii_only: bool = False) -> list[Line]:
    """Return the picture of a design's network, as lines of `width` characters; None is a breakdown to come."""
    from evo_libra.explain.drawn_network import DrawnNetwork
    from evo_libra.pictures.networks.characters import network_lines
    from evo_libra.pictures.networks.order_characters import order_lines

    if breakdown is None or breakdown.network is None:
        return list(_folded("working out what to draw" if breakdown is None else breakdown.note, width))
    network = breakdown.network
    if not isinstance(network, DrawnNetwork):
        lines = order_lines(network, width, ascii_only=ascii_only)
        return [((line, "head" if line.startswith("[") else "value"),) for line in lines]
    lines = network_lines(network, width, ascii_only=ascii_only)
    heads = ["head", *("label" if line.startswith("dimension") else "value" for line in lines[1:])]
    return [((line, role),) for line, role in zip(lines, heads, strict=True)]


def _plan_lines(found: Alternatives, width: int, *, several: bool, batch: int | None) -> Iterator[Line]:
    """Yield what other plans would take on this network."""
    from evo_libra.explain.sheet import Table
    from evo_libra.explain.time_sheet import plan_parts

    for part in plan_parts(found, several=several, batch=batch):
        yield from _plan_table(part, width) if isinstance(part, Table) else _folded(part, width)


def _plan_table(table: Table, width: int) -> Iterator[Line]:
    rows = [row for row in table.rows if row is not None]
    wide = max((len(row[0]) for row in rows), default=0)
    yield ((clipped(f"{table.title}, slower by [%], memory [GB]", width), "dim"),)
    for change, time, slower, memory in rows:
        role = "good" if slower.startswith("-") else "bad" if slower.strip("+0.") else "dim"
        rest = clipped(f" {memory}", max(width - wide - 2 * _NUMBER, 0))
        if time == "-":
            yield ((f"{change:<{wide}}", "label"), (clipped(f" {slower}", max(width - wide, 0)), "dim"))
        else:
            yield ((f"{change:<{wide}}", "label"), (f"{time:>{_NUMBER}}", "value"), (f"{slower:>{_NUMBER}}", role),
                   (rest, "dim"))  # fmt: skip


def _pair(name: str, value: str) -> Line:
    return ((f"{name:<{_LABEL}}", "label"), (value, "value"))


def _pairs(name: str, text: str, width: int) -> Iterator[Line]:
    """Yield a name and a text, on as many lines as it needs."""
    room = max(width - _LABEL, 1)
    for line in textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]:
        yield _pair(name, line)
        name = ""


def _folded(text: str, width: int) -> Iterator[Line]:
    for line in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False):
        yield ((line, "dim"),)


def folded(lines: Sequence[str], width: int) -> list[Line]:
    """Return lines of any length as lines that fit; what goes on in the next line is indented."""
    found: list[Line] = []
    for line in lines:
        starts = range(width, len(line), width - 2)
        found += [((line[:width], ""),), *(((f"  {line[at : at + width - 2]}", ""),) for at in starts)]
    return found
