"""All partitions of a network that a search chooses from: the best owners for any prices of copies.

Neurons are moved for a ladder of prices. For any other prices the best of the owners found is taken. So the choice
minimises loss over a fixed set of owners, and a higher price of all copies never sends more of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.plugins.repurpose.assignment import capacities
from evo_libra.plugins.repurpose.baselines import contiguous, direct
from evo_libra.plugins.repurpose.copies import Copies, LayerEnergy, Owners, copies_of, energies_of
from evo_libra.plugins.repurpose.partition import LayerPartition, Partition
from evo_libra.plugins.repurpose.perceptron import Perceptron
from evo_libra.plugins.repurpose.restructure import Room, first_owners, improved

_RUNGS = 16
_FLOOR = 1e-8
_KEPT_BYTES = 2**28


@dataclass(frozen=True)
class Choice:
    """Owners (n,) by their number, and (layers, n) copies that are dropped, those with the least energy first."""

    owners: IntArray
    dropped: IntArray


@dataclass(frozen=True, eq=False)
class Family:
    """The partitions of a network among some workers.

    Attributes
    ----------
    inputs : the (inputs,) worker of each input.
    shares : (workers,) relative speed of the workers, by which they get neurons.
    slacks : how much more than its part of a layer's neurons a worker may have, ascending.
    """

    network: Perceptron
    inputs: IntArray
    shares: FloatArray
    slacks: tuple[float, ...]

    @cached_property
    def energies(self) -> tuple[LayerEnergy, ...]:
        """Energies of the layers."""
        return energies_of(self.network)

    @cached_property
    def prices(self) -> tuple[float, float]:
        """Lowest and highest price of a copy that makes sense; from the highest on nothing is sent."""
        highest = max(float(layer.weights.sum(axis=0).max()) for layer in self.energies) * (1.0 + 1e-6)
        return _FLOOR * highest, highest

    @cached_property
    def owners(self) -> tuple[tuple[Owners, ...], IntArray]:
        """All owners that were found, and (slacks,) how many of them keep each slack: those at the front."""
        found: dict[bytes, Owners] = {}
        count = []
        first = contiguous(self.network, self.inputs, self.shares), direct(self.network, self.inputs, self.shares)
        for slack in self.slacks:
            room = [capacities(layer.outputs, self.shares, slack) for layer in self.network.layers]
            for owners in self._climb([*first, first_owners(self.energies, self.inputs, room)], room):
                found.setdefault(b"".join(part.tobytes() for part in owners), owners)
            count.append(len(found))
        return tuple(found.values()), np.array(count, dtype=np.int64)

    def _climb(self, starts: Sequence[Owners], room: Room) -> Iterator[Owners]:
        """Yield the starts, and what becomes of them along the ladder of prices, up and down."""
        yield from starts
        ladder = np.geomspace(*self.prices, _RUNGS)
        for start in starts:
            for way in (ladder, ladder[::-1]):
                last = start
                for price in way:
                    last = improved(self.energies, last, room, [float(price)] * len(room))
                    yield last
            for price in ladder:
                yield improved(self.energies, start, room, [float(price)] * len(room))

    @cached_property
    def copies(self) -> tuple[tuple[Copies, ...], ...]:
        """Copies that each layer needs, for each of the owners."""
        return tuple(copies_of(self.energies, owners, len(self.shares)) for owners in self.owners[0])

    def choose(self, prices: FloatArray, slack: IntArray) -> Choice:
        """Return the owners with the least loss at (layers, n) prices among those of (n,) slacks by their number.

        Of owners with the same loss, those that send least are taken.
        """
        owners, count = self.owners
        designs = np.arange(prices.shape[1])
        loss = np.array([sum(one.loss(p) for one, p in zip(mine, prices, strict=True)) for mine in self.copies])
        dropped = np.array([[one.dropped(p) for one, p in zip(mine, prices, strict=True)] for mine in self.copies])
        sent = (self._needed[:, :, None] - dropped).sum(axis=1)
        allowed = np.arange(len(owners))[:, None] < count[slack]
        loss = np.where(allowed, loss, np.inf)
        least = loss <= loss.min(axis=0) * (1.0 + 1e-12)
        chosen = np.where(least, sent, np.iinfo(np.int64).max).argmin(axis=0)
        return Choice(chosen, dropped[chosen, :, designs].T)

    def sent(self, choice: Choice) -> IntArray:
        """Return (layers, n) the copies that each layer gets."""
        return np.asarray(self._needed[choice.owners].T - choice.dropped)

    @cached_property
    def _needed(self) -> IntArray:
        return np.array([[len(one.ascending) for one in mine] for mine in self.copies], dtype=np.int64)

    def partition(self, owners: int, dropped: Sequence[int]) -> Partition:
        """Return the partition of owners by their number in which so many copies of each layer are dropped."""
        layers = tuple(self._layer(owners, place, number) for place, number in enumerate(dropped))
        return Partition(self.network, layers, self.shares)

    def _layer(self, owners: int, place: int, dropped: int) -> LayerPartition:
        """Return a layer of a partition; those used last are kept, since partitions share layers."""
        key = owners, place, dropped
        if key not in self._kept:
            if len(self._kept) * self._bytes > _KEPT_BYTES:
                self._kept.clear()
            copies, mine = self.copies[owners][place], self.owners[0][owners]
            sent = copies.needed & (copies.energy >= np.append(copies.ascending, np.inf)[dropped])
            layer, rows = self.network.layers[place], self.network.rows[place]
            self._kept[key] = LayerPartition(layer, rows, mine[place], mine[place + 1], sent)
        return self._kept[key]

    @cached_property
    def _kept(self) -> dict[tuple[int, int, int], LayerPartition]:
        return {}

    @cached_property
    def _bytes(self) -> int:
        return max(layer.weights.nbytes for layer in self.network.layers)
