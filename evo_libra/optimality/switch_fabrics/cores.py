"""Links between switches that a side of a fabric may have: what they cost, and what bytes they leave room for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.fabrics.bits import LAYERS, LOWER, UPPER
from evo_libra.optimality.switch_fabrics.sides import LayerKinds
from evo_libra.optimality.switch_fabrics.wirings import ROUNDING, wirings
from evo_libra.problem.switch_fabrics.bill import switch_cost
from evo_libra.problem.switch_fabrics.problem import FabricSpace

_PAIRS = (3, 4, 5)
"""Pairs of layers of switches, in `evo_libra.network.fabrics.bits.LOWER`."""


@dataclass(frozen=True)
class Links:
    """Links of two layers of switches that are alike in bounds: B/s of a node at either end, USD, and genes of each."""

    down: float
    up: float
    cost: float
    members: IntArray


@dataclass(frozen=True)
class Layer:
    """A layer of switches: its kind, or -1 without links to NPUs; its size; B/s of a switch in use, and free."""

    kind: int
    bits: int
    used: float
    free: float


@dataclass(frozen=True)
class Fabric:
    """Kinds of links of a fabric.

    Attributes
    ----------
    layers : of switches, in the order of their numbers.
    links : of pairs of these layers, by their place in `evo_libra.network.fabrics.bits.LOWER`.
    cost : USD of the switches and of all links.
    """

    layers: tuple[Layer, ...]
    links: tuple[tuple[int, Links], ...]
    cost: float

    @property
    def designs(self) -> int:
        """Fabrics that have these kinds of links between switches, for each choice of links of NPUs."""
        count = 1
        for _, one in self.links:
            count *= one.members.shape[1]
        return count

    def members(self) -> Iterator[tuple[tuple[int, IntArray], ...]]:
        """Yield for each choice of links between switches the pairs of layers with their genes."""
        pairs = [pair for pair, _ in self.links]
        for genes in product(*(one.members.T for _, one in self.links)):
            yield tuple(zip(pairs, genes, strict=True))


@dataclass(frozen=True)
class Cores:
    """All links between layers of switches of a space."""

    space: FabricSpace
    kinds: LayerKinds

    @cached_property
    def _tables(self) -> dict[tuple[int, int], list[Links]]:
        every = range(1, self.space.npus + 1)
        return {(lower, upper): self._links(lower, upper) for lower in every for upper in every}

    def _links(self, lower: int, upper: int) -> list[Links]:
        """Return kinds of links of layers of given sizes, the cheapest ones first."""
        found = wirings(self.space, _PAIRS[0], (lower, upper))
        _, kind = np.unique(np.stack([found.cost, found.down, found.up]), axis=1, return_inverse=True)
        groups = [np.flatnonzero(kind.ravel() == index) for index in range(int(kind.max(initial=-1)) + 1)]
        return [
            Links(float(found.down[one[0]]), float(found.up[one[0]]), float(found.cost[one[0]]), found.genes[:, one])
            for one in groups
        ]

    @cached_property
    def _cheapest(self) -> FloatArray:
        """(bits, bits) USD of the cheapest links of two layers, in either order."""
        sizes = self.space.npus + 1
        found = np.full((sizes, sizes), np.inf)
        for (lower, upper), links in self._tables.items():
            cost = min((one.cost for one in links), default=np.inf)
            found[lower, upper], found[upper, lower] = (min(found[at], cost) for at in ((lower, upper), (upper, lower)))
        return found

    def cheapest(self, side: IntArray) -> FloatArray:
        """Return (n,) USD that links between switches add to (k, n) kinds of layers at least; infinite without room."""
        bits, room = self.kinds.bits[side], self.kinds.spare[side] > 0.0
        cores = np.array([self._switches(1 << core, 0.0) for core in range(self.space.npus + 1)])
        to_core = (self._cheapest + cores).min(axis=1) if len(side) < LAYERS - 1 else np.full(len(cores), np.inf)
        found = [np.where(room[one], to_core[bits[one]], np.inf) for one in range(len(side))]
        found += [
            np.where(room[one] & room[other], self._cheapest[bits[one], bits[other]], np.inf)
            for one, other in combinations(range(len(side)), 2)
        ]
        return np.asarray(np.min(found, axis=0))

    def _switches(self, count: int, throughput: float) -> float:
        return float(switch_cost(np.array([count]), np.array([throughput]), self.space.prices)[0])

    def of_side(self, side: IntArray, cost: float, budget: float, fits: Callable[[Fabric], bool]) -> Iterator[Fabric]:
        """Yield all kinds of links between switches of a side, but for those that a test or the budget excludes.

        Parameters
        ----------
        side : (k,) kinds of layers.
        cost : USD of the side.
        budget : USD that no fabric may cost.
        fits : whether a fabric whose links are all chosen may be of use.
        """
        limit = self.space.limits.switch_throughput
        own = [
            Layer(
                int(kind),
                int(self.kinds.bits[kind]),
                limit - float(self.kinds.spare[kind]),
                float(self.kinds.spare[kind]),
            )
            for kind in side
        ]
        for count in range(LAYERS - len(side)):
            for sizes in combinations_with_replacement(range(1, self.space.npus + 1), count):
                whole = cost + sum(self._switches(1 << size, 0.0) for size in sizes)
                if whole < budget:
                    layers = [*own, *(Layer(-1, size, 0.0, limit) for size in sizes)]
                    for order in dict.fromkeys(permutations(layers)):
                        yield from self._joined(Fabric(order, (), whole), 0, budget, fits)

    def _joined(self, known: Fabric, place: int, budget: float, fits: Callable[[Fabric], bool]) -> Iterator[Fabric]:
        """Yield fabrics with all links of the pairs of layers from a place on."""
        if place == len(_PAIRS):
            if known.links and _is_whole(known):
                found = self._with_larger_switches(known)
                if found.cost < budget and fits(found):
                    yield found
            return
        if not fits(_filled(known, place)):
            return
        yield from self._joined(known, place + 1, budget, fits)
        pair = _PAIRS[place]
        lower, upper = LOWER[pair] - 1, UPPER[pair] - 1
        if upper < len(known.layers):
            ends = known.layers[lower], known.layers[upper]
            for links in self._tables[ends[0].bits, ends[1].bits]:
                if known.cost + links.cost >= budget:
                    break
                if links.down <= ends[0].free * ROUNDING and links.up <= ends[1].free * ROUNDING:
                    yield from self._joined(_with(known, pair, links), place + 1, budget, fits)

    def _with_larger_switches(self, known: Fabric) -> Fabric:
        """Return a fabric whose switches are priced by all of their links."""
        more = 0.0
        for layer in known.layers:
            at_first = (
                0.0 if layer.kind < 0 else self.space.limits.switch_throughput - float(self.kinds.spare[layer.kind])
            )
            more += self._switches(1 << layer.bits, layer.used) - self._switches(1 << layer.bits, at_first)
        return replace(known, cost=known.cost + more)


def _with(known: Fabric, pair: int, links: Links) -> Fabric:
    """Return a fabric with links of one pair of layers more."""
    layers = list(known.layers)
    for place, rate in ((LOWER[pair] - 1, links.down), (UPPER[pair] - 1, links.up)):
        one = layers[place]
        layers[place] = replace(one, used=one.used + rate, free=one.free - rate)
    return Fabric(tuple(layers), (*known.links, (pair, links)), known.cost + links.cost)


def _filled(known: Fabric, place: int) -> Fabric:
    """Return a fabric that uses all that is free of layers which may have links of the pairs from a place on."""
    open_layers = {
        end - 1 for pair in _PAIRS[place:] for end in (LOWER[pair], UPPER[pair]) if UPPER[pair] <= len(known.layers)
    }
    layers = (
        replace(layer, used=layer.used + layer.free) if index in open_layers else layer
        for index, layer in enumerate(known.layers)
    )
    return replace(known, layers=tuple(layers))


def _is_whole(known: Fabric) -> bool:
    """Return whether every layer has a way to the NPUs."""
    reached = {place for place, layer in enumerate(known.layers) if layer.kind >= 0}
    for _ in known.layers:
        for pair, _ in known.links:
            ends = {LOWER[pair] - 1, UPPER[pair] - 1}
            reached |= ends if ends & reached else set()
    return len(reached) == len(known.layers)
