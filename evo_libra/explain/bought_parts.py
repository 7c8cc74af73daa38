"""Prices that the cost of designs is made of, each with its USD of every design, so that other prices are a sum."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from evo_libra.arrays import FloatArray, Population
from evo_libra.network.bill import parts_of, pieces
from evo_libra.network.blocks import Range
from evo_libra.network.catalog.technologies import PARTS, cost_by_part
from evo_libra.network.orders.lines import Line
from evo_libra.problem.figures import Figures
from evo_libra.problem.orders import NETWORK, SYSTEMS, OrderBook
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.pricing.per_bandwidth import PerBandwidth
from evo_libra.problem.problem import Problem

Where = Literal["network", "npus", "around"]
"""The figure that a price is in: `Figures.cost`, `npu_price` or `around_cost`."""

_GROUPS = ("systems", "nics", "switches", "cables", "modules", "ocs")
CERTAIN = Range(1.0, 1.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class BoughtPart:
    """The price of a part, a product, an accelerator, or of bandwidth of a technology.

    Attributes
    ----------
    name : of it; `kinds` : names of groups that it is in.
    where : the figure that it is in.
    usd : (n,) of each design at the stated price.
    factors : the range of its price over the stated one.
    piece_usd : the stated price of a piece; None where that is no price of a piece.
    """

    name: str
    kinds: tuple[str, ...]
    where: Where
    usd: FloatArray
    factors: Range = CERTAIN
    piece_usd: float | None = None


def bought_parts(problem: Problem, designs: Population) -> tuple[BoughtPart, ...]:
    """Return the prices that costs of designs are made of; their USD add up to the figures of `Problem.measure`."""
    if problem.book is not None:
        found = _of_orders(problem.book, designs)
    else:
        found = [*_of_networks(problem, designs), *_of_npus(problem, designs), *_around(problem, designs)]
    return tuple(part for part in found if part.usd.any())


def with_factors(figures: Figures, parts: Sequence[BoughtPart], factors: FloatArray) -> Figures:
    """Return figures at (part, s) factors on prices: costs of (s, n) designs, whose other figures stay."""
    change = {where: np.zeros((factors.shape[1], figures.cost.shape[-1])) for where in ("network", "npus", "around")}
    for part, factor in zip(parts, factors, strict=True):
        change[part.where] += (factor - 1.0)[:, None] * part.usd
    price = figures.npu_price
    around = figures.around_cost
    return replace(
        figures, cost=figures.cost + change["network"],
        npu_price=None if price is None else price + change["npus"] / figures.bought_npus,
        around_cost=None if around is None else around + change["around"],
    )  # fmt: skip


def _of_orders(book: OrderBook, designs: Population) -> list[BoughtPart]:
    places = book.place(designs).tolist()
    usd: defaultdict[tuple[str, Where], FloatArray] = defaultdict(lambda: np.zeros(len(places)))
    lines: dict[tuple[str, Where], Line] = {}
    for n, place in enumerate(places):
        for line in book.bills[place].lines:
            key = _name(line), _where(line)
            usd[key][n] += line.cents()[1] / _CENTS
            lines.setdefault(key, line)
    groups = {name: group for group in _GROUPS for name in getattr(book.products, group)}
    return [
        BoughtPart(
            name=name, kinds=_kinds(lines[name, where], groups), where=where, usd=values,
            factors=factors_of(lines[name, where].usd), piece_usd=_usd_of_piece(lines[name, where]),
        )
        for (name, where), values in usd.items()
    ]  # fmt: skip


_CENTS = 100.0


def _name(line: Line) -> str:
    return f"{line.product} licence" if line.section == "licences" else line.product


def _where(line: Line) -> Where:
    return "network" if line.section == NETWORK else "npus" if line.section == SYSTEMS else "around"


def _kinds(line: Line, groups: Mapping[str, str]) -> tuple[str, ...]:
    group = groups.get(line.product)
    known = () if group is None or line.section == "licences" else (group,)
    return tuple(dict.fromkeys((*known, line.section)))


def _usd_of_piece(line: Line) -> float | None:
    return None if line.usd is None or line.parts != 1 else line.usd.value


def _of_networks(problem: Problem, designs: Population) -> Iterator[BoughtPart]:
    pricing = problem.pricing
    if isinstance(pricing, PerBandwidth):
        yield from _per_bandwidth(problem, pricing, designs)
        return
    assert isinstance(pricing, BillOfMaterials), "there is no other pricing"  # noqa: S101 - internal error
    parts = parts_of(pricing.kits)
    counts = pieces(pricing.items(designs), pricing.kits, designs.technology, list(parts))
    counts = counts * problem.evaluator.of_spares(designs)
    for part, count in zip(parts.values(), counts, strict=True):
        yield BoughtPart(
            name=part.name, kinds=(part.kind, "network"), where="network", usd=count * part.price.value,
            factors=factors_of(part.price), piece_usd=part.price.value,
        )  # fmt: skip


def _per_bandwidth(problem: Problem, pricing: PerBandwidth, designs: Population) -> Iterator[BoughtPart]:
    usd = cost_by_part(designs, pricing.part_prices) * (designs.npus > 1)
    for t, technology in enumerate(problem.catalog.technologies):
        mine = np.where(designs.technology == t, usd, 0.0).sum(axis=1)
        for part, values in zip(PARTS, mine, strict=True):
            yield BoughtPart(
                name=f"{technology.name} {part}", kinds=(technology.name, part, "network"), where="network", usd=values
            )


def _of_npus(problem: Problem, designs: Population) -> Iterator[BoughtPart]:
    npu = problem.sources.npu
    if npu.price is None:
        return
    place = np.broadcast_to(npu.place(designs.technology), (len(designs),))
    bought = designs.npus.prod(axis=0) + (0 if designs.spares is None else designs.spares)
    for number, (name, usd) in enumerate(zip(npu.names, npu.price.tolist(), strict=True)):
        known = npu.ranges[number] if npu.ranges else None
        yield BoughtPart(
            name=name, kinds=("npus",), where="npus", usd=np.where(place == number, bought * usd, 0.0),
            factors=factors_of(known), piece_usd=usd,
        )  # fmt: skip


def _around(problem: Problem, designs: Population) -> Iterator[BoughtPart]:
    for row in problem.sources.system.rows:
        if row.price is not None:
            yield BoughtPart(
                name=row.name, kinds=("around", row.key), where="around", usd=row.pieces(designs) * row.price.value,
                factors=factors_of(row.price), piece_usd=row.price.value,
            )  # fmt: skip


def factors_of(price: Range | None) -> Range:
    """Return the range of a price over the stated one.

    >>> factors_of(Range(20.0, 30.0, 45.0)).high
    1.5
    """
    if price is None or not price.value:
        return CERTAIN
    return Range(price.low / price.value, 1.0, price.high / price.value)
