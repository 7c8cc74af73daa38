"""Traffic between workers: a copy of a neuron's value to each other worker that reads it.

A copy of value i to worker m is worth what the weights of m's neurons carry of it. Its energy is
``sum_j w_ji^2 E[x_i^2]`` over the neurons j of m, in parts of the energy of the layer's outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.plugins.repurpose.perceptron import Layer, Perceptron

Owners = tuple[IntArray, ...]
"""The worker of each value: of the inputs first, then of the outputs of each layer."""


@dataclass(frozen=True, eq=False)
class LayerEnergy:
    """Energy of each weight of a layer.

    Attributes
    ----------
    weights : (outputs, inputs) energy of each weight, in parts of the energy of all outputs.
    used : (outputs, inputs) whether a weight is not 0.
    """

    weights: FloatArray
    used: BoolArray

    @staticmethod
    def of(layer: Layer, inputs: FloatArray) -> LayerEnergy:
        """Return the energies of a layer that gets (samples, inputs); a ValueError says that its outputs are all 0."""
        outputs = inputs @ layer.weights.T
        energy = float((outputs**2).mean(axis=0).sum())
        if not energy > 0:
            raise ValueError("its outputs are 0 for all samples, so no error can be relative to them")
        return LayerEnergy(layer.weights**2 * ((inputs**2).mean(axis=0) / energy), layer.weights != 0)

    def read(self, owners: IntArray, workers: int) -> FloatArray:
        """Return (inputs, workers) the energy that each worker reads of each value, if it owns (outputs,) neurons."""
        return np.asarray(self.weights.T @ _one_hot(owners, workers))

    def needed(self, sources: IntArray, owners: IntArray, workers: int) -> BoolArray:
        """Return (inputs, workers) whether a worker needs a copy: it reads the value, and another worker has it."""
        reads = self.used.T.astype(np.float64) @ _one_hot(owners, workers) > 0
        return np.asarray(reads & ~_one_hot(sources, workers).astype(bool))


@lru_cache(maxsize=8)
def energies_of(network: Perceptron) -> tuple[LayerEnergy, ...]:
    """Return the energies of the layers of a network; errors are those of `LayerEnergy.of`."""
    return tuple(map(LayerEnergy.of, network.layers, network.layer_inputs))


@dataclass(frozen=True, eq=False)
class Copies:
    """The copies that the neurons of a layer need, with (inputs, workers) the energy of each."""

    needed: BoolArray
    energy: FloatArray

    @staticmethod
    def of(layer: LayerEnergy, sources: IntArray, owners: IntArray, workers: int) -> Copies:
        """Return the copies where the inputs have (inputs,) owners and the neurons (outputs,) owners."""
        return Copies(layer.needed(sources, owners, workers), layer.read(owners, workers))

    def sent(self, price: float) -> BoolArray:
        """Return (inputs, workers) the copies that are worth sending: those with at least the energy of their price."""
        return np.asarray(self.needed & (self.energy >= price))

    @cached_property
    def ascending(self) -> FloatArray:
        """Energies (c,) of the needed copies, ascending."""
        return np.sort(self.energy[self.needed])

    @cached_property
    def _sums(self) -> FloatArray:
        return np.concatenate([[0.0], np.cumsum(self.ascending)])

    def dropped(self, prices: FloatArray) -> IntArray:
        """Return (n,) how many of the needed copies are not worth (n,) prices; they are the first of `ascending`."""
        return np.searchsorted(self.ascending, prices, side="left")

    def loss(self, prices: FloatArray) -> FloatArray:
        """Return (n,) the energy of the copies that are not sent, and the price of each that is."""
        dropped = self.dropped(prices)
        return np.asarray(self._sums[dropped] + prices * (len(self.ascending) - dropped))


def copies_of(layers: Sequence[LayerEnergy], owners: Owners, workers: int) -> tuple[Copies, ...]:
    """Return the copies that each layer needs."""
    return tuple(
        Copies.of(layer, sources, mine, workers)
        for layer, sources, mine in zip(layers, owners[:-1], owners[1:], strict=True)
    )


def traffic_matrix(sent: BoolArray, sources: IntArray) -> IntArray:
    """Return (workers, workers) the copies that each worker sends to each, of (inputs, workers) that are sent."""
    return np.asarray(_one_hot(sources, sent.shape[1]).T @ sent, dtype=np.float64).astype(np.int64)


def _one_hot(owners: IntArray, workers: int) -> FloatArray:
    return np.asarray(owners[:, None] == np.arange(workers), dtype=np.float64)
