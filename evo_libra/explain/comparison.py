"""The record of two designs side by side, and its sections: what differs, where time and money go, who wins when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evo_libra.explain.as_json import INLINE
from evo_libra.explain.break_even import MAX_PRICE_FACTOR, BreakEven, bandwidth_crossings, price_crossings
from evo_libra.explain.difference import (
    ORDER_PARTS,
    DimensionPair,
    MoneyChange,
    TimeChange,
    WordPair,
    dimension_rows,
    money_rows,
    network_rows,
    plan_words,
    system_rows,
    time_rows,
)
from evo_libra.explain.labels import percent
from evo_libra.explain.parts_list import parts_list
from evo_libra.explain.reasons import compared_with, equal_text
from evo_libra.explain.record import DesignRecord
from evo_libra.explain.sheet import Row, Section, Table, section
from evo_libra.network.orders.text import is_order
from evo_libra.network.transport import approximation
from evo_libra.problem.bands import are_equal
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import TIME
from evo_libra.quantities import money_unit, number, time_unit

_SMALL = 5e-4
"""The part of a time or of a cost up to which a change is not shown."""


@dataclass(frozen=True, kw_only=True)
class Named:
    """A design with its name and its figures by column."""

    name: str
    design: str
    figures: Mapping[str, float] = field(metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class OtherBatch:
    """The times of two designs at another batch of all workloads, set by keys of the file; or why there are none."""

    factor: float
    set: tuple[str, ...]
    first_ms: float | None
    second_ms: float | None
    why_not: str


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two designs side by side.

    Attributes
    ----------
    busy : time over bandwidth by dimension, without overlap.
    prices, bandwidths : changes at which the designs are equal; they name the designs 1 and 2.
    of_two_problems : their times and costs answer two questions, and there are no such changes.
    equal_in_time : whether their bands leave open which one is faster; reasons that both share cancel.
    """

    first: Named
    second: Named
    second_is: str
    approximation: str = ""
    network: tuple[DimensionPair, ...]
    plan: tuple[WordPair, ...]
    time: tuple[TimeChange, ...]
    busy: tuple[TimeChange, ...]
    money: tuple[MoneyChange, ...]
    system: tuple[MoneyChange, ...]
    prices: tuple[BreakEven, ...]
    bandwidths: tuple[BreakEven, ...]
    batches: tuple[OtherBatch, ...]
    of_two_problems: bool
    equal_in_time: bool = False


def comparison(
    records: tuple[DesignRecord, DesignRecord],
    problems: tuple[Problem, Problem],
    batches: Sequence[OtherBatch] = (),
) -> Comparison:
    """Return two designs side by side, each with its problem."""
    one, two = records
    designs = [problem.read(record.design) for problem, record in zip(problems, records, strict=True)]
    parts = [parts_list(problem, design) for problem, design in zip(problems, designs, strict=True)]
    same = problems[0].identity() == problems[1].identity()
    both = problems[0].read([one.design, two.design]) if same else None
    costs = [{row.part: row.cost_usd for row in rows} for rows in parts] if same else []
    shared = [column for column in one.figures if column in two.figures]
    mine, other = ({column: each.figures[column] for column in shared} for each in records)
    return Comparison(
        first=Named(name=one.title, design=one.design, figures=one.figures),
        second=Named(name=two.title, design=two.design, figures=two.figures),
        second_is=compared_with(other, mine),
        approximation=approximation([one.design, two.design]).get("approximation", ""),
        network=network_rows(one.design, two.design),
        plan=plan_words(one.design, two.design),
        time=time_rows(one.breakdown, two.breakdown),
        busy=dimension_rows(one.breakdown, two.breakdown),
        money=money_rows(parts[0], parts[1]),
        system=system_rows(one.breakdown.system, two.breakdown.system),
        prices=_from_one(price_crossings(*costs)) if same else (),
        bandwidths=() if both is None else _from_one(bandwidth_crossings(problems[0], both)),
        batches=tuple(batches) if same else (),
        of_two_problems=not same,
        equal_in_time=same and _equal_in_time(one, two),
    )


def _equal_in_time(one: DesignRecord, two: DesignRecord) -> bool:
    """Return whether bands leave open which of two designs of one problem is faster."""
    mine, other = (record.bands[TIME.column].reasons if TIME.column in record.bands else () for record in (one, two))
    return are_equal(one.time_ms / two.time_ms, mine, other)


def _from_one(found: Sequence[BreakEven]) -> tuple[BreakEven, ...]:
    """Return crossings that count the two designs from 1, as people do."""
    return tuple(replace(one, below=one.below + 1, above=one.above + 1) for one in found)


