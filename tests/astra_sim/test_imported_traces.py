"""Traces on an imported cluster: messages take the time of the engine of traces, and other differences are told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from command import call, call_json
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.chakra.trace import CollectiveType, Metadata, Node
from evo_libra.chakra.write import collective_node, compute_node, receive_node, send_node, write_trace
from evo_libra.collective import Collective
from evo_libra.problem.problem import Problem
from evo_libra.timing.input_files.system_file import read_machine
from evo_libra.timing.traces.execute import execute
from evo_libra.validation.astra import traces_of

BLOCKS = ("Ring", "FullyConnected", "Switch")
ALGORITHMS = ("ring", "direct", "direct1", "direct3", "halvingDoubling", "doubleBinaryTree")
SIZE = 2**20 + 1


def network_of(*dimensions: tuple[str, int, float, float]) -> dict[str, Any]:
    keys = ("topology", "npus_count", "bandwidth", "latency")
    return dict(zip(keys, map(list, zip(*dimensions, strict=True)), strict=True))


def system_of(algorithms: list[str]) -> dict[str, Any]:
    """Return a system file whose collectives all run the algorithms, but those that have no such all-to-all."""
    rows = {f"{collective.value}-implementation": algorithms for collective in Collective}
    rows["all-to-all-implementation"] = [
        name if name.startswith(("ring", "direct")) else "direct" for name in algorithms
    ]
    # A double binary tree has an all-reduce alone.
    others = [name if name != "doubleBinaryTree" else "ring" for name in algorithms]
    rows["all-gather-implementation"] = rows["reduce-scatter-implementation"] = others
    return {"preferred-dataset-splits": 1, "collective-optimization": "localBWAware", "endpoint-delay": 10, **rows}


def chain_of(order: Sequence[int], size: int) -> list[list[Node]]:
    """Return traces in which each NPU sends a message to the next one in the order when it has that of the last one."""
    traces: list[list[Node]] = [[] for _ in order]
    for source, destination in pairwise(order):
        after = (1,) if traces[source] else ()
        ends: Any = {"source": source, "destination": destination, "size": size, "tag": 0}
        traces[source].append(send_node(2, "send", **ends, data=after))
        traces[destination].append(receive_node(1, "receive", **ends))
    return traces


def import_cluster(folder: Path, network: dict[str, Any], system: dict[str, Any]) -> str:
    """Write the files of a cluster and import them as the problem `a.yaml`; return its design."""
    files = folder / "network.json", folder / "system.json", folder / "a.yaml"
    for path, data in zip(files, (network, system), strict=False):
        path.write_text(json.dumps(data))
    assert call("import", "--network", files[0], "--system", files[1], "--problem", files[2]) == 0
    return next(line.split("'")[1] for line in files[2].read_text().splitlines() if "--design" in line)


def write_traces(folder: Path, traces: list[list[Node]]) -> None:
    for npu, nodes in enumerate(traces):
        write_trace(folder / f"chain.{npu}.et", Metadata(), nodes)


def imported_and_engine_ns(network: dict[str, Any], system: dict[str, Any], traces: list[list[Node]]) -> list[int]:
    """Return the ns of traces on an imported cluster, and those of the engine of traces on the files."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        design = import_cluster(folder, network, system)
        write_traces(folder, traces)
        problem = load_problem(str(folder / "a.yaml"), ["workloads=[{trace: chain}]"])
        machine, _ = read_machine(folder / "network.json", folder / "system.json")
    assert isinstance(problem, Problem)
    seconds = problem.evaluate(design).objectives[0, 0]
    return [round(seconds * 1e9), int(execute(traces, {}, machine).finish.max())]


@pytest.mark.parametrize("npus", [2, 4, 8, 16])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("block", BLOCKS)
def test_a_chain_of_messages_takes_the_time_of_the_engine(block: str, algorithm: str, npus: int) -> None:
    if block == "Ring" and algorithm == "doubleBinaryTree":
        algorithm = "ring"
    network, system = network_of((block, npus, 50, 500)), system_of([algorithm])
    found, engine = imported_and_engine_ns(network, system, chain_of(range(npus), SIZE))
    hops = 2 if block == "Switch" else 1
    assert engine == (npus - 1) * int(hops * 500 + SIZE / (50 * 2**30 / 1e9))
    assert found == engine


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    dimensions, algorithms = [], []
    for _ in range(draw(st.integers(1, 3))):
        block = draw(st.sampled_from(BLOCKS))
        npus = draw(st.integers(2, 8))
        powers = () if npus & (npus - 1) else ("halvingDoubling",)
        dimensions.append((block, npus, draw(st.floats(1.0, 900.0)), draw(st.just(0.0) | st.floats(1e-15, 5000.0))))
        algorithms.append(draw(st.sampled_from(("direct", "ring", "direct2", *powers))))
    return network_of(*dimensions), system_of(algorithms)


