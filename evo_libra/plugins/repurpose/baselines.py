"""Partitions that anybody would try first: nothing is moved, or everything is moved at random."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.plugins.repurpose.assignment import blocks, capacities
from evo_libra.plugins.repurpose.copies import Owners
from evo_libra.plugins.repurpose.perceptron import Perceptron


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
