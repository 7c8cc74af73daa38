"""A Pareto filter keeps every non-dominated design and rejects most of the others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.front.archive import Archive, Collection, pareto_filter, stable_order


@given(
    seed=st.integers(0, 2**32 - 1), objectives=st.integers(1, 6), whole=st.booleans(), low=st.sampled_from([0.0, -3])
)
@settings(max_examples=80)
def test_what_is_left_out_is_dominated(*, seed: int, objectives: int, whole: bool, low: float) -> None:
    random = np.random.default_rng(seed)
    shapes = (objectives, int(random.integers(0, 60))), (objectives, 80)
    known, new = (
        (random.integers(0, 5, shape) * 1.0 if whole else 10 ** random.normal(size=shape)) + low for shape in shapes
    )
    new[:, 0] = np.inf
    passes = pareto_filter(known).passes(new)
    better = (known[:, :, None] <= new[:, None]).all(axis=0) & (known[:, :, None] < new[:, None]).any(axis=0)
    assert (passes | better.any(axis=0)).all()


@pytest.mark.parametrize("objectives", [2, 3, 4])
@pytest.mark.parametrize("count", [1000, 5000])
def test_most_of_what_is_dominated_is_left_out(objectives: int, count: int) -> None:
    random = np.random.default_rng(0)
    known = 10 ** random.random((objectives, count))
    new = 10 ** random.random((objectives, 2000))
    better = (known[:, :, None] < new[:, None]).all(axis=0).any(axis=0)
    passes = pareto_filter(known).passes(new)
    assert (passes & better).sum() < 0.4 * better.sum()


@given(st.lists(st.floats(allow_nan=False), max_size=40), st.integers(0, 3))
def test_order_is_that_of_a_stable_sort(values: list[float], ulps: int) -> None:
    data = np.array([*values, *values])
    with np.errstate(over="ignore"):
        for _ in range(ulps):
            data[::3] = np.nextafter(data[::3], np.inf)
    np.testing.assert_array_equal(stable_order(data), np.argsort(data, kind="stable"))


@given(
    seed=st.integers(0, 2**32 - 1), objectives=st.integers(2, 3), most=st.integers(0, 12), steps=st.integers(0, 8),
)  # fmt: skip
@settings(max_examples=40)
def test_a_sample_is_of_the_archive_whatever_waits(*, seed: int, objectives: int, most: int, steps: int) -> None:
    random = np.random.default_rng(seed)
    found = Collection(Archive.empty(3, objectives))
    for size in random.integers(1, 3000, steps):
        found = found.add(
            random.random((3, size)), random.integers(1, 10**4, (objectives, size)) * 1.0, random.random(size) - 0.5
        )
    archive = found.archive
    np.testing.assert_array_equal(found.sample(most), archive.genes[:, archive.spread(most)])