def compared(found: Comparison) -> list[Section]:
    """Return what two designs differ in, where time and money go, and which of them wins under which change."""
    time, cost = found.first.figures["time_ms"], _cost(found.first.figures)
    whole = sum(row.first_usd for row in found.system)
    system = [_money_table("where the money of the whole system goes", found.system, whole)] if found.system else ()
    equal = equal_text(TIME.column, equal=found.equal_in_time)
    names = (f"first   {found.first.name}", f"second  {found.second.name}: {found.second_is}{equal}")
    return [
        section("", names, found.approximation, _differing(found)),
        section("", _time_table("where the time goes", found.time, time, total=True)),
        section("", _time_table("busy time over bandwidth, overlap not taken out", found.busy, time, total=False)),
        section("", _money_table("where the money goes", found.money, cost), system),
        section("which one wins when", winners(found)),
    ]


def _differing(found: Comparison) -> Table | str:
    names = ORDER_PARTS if is_order(found.first.design) else [f"dim {row.dimension}" for row in found.network]
    rows = [(names[row.dimension], row.first or "-", row.second or "-") for row in found.network if row.differs]
    rows += [(row.of, row.first or "-", row.second or "-") for row in found.plan]
    if not rows:
        return "network and plan are the same"
    columns = ("", "first", "second")
    return Table(title="what differs", columns=columns, rows=tuple(rows), words=("",), folds=("first", "second"))


def _time_table(title: str, rows: Sequence[TimeChange], whole: float, *, total: bool) -> Table:
    unit, size = time_unit(whole)
    changes = [(row.part, row.first_ms / size, row.second_ms / size) for row in rows]
    return _changes_table(f"{title} [{unit}]", changes, whole / size, total=total)


def _money_table(title: str, rows: Sequence[MoneyChange], whole: float) -> Table:
    unit, size = money_unit(whole)
    changes = [(row.part, row.first_usd / size, row.second_usd / size) for row in rows]
    return _changes_table(f"{title} [{unit}]", changes, whole / size, total=True)


def _changes_table(title: str, changes: Sequence[tuple[str, float, float]], whole: float, *, total: bool) -> Table:
    """Return parts side by side, with their sum; changes that are too small are summed up."""
    shown = [one for one in changes if max(abs(one[1]), abs(one[2])) > _SMALL * whole]
    rest = [one for one in changes if one not in shown]
    rows: list[Row | None] = [_change_row(*one) for one in shown]
    if rest:
        rows.append(_change_row("others", sum(one[1] for one in rest), sum(one[2] for one in rest)))
    if total:
        rows += [None, _change_row("total", sum(one[1] for one in changes), sum(one[2] for one in changes))]
    columns = ("part", "first", "second", "change")
    return Table(title=title, columns=columns, rows=tuple(rows), folds=("part",))


def _change_row(part: str, first: float, second: float) -> Row:
    change = second - first
    return part, number(first), number(second), f"{'+' if change > 0 else ''}{number(change)}"


_NAMES = ("", "the first", "the second")


def winners(found: Comparison) -> Iterator[str]:
    """Yield which design wins under which change, a sentence each."""
    if found.of_two_problems:
        yield "They are designs of two problems: their times and costs do not answer one question."
        return
    first, second = found.first.figures, found.second.figures
    cheaper = _NAMES[1 if _cost(first) < _cost(second) else 2].capitalize()
    near = [one for one in found.prices if 1 / MAX_PRICE_FACTOR <= one.factor <= MAX_PRICE_FACTOR]
    yield from map(_price_text, near)
    if not found.prices:
        yield f"{cheaper} stays cheaper, whatever any single part costs."
    elif not near:
        yield f"{cheaper} stays cheaper when the price of any single part is a tenth to ten times today's."
    yield from map(_bandwidth_text, found.bandwidths)
    if not found.bandwidths:
        gap = second["time_ms"] - first["time_ms"]
        stays = f"{_NAMES[1 if gap > 0 else 2].capitalize()} stays faster" if gap else "Both stay as fast"
        yield f"{stays} when the bandwidth of any one technology is a quarter to four times today's."
    yield from map(_batch_text, found.batches)


def _cost(figures: Mapping[str, float]) -> float:
    """Return USD of a network, or of a whole order."""
    return figures.get("order_cost_usd", figures.get("cost_usd", 0.0))


def _price_text(one: BreakEven) -> str:
    winner, side = (one.below, "less") if one.factor < 1 else (one.above, "more")
    price = f"costs {side} than {percent(one.factor)} times its price"
    return f"{_NAMES[winner].capitalize()} is cheaper where {one.of} {price}."


def _bandwidth_text(one: BreakEven) -> str:
    below, above = _NAMES[one.below].capitalize(), _NAMES[one.above]
    return f"{below} is faster below {percent(one.factor)} times the bandwidth of {one.of}, {above} above."


def _batch_text(one: OtherBatch) -> str:
    what = f"At {one.factor:g} times the batch"
    if one.first_ms is None or one.second_ms is None:
        return f"{what} they cannot be compared: {one.why_not}"
    gain = 100.0 * (1.0 - min(one.first_ms, one.second_ms) / max(one.first_ms, one.second_ms))
    if gain < _SMALL:
        return f"{what} they are as fast as each other."
    return f"{what} {'the first' if one.first_ms < one.second_ms else 'the second'} is {percent(gain)} % faster."
