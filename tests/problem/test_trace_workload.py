"""Execution traces as workloads of a problem."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import call
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.chakra.trace import CollectiveType, Metadata, Node
from evo_libra.chakra.write import collective_node, compute_node, receive_node, send_node, write_trace
from evo_libra.errors import InputError
from evo_libra.explain.explain import explain
from evo_libra.problem.optimize import optimize
from evo_libra.problem.problem import Problem
from evo_libra.timing.trace_time import MEMBER, grid_of
from evo_libra.units import GIBI
from evo_libra.workload.parallelism import lay_groups, offsets

GOLDEN = Path(__file__).parents[1] / "golden" / "chakra"
CODES = {"Ring": "RI", "FullyConnected": "FC", "Switch": "SW"}


def problem(folder: Path, npus: int, workload: str, time: str = "libra", **more: str) -> Problem:
    rows = "".join(f"{key}: {value}\n" for key, value in more.items())
    (folder / "problem.yaml").write_text(
        f"name: traced\nnpus: {npus}\nfabric: {{catalog: libra, max_dimensions: 4}}\n"
        f"workloads: [{{{workload}}}]\ntime: {time}\nbandwidth: {{max_GBps: 100000}}\n{rows}"
    )
    found = load_problem(str(folder / "problem.yaml"))
    assert isinstance(found, Problem)
    return found


@pytest.mark.parametrize("name", ["dp_overlap_golden", "fsdp_golden"])
def test_a_trace_takes_as_long_as_the_simulator_says(tmp_path: Path, name: str) -> None:
    case: Any = json.loads((GOLDEN / name / "decoded_and_result.json").read_text())
    network, system = case["network"], case["system"]
    assert set(system["all-reduce-implementation"]) == {"ring"}
    parts = []
    for block, npus, bandwidth in zip(network["topology"], network["npus_count"], network["bandwidth"], strict=True):
        links = npus - 1 if block == "FullyConnected" else 1
        parts.append(f"{CODES[block]}({npus})@pod:{bandwidth * GIBI / 1e9 * links!r}")
    (latency,) = set(network["latency"])
    assert system["collective-optimization"] == "localBWAware"
    time = (
        f"{{model: astra, latency_ns: {latency}, chunks: {system['preferred-dataset-splits']}, "
        f"endpoint_delay_ns: {system['endpoint-delay']}, local_memory_GBps: {system['local-mem-bw']}, "
        f"active_chunks: {system['active-chunks-per-dimension']}, "
        "algorithms: {ring: ring, fully-connected: ring, switch: ring}}"
    )
    workload = f"trace: {GOLDEN / name / 'trace.0.et'}, compute_TFLOPS: {system['peak-perf']}"
    workload += f", memory_GBps: {system['local-mem-bw']}"
    npus = int(np.prod(network["npus_count"]))
    catalog = "{catalog: own.yaml, max_dimensions: 4}"
    (tmp_path / "own.yaml").write_text(
        "name: own\nsource: none\ntechnologies:\n"
        "  pod: {link_usd_per_GBps: 1, switch_usd_per_GBps: 1, nic_usd_per_GBps: 1}\n"
    )
    text = (
        f"name: traced\nnpus: {npus}\nfabric: {catalog}\nworkloads: [{{{workload}}}]\ntime: {time}\n"
        "bandwidth: {max_GBps: 100000}\n"
    )
    (tmp_path / "golden.yaml").write_text(text)
    found = load_problem(str(tmp_path / "golden.yaml"))
    assert isinstance(found, Problem)
    seconds = found.evaluate("_".join(parts)).objectives[0, 0]
    assert round(seconds * 1e9) == case["result"]["finish_ns"]


def pipeline(folder: Path) -> None:
    """Write traces of two stages of two NPUs: compute, all-reduce in the stage, send to the other stage."""
    (folder / "groups.json").write_text('{"1": [0, 1], "2": [2, 3]}')
    for npu in range(4):
        write_trace(folder / f"pipe.{npu}.et", Metadata(), nodes_of(npu))


def nodes_of(npu: int) -> list[Node]:
    group = "1" if npu < 2 else "2"
    nodes = [compute_node(0, "work", operations=10**9, size=10**6)]
    nodes.append(collective_node(1, "reduce", CollectiveType.ALL_REDUCE, 2**20, data=(0,), group=group))
    if npu < 2:
        nodes.append(send_node(2, "send", source=npu, destination=npu + 2, size=2**16, tag=0, data=(1,)))
    else:
        nodes.append(receive_node(2, "receive", source=npu - 2, destination=npu, size=2**16, tag=0))
        nodes.append(compute_node(3, "late", operations=10**9, size=10**6, data=(1, 2)))
    return nodes


WORKLOAD = "trace: pipe, groups: groups.json, compute_TFLOPS: 100, memory_GBps: 1000"


def test_a_pipeline_is_timed_searched_and_explained(tmp_path: Path) -> None:
    pipeline(tmp_path)
    found = problem(tmp_path, 4, WORKLOAD)
    # 1e6 bytes of a tensor at 1 TB/s take 1 us, 1e9 operations at 100 TFLOP/s 10 us.
    seconds = found.evaluate("RI(2)@chiplet:10_SW(2)@pod:1").objectives[0, 0]
    reduce, send = 2**20 / 10e9, 2**16 / 1e9
    assert seconds == pytest.approx(2e-5 + reduce + send, rel=1e-6)
    assert len(search(found, evaluations=200, population=20)) > 5
    designs = found.read("RI(2)@chiplet:10_SW(2)@pod:1")
    (entry,) = explain(found, designs)["workloads"][0]["collectives"]
    assert (entry["count"], entry["collective"], entry["group"]) == (1, "all-reduce", "2")
    assert entry["time_ms"] == pytest.approx(reduce * 1e3)
    delayed = problem(tmp_path, 4, WORKLOAD, "{model: astra, latency_ns: 1000, chunks: 1}")
    assert delayed.evaluate("RI(2)@chiplet:10_SW(2)@pod:1").objectives[0, 0] > seconds


def test_circuits_of_messages_are_set_where_other_traffic_shares_them(tmp_path: Path) -> None:
    """All messages go two NPUs on: circuits that stay, unless the all-reduce needs others of the same switch."""
    pipeline(tmp_path)
    problem(tmp_path, 4, WORKLOAD)
    fabric = "fabric={catalog: parts-2024, technologies: [optics-400g], blocks: [ring, ocs-rail], domains: any}"
    fixed, slow = (
        load_problem(str(tmp_path / "problem.yaml"), [
            fabric, "bandwidth=ports", f"time={{model: astra, latency_ns: 250, chunks: 1, ocs_setting_us: {setting}}}",
        ]) for setting in (0, 1000)
    )  # fmt: skip
    assert isinstance(fixed, Problem)
    assert isinstance(slow, Problem)
    rates = "@optics-400g:50"
    designs = [f"RI(2){rates}_OC(2){rates}", f"OC(2){rates}_OC(2){rates}", f"OC(4){rates}"]
    more = slow.time(slow.read(designs)) - fixed.time(fixed.read(designs))
    # An all-reduce and a message, one after the other.
    np.testing.assert_allclose(more, [0.0, 0.0, 2e-3], atol=1e-12)
    assert slow.time.lower_bound is not None
    assert (slow.time.lower_bound(slow.read(designs)) <= slow.time(slow.read(designs))).all()
    (entry,) = explain(slow, slow.read(designs[2]))["workloads"][0]["messages"]
    (usual,) = explain(fixed, fixed.read(designs[2]))["workloads"][0]["messages"]
    assert entry["time_ms"] - usual["time_ms"] == pytest.approx(1.0 * entry["count"])


def test_messages_are_in_the_breakdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline(tmp_path)
    design, size = "RI(2)@chiplet:10_SW(2)@pod:1", 2**16
    found = problem(tmp_path, 4, WORKLOAD)
    (entry,) = explain(found, found.read(design))["workloads"][0]["messages"]
    assert (entry["phase"], entry["count"], entry["size_MB"], entry["bottleneck_dimension"]) == (
        "trace",
        1,
        0.065536,
        1,
    )
    assert [row["dimension"] for row in entry["dimensions"]] == [0, 1]
    assert [row["traffic_MB"] for row in entry["dimensions"]] == [0.0, 0.065536]
    assert entry["time_ms"] == pytest.approx(size / 1e9 * 1e3) == entry["dimensions"][1]["time_ms"]
    delayed = problem(tmp_path, 4, WORKLOAD, "{model: astra, latency_ns: 1000, chunks: 1}")
    (entry,) = explain(delayed, delayed.read(design))["workloads"][0]["messages"]
    # Two hops over a switch.
    assert entry["time_ms"] == pytest.approx((size / 1e9 + 2e-6) * 1e3)
    assert entry["beyond_bandwidth_ms"] == pytest.approx(2e-3)
    call("evaluate", tmp_path / "problem.yaml", "--design", design)
    shown = capsys.readouterr().out
    assert "time by collective and message" in shown
    assert re.search(r"trace +│ 1 send over dim 1 +│ 67\.54 +│ +0 +│ 65\.54", shown), shown


def test_messages_of_a_size_are_one_entry_of_the_npu_that_sends_most(tmp_path: Path) -> None:
    for npu in range(4):
        peer = npu ^ 1
        sends = [send_node(n, "", source=npu, destination=peer, size=1000, tag=n) for n in range(3)]
        sends += [send_node(9, "", source=npu, destination=peer, size=500, tag=9)]
        receives = [
            receive_node(10 + n, "", source=peer, destination=npu, size=500 if n == 9 else 1000, tag=n)
            for n in (0, 1, 2, 9)
        ]
        write_trace(tmp_path / f"pipe.{npu}.et", Metadata(), [*sends, *receives])
    found = problem(tmp_path, 4, "trace: pipe")
    entries = explain(found, found.read("RI(2)@chiplet:10_SW(2)@pod:1"))["workloads"][0]["messages"]
    assert [(entry["count"], entry["size_MB"]) for entry in entries] == [(3, 0.001), (1, 0.0005)]
    assert entries[0]["time_ms"] == pytest.approx(3 * 1000 / 10e9 * 1e3)


def test_traces_are_part_of_the_identity(tmp_path: Path) -> None:
    pipeline(tmp_path)
    before = problem(tmp_path, 4, WORKLOAD).identity()
    write_trace(tmp_path / "pipe.3.et", Metadata(), [compute_node(0, "x", operations=1, size=1)])
    with pytest.raises(InputError, match="NPU 2"):
        problem(tmp_path, 4, WORKLOAD)
    pipeline(tmp_path)
    assert problem(tmp_path, 4, WORKLOAD).identity() == before
    write_trace(tmp_path / "pipe.3.et", Metadata(), [*nodes_of(3), compute_node(9, "x", operations=1, size=1)])
    assert problem(tmp_path, 4, WORKLOAD).identity() != before


@pytest.mark.parametrize(
    ("npus", "workload", "part"),
    [
        (4, WORKLOAD + ", parallelism: {tp: 2}", "a trace has its own groups"),
        (8, WORKLOAD, "traces of 4 NPUs; the problem has 8"),
        (4, "trace: pipe, groups: groups.json, compute_TFLOPS: 100", "needs both compute_TFLOPS and memory_GBps"),
        (4, "trace: pipe", "1"),
        (4, "trace: pip", "pip"),
        (4, "model: gpt-3-libra, groups: groups.json, parallelism: {tp: 2}, compute_TFLOPS: 1", "belongs to a trace"),
        (4, WORKLOAD + ", model: gpt-3-libra", "one of model, file, trace and generator"),
    ],
)
def test_wrong_traces_are_told(tmp_path: Path, npus: int, workload: str, part: str) -> None:
    pipeline(tmp_path)
    with pytest.raises(InputError) as caught:
        problem(tmp_path, npus, workload)
    assert part in str(caught.value)


def test_files_that_are_not_there_are_told_where_they_are_named(tmp_path: Path) -> None:
    workloads = """
  - {file: none.txt, parallelism: {tp: 4}}
  - {name: b, trace: none, groups: none.json}
  - name: c
    generator: {kind: table, file: .}
    parallelism: {tp: 4}