@pytest.mark.slow
@given(st.data(), clusters(), st.integers(1, 2**28))
@costly(40)
def test_chains_over_several_dimensions_take_the_time_of_the_engine(
    data: st.DataObject, cluster: tuple[dict[str, Any], dict[str, Any]], size: int
) -> None:
    network, system = cluster
    order = data.draw(st.permutations(range(prod(network["npus_count"]))))
    found, engine = imported_and_engine_ns(network, system, chain_of(order, size))
    assert found == engine


GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "astra_graphs.json").read_text())


def golden(*beginnings: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in GOLDEN["cases"] if case["name"].startswith(beginnings)]


def evaluated(folder: Path, case: dict[str, Any]) -> dict[str, Any]:
    """Return what `evaluate --json` says of a golden trace on its imported cluster."""
    design = import_cluster(folder, case["network"], case["system"])
    write_traces(folder, traces_of(GOLDEN, case))
    (folder / "groups.json").write_text(json.dumps(case["groups"]))
    system, workload = case["system"], "{trace: chain, groups: groups.json"
    if system.get("roofline-enabled"):
        workload += f", compute_TFLOPS: {system['peak-perf']}, memory_GBps: {system['local-mem-bw']}"
    found = call_json("evaluate", folder / "a.yaml", "--design", design, "--set", f"workloads=[{workload}}}]")
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("case", golden("straggler"))
def test_members_that_begin_apart_are_told_with_both_times(tmp_path: Path, case: dict[str, Any]) -> None:
    found = evaluated(tmp_path, case)
    (late,) = found["differences"]
    assert (late["difference"], late["workload"]) == ("late", "chain")
    assert late["engine_ms"] == pytest.approx(case["result"]["finish_ns"] * 1e-6, rel=1e-12)
    assert late["model_ms"] == pytest.approx(found["time_ms"], rel=1e-12)
    assert late["sentence"].startswith(
        "The members of 1 collective begin apart. The model ends each of them for all members together, with the last "
        "one. ASTRA-sim lets the members of 1 collective go as soon as they can. With all differences, an iteration "
        "takes "
    )


@pytest.mark.parametrize("case", golden("comm_group_dim0", "comm_group_dim1"))
def test_groups_that_run_as_rings_are_told_with_both_times(tmp_path: Path, case: dict[str, Any]) -> None:
    """Each NPU of these traces runs one collective and nothing else."""
    found = evaluated(tmp_path, case)
    (ring,) = found["differences"]
    assert (ring["difference"], ring["workload"]) == ("groups-as-rings", "chain")
    assert ring["engine_ms"] == pytest.approx(case["result"]["finish_ns"] * 1e-6, rel=1e-12)
    assert ring["model_ms"] == pytest.approx(found["time_ms"], rel=1e-12)
    assert ring["sentence"].startswith("ASTRA-sim runs a group such as '")
    assert ring["sentence"].endswith(
        f"take {ring['engine_ms']:.6g} ms by the engine of traces and {ring['model_ms']:.6g} ms by the model."
    )


LIBRA = "fabric: {catalog: libra}\nbandwidth: {max_GBps: 1000}"


def stragglers(folder: Path, time: str, network: str = LIBRA) -> Path:
    """Write a problem of 8 NPUs, whose traces compute for longer from one NPU to the next and then reduce."""
    for npu in range(8):
        work = compute_node(0, "work", operations=10**9 * (1 + npu), size=10**6)
        reduce = collective_node(1, "reduce", CollectiveType.ALL_REDUCE, 2**20, data=(0,))
        write_trace(folder / f"chain.{npu}.et", Metadata(), [work, reduce])
    path = folder / "problem.yaml"
    workload = "{trace: chain, compute_TFLOPS: 100, memory_GBps: 1000}"
    path.write_text(f"name: traced\nnpus: 8\n{network}\nworkloads: [{workload}]\ntime: {time}\n")
    return path


ASTRA = "{model: astra, latency_ns: 500, chunks: 4}"


