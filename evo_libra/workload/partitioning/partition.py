"""A network on workers: who has which neuron, what is sent, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.workload.partitioning.copies import Owners, copies_of, energies_of, traffic_matrix
from evo_libra.workload.partitioning.perceptron import Layer, Perceptron
from evo_libra.workload.partitioning.refit import compressed, refit


@dataclass(frozen=True, eq=False)
class Partition:
    """A network whose neurons lie on workers.

    Attributes
    ----------
    owners : the worker of each input, and of each neuron of each layer.
    sent : of each layer, (inputs, workers) the copies that it gets.
    shares : (workers,) relative speed of the workers.
    """

    network: Perceptron
    owners: Owners
    sent: tuple[BoolArray, ...]
    shares: FloatArray

    @property
    def workers(self) -> int:
        """Number of workers."""
        return len(self.shares)

    @property
    def copies(self) -> int:
        """Values that are sent for one sample, counted once for each worker that gets them."""
        return int(sum(sent.sum() for sent in self.sent))

    @cached_property
    def matrices(self) -> tuple[IntArray, ...]:
        """Of each layer, (workers, workers) the copies that each worker sends to each for one sample."""
        return tuple(map(traffic_matrix, self.sent, self.owners[:-1]))

    @cached_property
    def work(self) -> FloatArray:
        """(layers, workers) weights that each worker multiplies for one sample: all that it gets with all it has."""
        found = np.zeros((len(self.sent), self.workers))
        for row, layer, sent, sources, owners in self._layers():
            for worker in range(self.workers):
                mine = owners == worker
                used = (layer.weights[mine] != 0).any(axis=0)
                found[row, worker] = mine.sum() * (used & (sent[:, worker] | (sources == worker))).sum()
        return found

    @property
    def imbalance(self) -> float:
        """Time of the layers, each as long as its slowest worker, over the time of the same work spread evenly."""
        slowest = (self.work / self.shares).max(axis=1).sum()
        return float(slowest / (self.work.sum() / self.shares.sum()))

    @cached_property
    def refitted(self) -> tuple[tuple[Layer, float], ...]:
        """The layers for what is sent, and the relative error of each; see `evo_libra.workload.partitioning.refit`."""
        found = zip(self._layers(), map(compressed, self.network.layer_inputs), strict=True)
        return tuple(refit(layer, rows, sources, owners, sent) for (_, layer, sent, sources, owners), rows in found)

    @property
    def error(self) -> float:
        """Root mean square over the layers of the relative errors of their outputs."""
        return float(np.sqrt(np.mean([error**2 for _, error in self.refitted])))

    @property
    def error_rate(self) -> float:
        """Share of held-out samples that the refitted layers take for another class."""
        return self.network.error_rate([layer for layer, _ in self.refitted])

    def _layers(self) -> list[tuple[int, Layer, BoolArray, IntArray, IntArray]]:
        rows = range(len(self.sent))
        return list(zip(rows, self.network.layers, self.sent, self.owners[:-1], self.owners[1:], strict=True))


def partition(network: Perceptron, owners: Owners, shares: FloatArray, prices: Sequence[float]) -> Partition:
    """Return the partition with these owners in which each copy is sent that is worth its layer's price."""
    copies = copies_of(energies_of(network), owners, len(shares))
    return Partition(network, owners, tuple(one.sent(p) for one, p in zip(copies, prices, strict=True)), shares)
