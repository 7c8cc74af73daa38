"""Iteration times of traces by hand: what a workload of traces says of itself, and its streams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evo_libra.chakra.trace import Attribute, CollectiveType, Node
from evo_libra.chakra.write import collective_node, compute_node, receive_node, send_node
from evo_libra.collective import Collective, Pattern, SizedCollective
from evo_libra.errors import InputError
from evo_libra.timing.trace_time import TraceAccelerator, TracedWorkload, grid_of, trace_time, traced_workload
from evo_libra.workload.layers.iteration_time import Merging, Message
from evo_libra.workload.layers.workload import Sent
from evo_libra.workload.parallelism import ALL

AR, AG = Collective.ALL_REDUCE, Collective.ALL_GATHER


def computes(number: int, ns: int, *data: int) -> Node:
    return compute_node(number, f"c{number}", operations=1000 * ns, size=8, duration=ns, data=data)


def workload(accelerator: TraceAccelerator | None = None) -> TracedWorkload:
    """Return two stages of two NPUs: each computes and reduces, the first one sends, the second one gathers, too."""
    groups = {"first": (0, 1), "second": (2, 3)}
    traces = []
    for npu in range(4):
        stage = npu // 2
        group = ("first", "second")[stage]
        nodes = [computes(0, 3 + stage), collective_node(1, "", CollectiveType.ALL_REDUCE, 1000, data=[0], group=group)]
        if stage:
            nodes += [receive_node(2, "", source=npu - 2, destination=npu, size=64, tag=0),
                      collective_node(3, "", CollectiveType.ALL_GATHER, 500, data=[1, 2], group="second"),
                      collective_node(4, "", CollectiveType.ALL_REDUCE, 1000, data=[3], group="second")]  # fmt: skip
        else:
            nodes += [send_node(2, "", source=npu, destination=npu + 2, size=64, tag=0, data=[1])]
        traces.append(nodes)
    return traced_workload("pipe", traces, groups, 4, accelerator or TraceAccelerator())


def test_what_a_workload_of_traces_says() -> None:
    found = workload()
    # The second stage has all-reduces of 1,000 B twice and an all-gather. Two neighbours are called by their number.
    assert found.sent() == {Sent("trace", AR, "2", 1000): 2, Sent("trace", AG, "2", 500): 1}
    assert found.collectives({}) == [(AR, "2", 1000), (AG, "2", 500), (AR, "2", 1000)]
    assert list(found.all_gathers([])) == [("node 3", 500)]
    assert list(found.messages()) == [(0, Message(0, 2, 64))]
    assert found.groups == ("2",)
    # 4 us of the second stage are the most, and none of it is below 1 ns.
    assert found.compute == pytest.approx(4e-6)
    assert found.instant == ()
    assert found.computing.tolist() == pytest.approx([3e-6, 0, 0, 4e-6, 0, 0, 0, 0])


def test_computations_of_less_than_a_nanosecond() -> None:
    # 3,000 operations at 4e12 FLOP/s take 0.75 ns, 4,000 take 1 ns.
    found = workload(TraceAccelerator(4e12, 1e12))
    assert found.instant == ("node 0 'c0' of NPU 0 in pipe",)


def test_streams_and_their_units() -> None:
    found = trace_time(workload(), merging=Merging.NONE)
    assert found.streams == (
        ("2", SizedCollective(AR, 1000)),
        (ALL, Message(0, 2, 64)),
        ("2", SizedCollective(AG, 500)),
    )
    assert found.stream.tolist() == [-1, 0, 1, -1, 0, -1, 2, 0]
    assert found.units.tolist() == [0, 1, 1, 0, 1, 0, 1, 1]
    # By pattern, an all-reduce of two is 1,000 B of it, and an all-gather of 500 B shards 500 B.
    merged = trace_time(workload(), merging=Merging.PATTERN)
    assert merged.streams == (("2", Pattern.SHRINKING), (ALL, Message(0, 2, 64)))
    assert merged.units.tolist()[1:3] == [merged.units[4], 1.0]
    assert merged.units[6] == merged.units[1] / 2
    assert (found.whole, merged.whole) == (True, False)


def test_times_of_designs() -> None:
    found = trace_time(workload(), merging=Merging.NONE)
    # Reduces in 5 us and gathers in 7 us: the second stage computes until 4, reduces until 9; the first one computes
    # until 3, reduces until 8 and sends until 10. It gathers until 17 and reduces until 22. In the second design it has
    # the message at 28.
    rows = [np.array([5e-6, 5e-6]), np.array([2e-6, 20e-6]), np.array([7e-6, 7e-6])]
    assert found(rows).tolist() == pytest.approx([22e-6, 40e-6])
    # Whole ns: 5.0004 us are rounded to 5,000 ns, twice.
    rows[0] = np.array([5.0004e-6, 5e-6])
    assert found(rows).tolist() == pytest.approx([22e-6, 40e-6], rel=1e-12)
    assert replace(found, whole=False)(rows)[0] == pytest.approx(22.0008e-6, rel=1e-9)


def test_traces_of_no_network() -> None:
    alone = traced_workload("one", [[computes(0, 3)]], {}, 2, TraceAccelerator(scale=2.0))
    assert trace_time(alone, merging=Merging.NONE)([]).tolist() == pytest.approx([6e-6])
    assert (alone.sent(), alone.collectives({}), alone.groups) == ({}, [], ())


def test_traces_that_a_search_refuses() -> None:
    whole = collective_node(1, "", CollectiveType.ALL_REDUCE, 100)
    for flags, refused in ((None, False), ((True, True), False), ((True, False), True)):
        node = whole
        if flags is not None:
            node = replace(whole, attributes={**whole.attributes, "involved_dim": Attribute("bool_list", flags)})
        if refused:
            with pytest.raises(InputError, match="NPU 0, node 1: has involved_dim"):
                traced_workload("x", [[node]], {}, 2, TraceAccelerator())
    scattered = [[collective_node(1, "", CollectiveType.ALL_REDUCE, 100, group="a")] for _ in range(3)]
    idle = [computes(0, 1)]
    with pytest.raises(InputError, match=r"group 'a': its members 0, 1, 3 are no grid"):
        traced_workload("x", [scattered[0], scattered[1], idle, scattered[2]], {"a": (0, 1, 3)}, 4, TraceAccelerator())


@pytest.mark.parametrize(("members", "npus", "expected"), [
    ([0, 1], 4, (("member", 2),)), ([2, 3], 4, (("member", 2),)), ([0, 2], 4, (("between", 2), ("member", 2))),
    ([3, 1], 4, (("between", 2), ("member", 2))), ([0, 1, 4, 5], 8, (("member", 2), ("between", 2), ("member", 2))),
    ([0, 3, 6, 9], 12, (("between", 3), ("member", 4))), ([4, 5, 6, 7, 12, 13, 14, 15], 16,
                                                        (("member", 4), ("between", 2), ("member", 2))),
    ([5], 8, (("member", 1),)),
])  # fmt: skip
def test_groups_on_grids(members: list[int], npus: int, expected: tuple[tuple[str, int], ...]) -> None:
    assert grid_of(members, npus) == expected


@pytest.mark.parametrize(("members", "npus"), [
    # Not at a multiple of its size; of uneven strides; too few for a block; of NPUs that it does not divide.
    ([1, 2], 4), ([0, 1, 3], 8), ([0, 2, 3, 5], 8), ([0, 1, 2], 8), ([0, 1, 2, 3, 4], 7), ([0, 1, 2, 4], 8),
])  # fmt: skip
def test_groups_that_are_no_grid(members: list[int], npus: int) -> None:
    with pytest.raises(ValueError, match=f"members {', '.join(map(str, members))} are no grid"):
        grid_of(members, npus)


def test_long_groups_are_shortened() -> None:
    with pytest.raises(ValueError, match=r"members 0, 1, 2, 3, 4, 5, \.\.\. are no grid"):
        grid_of([0, 1, 2, 3, 4, 5, 7], 16)
