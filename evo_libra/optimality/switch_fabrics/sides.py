"""Sides of fabrics, the links of NPUs to up to three layers of switches; layers that bounds see alike are a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.network.fabrics.parts import Limits
from evo_libra.optimality.switch_fabrics.wirings import ROUNDING, Wirings, wirings
from evo_libra.problem.switch_fabrics.bill import switch_cost
from evo_libra.problem.switch_fabrics.problem import FabricSpace

_PAIRS_AT_ONCE = 2_000_000
"""Sides that are made at a time."""


@dataclass(frozen=True)
class LayerKinds:
    """Kinds of m layers that are joined to NPUs.

    Attributes
    ----------
    bits : (m,) power of two of the switches.
    rate : (m,) B/s of the ports of an NPU to the layer.
    ports : (m,) their number.
    spare : (m,) B/s of links that a switch may have to others.
    tied : (m,) bits of an NPU beyond its server that decide about its switch, as a mask.
    cost : (m,) USD of the cables and of switches without other links.
    members : for each kind its (5, j) genes of wirings.
    """

    bits: IntArray
    rate: FloatArray
    ports: IntArray
    spare: FloatArray
    tied: IntArray
    cost: FloatArray
    members: tuple[IntArray, ...]

    def onward(self, kinds: IntArray, npus: int) -> FloatArray:
        """Return B/s of all links that layers may have to other switches, per NPU."""
        return np.asarray(self.spare[kinds] * 2.0 ** (self.bits[kinds] - npus))


def layer_kinds(space: FabricSpace) -> LayerKinds:
    """Return all kinds of layers that are joined to the NPUs of a space."""
    found = [_kinds_of(space, bits, wirings(space, 0, (space.npus, bits))) for bits in range(1, space.npus + 1)]
    rows = np.concatenate([one for one, _ in found], axis=1)
    whole = (rows[0].astype(np.int64), rows[1], rows[2].astype(np.int64), rows[3], rows[4].astype(np.int64), rows[5])
    return LayerKinds(*whole, tuple(genes for _, members in found for genes in members))


def _kinds_of(space: FabricSpace, bits: int, found: Wirings) -> tuple[FloatArray, list[IntArray]]:
    """Return (6, m) figures of the kinds of layers of one size, and the genes of each kind."""
    outside = found.tied >> space.server << space.server
    switches = switch_cost(np.full(len(found), 1 << bits), found.up, space.prices)
    spare = np.maximum(space.limits.switch_throughput - found.up, 0.0)
    spare[spare < space.limits.switch_throughput * (ROUNDING - 1.0)] = 0.0
    rows = np.stack([np.full(len(found), float(bits)), found.down, found.ports, spare, outside, found.cost + switches])
    _, first, kind = np.unique(rows, axis=1, return_index=True, return_inverse=True)
    return rows[:, first], [found.genes[:, kind.ravel() == index] for index in range(len(first))]


def sides(kinds: LayerKinds, count: int, limits: Limits, may: Callable[[IntArray], BoolArray]) -> Iterator[IntArray]:
    """Yield (count, n) kinds of `count` layers, in rising order, whose ports an NPU can have.

    Parameters
    ----------
    kinds, limits : of layers that are joined to NPUs.
    may : whether (k, n) kinds of fewer layers may be part of a side; of those that may not, none is made.
    """
    every = np.arange(len(kinds.bits))[None]
    for _ in range(count - 2):
        parts = (some[:, may(some)] for some in _more(every[:, may(every)], kinds, limits))
        every = np.concatenate([np.empty((len(every) + 1, 0), dtype=np.int64), *parts], axis=1)
    if count == 1:
        yield every
    else:
        yield from _more(every[:, may(every)], kinds, limits)


def _more(known: IntArray, kinds: LayerKinds, limits: Limits) -> Iterator[IntArray]:
    """Yield sides with one layer more, of the same kind as the last one or of a later one."""
    step = max(_PAIRS_AT_ONCE // len(kinds.bits), 1)
    for start in range(0, known.shape[1], step):
        some = known[:, start : start + step]
        place, last = np.nonzero(_fit(some, kinds, limits))
        yield np.concatenate([some[:, place], last[None]])


def _fit(some: IntArray, kinds: LayerKinds, limits: Limits) -> BoolArray:
    """Return (n, m) whether a layer of each kind may be added to sides."""
    rate = kinds.rate[some].sum(axis=0)[:, None] + kinds.rate
    ports = kinds.ports[some].sum(axis=0)[:, None] + kinds.ports
    later = np.arange(len(kinds.bits)) >= some[-1][:, None]
    return np.asarray(later & (ports <= limits.nic_ports) & (rate <= limits.npu_throughput * ROUNDING))


def members_of(side: IntArray, kinds: LayerKinds) -> IntArray:
    """Return (k, 6, n) bits and genes of all layers of a side that has (k,) kinds, each choice once."""
    counts = [range(kinds.members[kind].shape[1]) for kind in side]
    places = np.array(list(product(*counts)), dtype=np.int64).T
    for one in range(1, len(side)):
        if side[one] == side[one - 1]:
            places = places[:, places[one] >= places[one - 1]]
    rows = [kinds.members[kind][:, place] for kind, place in zip(side, places, strict=True)]
    bits = [np.full((1, places.shape[1]), kinds.bits[kind]) for kind in side]
    return np.stack([np.concatenate(pair) for pair in zip(bits, rows, strict=True)])
