"""Shares of the wire that switches of orders may reach, and the times at the ends of these ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.explain.verdict_basis import Basis
from evo_libra.network.blocks import Range
from evo_libra.network.orders.nic_options import reached
from evo_libra.problem.orders import OrderBook


@dataclass(frozen=True)
class WireRange:
    """A switch whose part of the wire has a range.

    Attributes
    ----------
    switch : its name; `stated` : the part that it reaches here.
    ends : the range, as factors on it.
    slower : returns the (n,) factors on the times of designs at a factor.
    """

    switch: str
    stated: float
    ends: Range
    slower: Callable[[float], FloatArray]


def wire_ranges(basis: Basis) -> Iterator[WireRange]:
    """Yield the switches of the orders of a front whose part of the wire has a range."""
    problem, book = basis.problem, basis.problem.book
    if book is None or problem.time.efficiency is None:
        return
    places = book.place(basis.designs)
    groups: dict[tuple[str, float, float, float], list[int]] = {}
    for place in np.unique(places).tolist():
        for key in _range_of(book, place):
            groups.setdefault(key, []).append(place)
    for (switch, stated, low, high), mine in groups.items():
        technologies = book.technology[np.array(mine)]
        ends = Range(low / stated, 1.0, high / stated)
        times = [_times(basis, technologies, factor) for factor in (ends.low, 1.0, ends.high)]
        yield WireRange(switch, stated, ends, _between(stated, ends, times))


def _range_of(book: OrderBook, place: int) -> Iterator[tuple[str, float, float, float]]:
    order = book.orders[place]
    if order.count == 1 or order.switch is None:
        return
    spec = reached(order, book.products)
    if spec.efficiency_range is not None:
        yield order.switch, spec.efficiency, *spec.efficiency_range


def _times(basis: Basis, technologies: IntArray, factor: float) -> FloatArray:
    """Return the (n,) times where some scale-out networks reach a multiple of what they do."""
    time = basis.problem.time.with_efficiency(technologies, factor)
    return replace(basis.problem, time=time).measure(basis.designs).time


def _between(stated_share: float, ends: Range, times: list[FloatArray]) -> Callable[[float], FloatArray]:
    """Return the factors on times at a factor: what moves takes a time in inverse proportion, from end to end.

    A switch reaches all of the wire at most.
    """
    low, stated, high = times

    def slower(factor: float) -> FloatArray:
        factor = min(factor, 1.0 / stated_share)
        end, there = (ends.low, low) if factor < 1.0 else (ends.high, high)
        moved = 0.0 if end == 1.0 else (1.0 / factor - 1.0) / (1.0 / end - 1.0)
        return np.asarray(np.maximum(1.0 + (there / stated - 1.0) * moved, 1e-9))

    return slower
