"""Members of process groups."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.workload.parallelism import lay_groups, members_of

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
