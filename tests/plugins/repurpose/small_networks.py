"""Small networks for tests: a random one, and one whose neurons belong together but lie mixed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from evo_libra.plugins.repurpose.perceptron import Labelled, Layer, Perceptron


def random_network(seed: int, sizes: tuple[int, ...] = (12, 12, 8), samples: int = 40) -> Perceptron:
    """Return a network with weights of very different sizes, as training leaves them."""
    random = np.random.default_rng(seed)
    layers = tuple(
        Layer(random.normal(size=(b, a)) * random.gamma(0.5, size=(b, a)), random.normal(size=b))
        for a, b in pairwise(sizes)
    )
    inputs = np.abs(random.normal(size=(samples, sizes[0])))
    labels = random.integers(0, sizes[-1], samples)
    return Perceptron(layers, inputs, Labelled(inputs, labels))


def mixed_network(workers: int = 3, each: int = 4) -> Perceptron:
    """Return a network of one block for each worker, whose hidden neurons are shuffled."""
    random = np.random.default_rng(0)
    size = workers * each
    whole = np.kron(np.eye(workers), np.ones((each, each))) * (0.5 + random.random((size, size)))
    order = random.permutation(size)
    return Perceptron((Layer(whole[order]), Layer(whole[:, order])), random.random((50, size)) + 0.1)
