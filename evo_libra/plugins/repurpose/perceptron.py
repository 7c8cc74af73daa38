"""A trained multi-layer perceptron, with samples that show what its neurons do."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Layer:
    """Weights (outputs, inputs) and the bias (outputs,), None for a layer without one."""

    weights: FloatArray
    bias: FloatArray | None = None

    def __call__(self, inputs: FloatArray) -> FloatArray:
        """Return (samples, outputs) before the activation, of (samples, inputs)."""
        found = inputs @ self.weights.T
        return np.asarray(found if self.bias is None else found + self.bias)

    @property
    def outputs(self) -> int:
        """Number of neurons."""
        return len(self.weights)

    @property
    def inputs(self) -> int:
        """Number of the values that come in."""
        return int(self.weights.shape[1])


@dataclass(frozen=True)
class Labelled:
    """Samples (samples, inputs) with the (samples,) class of each."""

    inputs: FloatArray
    labels: IntArray


@dataclass(frozen=True, eq=False)
class Perceptron:
    """A trained multi-layer perceptron: rectified linear units, and a last layer without an activation.

    Attributes
    ----------
    layers : from the inputs to the outputs.
    samples : (samples, inputs) inputs that errors are taken over.
    held_out : samples that nothing was fitted to, whose error rate tells how good the network still is; None without.
    """

    layers: tuple[Layer, ...]
    samples: FloatArray
    held_out: Labelled | None = None

    @cached_property
    def layer_inputs(self) -> tuple[FloatArray, ...]:
        """The (samples, inputs) that each layer gets of the samples."""
        found = [self.samples]
        for layer in self.layers[:-1]:
            found.append(np.maximum(layer(found[-1]), 0.0))
        return tuple(found)

    @cached_property
    def rows(self) -> tuple[FloatArray, ...]:
        """For each layer, few rows with the inner products of all (samples, inputs + 1), the last column ones.

        Least squares over the rows are least squares over the samples.
        """
        ones = np.ones((len(self.samples), 1))
        return tuple(np.asarray(np.linalg.qr(np.hstack([one, ones]), mode="r")) for one in self.layer_inputs)

    def error_rate(self, layers: Sequence[Layer] | None = None) -> float:
        """Return the share of held-out samples that layers, those of the network when left out, take for another class.

        The class is the output with the largest value, the first of equal ones. A ValueError says that there are no
        held-out samples.
        """
        if self.held_out is None:
            raise ValueError("there are no held-out samples")
        values = self.held_out.inputs
        layers = self.layers if layers is None else layers
        for layer in layers[:-1]:
            values = np.maximum(layer(values), 0.0)
        return float((layers[-1](values).argmax(axis=1) != self.held_out.labels).mean())

    @cached_property
    def digest(self) -> str:
        """Hash of all arrays: perceptrons of one digest have the same results."""
        found = hashlib.sha256()
        held_out = () if self.held_out is None else (self.held_out.inputs, self.held_out.labels)
        biases = [layer.bias for layer in self.layers]
        for array in (*(layer.weights for layer in self.layers), *biases, self.samples, *held_out):
            found.update(b"none" if array is None else f"{array.shape}{array.dtype}".encode())
            found.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
        return found.hexdigest()
