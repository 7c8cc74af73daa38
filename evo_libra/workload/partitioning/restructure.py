"""RePurpose: neurons move between workers until no move makes what is lost and sent cheaper.

After Abdi, Rashidi, Fekri and Krishna (2008.08289), from its abstract alone: assignment by Munkres, pruning by an l0
penalty. What is minimised here is the energy of the copies that are left out plus a price for each copy that is sent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.workload.partitioning.assignment import assign
from evo_libra.workload.partitioning.copies import Copies, LayerEnergy, Owners, copies_of

Room = Sequence[IntArray]
"""Of each layer, (workers,) the neurons that each worker may have."""

_ROUNDING = 1e-12


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

    Parameters
    ----------
    layers : of the network.
    owners : of the inputs, which stay, and of the neurons of each layer.
    room : of each layer, how many neurons each of the workers may have.
    prices : of a copy in each layer, in the unit of the layer's energies.

    Notes
    -----
    The loss of a copy, the lesser of its energy and its price, is a concave function of its energy. So the costs at the
    current owners bound it from above and touch it there, and the best assignment by them never makes it larger
    (majorise, minimise). What a neuron sends to the next layer is linear in its owner, and its cost is exact.
    """
    workers = len(room[0])
    best = loss_of(layers, owners, workers, prices)
    while True:
        moved = list(owners)
        for place, capacity in enumerate(room):
            moved[place + 1] = assign(_cost(layers, moved, place, prices, workers), capacity)
        found = loss_of(layers, tuple(moved), workers, prices)
        if not found < best * (1.0 - _ROUNDING):
            return owners
        owners, best = tuple(moved), found


def loss_of(layers: Sequence[LayerEnergy], owners: Owners, workers: int, prices: Sequence[float]) -> float:
    """Return the energy of all copies that are not worth their prices, and the prices of the others."""
    each = zip(copies_of(layers, owners, workers), prices, strict=True)
    return float(sum(copies.loss(np.array([price]))[0] for copies, price in each))


def _cost(
    layers: Sequence[LayerEnergy], owners: Sequence[IntArray], place: int, prices: Sequence[float], workers: int
) -> FloatArray:
    """Return (outputs, workers) what each neuron of a layer costs at each worker, in and behind the layer."""
    layer = layers[place]
    now = Copies.of(layer, owners[place], owners[place + 1], workers)
    # What is sent anyway costs nothing more; of what is not, the energy is lost.
    lost = (owners[place][:, None] != np.arange(workers)) & (now.energy < prices[place])
    cost = np.asarray(layer.weights @ lost)
    if place + 1 < len(layers):
        read = np.minimum(layers[place + 1].read(owners[place + 2], workers), prices[place + 1])
        cost += read.sum(axis=1, keepdims=True) - read
    return cost
