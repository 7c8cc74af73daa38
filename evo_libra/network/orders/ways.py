"""Links of one kind by their lengths, and those that end at each switch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.network.orders.runs import Place, Tier

Counts = tuple[tuple[float, int], ...]
"""Lengths of cables, the shortest first, each with its number of links."""


@dataclass(frozen=True)
class Ways:
    """Links of one kind.

    Attributes
    ----------
    tier : what they are links of.
    together : links between switches that always join the same two; 0 of those to NPUs.
    links : their number by metres.
    ends : where switches are, the links at one of them by metres, and at how many switches it is so.
    """

    tier: Tier
    together: int
    links: Counts
    ends: tuple[tuple[Place, Counts, int], ...]

    @cached_property
    def totals(self) -> tuple[tuple[Place, int, int], ...]:
        """The links of all lengths at a switch of each place, and at how many switches it is so."""
        found: Counter[tuple[Place, int]] = Counter()
        for place, ends, switches in self.ends:
            found[place, sum(some for _, some in ends)] += switches
        return tuple((place, links, switches) for (place, links), switches in found.items())


@dataclass(frozen=True)
class Side:
    """The switches at one end of some links; several are alike.

    Attributes
    ----------
    switch : (k n,) the kind of switch that each of the (n,) links ends at, k times over where both ends are of a tier.
    alike : (m,) switches of each kind.
    links : (k n,) links that each of these has of it.
    """

    place: Place
    switch: IntArray
    alike: IntArray
    links: IntArray


def counted_ways(tier: Tier, together: int, metres: IntArray, links: IntArray, sides: tuple[Side, ...]) -> Ways:
    """Return links of some (n,) lengths and numbers, which end at the switches of each side."""
    total = np.bincount(metres, weights=links).astype(np.int64)
    lengths = np.flatnonzero(total)
    place = np.searchsorted(lengths, metres)
    ends = tuple(end for side in sides for end in _ends(side, lengths, place))
    return Ways(tier, together, _counts(lengths, total[lengths]), ends)


def _ends(side: Side, lengths: IntArray, place: IntArray) -> Iterator[tuple[Place, Counts, int]]:
    """Yield the links by length at switches that have the same, and how many do; (n,) place: of each among lengths."""
    wide, number = len(lengths), len(side.alike)
    cell = side.switch * wide + np.tile(place, len(side.switch) // len(place))
    at = np.bincount(cell, weights=side.links, minlength=number * wide).astype(np.int64).reshape(number, wide)
    # Equal rows are next to each other; np.unique would sort them several times slower.
    at, alike = at[order := np.lexsort(at.T)], side.alike[order]
    first = np.flatnonzero(np.concatenate(([True], (at[1:] != at[:-1]).any(axis=1))))
    for some, switches in zip(at[first], np.add.reduceat(alike, first).tolist(), strict=True):
        yield side.place, _counts(lengths, some), switches


def _counts(metres: IntArray, links: IntArray) -> Counts:
    """Return the lengths that some links have, with their number."""
    return tuple((length, some) for length, some in zip(metres.tolist(), links.tolist(), strict=True) if some)
