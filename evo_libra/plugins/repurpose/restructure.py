"""RePurpose: neurons move between workers until no move makes what is lost and sent cheaper.

After Abdi, Rashidi, Fekri and Krishna (2008.08289), from its abstract alone: assignment by Munkres, pruning by an l0
penalty. What is minimised here is the energy of the copies that are left out plus a price for each copy that is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.plugins.repurpose.assignment import assign
from evo_libra.plugins.repurpose.copies import Copies, LayerEnergy, Owners, copies_of

Room = Sequence[IntArray]
"""Of each layer, (workers,) the neurons that each worker may have."""

_ROUNDING = 1e-12
_LOOKS = 250_000
"""Energies up to which all assignments of a layer are looked at."""


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
    (majorise, minimise). What a neuron sends to the next layer is linear in its owner, and its cost is exact.

    Of a layer with few neurons, all assignments are looked at.

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
    # What is sent anyway costs nothing more; of what is not, the energy is lost.
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
