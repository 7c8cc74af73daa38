from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.plugins.repurpose.assignment import assign, blocks, capacities


@given(st.integers(1, 8), st.integers(1, 3), st.floats(0.0, 1.0), st.integers(0, 2**32))
def test_the_assignment_costs_what_the_best_of_all_costs(neurons: int, workers: int, slack: float, seed: int) -> None:
    cost = np.random.default_rng(seed).random((neurons, workers))
    room = capacities(neurons, np.ones(workers), slack)
    found = assign(cost, room)
    assert (np.bincount(found, minlength=workers) <= room).all()
    every = np.array(list(product(range(workers), repeat=neurons)))
    held = np.stack([(every == worker).sum(axis=1) for worker in range(workers)], axis=1)
    totals = cost[np.arange(neurons), every].sum(axis=1)[(held <= room).all(axis=1)]
    assert cost[np.arange(neurons), found].sum() == pytest.approx(totals.min(), rel=1e-12)


@given(st.integers(1, 200), st.lists(st.floats(0.1, 10.0), min_size=1, max_size=9), st.floats(0.0, 2.0))
def test_there_is_room_for_all_neurons_and_for_blocks(neurons: int, speeds: list[float], slack: float) -> None:
    shares = np.array(speeds)
    room = capacities(neurons, shares, slack)
    assert room.sum() >= neurons
    owners = blocks(neurons, shares)
    assert len(owners) == neurons
    assert (np.diff(owners) >= 0).all()


def test_too_little_room_is_refused() -> None:
    with pytest.raises(ValueError, match="3 neurons do not fit 2 places"):
        assign(np.zeros((3, 2)), np.array([1, 1]))
