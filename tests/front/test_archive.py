"""A Pareto filter keeps every non-dominated design and rejects most of the others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.front.archive import Archive, Collection, even_steps, front, pareto_filter
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_a_filter_by_hand() -> None:
    # Known are (0, 10), (5, 5) and (10, 0). (6, 6) and (6, 5) are behind (5, 5), with cells between; (6, 4) is not.
    known = np.array([[0.0, 5.0, 10.0], [10.0, 5.0, 0.0]])
    new = np.array([[6.0, 6.0, 6.0, 5.0, -1.0, 11.0], [6.0, 5.0, 4.0, 9.0, 20.0, -1.0]])
    assert pareto_filter(known).passes(new).tolist() == [False, False, True, True, True, True]
    # The same of three objectives, whose third one is the same everywhere, and in positive numbers, whose bits count.
    for low in (0.0, 1.0):
        three = [np.vstack([points, np.zeros(points.shape[1])])[[2, 0, 1]] + low for points in (known, new)]
        assert pareto_filter(three[0]).passes(np.maximum(three[1], low / 2)).tolist()[2:] == [True] * 4
    assert pareto_filter(known[:1]).passes(new[:1]).all()
    assert pareto_filter(known[:, :0]).passes(new).all()


def test_even_steps_have_both_ends() -> None:
    assert [even_steps(*numbers).tolist() for numbers in ((5, 3), (3, 9), (10, 2), (10, 1), (0, 3), (4, 4))] == [
        [0, 2, 4], [0, 1, 2], [0, 9], [0], [], [0, 1, 2, 3],
    ]  # fmt: skip


def test_what_breaks_a_limit_is_not_archived_and_of_equals_the_first_is() -> None:
    genes, objectives = np.arange(5.0)[None], np.array([[3.0, 1.0, 1.0, 2.0, 0.0], [1.0, 3.0, 3.0, 4.0, 0.0]])
    found = Archive.empty(1, 2).add(genes, objectives, np.array([0.0, 0.0, -1.0, 0.0, 1e-9]))
    assert found.genes.tolist() == [[1.0, 0.0]]
    assert found.objectives.tolist() == [[1.0, 3.0], [3.0, 1.0]]
    # What comes later has to be better.
    assert found.add(genes + 5.0, objectives, np.zeros(5)).genes.tolist() == [[9.0]]
    assert found.add(genes + 5.0, objectives, np.array([0.0, 0.0, 0.0, 0.0, 1.0])).genes.tolist() == [[1.0, 0.0]]