"""
    text = f"name: x\nnpus: 16\nfabric: {{catalog: none.yaml, max_dimensions: 2}}\nworkloads:{workloads}time: libra\n"
    (tmp_path / "problem.yaml").write_text(text)
    with pytest.raises(InputError) as found:
        load_problem(str(tmp_path / "problem.yaml"))
    assert [str(mistake).replace(f"{tmp_path}/", "") for mistake in found.value.mistakes] == [
        "problem.yaml:3:10: fabric.catalog: none.yaml: cannot be read: no such file or directory",
        "problem.yaml:5:6: workloads[0].file: none.txt cannot be read: no such file or directory",
        "problem.yaml:6:15: workloads[1].trace: none: there is neither this file nor none.0.et and so on next to it",
        "problem.yaml:6:28: workloads[1].groups: none.json cannot be read: no such file or directory",
        f"problem.yaml:8:30: workloads[2].generator.file: {tmp_path} cannot be read: is a directory",
    ]


def test_a_catalogue_that_is_not_there_is_told_where_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("kind: parts\nname: own\nsource: made up\nextends: none.yaml\n")
    text = "name: x\nnpus: 16\nfabric: {catalog: own.yaml, max_dimensions: 2}\nworkloads: [{model: resnet-50-libra}]\n"
    (tmp_path / "problem.yaml").write_text(text)
    with pytest.raises(InputError, match=r"own.yaml:4:1: extends: .*none.yaml: cannot be read: no such file"):
        load_problem(str(tmp_path / "problem.yaml"))
    with pytest.raises(InputError, match=r"--set fabric.catalog=no.yaml: fabric.catalog: .*no.yaml: cannot be read"):
        load_problem(str(tmp_path / "problem.yaml"), ["fabric.catalog=no.yaml"])


def test_what_no_search_can_do_with_traces_is_told(tmp_path: Path) -> None:
    pipeline(tmp_path)
    with pytest.raises(InputError, match="is a trace"):
        search(problem(tmp_path, 4, WORKLOAD), engine="exhaustive", evaluations=10)


@pytest.mark.parametrize(("catalog", "instead"), [("libra", "search"), ("parts-2024", "ports")])
def test_bandwidths_of_a_trace_are_not_solved_for(tmp_path: Path, catalog: str, instead: str) -> None:
    pipeline(tmp_path)
    problem(tmp_path, 4, WORKLOAD)
    path = tmp_path / "problem.yaml"
    with pytest.raises(InputError, match=rf"problem\.yaml:4:\d+: workloads\[0\]\.trace: .*`bandwidth: {instead}`"):
        load_problem(str(path), ["bandwidth=optimal", f"fabric.catalog={catalog}"])
    with pytest.raises(InputError, match=r"problem\.yaml:4:\d+: workloads\[0\]\.trace: .*training loops"):
        optimize(str(path), shape="RI(4)")


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 3)), min_size=1, max_size=4), st.integers(0, 10))
@settings(max_examples=60)
def test_groups_that_are_grids_are_found(parts: list[tuple[bool, int]], shift: int) -> None:
    members, inside = [0], 1
    for mine, degree in parts:
        if mine:
            members = [place + step * inside for step in range(degree) for place in members]
        inside *= degree
    npus = inside * 11
    layout = grid_of([member + shift * inside for member in members], npus)
    _, fits = lay_groups(np.array([[npus]]), np.array([degree for _, degree in layout], dtype=np.int64))
    assert fits.all()
    assert np.prod([degree for name, degree in layout if name == MEMBER], initial=1) == len(members)


@pytest.mark.parametrize("members", [[0, 1, 3], [1, 2], [0, 2, 3, 5], [0, 3], [0, 1, 2, 4]])
def test_groups_that_are_no_grids_are_told(members: list[int]) -> None:
    with pytest.raises(ValueError, match="no grid"):
        grid_of(members, 8)


def test_messages_are_charged_the_first_dimension_that_differs() -> None:
    npus = np.array([[4, 2], [2, 4], [2, 2]])
    assert offsets(0, 5, npus).tolist() == [[1, 1], [0, 0], [0, 0]]
    assert offsets(0, 4, npus).tolist() == [[0, 0], [1, 2], [0, 0]]
    assert offsets(9, 1, npus).tolist() == [[0, 0], [0, 0], [1, 1]]
