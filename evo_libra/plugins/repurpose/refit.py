"""Weights for what a worker still gets: those that reproduce the outputs of the whole layer best."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.plugins.repurpose.perceptron import Layer


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
