"""Designs written for ASTRA-sim: what is in the files, and the times that are predicted from them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.astra_sim import export as exporting
from evo_libra.astra_sim.export import export_design
from evo_libra.astra_sim.readme import Exported
from evo_libra.chakra.groups import read_groups
from evo_libra.chakra.read import read_nodes, trace_files
from evo_libra.errors import InputError
from evo_libra.problem.problem import Problem
from evo_libra.timing.input_files.system_file import read_machine
from evo_libra.timing.traces.execute import execute
from evo_libra.workload.parallelism import members_of

WHOLE = "RI(4)@chiplet:256_FC(2)@package:100_SW(4)@pod:50_RI(2)@node:25"
SPLIT = "FC(8)@chiplet:256_SW(8)@pod:64"


def load(*assignments: str, name: str = "gpt3-4k", tp: int = 4) -> Problem:
    degrees = [f"workloads[0].parallelism={{tp: {tp}}}"] if name == "gpt3-4k" else []
    problem = load_problem(name, ["npus=64", *degrees, *assignments])
    assert isinstance(problem, Problem)
    return problem


def astra(**keys: Any) -> str:
    rows = {"model": "astra", "latency_ns": 500, **keys}
    return f"time={json.dumps(rows)}"


def nanoseconds(problem: Problem, design: str) -> float:
    return float(problem.time.workload_times(problem.read(design))[0][0]) * 1e9


def executed(folder: Path, prefix: str) -> list[float]:
    """Return what the NPUs take, from the files as anybody reads them."""
    machine, _ = read_machine(folder / "network.yml", folder / "system.json", folder / "memory.json")
    traces = [tuple(read_nodes(path)) for path in trace_files(folder / prefix)]
    return list(execute(traces, read_groups(folder / "groups.json"), machine).finish)


def read_back(folder: Path, exported: Exported) -> None:
    for workload in exported.workloads:
        times = executed(folder, workload.prefix)
        assert len(times) == exported.npus
        assert (max(times), min(times)) == (workload.prediction.last, workload.prediction.first)


@pytest.mark.slow
def test_groups_of_whole_dimensions_take_the_time_of_the_search_to_the_nanosecond(tmp_path: Path) -> None:
    problem = load(astra())
    exported = export_design(problem, WHOLE, tmp_path / "out")
    workload = exported.workloads[0]
    assert workload.prediction.last == round(nanoseconds(problem, WHOLE))
    assert workload.ratio == pytest.approx(1.0, rel=1e-12)
    assert exported.differences == ()
    assert workload.traces == 1
    assert json.loads((tmp_path / "out" / "groups.json").read_text()) == {}
    assert "comm-group" not in (tmp_path / "out" / "README.md").read_text()
    read_back(tmp_path / "out", exported)


ANY_DOMAINS = ["fabric.domains=any", "fabric.blocks=[ring, fully-connected, switch, fat-tree]"]
PARTS = ["npus=128", *ANY_DOMAINS, "workloads[0].parallelism={tp: 8}", "time={model: astra, chunks: 8}"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        "RI(8)@nvlink4:250_SW(16)@optics-400g:100",
        "SW(8)@nvlink4:450_CL(16)@optics-400g:100",
        "FC(8)@nvlink4:175_RI(2)@copper-400g:50_SW(8)@optics-400g:50",
        "SW(8)@nvlink4:450_SW(16)@optics-400g:50",
    ],
)
def test_designs_of_parts_take_the_time_of_the_search_with_the_switches_that_messages_pass(
    tmp_path: Path, design: str
) -> None:
    problem = load(*PARTS, name="dense-1k")
    exported = export_design(problem, design, tmp_path / "out")
    workload = exported.workloads[0]
    assert workload.prediction.last == round(nanoseconds(problem, design))
    assert exported.differences == ()
    assert [row.predicted for row in workload.collectives] == [
        round(row.modelled * 1e9) for row in workload.collectives
    ]
    read_back(tmp_path / "out", exported)


def test_two_tiers_of_switches_are_in_the_latency_of_a_link(tmp_path: Path) -> None:
    problem = load("npus=1024", *ANY_DOMAINS, "time={model: astra, chunks: 8}", name="dense-1k")
    exported = export_design(problem, "FC(8)@nvlink4:175_SW(128)@optics-400g:50", tmp_path / "out")
    network = (tmp_path / "out" / "network.yml").read_text()
    # Four links of 685 ns and three switches of 330 ns, over the two hops of a switch.
    assert f"{(4 * 685 + 3 * 330) / 2:g}" in network
    assert exported.workloads[0].prediction.last == pytest.approx(exported.workloads[0].modelled * 1e9, abs=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "design", ["FC(16)@nvlink4:375_SW(8)@optics-400g:50", "RI(32)@nvlink4:450_CL(4)@optics-400g:50"]
)
def test_times_of_collectives_have_the_shares_that_groups_get_of_parts(tmp_path: Path, design: str) -> None:
    problem = load(*PARTS, name="dense-1k")
    workload = export_design(problem, design, tmp_path / "out").workloads[0]
    collectives = sum(row.count * row.modelled for row in workload.collectives)
    compute = problem.time.loops[0].workload.compute
    assert compute + collectives == pytest.approx(workload.modelled, rel=1e-9)


EXPERTS = [
    "npus=128", "time={model: astra, chunks: 8}", "fabric.domains=any", "fabric.blocks=[ring, fully-connected, switch]",
    "workloads[0].tp_domain=any",
]  # fmt: skip


@pytest.mark.parametrize("inner", ["{tp: 8, ep: 8}", "{ep: 8, tp: 8}"])
def test_groups_that_are_joined_run_their_collectives(tmp_path: Path, inner: str) -> None:
    problem = load(*EXPERTS, f"workloads[0].parallelism={inner}", name="moe-4k")
    design = "RI(8)@nvlink4:100_RI(8)@nvlink4:350_RI(2)@optics-400g:100"
    exported = export_design(problem, design, tmp_path / "out")
    assert "ep+dp" in {row.kind[0] for row in exported.workloads[0].collectives}
    assert exported.workloads[0].prediction.last == round(nanoseconds(problem, design))
    assert exported.differences == ()


def test_groups_that_are_joined_have_lists_of_members(tmp_path: Path) -> None:
    problem = load(*EXPERTS, "workloads[0].parallelism={ep: 8, tp: 4}", name="moe-4k")
    exported = export_design(problem, "RI(16)@nvlink4:100_SW(8)@optics-400g:50", tmp_path / "out")
    assert "ep+dp" in {row.kind[0] for row in exported.workloads[0].collectives}
    groups = [set(row) for row in read_groups(tmp_path / "out" / "groups.json", 128).values()]
    # 8 in ep, 4 in tp, of which 2 lie on dimension 0, and 4 in dp: NPU 0 is with 0 to 7 and with every 32nd of those.
    assert {place + 32 * copy for place in range(8) for copy in range(4)} in groups


@st.composite
def whole_designs(draw: st.DrawFn) -> tuple[list[str], str]:
    """Draw a time and a design whose first dimensions are the tensor-parallel group."""
    inner, outer = draw(st.sampled_from([(4,), (2, 2)])), draw(st.sampled_from([(16,), (2, 8), (4, 4)]))
    parts, algorithms = [], []
    for npus in (*inner, *outer):
        block = draw(st.sampled_from(["RI", "FC", "SW"]))
        technology = "pod" if block == "SW" else draw(st.sampled_from(["chiplet", "node"]))
        bandwidth = draw(st.integers(1, 400) | st.floats(1, 400))
        parts.append(f"{block}({npus})@{technology}:{bandwidth}")
        every = ["ring", "direct", "halving-doubling"]
        algorithms.append("ring" if block == "RI" else draw(st.sampled_from(every)))
    time = astra(
        latency_ns={name: draw(st.integers(0, 2000)) for name in ("chiplet", "package", "node", "pod")},
        chunks=draw(st.integers(1, 40)), algorithms="search", active_chunks=draw(st.integers(1, 4)),
        collective_optimization=draw(st.sampled_from(["baseline", "local-bandwidth-aware"])),
        endpoint_delay_ns=draw(st.integers(0, 50)),
        **draw(st.sampled_from([{}, {"local_memory_GBps": 2000.0}, {"local_memory_GBps": 1555.2}])),
    )  # fmt: skip
    return [time], f"{'_'.join(parts)} algorithms={','.join(algorithms)}"


@given(whole_designs())
@costly(12)
def test_any_design_of_whole_groups_takes_the_time_of_the_search(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[list[str], str]
) -> None:
    assignments, design = case
    problem = load(*assignments)
    exported = export_design(problem, design, tmp_path_factory.mktemp("whole") / "out")
    workload = exported.workloads[0]
    assert workload.prediction.last == round(nanoseconds(problem, design))
    for row in workload.collectives:
        assert row.predicted == round(row.modelled * 1e9)


@pytest.mark.slow
def test_a_group_that_splits_a_dimension_has_lists_of_members(tmp_path: Path) -> None:
    problem = load(astra(endpoint_delay_ns=20), tp=16)
    exported = export_design(problem, SPLIT, tmp_path / "out")
    groups = read_groups(tmp_path / "out" / "groups.json", 64)
    extent = np.array([[8, 2], [1, 4]])
    lists = [members_of(np.array([8, 8]), extent, group).tolist() for group in (0, 1)]
    assert [list(row) for row in groups.values()] == [*lists[0], *lists[1]]
    workload = exported.workloads[0]
    assert workload.traces == 64
    for npu in (0, 13, 63):
        nodes = read_nodes(tmp_path / "out" / f"{workload.prefix}.{npu}.et")
        named = {node.name.rpartition(".")[2]: node.attributes["pg_name"].value
                 for node in nodes if "pg_name" in node.attributes}  # fmt: skip
        assert all(npu in groups[str(name)] for name in named.values())
        assert named["tp"] != named["dp"]
    assert workload.prediction.last > round(nanoseconds(problem, SPLIT))
    assert "8 of 8 NPUs of dimension 0 and 2 of 8 NPUs of dimension 1" in exported.differences[0]
    assert "one ring over its 16 members, 10 ns before each message instead of 20" in exported.differences[0]
    assert "--comm-group-configuration=groups.json" in exported.command(workload)
    read_back(tmp_path / "out", exported)


def test_both_times_of_every_collective_are_in_the_readme(tmp_path: Path) -> None:
    problem = load(astra(), tp=16)
    exported = export_design(problem, SPLIT, tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text()
    assert len(exported.workloads[0].collectives) == 3
    for row in exported.workloads[0].collectives:
        assert (
            f"| over a list of {16 if row.kind[0] == 'tp' else 4} NPUs | {row.predicted} | {row.modelled * 1e9:.0f} |"
            in text
        )
    assert str(exported.workloads[0].prediction.last) in text
    assert f"{exported.workloads[0].ratio:.6g}" in text
    assert all(sentence in text for sentence in exported.differences)


def test_an_all_to_all_beside_halving_doubling_sends_one_message_at_a_time(tmp_path: Path) -> None:
    problem = load(astra(), name="dlrm-4k")
    exported = export_design(problem, "FC(4)@chiplet:100_SW(16)@pod:25", tmp_path / "out")
    system = json.loads((tmp_path / "out" / "system.json").read_text())
    assert system["all-to-all-implementation"] == ["direct", "direct1"]
    assert system["all-reduce-implementation"] == ["direct", "halvingDoubling"]
    assert "Dimension 1 has one bandwidth" in exported.differences[0]
    rows = {row.kind[1].value: row for row in exported.workloads[0].collectives}
    assert rows["all-reduce"].predicted == round(rows["all-reduce"].modelled * 1e9)
    # 14 latencies more, of two hops each, and a delay before each message, in each of 64 chunks.
    assert rows["all-to-all"].predicted - rows["all-to-all"].modelled * 1e9 == pytest.approx(64 * 14 * 1010, rel=1e-3)
    other = export_design(
        load(astra(algorithms={"switch": "direct"}), name="dlrm-4k"), "FC(4)@chiplet:100_SW(16)@pod:25", tmp_path / "b"
    )
    assert other.differences == ()


def test_overlap(tmp_path: Path) -> None:
    problem, chain = load(astra(overlap="tp-dp")), load(astra())
    exported = export_design(problem, WHOLE, tmp_path / "out")
    assert exported.differences == ()
    assert exported.workloads[0].prediction.last == round(nanoseconds(problem, WHOLE))
    assert exported.workloads[0].prediction.last < round(nanoseconds(chain, WHOLE))


def test_two_collectives_at_a_time_run_one_after_the_other(tmp_path: Path) -> None:
    problem, slow = load(astra(overlap="tp-dp")), WHOLE.replace(":256", ":32")
    exported = export_design(problem, slow, tmp_path / "out")
    assert "1 layers, such as layer0.query" in exported.differences[0]
    rows = {(row.kind[0], row.kind[1].value): row.predicted for row in exported.workloads[0].collectives}
    first, second = rows["tp", "all-reduce"], rows["dp", "all-reduce"]
    computed = problem.time.loops[0].workload.layers[0].weight_gradient.compute * 1e9
    later = exported.workloads[0].prediction.last - nanoseconds(problem, slow)
    assert later == pytest.approx(min(second, first - computed), abs=1)
    assert later > 1e6


def test_schedulers_are_written_and_both_times_told(tmp_path: Path) -> None:
    problem = load(astra(model="themis", chunks=16))
    exported = export_design(problem, WHOLE, tmp_path / "out")
    system = json.loads((tmp_path / "out" / "system.json").read_text())
    assert (system["inter-dimension-scheduling"], system["intra-dimension-scheduling"]) == (
        "offlineGreedy", "smallestFirst",
    )  # fmt: skip
    workload = exported.workloads[0]
    assert workload.scheduled is not None
    assert workload.scheduled.last == round(nanoseconds(problem, WHOLE))
    assert workload.prediction.last == round(nanoseconds(load(astra(chunks=16)), WHOLE))
    assert workload.scheduled.last != workload.prediction.last
    assert "No released ASTRA-sim 2 reads" in exported.differences[0]
    paper = export_design(load(astra(scheduler="themis-paper")), WHOLE, tmp_path / "paper")
    assert "ASTRA-sim has neither the schedulers themis-paper" in paper.differences[0]
    assert paper.workloads[0].scheduled is None


def test_a_search_under_libras_time_is_compared_with(tmp_path: Path) -> None:
    searched, problem = load(), load(astra())
    exported = export_design(problem, WHOLE, tmp_path / "out", searched)
    workload = exported.workloads[0]
    assert exported.models == ("libra", "astra")
    assert workload.searched * 1e9 == pytest.approx(nanoseconds(searched, WHOLE))
    assert workload.modelled * 1e9 == pytest.approx(nanoseconds(problem, WHOLE))
    assert workload.ratio == pytest.approx(workload.modelled / workload.searched)
    assert "LIBRA's time" in exported.differences[0]


def test_rounding_and_small_messages_are_told(tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text("HYBRID_TRANSFORMER\n1\nlayer -1 3 ALLREDUCE 100 3 NONE 0 3 NONE 0 1\n")
    (tmp_path / "small.yaml").write_text(
        "name: small\nnpus: 64\nfabric: {catalog: libra}\n"
        "workloads: [{name: a/b, file: small.txt, parallelism: {tp: 4}, compute_scale: 0.4},\n"
        "            {name: a b, file: small.txt, parallelism: {tp: 4}}]\n"
        "time: {model: astra, latency_ns: 1}\n"
    )
    problem = load_problem(str(tmp_path / "small.yaml"))
    assert isinstance(problem, Problem)
    exported = export_design(problem, WHOLE.replace(":256", ":0.1"), tmp_path / "out")
    assert [workload.prefix for workload in exported.workloads] == ["traces/a-b", "traces/a-b-2"]
    sentences = "\n".join(exported.differences)
    assert "rounded to a nanosecond, which makes -0.6 ns in all" in sentences
    assert "a byte for each of the 64 NPUs, and in the search one for each of the group's 4" in sentences
    read_back(tmp_path / "out", exported)


@pytest.mark.parametrize(("assignments", "part"), [
    ([], "LIBRA's, which has neither latency nor chunks"),
    ([astra(local_memory_GBps=1e-6)], "local_memory_GBps: found 1e-06"),
])  # fmt: skip
def test_what_cannot_be_exported_leaves_nothing(tmp_path: Path, assignments: list[str], part: str) -> None:
    with pytest.raises(InputError) as caught:
        export_design(load(*assignments), WHOLE, tmp_path / "out")
    assert part in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_exported_traces_of_listed_groups_are_a_workload(tmp_path: Path) -> None:
    workload = export_design(load(astra(), tp=16), SPLIT, tmp_path / "out").workloads[0]
    (tmp_path / "traced.yaml").write_text(
        f"name: traced\nnpus: 64\nfabric: {{catalog: libra}}\ntime: {{model: astra, latency_ns: 500}}\n"
        f"workloads:\n  - {{trace: out/{workload.prefix}, groups: out/groups.json,\n"
        f"     compute_TFLOPS: 1, memory_GBps: 1000}}\n"
    )
    traced = load_problem(str(tmp_path / "traced.yaml"))
    assert isinstance(traced, Problem)
    # A problem gives groups that are no whole dimensions a network of their own, as the search does.
    assert nanoseconds(traced, SPLIT) == pytest.approx(workload.modelled * 1e9, abs=1)
    with pytest.raises(InputError, match="is a trace already"):
        export_design(traced, SPLIT, tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_more_npus_than_traces_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="131072 NPUs; there is a trace of each, at most 65536"):
        export_design(load("npus=131072", astra()), WHOLE, tmp_path / "out")


def test_the_folder_is_new_or_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    export_design(load(astra()), WHOLE, tmp_path / "empty")
    with pytest.raises(InputError, match="is not empty"):
        export_design(load(astra()), WHOLE, tmp_path / "empty")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be made"):
        export_design(load(astra()), WHOLE, tmp_path / "file")


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        written = {path.name for folder in tmp_path.rglob("out") for path in folder.iterdir()}
        assert written == {"groups.json", "memory.json", "network.yml", "system.json", "traces"}
        raise KeyboardInterrupt

    monkeypatch.setattr(exporting, "predict", fails)
    (tmp_path / "out").mkdir()
    with pytest.raises(KeyboardInterrupt):
        export_design(load(astra()), WHOLE, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(KeyboardInterrupt):
        export_design(load(astra()), WHOLE, tmp_path / "new" / "out")
    assert not (tmp_path / "new" / "out").exists()


def test_equal_traces_are_one_file_or_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export_design(load(astra()), WHOLE, tmp_path / "linked")
    assert len({path.stat().st_ino for path in (tmp_path / "linked" / "traces").iterdir()}) == 1

    def no_links(*_: object) -> None:
        raise OSError(95, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    export_design(load(astra()), WHOLE, tmp_path / "copied")
    paths = [sorted((tmp_path / name / "traces").iterdir()) for name in ("linked", "copied")]
    assert len({path.stat().st_ino for path in paths[1]}) == 64
    assert [path.read_bytes() for path in paths[0]] == [path.read_bytes() for path in paths[1]]
