"""Plans that another plan beats on every network, bounds of several plans, and clusters: small tables by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.collective import Pattern
from evo_libra.workload.plans.dominance import clustered, smallest, undominated
from evo_libra.workload.plans.tabulated import TabulatedRace, TabulatedTime

STREAMS = (("tp", Pattern.SHRINKING),)


def table(compute: list[float], size: list[float], *races: TabulatedRace) -> TabulatedTime:
    return TabulatedTime(STREAMS, np.array(compute), np.array([size]), races)


def race(count: list[float], *chains: tuple[list[float], list[float]]) -> TabulatedRace:
    """Return a race of chains, each of the seconds and the units of all plans."""
    seconds, units = zip(*chains, strict=True)
    return TabulatedRace(np.array(count), np.array(seconds), np.array(units)[:, None])


def kept(time: TabulatedTime, group: list[int] | None = None, among: list[int] | None = None) -> list[int]:
    count = len(time.compute)
    every = np.array(range(count) if among is None else among, dtype=np.int64)
    return undominated(time, np.array(group or [0] * count), every).tolist()


def test_a_plan_with_no_more_of_anything_beats_another() -> None:
    # The third has more of both than the first; the second has less to send.
    assert kept(table([1.0, 2.0, 1.5], [5.0, 3.0, 6.0])) == [0, 1]
    assert kept(table([1.0, 1.0], [5.0, 6.0])) == [0]
    assert kept(table([2.0, 1.0], [5.0, 5.0])) == [1]


def test_of_equal_plans_the_first_one_is_kept() -> None:
    assert kept(table([1.0, 1.0, 1.0], [5.0, 5.0, 5.0])) == [0]
    assert kept(table([1.0, 1.0, 1.0], [5.0, 5.0, 5.0]), among=[1, 2]) == [1]


def test_plans_that_lie_otherwise_are_not_compared() -> None:
    assert kept(table([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), group=[0, 1, 0]) == [0, 1]
    assert kept(table([1.0], [1.0]), among=[]) == []


def test_a_plan_that_hides_traffic_beats_one_that_adds_it_up() -> None:
    # max(3, 2 t) is no more than 3 + 2 t, whatever t is; the other way round it is not so.
    hides = race([1.0, 1.0], ([3.0, 3.0], [0.0, 2.0]), ([0.0, 3.0], [2.0, 2.0]))
    assert kept(table([0.0, 0.0], [0.0, 0.0], hides)) == [0]
    # A chain of 4 s is longer than both chains of the other plan where the network is fast.
    longer = race([1.0, 1.0], ([4.0, 3.0], [0.0, 0.0]), ([0.0, 0.0], [2.0, 3.0]))
    assert kept(table([0.0, 0.0], [0.0, 0.0], longer)) == [0, 1]


def test_all_repetitions_of_a_race_count() -> None:
    # 2 x 3 s and 3 x 2 s are as much; 2 x 2 units are less than 3 x 2.
    some = race([2.0, 3.0], ([3.0, 2.0], [0.0, 0.0]), ([0.0, 0.0], [2.0, 2.0]))
    assert kept(table([0.0, 0.0], [0.0, 0.0], some)) == [0]


def test_a_bound_has_the_least_of_each_group() -> None:
    some = race([2.0, 1.0, 5.0], ([3.0, 4.0, 1.0], [1.0, 3.0, 1.0]), ([0.0, 1.0, 1.0], [2.0, 2.0, 1.0]))
    found = smallest(table([1.0, 2.0, 9.0], [5.0, 3.0, 9.0], some), np.array([0, 0, 1]), np.array([0, 1, 2]))
    assert found.compute.tolist() == [1.0, 1.0, 9.0]
    assert found.size.tolist() == [[3.0, 3.0, 9.0]]
    (one,) = found.races
    assert one.count.tolist() == [1.0, 1.0, 1.0]
    # Of 2 x 3 and 1 x 4 s the latter, of 2 x 1 and 1 x 3 units the former.
    assert one.compute.tolist() == [[4.0, 4.0, 5.0], [0.0, 0.0, 5.0]]
    assert one.size.tolist() == [[[2.0, 2.0, 5.0]], [[2.0, 2.0, 5.0]]]


def test_plans_that_are_left_out_bound_nothing() -> None:
    found = smallest(table([1.0, 2.0, 9.0], [5.0, 3.0, 9.0]), np.array([0, 0, 1]), np.array([1]))
    assert found.compute.tolist() == [2.0, 2.0, 0.0]
    assert found.size.tolist() == [[3.0, 3.0, 0.0]]


@pytest.mark.parametrize(("compute", "size", "labels"), [
    # Four plans are a cluster. Eight are halved where they differ the most, in the units: odd and even ones.
    ([1.0, 2.0, 3.0, 4.0], [1.0] * 4, [0, 0, 0, 0]),
    ([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7], [1.0, 9.0] * 4, [1, 0] * 4),
    # Relative to the largest: 1 of 2 s is more than 10 of 100 units.
    ([1.0, 2.0] * 4, [100.0, 100.0, 100.0, 100.0, 90.0, 90.0, 90.0, 90.0], [1, 0] * 4),
    # What is 0 somewhere differs the most; of several the first one counts.
    ([0.0, 1.0] * 4, [0.0] * 4 + [9.0] * 4, [1, 0] * 4),
])  # fmt: skip
def test_clusters_have_like_coefficients(compute: list[float], size: list[float], labels: list[int]) -> None:
    found = clustered(table(compute, size), np.zeros(len(compute), dtype=np.int64), np.arange(len(compute)))
    assert found.tolist() == labels


def test_clusters_see_the_longest_chain_of_races() -> None:
    # In the race one in two plans sends 9 units 2 times, more than what they differ in outside.
    one_in_two = [[0.0] * 8, [9.0, 0.0] * 4, [0.0] * 8]
    some = race([2.0] * 8, *zip([[0.0] * 8] * 3, one_in_two, strict=True))
    time = table([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7], [1.0] * 8, some)
    assert clustered(time, np.zeros(8, dtype=np.int64), np.arange(8)).tolist() == [0, 1] * 4


def test_clusters_are_within_a_group() -> None:
    labels = clustered(table([1.0] * 4, [1.0] * 4), np.array([0, 1, 0, 1]), np.arange(4))
    assert labels[0] == labels[2] != labels[1] == labels[3]
