"""Traces that are alike but for the ranks of messages are looked through once, and say the same as each by itself."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from evo_libra.chakra.trace import Attribute, CollectiveType, Node
from evo_libra.chakra.write import collective_node, compute_node, receive_node, send_node
from evo_libra.errors import InputError
from evo_libra.timing.traces import compile as compiling
from evo_libra.timing.traces.compile import scripts_of
from evo_libra.timing.traces.operations import read_script
from evo_libra.timing.traces.process_groups import ProcessGroups
from evo_libra.workload.trace_nodes import between

GROUPS = ProcessGroups(4, {"1": (0, 1), "2": (2, 3)})
SHARED = (compute_node(1, "work", duration=5), compute_node(4, "more", duration=7, data=[2, 3]))


def around(npu: int, *more: Node) -> tuple[Node, ...]:
    """Return a trace that sends to the next NPU and receives from the one before."""
    after, before = (npu + 1) % 4, (npu - 1) % 4
    ends = {"size": 64, "tag": 0}
    send = send_node(2, "send", source=npu, destination=after, data=[1], **ends)
    receive = receive_node(3, "receive", source=before, destination=npu, **ends)
    return (*SHARED, send, receive, *more)


def test_what_is_read_once_is_what_each_trace_says(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counted(trace: tuple[Node, ...], npu: int, *rest: object, **more: object) -> object:
        read.append(npu)
        return read_script(trace, npu, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(compiling, "read_script", counted)
    traces = [around(npu) for npu in range(4)]
    found = scripts_of(traces, GROUPS)
    assert read == [0]
    assert found == [read_script(trace, npu, GROUPS.dimensions) for npu, trace in enumerate(traces)]
    assert found[0].operations is found[3].operations
    assert [channel.peer for channel in found[1].channels] == [2, 0]


def test_traces_of_other_groups_are_read_by_themselves() -> None:
    reduced = [collective_node(5, "sum", CollectiveType.ALL_REDUCE, 1024, group=str(group)) for group in (1, 2)]
    traces = [around(npu, reduced[npu // 2]) for npu in range(4)]
    assert [script.scopes[0].group for script in scripts_of(traces, GROUPS)] == ["1", "1", "2", "2"]


def test_messages_that_fall_together_in_one_trace_are_numbered_there() -> None:
    def sending(npu: int, first: int, second: int) -> tuple[Node, ...]:
        ends = {"source": npu, "size": 64, "tag": 0}
        return (
            SHARED[0], send_node(2, "a", destination=first, **ends), send_node(3, "b", destination=second, **ends),
        )  # fmt: skip

    found = scripts_of([sending(0, 1, 2), sending(1, 3, 3), (SHARED[0],), (SHARED[0],)], GROUPS)
    assert [[o.number for o in script.operations] for script in found[:2]] == [[-1, 0, 1], [-1, 0, 0]]


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        (lambda node: between(node, 0, 2), "comm_src is 0, but this is the trace of NPU 1"),
        (lambda node: between(node, 1, 1), "comm_dst is 1, the NPU itself"),
        (lambda node: between(node, 1, -1), "-1"),
        (
            lambda node: replace(
                node, attributes=MappingProxyType({**node.attributes, "comm_dst": Attribute("float", 2.0)})
            ),
            "comm_dst",
        ),
    ],
)
def test_mistakes_of_later_traces_are_found(wrong: object, part: str) -> None:
    traces = [around(npu) for npu in range(4)]
    traces[1] = tuple(wrong(node) if node.name == "send" else node for node in traces[1])  # type: ignore[operator]
    with pytest.raises(InputError, match="trace of NPU 1") as caught:
        scripts_of(traces, GROUPS)
    assert part in str(caught.value)