def test_members_of_a_collective_that_is_no_ring_go_by_themselves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call("evaluate", stragglers(tmp_path, ASTRA), "--design", "SW(8)@pod:10")
    shown = " ".join(capsys.readouterr().out.split())
    # The last NPU computes for 80 us. A halving-doubling of 4 chunks of 2^18 bytes follows. Each takes
    # 10 + 2 (floor(1000 + 2^17 / 10) + floor(1000 + 2^16 / 10) + floor(1000 + 2^15 / 10) + 3 * 10) = 51 942 ns.
    assert (
        "difference in chain: The members of 1 collective begin apart. The model ends each of them for all members "
        "together, with the last one. ASTRA-sim lets the members of 1 collective go as soon as they can. With all "
        "differences, an iteration takes 0.287768 ms by the engine of traces and 0.287768 ms by the model. [late]"
    ) in shown


def test_members_that_begin_together_make_no_difference(tmp_path: Path) -> None:
    path = stragglers(tmp_path, ASTRA)
    for npu in range(1, 8):
        (tmp_path / f"chain.{npu}.et").write_bytes((tmp_path / "chain.0.et").read_bytes())
    assert call_json("evaluate", path, "--design", "SW(8)@pod:10")["differences"] == []


def test_libras_time_predicts_no_time_of_astra_sim(tmp_path: Path) -> None:
    assert call_json("evaluate", stragglers(tmp_path, "libra"), "--design", "SW(8)@pod:10")["differences"] == []


def test_a_design_that_astra_sim_cannot_say_is_told(tmp_path: Path) -> None:
    network = (
        "fabric: {catalog: parts-2024, technologies: [ici-v4], blocks: [torus-3d], domains: any}\nbandwidth: ports"
    )
    path = stragglers(tmp_path, ASTRA, network)
    (found,) = call_json("evaluate", path, "--design", "TC(8)@ici-v4:300")["differences"]
    assert (found["difference"], found["engine_ms"]) == ("no-engine-time", None)
    assert "dimension 0 is a torus-3d; ASTRA-sim's network files have rings" in found["sentence"]


@pytest.mark.parametrize(("key", "links"), [("", 1), (", message_bandwidth: npu", 1), (", message_bandwidth: link", 7)])
def test_a_message_through_a_switch_that_runs_direct_has_what_the_problem_says(
    tmp_path: Path, key: str, links: int
) -> None:
    """An NPU of 8 sends 70 GB/s, which is 10 GB/s for each of 7 links. A message of 7 MB takes two hops of 500 ns."""
    path = stragglers(tmp_path, f"{{model: astra, latency_ns: 500, algorithms: {{switch: direct}}{key}}}")
    write_traces(tmp_path, chain_of(range(8), 7_000_000))
    problem = load_problem(str(path))
    assert isinstance(problem, Problem)
    designs = problem.read("SW(8)@pod:70")
    chain = 7 * (1000 + links * 100_000)
    assert problem.evaluate(designs).objectives[0, 0] * 1e9 == pytest.approx(chain, abs=0.01)
    one = problem.time.fidelity_of(problem.name).next_stage_seconds(
        7_000_000, designs.npus, np.ones_like(designs.npus), designs
    )
    assert one * 1e9 == pytest.approx([1000 + links * 100_000], abs=0.01)


def test_rings_among_other_work_are_told_with_the_whole_iteration(tmp_path: Path) -> None:
    """A group of two dimensions between computations: the last line has the iteration of both."""
    members = {"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}
    (tmp_path / "groups.json").write_text(json.dumps(members))
    for npu in range(8):
        work = compute_node(0, "work", operations=10**9, size=10**6)
        reduce = collective_node(1, "part", CollectiveType.ALL_REDUCE, 2**20, data=(0,), group=str(1 + npu // 4))
        write_trace(tmp_path / f"chain.{npu}.et", Metadata(), [work, reduce])
    path = tmp_path / "problem.yaml"
    workload = "{trace: chain, groups: groups.json, compute_TFLOPS: 100, memory_GBps: 1000}"
    time = "{model: astra, latency_ns: 500, chunks: 4}"
    path.write_text(f"name: traced\nnpus: 8\n{LIBRA}\nworkloads: [{workload}]\ntime: {time}\n")
    found = call_json("evaluate", str(path), "--design", "RI(2)@chiplet:100_SW(4)@pod:50")
    *rings, whole = found["differences"]
    assert {one["difference"] for one in rings} == {"groups-as-rings"}
    assert whole["sentence"].startswith("No members begin apart. With all differences, an iteration takes ")
    assert whole["model_ms"] == pytest.approx(found["time_ms"], rel=1e-12)
    assert whole["engine_ms"] > rings[0]["engine_ms"]
