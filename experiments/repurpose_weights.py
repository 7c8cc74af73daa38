"""Trains the perceptron that comes with the package, `plugins/repurpose/problem.npz`, in seconds and with NumPy alone.

It reads digits: glyphs of 5 x 7 points, drawn for this purpose, somewhere on 8 x 8 pixels, in any strength and with
noise. All of it follows from one seed; processors that round differently train slightly other weights, so the file is
kept, and the script says how it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from command_line import no_arguments
from common import written_to

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.plugins.repurpose.perceptron import Labelled, Layer, Perceptron

FILE = written_to("evo_libra/plugins/repurpose") / "problem.npz"
SIZES = (64, 64, 32, 10)
GLYPHS = (
    "01110 10001 10001 10001 10001 10001 01110", "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00010 00100 01000 11111", "11110 00001 00001 01110 00001 00001 11110",
    "00010 00110 01010 10010 11111 00010 00010", "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110", "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110", "01110 10001 10001 01111 00001 00010 01100",
)  # fmt: skip
LEVELS = 16
"""Brightness of a pixel, 0 to 16."""


def digits(random: np.random.Generator, count: int) -> tuple[FloatArray, IntArray]:
    """Return (count, 64) images, whole numbers from 0 to 16, and the (count,) digits that they show."""
    shapes = np.array([[[int(point) for point in row] for row in glyph.split()] for glyph in GLYPHS], dtype=np.float64)
    labels = random.integers(0, len(shapes), count)
    images = np.zeros((count, 8, 8))
    down, right = random.integers(0, 2, count), random.integers(0, 4, count)
    for image, label, row, column in zip(images, labels, down, right, strict=True):
        image[row : row + 7, column : column + 5] = shapes[label]
    strength = random.uniform(0.5, 1.0, (count, 1, 1))
    noisy = LEVELS * (strength * images + random.normal(0.0, 0.28, images.shape))
    return np.rint(noisy).clip(0, LEVELS).reshape(count, -1), labels


def train(
    images: FloatArray, labels: IntArray, random: np.random.Generator, masks: Sequence[BoolArray] | None = None
) -> list[Layer]:
    """Return layers that Adam has trained on images from 0 to 1, with weight decay.

    Parameters
    ----------
    masks : (outputs, inputs) which weights of each layer there are; all of them when left out.
    """
    shapes = [(b, a) for a, b in pairwise(SIZES)]
    there = [np.ones(shape, dtype=np.bool_) for shape in shapes] if masks is None else masks
    weights = [mask * random.normal(0.0, np.sqrt(2.0 / a), (b, a)) for (b, a), mask in zip(shapes, there, strict=True)]
    values = [*weights, *(np.zeros(size) for size in SIZES[1:])]
    means, squares = ([np.zeros_like(value) for value in values] for _ in range(2))
    half, step = len(weights), 0
    for _ in range(40):
        for batch in np.array_split(random.permutation(len(images)), len(images) // 64):
            step += 1
            slopes = _slopes(values[:half], values[half:], images[batch], labels[batch])
            means = [0.9 * mean + 0.1 * slope for mean, slope in zip(means, slopes, strict=True)]
            squares = [0.999 * square + 0.001 * slope**2 for square, slope in zip(squares, slopes, strict=True)]
            for place, (mean, square) in enumerate(zip(means, squares, strict=True)):
                change = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
                decay = 0.05 * values[place] if place < half else 0.0
                kept = there[place] if place < half else 1.0
                values[place] = kept * (values[place] - 1e-3 * (change + decay))
    return [Layer(w, b) for w, b in zip(values[:half], values[half:], strict=True)]


def _slopes(
    weights: list[FloatArray], biases: list[FloatArray], images: FloatArray, labels: IntArray
) -> list[FloatArray]:
    """Return the slopes of the mean cross-entropy by all weights, then by all biases."""
    inputs = [images]
    for w, b in zip(weights, biases, strict=True):
        inputs.append(inputs[-1] @ w.T + b)
        if len(inputs) <= len(weights):
            inputs[-1] = np.maximum(inputs[-1], 0.0)
    slope = np.exp(inputs[-1] - inputs[-1].max(axis=1, keepdims=True))
    slope /= slope.sum(axis=1, keepdims=True)
    slope[np.arange(len(labels)), labels] -= 1.0
    slope /= len(labels)
    of_weights, of_biases = [], []
    for place in reversed(range(len(weights))):
        of_weights.append(slope.T @ inputs[place])
        of_biases.append(slope.sum(axis=0))
        slope = (slope @ weights[place]) * (inputs[place] > 0)
    return [*reversed(of_weights), *reversed(of_biases)]


if __name__ == "__main__":
    no_arguments(__doc__)
    generator = np.random.Generator(np.random.PCG64(0))
    seen, right = digits(generator, 6000)
    held_out, answers = digits(generator, 1000)
    first, *others = train(seen / LEVELS, right, generator)
    layers = [Layer(first.weights / LEVELS, first.bias), *others]
    arrays: dict[str, Any] = {f"W{n}": layer.weights.astype(np.float32) for n, layer in enumerate(layers, start=1)}
    arrays |= {f"b{n}": np.asarray(layer.bias, dtype=np.float32) for n, layer in enumerate(layers, start=1)}
    samples = {"inputs": seen[:512], "held_out_inputs": held_out, "held_out_labels": answers}
    arrays |= {key: values.astype(np.uint8) for key, values in samples.items()}
    np.savez_compressed(FILE, **arrays)
    network = Perceptron(tuple(layers), seen[:512], Labelled(held_out, answers))
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes, error rate {100 * network.error_rate():.1f} % of 1,000 digits")
