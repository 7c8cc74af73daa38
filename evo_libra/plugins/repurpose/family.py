"""All partitions of a network that a search chooses from: the best owners for any prices of copies.

Neurons are moved for a ladder of prices. For any other prices the best of the owners found is taken. So the choice
minimises loss over a fixed set of owners, and a higher price of all copies never sends more of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.plugins.repurpose.assignment import assign, capacities, contiguous, direct
from evo_libra.plugins.repurpose.copies import Copies, LayerEnergy, Owners, copies_of, energies_of
from evo_libra.plugins.repurpose.partition import LayerPartition, Partition
from evo_libra.plugins.repurpose.perceptron import Perceptron

Room = Sequence[IntArray]
"""Of each layer, (workers,) the neurons that each worker may have."""

_ROUNDING = 1e-12
_LOOKS = 250_000
"""Energies up to which all assignments of a layer are evaluated."""


def first_owners(layers: Sequence[LayerEnergy], inputs: IntArray, room: Room) -> Owners:
    """Return owners by which the energy that comes from other workers is least, layer after layer."""
    owners = [inputs]
    for layer, capacity in zip(layers, room, strict=True):
        # The energy of the weights of each neuron that come from other workers.
        cost = layer.weights @ (owners[-1][:, None] != np.arange(len(capacity)))
        owners.append(assign(cost, capacity))
    return tuple(owners)


def improved(layers: Sequence[LayerEnergy], owners: Owners, room: Room, prices: Sequence[float]) -> Owners:
    """Return owners, from given ones on, whose loss no assignment of a layer by its marginal costs makes smaller.

    The loss of a copy, the lesser of its energy and its price, is a concave function of its energy. So the costs at the
    current owners bound it from above and touch it there, and the best assignment by them never makes it larger
    (majorise, minimise). A neuron's traffic to the next layer is linear in its owner, and its cost is exact.

    Of a layer with few neurons, all assignments are evaluated.

    Parameters
    ----------
    layers : of the network.
    owners : of the inputs, which stay, and of the neurons of each layer.
    room : of each layer, how many neurons each of the workers may have.
    prices : of a copy in each layer, in the unit of the layer's energies.
    """
    workers = len(room[0])
    best = loss_of(layers, owners, workers, prices)
    while True:
        moved = list(owners)
        for place, capacity in enumerate(room):
            moved[place + 1] = _moved(layers, moved, place, prices, capacity)
        found = loss_of(layers, tuple(moved), workers, prices)
        if not found < best * (1.0 - _ROUNDING):
            return owners
        owners, best = tuple(moved), found


def loss_of(layers: Sequence[LayerEnergy], owners: Owners, workers: int, prices: Sequence[float]) -> float:
    """Return the energy of all copies that are not worth their prices, and the prices of the others."""
    each = zip(copies_of(layers, owners, workers), prices, strict=True)
    return float(sum(copies.loss(np.array([price]))[0] for copies, price in each))


def _moved(
    layers: Sequence[LayerEnergy], owners: Sequence[IntArray], place: int, prices: Sequence[float], capacity: IntArray
) -> IntArray:
    """Return owners of a layer that lose no more: of few neurons the best of all, else the best by marginal costs."""
    layer, sources, workers = layers[place], owners[place], len(capacity)
    behind = _behind(layers, owners, place, prices, workers)
    if workers ** len(layer.weights) * layer.weights.shape[1] * workers <= _LOOKS:
        every, read = _all_assignments(layer, tuple(capacity.tolist()))
        other = sources[:, None] != np.arange(workers)
        loss = (np.minimum(read, prices[place]) * other).sum(axis=(1, 2))
        loss += behind[np.arange(len(behind)), every].sum(axis=1)
        return np.asarray(every[loss.argmin()])
    now = Copies.of(layer, sources, owners[place + 1], workers)
    # Copies that are sent anyway cost nothing more; of the others, the energy is lost.
    lost = (sources[:, None] != np.arange(workers)) & (now.energy < prices[place])
    return assign(layer.weights @ lost + behind, capacity)


@lru_cache(maxsize=64)
def _all_assignments(layer: LayerEnergy, capacity: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
    """Return all (assignments, outputs) owners that keep the capacities, and what workers read under each.

    That is the energy (assignments, inputs, workers).
    """
    neurons, workers = len(layer.weights), len(capacity)
    every = np.indices((workers,) * neurons).reshape(neurons, -1).T
    held = np.stack([(every == worker).sum(axis=1) for worker in range(workers)], axis=1)
    every = every[(held <= capacity).all(axis=1)]
    return every, np.einsum("ji,ajm->aim", layer.weights, (every[:, :, None] == np.arange(workers)).astype(np.float64))


def _behind(
    layers: Sequence[LayerEnergy], owners: Sequence[IntArray], place: int, prices: Sequence[float], workers: int
) -> FloatArray:
    """Return (outputs, workers) what the next layer loses for each neuron of a layer at each worker; 0 without one."""
    if place + 1 == len(layers):
        return np.zeros((len(owners[place + 1]), workers))
    read = np.minimum(layers[place + 1].read(owners[place + 2], workers), prices[place + 1])
    return np.asarray(read.sum(axis=1, keepdims=True) - read)


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
        """Return the partition of owners by their number in which some copies of each layer are dropped."""
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
