"""Differences of two designs: their networks and plans, where time and money go in each, and the sums of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap, zip_longest
from typing import NamedTuple

from evo_libra.explain.record import Breakdown, PartCost, SystemRow
from evo_libra.explain.time_record import WorkloadTime
from evo_libra.network.fabric import Fabric, parse_fabric
from evo_libra.network.orders.text import is_order

ORDER_PARTS = ("systems", "ports", "planes", "network")
"""Parts of the notation of an order; a system alone has the first of them."""
_NO_PLANES = 2
"""Parts of a network whose notation says nothing of planes, as it has one."""

REST = "overlap and rest"
"""Name of the difference between the iteration time and the sum of its parts, some of which overlap."""


@dataclass(frozen=True, kw_only=True)
class DimensionPair:
    """A dimension of two designs, and whether they differ in it."""

    dimension: int
    first: str | None
    second: str | None
    differs: bool


@dataclass(frozen=True, kw_only=True)
class WordPair:
    """The words that one of two designs has alone: of its plan, or of its options."""

    of: str
    first: str
    second: str


@dataclass(frozen=True, kw_only=True)
class TimeChange:
    """A part of the time of two designs."""

    part: str
    first_ms: float
    second_ms: float
    change_ms: float


@dataclass(frozen=True, kw_only=True)
class MoneyChange:
    """A part of the cost of two designs, with its pieces; None where prices are per bandwidth."""

    part: str
    first_usd: float
    second_usd: float
    change_usd: float
    first_pieces: float | None
    second_pieces: float | None


def network_rows(first: str, second: str) -> tuple[DimensionPair, ...]:
    """Return a row of each dimension: blocks, sizes, technologies and GB/s of both designs, and whether they differ."""
    pairs = enumerate(zip_longest(_dimensions(first), _dimensions(second)))
    return tuple(DimensionPair(dimension=place, first=a, second=b, differs=a != b) for place, (a, b) in pairs)


def _dimensions(design: str) -> list[str]:
    """Return the dimensions of a network, or the `ORDER_PARTS` of an order."""
    if is_order(design):
        systems, *network = design.partition(" | ")[0].split(" / ")
        return [systems, *(network if len(network) != _NO_PLANES else [network[0], "1 plane", network[1]])]
    return [str(dimension) for dimension in parse_fabric(design).dimensions]


def plan_words(first: str, second: str) -> tuple[WordPair, ...]:
    """Return the words of plans, options and accelerator that one of two designs has alone, of each workload.

    >>> plan_words("SW(8)@a:1 | tp8 dp4 mb1", "SW(8)@a:2 | tp4 dp8 mb1")
    (WordPair(of='plan', first='tp8 dp4', second='tp4 dp8'),)
    """
    one, two = map(_written, (first, second))
    pairs = [("options", _options(one), _options(two))]
    several = max(len(one.plans), len(two.plans)) > 1
    for place, (a, b) in enumerate(zip_longest(one.plans, two.plans, fillvalue="")):
        pairs.append((f"plan {place}" if several else "plan", a.split(), b.split()))
    return tuple(
        WordPair(of=name, first=_only(mine, other), second=_only(other, mine))
        for name, mine, other in pairs
        if mine != other
    )


def _written(design: str) -> Fabric:
    """Return options and plans of a design; an order has no options."""
    return Fabric((), plans=tuple(design.split(" | ")[1:])) if is_order(design) else parse_fabric(design)


def _options(fabric: Fabric) -> list[str]:
    return [f"{name}={value}" for name, value in fabric.options] + ([f"npu={fabric.npu}"] if fabric.npu else [])


def _only(mine: Sequence[str], other: Sequence[str]) -> str:
    return " ".join(word for word in mine if word not in other)


def time_rows(first: Breakdown, second: Breakdown) -> tuple[TimeChange, ...]:
    """Return the waterfall of the iteration time from one breakdown to another; its rows add up to both times."""
    return _times(time_parts(first), time_parts(second))


def time_parts(breakdown: Breakdown) -> dict[str, float]:
    """Return the ms of each part of the weighted iteration time; the parts add up to it."""
    several = len(breakdown.workloads) > 1
    found: dict[str, float] = {}
    for workload in breakdown.workloads:
        head = f"{workload.name}: " if several else ""
        for part in parts_of_time(workload):
            name = head + part.name
            found[name] = found.get(name, 0.0) + workload.weight * part.ms
    return found


class TimePart(NamedTuple):
    """A part of the time of a workload, with the dimension that is slowest in it."""

    name: str
    ms: float
    dimension: int | None = None


def parts_of_time(workload: WorkloadTime) -> Iterator[TimePart]:
    """Yield the parts of the time of a workload, which add up to it.

    Parts of a training step are those of its split. Others are compute, collectives by phase and group, messages, and
    what overlap saves or waiting adds.
    """
    if workload.training is not None:
        yield from starmap(TimePart, workload.training.split_ms.items())
        return
    rest = workload.time_ms - workload.compute_ms - sum(entry.time_ms for entry in workload.sent)
    yield TimePart("compute", workload.compute_ms)
    for entry in workload.sent:
        yield TimePart(entry.label, entry.time_ms, entry.bottleneck_dimension)
    if abs(rest) > _ROUNDING * workload.time_ms:
        yield TimePart(REST, rest)


_ROUNDING = 1e-9


def dimension_rows(first: Breakdown, second: Breakdown) -> tuple[TimeChange, ...]:
    """Return the ms of collectives and messages over the bandwidth of each dimension, without overlap."""
    return _times(busy_times(first), busy_times(second))


def busy_times(breakdown: Breakdown) -> dict[str, float]:
    """Return the ms in which each dimension of a breakdown is busy in an iteration, weighted; overlap is not taken out.

    Traffic in a dimension takes its bytes over the bandwidth.
    """
    found = {f"dim {one.dimension}": 0.0 for one in breakdown.dimensions}
    for workload in breakdown.workloads:
        for traffic in (traffic for entry in workload.sent for traffic in entry.dimensions):
            found[f"dim {traffic.dimension}"] += workload.weight * traffic.time_ms
    return found


def money_rows(first: Sequence[PartCost], second: Sequence[PartCost]) -> tuple[MoneyChange, ...]:
    """Return parts of two designs side by side: pieces and USD; the rows add up to both costs."""
    costs = [{row.part: row.cost_usd for row in rows} for rows in (first, second)]
    pieces = [{row.part: row.pieces for row in rows} for rows in (first, second)]
    none = 0 if all(row.pieces is not None for row in (*first, *second)) else None
    return tuple(
        MoneyChange(
            part=part,
            first_usd=mine,
            second_usd=other,
            change_usd=other - mine,
            first_pieces=pieces[0].get(part, none),
            second_pieces=pieces[1].get(part, none),
        )
        for part, mine, other in _pairs(*costs)
    )


def system_rows(first: Sequence[SystemRow], second: Sequence[SystemRow]) -> tuple[MoneyChange, ...]:
    """Return the bills of two whole systems side by side, as `money_rows`; nothing where a price lacks."""
    if not first or not second or any(row.cost_usd is None for row in (*first, *second)):
        return ()
    return money_rows(_by_item(first), _by_item(second))


def _by_item(rows: Sequence[SystemRow]) -> list[PartCost]:
    """Return the parts of a bill; several workloads may each have one with the same name."""
    found = {row.item: PartCost(part=row.item, pieces=0.0, cost_usd=0.0) for row in rows}
    for row in rows:
        part = found[row.item]
        pieces, cost = (part.pieces or 0.0) + row.pieces, part.cost_usd + (row.cost_usd or 0.0)
        found[row.item] = PartCost(part=row.item, pieces=pieces, cost_usd=cost)
    return list(found.values())


def _times(first: Mapping[str, float], second: Mapping[str, float]) -> tuple[TimeChange, ...]:
    return tuple(
        TimeChange(part=part, first_ms=mine, second_ms=other, change_ms=other - mine)
        for part, mine, other in _pairs(first, second)
    )


def _pairs(first: Mapping[str, float], second: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """Return each part with both of its values, the largest change first."""
    pairs = [(part, first.get(part, 0.0), second.get(part, 0.0)) for part in dict.fromkeys([*first, *second])]
    return sorted(pairs, key=lambda pair: -abs(pair[2] - pair[1]))
