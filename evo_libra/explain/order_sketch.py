"""A sketch of an order: a few boxes for each tier, and lines between those that links join.

The first devices and the last ones of a network are drawn, those between them are not. Of planes and of rails that
nothing joins, the first is drawn. Widths are in slots; a row has `SLOTS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.network.orders.wiring import Groups, Wires

SLOTS = 9
_HALF = SLOTS // 2


@dataclass(frozen=True)
class Box:
    """Devices that one box stands for, from 1; first: 0 where some are left out. It begins at a slot."""

    first: int
    last: int
    slot: float
    slots: float = 1.0


@dataclass(frozen=True)
class Sketch:
    """Rows of boxes from the systems up, and of each tier the boxes below and above that links join, from 0.

    arcs : pairs of boxes of the highest row that links join, from 0.
    """

    rows: tuple[tuple[Box, ...], ...]
    lines: tuple[tuple[tuple[int, int], ...], ...]
    arcs: tuple[tuple[int, int], ...] = ()


def sketch_of(count: int, wires: Sequence[Wires], groups: Groups) -> Sketch:
    """Return the sketch of a number of systems with their links."""
    if not wires:
        return Sketch((tuple(_boxes(range(count), 0, SLOTS)),), ())
    sides = _sides(-(-count // groups.systems), groups.leaves)
    systems, leaves = _lowest(sides, groups, count)
    if groups.systems >= count:
        systems = tuple(_boxes(range(count), 0, SLOTS))
    if wires[0].tier == "switch":
        arcs = {pair for one in wires[1:] for pair in _lines(one, leaves, leaves)}
        return Sketch((systems, leaves), (_lines(wires[0], systems, leaves),), tuple(sorted(arcs)))
    rows = [systems, leaves]
    below = [np.concatenate([_members(group, groups.leaves) for group in side]) for side in sides]
    for tier in wires[1:]:
        below = _above(tier, below)
        rows.append(tuple(_row(below)))
    lines = (_lines(tier, rows[place], rows[place + 1]) for place, tier in enumerate(wires))
    return Sketch(tuple(rows), tuple(lines))


def _sides(groups: int, leaves: int) -> list[list[int]]:
    """Return the groups to draw: all, or the first and the last ones.

    >>> _sides(4, 1), _sides(103, 1), _sides(32, 8)
    ([[0, 1, 2, 3]], [[0, 1, 2, 3], [99, 100, 101, 102]], [[0], [31]])
    """
    if groups == 1 or groups * leaves <= SLOTS:
        return [list(range(groups))]
    shown = max(_HALF // leaves, 1)
    return [list(range(shown)), list(range(groups - shown, groups))]


def _members(group: int, size: int) -> IntArray:
    return np.arange(group * size, (group + 1) * size)


def _lowest(sides: list[list[int]], groups: Groups, count: int) -> tuple[tuple[Box, ...], tuple[Box, ...]]:
    """Return the boxes of systems, each as wide as the leaves that they share, and those of leaves."""
    room = SLOTS if len(sides) == 1 else _HALF
    each = min(groups.leaves, room)
    slot = (SLOTS - each * len(sides[0])) / 2 if len(sides) == 1 else 0.0
    systems: list[Box] = []
    leaves: list[Box] = []
    for side in sides:
        if systems:
            slot = float(SLOTS - each * len(side))
            systems.append(Box(0, 0, _HALF))
            leaves.append(Box(0, 0, _HALF))
        for group in side:
            first = group * groups.systems
            systems.append(Box(first + 1, min(first + groups.systems, count), slot, each))
            leaves += _boxes(range(group * groups.leaves, (group + 1) * groups.leaves), slot, each)
            slot += each
    return tuple(systems), tuple(leaves)


def _above(tier: Wires, below: Sequence[IntArray]) -> list[IntArray]:
    """Return the switches above those of each side; sides that share them are one."""
    found = [np.unique(tier.upper[np.isin(tier.lower, some)]) for some in below]
    if len(found) > 1 and np.isin(found[0], found[1]).any():
        return [np.unique(np.concatenate(found))]
    return found


def _row(sides: Sequence[IntArray]) -> Iterator[Box]:
    if len(sides) == 1:
        yield from _boxes(sides[0].tolist(), 0, SLOTS)
        return
    yield from _boxes(sides[0].tolist(), 0, _HALF)
    yield Box(0, 0, _HALF)
    yield from _boxes(sides[1].tolist(), _HALF + 1, _HALF)


def _boxes(devices: Sequence[int], slot: float, slots: int) -> Iterator[Box]:
    """Yield a box for each device, in the middle of some slots, or the first ones and the last where they are more."""
    numbers = [device + 1 for device in devices]
    if len(numbers) > slots:
        numbers = [*numbers[: slots - 2], 0, numbers[-1]]
    begin = slot + (slots - len(numbers)) / 2
    for place, number in enumerate(numbers):
        yield Box(number, number, begin + place)


def _lines(tier: Wires, below: Sequence[Box], above: Sequence[Box]) -> tuple[tuple[int, int], ...]:
    pairs = {*zip((tier.lower + 1).tolist(), (tier.upper + 1).tolist(), strict=True)}
    return tuple(
        (one, other)
        for one, low in enumerate(below) for other, up in enumerate(above)
        if low.first and up.first and any((device, up.first) in pairs for device in range(low.first, low.last + 1))
    )  # fmt: skip
