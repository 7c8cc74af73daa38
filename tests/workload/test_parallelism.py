"""Members of process groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.errors import InputError
from evo_libra.workload.parallelism import (
    IDLE,
    complete_degrees,
    divisors,
    lay_groups,
    lay_layout,
    members_of,
    nearest_divisors,
    offsets,
    parts_of,
)

SIZES = st.lists(st.sampled_from([2, 3, 4, 6, 8]), min_size=1, max_size=4).filter(lambda npus: np.prod(npus) <= 1024)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    npus = np.array(draw(SIZES))
    left, degrees = int(npus.prod()), []
    for _ in range(draw(st.integers(1, 3))):
        degrees.append(draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0])))
        left //= degrees[-1]
    extent, fits = lay_groups(npus[:, None], np.array([*degrees, left]))
    # Degrees that divide the NPUs need not fit, such as 2 x 3 on dimensions of 3 and 2 NPUs taken the other way.
    return npus, extent[:, :, 0] if fits[0] else lay_groups(npus[:, None], np.array([npus.prod()]))[0][:, :, 0]


@given(layouts())
def test_every_npu_is_in_one_instance_and_two_groups_share_one_npu(layout: tuple[np.ndarray, np.ndarray]) -> None:
    npus, extent = layout
    every = np.arange(npus.prod())
    label = []
    for group in range(len(extent)):
        members = members_of(npus, extent, group)
        assert members.shape[1] == extent[group].prod()
        np.testing.assert_array_equal(np.sort(members, axis=None), every)
        assert (np.diff(members, axis=1) > 0).all()
        assert (np.diff(members[:, 0]) > 0).all()
        instance = np.empty(len(every), dtype=np.int64)
        instance[members] = np.arange(len(members))[:, None]
        label.append(instance)
    # The groups together take all NPUs, so that the instances of the others tell an NPU's place in its own.
    for group in range(len(extent)):
        others = [instance for g, instance in enumerate(label) if g != group]
        if others:
            assert len(set(zip(label[group], *others, strict=True))) == len(every)
            for members in members_of(npus, extent, group):
                assert len({tuple(instance[npu] for instance in others) for npu in members}) == len(members)


@given(layouts())
def test_an_instance_has_its_extent_in_every_dimension(layout: tuple[np.ndarray, np.ndarray]) -> None:
    npus, extent = layout
    for group in range(len(extent)):
        for members in members_of(npus, extent, group):
            place = np.unravel_index(members, npus, order="F")
            assert [len(np.unique(row)) for row in place] == extent[group].tolist()


def test_the_inner_group_takes_the_inner_part_of_a_dimension() -> None:
    extent = np.array([[4, 2], [1, 4]])
    inner, outer = (members_of(np.array([4, 8]), extent, group) for group in (0, 1))
    assert inner[0].tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert inner[1].tolist() == [8, 9, 10, 11, 12, 13, 14, 15]
    assert outer[0].tolist() == [0, 8, 16, 24]
    assert outer[5].tolist() == [5, 13, 21, 29]


def test_groups_take_common_divisors_from_the_inside_out() -> None:
    # LIBRA's communicators: TP 4 on [2, 6, 4] takes 2 of the first dimension and gcd(2, 6) = 2 of the second one; of
    # what is left, [1, 3, 4], a group of 6 takes 3 and gcd(2, 4) = 2.
    extent, fits = lay_groups(np.array([[2], [6], [4]]), np.array([4, 6, 2]))
    assert extent[:, :, 0].tolist() == [[2, 2, 1], [1, 3, 2], [1, 1, 2]]
    assert fits.tolist() == [True]
    # A group of 4 on [2, 3]: gcd(4, 2) = 2, then gcd(2, 3) = 1, and 2 are left over.
    assert lay_groups(np.array([[2], [3]]), np.array([4]))[1].tolist() == [False]
    # Degrees of each design.
    both, fits = lay_groups(np.array([[4, 4]]), np.array([[2, 4]]))
    assert (both[0, 0].tolist(), fits.tolist()) == ([2, 4], [True, True])


def test_offsets_are_those_of_the_first_dimension_that_differs() -> None:
    npus = np.array([[4, 2], [3, 6]])
    # Of [4, 3], NPU 1 is at (1, 0) and NPU 10 at (2, 2); of [2, 6], at (1, 0) and (0, 5).
    assert offsets(1, 10, npus).tolist() == [[1, 1], [0, 0]]
    assert offsets(10, 1, npus).tolist() == [[3, 1], [0, 0]]
    assert offsets(2, 10, npus).tolist() == [[0, 0], [2, 4]]
    assert offsets(2, 2, npus).tolist() == [[0, 0], [0, 0]]


def test_what_is_left_is_data_parallel() -> None:
    assert complete_degrees({"tp": 4, "pp": 2}, 24) == {"tp": 4, "pp": 2, "dp": 3}
    assert complete_degrees({"tp": 4, "dp": 6}, 24) == {"tp": 4, "dp": 6}
    with pytest.raises(InputError, match="pp 5 does not divide the 6 NPUs that tp 4 leaves; 3 and 6 do"):
        complete_degrees({"tp": 4, "pp": 5}, 24)
    with pytest.raises(InputError, match="tp 4 x dp 3 are 12 NPUs, not 24; leave dp out"):
        complete_degrees({"tp": 4, "dp": 3}, 24)


def test_parts_of_groups() -> None:
    assert parts_of("ep+dp") == ("ep", "dp")
    assert [divisors(number) for number in (1, 12, 16)] == [[1], [1, 2, 3, 4, 6, 12], [1, 2, 4, 8, 16]]
    assert nearest_divisors(12, 5) == "4 and 6 do"


def test_idle_npus_are_the_last_ones_of_a_network_of_one_dimension() -> None:
    # 18 of 20 NPUs: groups of 3, of 2 and of 3; of 5 x 4 NPUs no dimension has two to spare.
    layout = (("tp", 3), ("pp", 2), ("dp", 3), (IDLE, 2))
    laid, fits = lay_layout(np.array([[20, 1, 5], [1, 20, 4]]), layout)
    assert fits.tolist() == [True, True, False]
    assert laid[:, :, :2].prod(axis=1).T.tolist() == [[3, 2, 3], [3, 2, 3]]
    assert lay_layout(np.array([[20]]), layout[:3])[1].tolist() == [False]
