"""Traces as files, one for each NPU: their names, NPUs with the same trace, and NPUs in place of stages."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from evo_libra.astra_sim.cluster import ExportedGroup
from evo_libra.astra_sim.loops import LoopTraces
from evo_libra.astra_sim.trace_files import file_names, owners_of, read_traces, write_traces
from evo_libra.chakra.trace import CollectiveType, Node
from evo_libra.chakra.write import collective_node, compute_node, receive_node, send_node
from evo_libra.workload.trace_nodes import DimensionGroup, ListedGroup

NONE = np.zeros(0, dtype=np.int64)
REDUCE = collective_node(2, "layer.tp", CollectiveType.ALL_REDUCE, 8, group="tp", data=(1,))
COMPUTE = compute_node(1, "layer", operations=1500)
SEND = send_node(3, "send.pp", source=0, destination=1, size=16, tag=0, data=(2,))
RECEIVE = receive_node(1, "receive.pp", source=0, destination=1, size=16, tag=0)
LISTED = {
    "tp": ExportedGroup((2,), ListedGroup("tp"), np.array([7, 7, 9, 9])),
    "dp": ExportedGroup((2,), DimensionGroup((False, True)), NONE),
}
ALONE = LoopTraces(((COMPUTE, REDUCE),), np.array([[0], [1], [2], [3]]), 0.0)
STAGES = LoopTraces(((COMPUTE, REDUCE, SEND), (RECEIVE,)), np.array([[0, 2], [1, 3]]), 0.0)


def test_names_are_plain_and_each_once() -> None:
    assert file_names(["GPT 3/175B", "a", "a", "a", "..", "a-2"]) == [
        "GPT-3-175B", "a", "a-2", "a-3", "workload", "a-2-2",
    ]  # fmt: skip


def test_npus_of_the_same_lists_have_the_same_trace() -> None:
    assert owners_of(ALONE, LISTED).tolist() == [0, 0, 2, 2]
    assert owners_of(ALONE, {"dp": LISTED["dp"]}).tolist() == [0, 0, 0, 0]
    other = {**LISTED, "dp": ExportedGroup((2,), ListedGroup("dp"), np.array([1, 2, 1, 2]))}
    assert owners_of(ALONE, other).tolist() == [0, 1, 2, 3]


def test_messages_name_npus_so_that_no_two_traces_of_stages_are_equal() -> None:
    assert owners_of(STAGES, LISTED).tolist() == [0, 1, 2, 3]


def values(node: Node, *names: str) -> list[str]:
    return [str(node.attributes[name].value) for name in names]


def test_what_is_written_has_the_members_and_the_npus_of_its_pipeline(tmp_path: Path) -> None:
    owner = owners_of(STAGES, LISTED)
    write_traces(tmp_path / "step", STAGES, LISTED, owner)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"step.{npu}.et" for npu in range(4)]
    traces = read_traces(tmp_path / "step", owner)
    assert [len(trace) for trace in traces] == [3, 3, 1, 1]
    assert [values(traces[npu][1], "pg_name") for npu in (0, 1)] == [["7"], ["7"]]
    # The pipelines are 0, 2 and 1, 3.
    assert [values(traces[npu][2], "comm_src", "comm_dst") for npu in (0, 1)] == [["0", "2"], ["1", "3"]]
    assert [values(traces[npu][0], "comm_src", "comm_dst") for npu in (2, 3)] == [["0", "2"], ["1", "3"]]
    assert traces[0][0] == COMPUTE
    assert traces[0][0] is traces[1][0]  # equal nodes are the same object


@pytest.mark.parametrize("links", [True, False])
def test_equal_traces_are_one_file_with_several_names_or_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool  # noqa: FBT001 - a case
) -> None:  # fmt: skip
    if not links:

        def refuse(*_: object) -> None:
            raise OSError

        monkeypatch.setattr(os, "link", refuse)
    owner = owners_of(ALONE, LISTED)
    write_traces(tmp_path / "step", ALONE, LISTED, owner)
    files = [tmp_path / f"step.{npu}.et" for npu in range(4)]
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes() == files[3].read_bytes()
    assert files[0].samefile(files[1]) is links
    assert [values(trace[1], "pg_name") for trace in read_traces(tmp_path / "step", owner)] == [
        ["7"], ["7"], ["9"], ["9"],
    ]  # fmt: skip
