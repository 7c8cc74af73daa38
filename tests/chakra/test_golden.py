"""Traces that other tools wrote: every value as they decode it, every byte as they wrote it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evo_libra.chakra.check import check_nodes
from evo_libra.chakra.read import read_metadata, read_nodes, read_trace, read_traces, trace_files
from evo_libra.chakra.trace import CollectiveType, Kind, Metadata, Node
from evo_libra.chakra.write import collective_node, compute_node, write_trace

GOLDEN = Path(__file__).parents[1] / "golden" / "chakra"
TRACES = sorted(GOLDEN.glob("*/trace.*.et"))


def as_decoded(node: Node) -> dict[str, Any]:
    """Return a node as the JSON beside the samples has it."""
    return {
        "id": node.id,
        "name": node.name,
        "type": f"{node.kind.name}_NODE",
        "ctrl_deps": list(node.control),
        "data_deps": list(node.data),
        "duration_micros": node.duration,
        "attr": [{"name": name, "type": found.type, "value": found.value} for name, found in node.attributes.items()],
    }


def expected(node: dict[str, Any]) -> dict[str, Any]:
    attributes = [entry | {"type": entry["type"].removesuffix("_val")} for entry in node["attr"]]
    return {"ctrl_deps": [], "duration_micros": 0} | node | {"attr": attributes}


def check_sample(trace: Path, again: Path) -> None:
    sample = json.loads((trace.parent / "decoded_and_result.json").read_text())
    metadata, nodes = read_trace(trace)
    assert metadata == Metadata(sample["global_metadata"]["version"])
    assert list(map(as_decoded, nodes)) == list(map(expected, sample["decoded"][trace.name]))
    assert not any(node.start or node.inputs or node.outputs for node in nodes)
    assert not any(found.doc for node in nodes for found in node.attributes.values())
    write_trace(again, metadata, nodes)
    assert again.read_bytes() == trace.read_bytes()


def test_there_are_enough_samples() -> None:
    assert len(TRACES) == 15
    assert len({trace.parent for trace in TRACES}) == 8


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: f"{trace.parent.name}-{trace.name}")
def test_sample(trace: Path, tmp_path: Path) -> None:
    check_sample(trace, tmp_path / "again.et")


def test_samples_that_lie_elsewhere(tmp_path: Path) -> None:
    folder = os.environ.get("EVO_LIBRA_CHAKRA_SAMPLES")
    if not folder:
        pytest.skip("EVO_LIBRA_CHAKRA_SAMPLES names no folder of further samples")
    traces = sorted(Path(folder).glob("*/trace.*.et"))
    assert traces
    for trace in traces:
        check_sample(trace, tmp_path / "again.et")


@pytest.mark.parametrize("name", ["all_gather", "all_reduce", "all_to_all", "reduce_scatter"])
def test_hex_dump(name: str) -> None:
    folder = GOLDEN / f"single_{name}"
    dump = json.loads((folder / "decoded_and_result.json").read_text())["hex"]
    assert (folder / "trace.0.et").read_bytes() == bytes.fromhex(dump)
    (node,) = read_nodes(folder / "trace.0.et")
    assert CollectiveType(node.attributes["comm_type"].value).name == name.upper()


def test_traces_of_all_npus_come_by_number() -> None:
    files = trace_files(GOLDEN / "gpipe_golden" / "trace")
    assert [file.name for file in files] == [f"trace.{npu}.et" for npu in range(8)]
    assert [len(nodes) for _, nodes in read_traces(GOLDEN / "gpipe_golden" / "trace")] == [
        25,
        25,
        37,
        37,
        37,
        37,
        25,
        25,
    ]
    assert trace_files(files[3]) == (files[3],)


def test_nodes_that_are_made_here_are_the_bytes_of_a_sample(tmp_path: Path) -> None:
    """The sample is of a data-parallel loop; another tool wrote it with the attribute types that every reader takes."""
    sample = GOLDEN / "dlrm_golden" / "trace.0.et"
    made = []
    for node in read_nodes(sample):
        value = {name: found.value for name, found in node.attributes.items()}
        if node.kind is Kind.COMP:
            made.append(
                compute_node(node.id, node.name, operations=value["num_ops"], size=value["tensor_size"], data=node.data)
            )
        else:
            collective = CollectiveType(value["comm_type"])
            made.append(collective_node(node.id, node.name, collective, value["comm_size"], data=node.data))
    write_trace(tmp_path / "made.et", read_metadata(sample), made)
    assert (tmp_path / "made.et").read_bytes() == sample.read_bytes()
    check_nodes(made, "made")
