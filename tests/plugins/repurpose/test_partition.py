from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_networks import random_network

from evo_libra.plugins.repurpose.assignment import blocks, shuffled
from evo_libra.plugins.repurpose.partition import partition

EVEN = np.ones(3)


def test_what_is_sent_counts_each_value_once_for_each_worker() -> None:
    network = random_network(0)
    owners = shuffled(network, blocks(12, EVEN), EVEN, 0)
    found = partition(network, owners, EVEN, [2e-3, 1e-2])
    pairs = 0
    for layer, sources, mine, one in zip(network.layers, owners[:-1], owners[1:], found.layers, strict=True):
        for value in range(layer.inputs):
            for worker in range(3):
                reads = layer.weights[mine == worker, value].any() and sources[value] != worker
                assert not one.sent[value, worker] or reads
                pairs += int(one.sent[value, worker])
    assert found.copies == pairs == sum(matrix.sum() for matrix in found.matrices)
    assert all((np.diag(matrix) == 0).all() for matrix in found.matrices)


def test_a_price_of_nothing_leaves_nothing_out_and_changes_no_weight() -> None:
    network = random_network(2)
    found = partition(network, shuffled(network, blocks(12, EVEN), EVEN, 0), EVEN, [0.0, 0.0])
    assert found.error == 0.0
    assert found.error_rate == network.error_rate()
    for one, layer in zip(found.layers, network.layers, strict=True):
        assert np.array_equal(one.refitted[0].weights, layer.weights)


@settings(max_examples=20)
@given(st.integers(0, 1000), st.floats(1e-5, 1.0))
def test_refitted_weights_read_only_what_is_there_and_are_the_best_that_do(seed: int, price: float) -> None:
    network = random_network(seed)
    random = np.random.default_rng(seed)
    found = partition(network, shuffled(network, blocks(12, EVEN), EVEN, seed), EVEN, [price, price])
    for one, inputs in zip(found.layers, network.layer_inputs, strict=True):
        layer, error = one.refitted
        there = one.sent | (one.sources[:, None] == np.arange(3))
        assert not layer.weights[~there[:, one.owners].T].any()
        wanted = one.layer(inputs)
        scale = np.linalg.norm(inputs @ one.layer.weights.T)
        assert np.linalg.norm(layer(inputs) - wanted) / scale == pytest.approx(error, rel=1e-6, abs=1e-9)
        for _ in range(3):
            step = 1e-3 * random.normal(size=layer.weights.shape) * there[:, one.owners].T
            other = replace(layer, weights=layer.weights + step)
            assert np.linalg.norm(other(inputs) - wanted) / scale >= error * (1.0 - 1e-9)


def test_work_is_what_the_slowest_worker_waits_for() -> None:
    network = random_network(3)
    found = partition(network, shuffled(network, blocks(12, EVEN), EVEN, 0), EVEN, [0.0, 0.0])
    # Dense layers: each worker multiplies all inputs with its neurons, 4 of 12, then 3, 3 and 2 of 8.
    assert found.work.tolist() == [[48.0, 48.0, 48.0], [36.0, 36.0, 24.0]]
    assert found.imbalance == pytest.approx((48 + 36) / ((144 + 96) / 3))
    nothing = replace(network.layers[1], weights=np.eye(12))
    apart = replace(network, layers=(nothing,))
    owners = (blocks(12, EVEN), np.roll(blocks(12, EVEN), 4))
    assert partition(apart, owners, EVEN, [1.0]).imbalance == 1.0
    fast = replace(found, shares=np.array([1.0, 1.0, 2.0]))
    assert fast.imbalance == pytest.approx((48 + 36) / ((144 + 96) / 4))
