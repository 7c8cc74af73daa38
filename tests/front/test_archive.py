"""A Pareto filter keeps every non-dominated design and rejects most of the others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.front.archive import Archive, Collection, front, pareto_filter
from evo_libra.front.staircase import Staircase, stable_order


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


@given(
    seed=st.integers(0, 2**32 - 1), objectives=st.integers(2, 3), steps=st.integers(0, 8),
    largest=st.sampled_from([9, 10**4]),
)  # fmt: skip
@settings(max_examples=40)
def test_looks_at_the_front_change_nothing_of_the_archive(
    *, seed: int, objectives: int, steps: int, largest: int
) -> None:
    random = np.random.default_rng(seed)
    looked = alone = Collection(Archive.empty(1, objectives))
    every: list[np.ndarray] = []
    count = 0
    for size in random.integers(1, 5000, steps).tolist():
        values, violation = random.integers(1, largest, (objectives, size)) * 1.0, random.random(size) - 0.5
        genes = np.arange(count, count + size)[None] * 1.0
        looked, alone = (found.add(genes, values, violation) for found in (looked, alone))
        looked = looked.current if random.random() < 0.5 else looked
        every.append(np.vstack([genes, values])[:, violation <= 0])
        count += size
    came = np.concatenate([np.empty((1 + objectives, 0)), *every], axis=1)
    # All at once, and of equal designs the first that came.
    expected = came[:, front(came[1:])]
    for found in (looked, alone):
        np.testing.assert_array_equal(found.archive.genes, expected[:1])
        np.testing.assert_array_equal(found.archive.objectives, expected[1:])


def test_who_goes_on_from_a_look_keeps_its_work() -> None:
    random = np.random.default_rng(0)
    found = Collection(Archive.empty(1, 2)).add(random.random((1, 50)), random.random((2, 50)), np.zeros(50))
    now = found.current
    assert not now.fresh
    assert now.current.stairs is now.stairs


@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(0, 8), largest=st.sampled_from([4, 30, 10**6]))
@settings(max_examples=100)
def test_a_staircase_is_the_front_of_all_that_came(*, seed: int, steps: int, largest: int) -> None:
    random = np.random.default_rng(seed)

    def some() -> np.ndarray:
        return random.integers(1, largest, (2, int(random.integers(0, 60)))) * 1.0

    every = some()
    every = every[:, front(every)]
    stairs = Staircase.of_sorted(every)
    for _ in range(steps):
        new = some()
        stairs, every = stairs.add(new), np.concatenate([every, new], axis=1)
        expected = front(every)
        np.testing.assert_array_equal(stairs.place, expected)
        np.testing.assert_array_equal(stairs.objectives, every[:, expected])
        assert stairs.count == every.shape[1]
