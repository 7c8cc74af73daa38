"""Neurons to workers of limited capacity: at the least total cost, exactly, and as anybody would try first."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.plugins.repurpose.copies import Owners
from evo_libra.plugins.repurpose.perceptron import Perceptron


def capacities(neurons: int, shares: FloatArray, slack: float) -> IntArray:
    """Return (workers,) the neurons that each worker may have: its part by (workers,) shares, and a slack more.

    Parts are rounded up, so that there is always room for all neurons.

    >>> capacities(10, np.array([1.0, 1.0, 2.0]), slack=0.2).tolist()
    [3, 3, 6]
    """
    # Less a rounding error, so that an exact part is not rounded up.
    part = np.ceil(neurons * shares / shares.sum() * (1.0 + slack) - 1e-9)
    return np.asarray(np.clip(part, 1, neurons), dtype=np.int64)


def blocks(values: int, shares: FloatArray) -> IntArray:
    """Return the (values,) owner of each value where neighbours stay together: blocks by (workers,) shares.

    >>> blocks(5, np.array([1.0, 1.0])).tolist()
    [0, 0, 0, 1, 1]
    """
    ends = np.ceil(np.cumsum(shares) / shares.sum() * values - 1e-9).astype(np.int64)
    return np.repeat(np.arange(len(shares)), np.diff(ends, prepend=0))


def assign(cost: FloatArray, capacity: IntArray) -> IntArray:
    """Return the (neurons,) worker of each neuron, at the least sum of (neurons, workers) costs.

    It is the assignment problem that the Hungarian method (Munkres 1957) solves, with a column for each neuron that a
    worker may have.

    Raises
    ------
    ValueError : the (workers,) capacities have no room for all neurons.

    >>> assign(np.array([[0.0, 9.0], [1.0, 3.0], [2.0, 3.0]]), np.array([2, 1])).tolist()
    [0, 0, 1]
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - takes a third of a second, and few need it

    if len(cost) > capacity.sum():
        raise ValueError(f"{len(cost)} neurons do not fit {capacity.sum()} places")
    worker = np.repeat(np.arange(len(capacity)), capacity)
    _, place = linear_sum_assignment(cost[:, worker])
    return np.asarray(worker[place])


def contiguous(network: Perceptron, inputs: IntArray, shares: FloatArray) -> Owners:
    """Return owners by which each worker has a block of neighbouring neurons of each layer."""
    return (inputs, *(blocks(layer.outputs, shares) for layer in network.layers))


def shuffled(network: Perceptron, inputs: IntArray, shares: FloatArray, seed: int) -> Owners:
    """Return owners by which each worker has as many neurons as by `contiguous`, drawn at random."""
    random = np.random.Generator(np.random.PCG64(seed))
    return (inputs, *(random.permutation(blocks(layer.outputs, shares)) for layer in network.layers))


def direct(network: Perceptron, inputs: IntArray, shares: FloatArray) -> Owners:
    """Return owners by which each neuron, in its order, goes to the worker with most of its squared weights.

    Only workers that still have room for one are asked; of equal ones, the first.
    """
    owners = [inputs]
    for layer in network.layers:
        room = capacities(layer.outputs, shares, 0.0)
        local = layer.weights**2 @ (owners[-1][:, None] == np.arange(len(shares)))
        mine = np.empty(layer.outputs, dtype=np.int64)
        for neuron, near in enumerate(local):
            mine[neuron] = int(np.where(room > 0, near, -1.0).argmax())
            room[mine[neuron]] -= 1
        owners.append(mine)
    return tuple(owners)
