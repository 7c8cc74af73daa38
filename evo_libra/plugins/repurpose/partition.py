"""A network on workers: who has which neuron, what is sent, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.plugins.repurpose.copies import Owners, copies_of, energies_of, traffic_matrix
from evo_libra.plugins.repurpose.perceptron import Layer, Perceptron


@dataclass(frozen=True, eq=False)
class LayerPartition:
    """A layer whose neurons lie on workers.

    Attributes
    ----------
    layer : with all that it was trained to.
    rows : of what comes in, as in `Perceptron.rows`.
    sources, owners : the worker of each of the (inputs,) values and of each of the (outputs,) neurons.
    sent : (inputs, workers) copies that are sent.
    """

    layer: Layer
    rows: FloatArray
    sources: IntArray
    owners: IntArray
    sent: BoolArray

    @cached_property
    def copies(self) -> int:
        """Values that are sent for one sample, counted once for each worker that gets them."""
        return int(self.sent.sum())

    @cached_property
    def refitted(self) -> tuple[Layer, float]:
        """The layer for what is sent, and the relative error of its outputs; see `refit`."""
        return refit(self.layer, self.rows, self.sources, self.owners, self.sent)

    @cached_property
    def work(self) -> FloatArray:
        """(workers,) weights that each worker multiplies for one sample: all that it gets with all it has."""
        workers = np.arange(self.sent.shape[1])
        mine = self.owners[:, None] == workers
        read = (self.layer.weights != 0).T.astype(np.float64) @ mine > 0
        return np.asarray(mine.sum(axis=0) * (read & (self.sent | (self.sources[:, None] == workers))).sum(axis=0))


@dataclass(frozen=True, eq=False)
class Partition:
    """A network whose neurons lie on workers, layer by layer.

    `shares` are the (workers,) relative speeds of the workers.
    """

    network: Perceptron
    layers: tuple[LayerPartition, ...]
    shares: FloatArray

    @property
    def workers(self) -> int:
        """Number of workers."""
        return len(self.shares)

    @property
    def copies(self) -> int:
        """Values that are sent for one sample, counted once for each worker that gets them."""
        return sum(layer.copies for layer in self.layers)

    @cached_property
    def matrices(self) -> tuple[IntArray, ...]:
        """Of each layer, (workers, workers) the copies that each worker sends to each for one sample."""
        return tuple(traffic_matrix(layer.sent, layer.sources) for layer in self.layers)

    @cached_property
    def work(self) -> FloatArray:
        """(layers, workers) weights that each worker multiplies for one sample."""
        return np.array([layer.work for layer in self.layers], dtype=np.float64)

    @property
    def imbalance(self) -> float:
        """Time of the layers, each as long as its slowest worker, over the time of the same work spread evenly.

        It is 1 where nothing is left to multiply.
        """
        slowest, total = (self.work / self.shares).max(axis=1).sum(), self.work.sum()
        return float(slowest / (total / self.shares.sum())) if total else 1.0

    @property
    def error(self) -> float:
        """Root mean square over the layers of the relative errors of their outputs."""
        return float(np.sqrt(np.mean([layer.refitted[1] ** 2 for layer in self.layers])))

    @property
    def error_rate(self) -> float:
        """Share of held-out samples that the refitted layers take for another class."""
        return self.network.error_rate([layer.refitted[0] for layer in self.layers])


def partition(network: Perceptron, owners: Owners, shares: FloatArray, prices: Sequence[float]) -> Partition:
    """Return the partition with these owners in which each copy is sent that is worth its layer's price."""
    copies = copies_of(energies_of(network), owners, len(shares))
    sent = [one.sent(price) for one, price in zip(copies, prices, strict=True)]
    layers = zip(network.layers, network.rows, owners[:-1], owners[1:], sent, strict=False)
    return Partition(network, tuple(LayerPartition(*layer) for layer in layers), shares)


def refit(layer: Layer, rows: FloatArray, sources: IntArray, owners: IntArray, sent: BoolArray) -> tuple[Layer, float]:
    """Return the layer that gets only some copies, with the relative error ``||WX - W'X|| / ||WX||`` of its outputs.

    The weights of a worker's (outputs,) neurons, and the bias where the layer has one, change by what reproduces the
    part of the missing copies best, in the sense of least squares and with the smallest change.

    Parameters
    ----------
    rows : of the samples that come in, as in `Perceptron.rows`.
    sources, owners : the worker of each of the (inputs,) values and of each of the (outputs,) neurons.
    sent : (inputs, workers) copies that are sent.
    """
    from scipy.linalg import lstsq  # noqa: PLC0415 - takes a tenth of a second, and few need it; QR is faster than SVD

    weights, bias = layer.weights.copy(), None if layer.bias is None else layer.bias.copy()
    error = 0.0
    for worker in np.unique(owners).tolist():
        mine, there = owners == worker, sent[:, worker] | (sources == worker)
        missing = layer.weights[mine] * ~there
        if not missing.any():
            continue
        kept = np.append(there, bias is not None)
        lost = rows[:, :-1] @ missing.T
        change = lstsq(rows[:, kept], lost, lapack_driver="gelsy", check_finite=False)[0]
        error += float(((lost - rows[:, kept] @ change) ** 2).sum())
        weights[mine] -= missing
        weights[np.ix_(mine, there)] += change[: there.sum()].T
        if bias is not None:
            bias[mine] += change[-1]
    whole = float(((rows[:, :-1] @ layer.weights.T) ** 2).sum())
    return Layer(weights, bias), float(np.sqrt(error / whole))
