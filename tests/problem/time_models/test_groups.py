"""Where process groups lie, worked by hand."""

from __future__ import annotations

import numpy as np

from evo_libra.collective import Collective
from evo_libra.problem.time_models.placement import Placement, placed_channels
from evo_libra.workload.layers.iteration_time import Pattern


def test_groups_lie_from_the_innermost_dimension_outwards() -> None:
    # 8 NPUs in dimensions of 2 and 4; groups of tp 4 inside of dp 2. Of tp, 2 NPUs lie in dimension 0 and 2 of the 4 in
    # dimension 1; dp takes the other 2 there, which are as far apart as tp has NPUs there.
    layout = (("tp", 4), ("dp", 2))
    channels = [(layout, group, Pattern.SHRINKING) for group in ("tp", "dp", "tp+dp", "all")]
    found = placed_channels(channels, np.array([[2], [4]]), (), None)
    places = {group: (one.extent.ravel().tolist(), one.stride.ravel().tolist()) for (_, group), one in found.items()}
    assert places == {
        "all": ([2, 4], [1, 1]), "tp": ([2, 2], [1, 1]), "dp": ([1, 2], [2, 2]), "tp+dp": ([2, 4], [1, 1]),
    }  # fmt: skip


def test_the_part_of_a_group_beyond_domains_has_whole_shards() -> None:
    # 8 domains of 2: an NPU reduces half of what its group does beyond the domain, and gathers as many whole shards.
    group = Placement(np.array([[2], [8]]), np.array([[1], [1]]))
    found = group.beyond(np.array([[False], [True]]))
    assert found.extent.ravel().tolist() == [1, 8]
    assert np.ravel(found.share_of(Collective.REDUCE_SCATTER)) == [0.5]
    assert np.ravel(found.share_of(Collective.ALL_REDUCE)) == [0.5]
    assert np.ravel(found.share_of(Collective.ALL_GATHER)) == [1.0]


def test_members_of_a_trace_may_lie_in_several_parts() -> None:
    # 16 NPUs: pairs of neighbours, and of those every second pair, as in (0, 1, 4, 5): between them lies a pair.
    layout = (("member", 2), ("between", 2), ("member", 2), ("between", 2))
    found = placed_channels([(layout, "2+2x+2", Pattern.SHRINKING)], np.array([[4], [4]]), (), None)
    one = found[layout, "2+2x+2"]
    assert (one.extent.ravel().tolist(), one.stride.ravel().tolist()) == ([2, 2], [1, 1])
