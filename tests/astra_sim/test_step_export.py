"""Training steps written for ASTRA-sim: what is in the files, and their time against that of the search."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.astra_sim import export as exporting
from evo_libra.astra_sim.export import export_design
from evo_libra.astra_sim.importing import read_cluster
from evo_libra.astra_sim.readme import Exported
from evo_libra.chakra.groups import read_groups
from evo_libra.chakra.read import read_nodes, trace_files
from evo_libra.chakra.trace import Kind, Node
from evo_libra.errors import InputError
from evo_libra.files.source import read_source
from evo_libra.problem.problem import Problem
from evo_libra.timing.input_files.network_file import parse_network
from evo_libra.timing.input_files.system_file import parse_system, read_machine
from evo_libra.timing.traces.execute import execute
from evo_libra.workload.training.training_step import TrainingStep

DENSE = {
    "kind": "decoder", "layers": 4, "hidden": 1024, "heads": 8, "kv_heads": 4, "feed_forward": 2816, "gated": True,
    "vocabulary": 32000,
}  # fmt: skip
ROUTED = {**DENSE, "experts": {"count": 8, "per_token": 2, "feed_forward": 1408}}
PRICES = {"link_usd_per_GBps": 1, "switch_usd_per_GBps": 1, "nic_usd_per_GBps": 0}
ORDER = ["tp", "cp", "dp", "pp"]
NOTHING = {"tp": False, "pp": False, "dp": False}
FREE = {"latency_ns": 0, "endpoint_delay_ns": 0, "chunks": 1}
"""With bandwidth without end: communication costs no time."""


def training(degrees: dict[str, int], **given_: Any) -> dict[str, Any]:
    """Return the keys of a training step of a few microbatches that overlaps nothing unless it is given."""
    each = degrees["dp"] * given_.get("micro_batch", 1) * degrees["pp"]
    return {"sequence": 2048, "global_batch": 2 * each, "order": ORDER, "stack": "any", **given_,
            "overlap": {**NOTHING, **given_.get("overlap", {})}}  # fmt: skip


def degrees_of(**given_: int) -> dict[str, int]:
    return {"tp": 1, "cp": 1, "dp": 1, "pp": 1, **given_}


def problem_of(
    folder: Path, degrees: dict[str, int], step: dict[str, Any], *, time: dict[str, Any] | None = None,
    generator: dict[str, Any] = DENSE, **plan: Any,
) -> Problem:  # fmt: skip
    npus = degrees["tp"] * degrees["cp"] * degrees["dp"] * degrees["pp"]
    technologies = {"near": PRICES}
    (folder / "own.yaml").write_text(json.dumps({"name": "own", "source": "drawn", "technologies": technologies}))
    data = {
        "name": "stepped", "npus": npus, "npu": "h100-80gb", "fabric": {"catalog": "own.yaml", "max_dimensions": 4},
        "workloads": [{"name": "small", "generator": generator, "training": step,
                       "parallelism": {**{g: degrees[g] for g in ("tp", "cp", "pp")}, **plan}}],
        "bandwidth": {"mode": "search", "min_GBps": 1e-3, "max_GBps": 1e15}, "memory": {"reserve": 0},
        "time": {"model": "astra", "latency_ns": 300, "chunks": 2, **(time or {})},
    }  # fmt: skip
    (folder / "p.yaml").write_text(json.dumps(data))
    found = load_problem(str(folder / "p.yaml"))
    assert isinstance(found, Problem)
    return found


def network(degrees: dict[str, int], order: list[str], bandwidth: float, block: str = "FC") -> str:
    """Return a network that has a dimension for each process group."""
    sizes = [degrees[group] for group in order if degrees[group] > 1]
    return "_".join(f"{block}({size})@near:{bandwidth:g}" for size in sizes)


def nodes_of(folder: Path, exported: Exported) -> list[tuple[Node, ...]]:
    return [tuple(read_nodes(path)) for path in trace_files(folder / exported.workloads[0].prefix)]


def states_its_figures(folder: Path, exported: Exported) -> list[tuple[Node, ...]]:
    """Check that executing the files, as anybody reads them, gives the time that they state, and how far that is off.

    Return the traces.
    """
    machine, _ = read_machine(folder / "network.yml", folder / "system.json", folder / "memory.json")
    traces = nodes_of(folder, exported)
    assert len(traces) == exported.npus
    workload = exported.workloads[0]
    last = int(execute(traces, read_groups(folder / "groups.json"), machine).finish.max())
    text = (folder / "README.md").read_text()
    row = re.search(rf"^\| {workload.name} \| (\d+) \| \d+ \| (\S+) \| \S+ \| (\S+)% \|", text, flags=re.MULTILINE)
    assert row is not None
    assert int(row[1]) == last
    assert float(row[2]) == pytest.approx(workload.searched * 1e3, rel=1e-8)
    assert float(row[3]) == pytest.approx(100 * (last * 1e-9 / workload.searched - 1), abs=1e-4)
    assert all(f"- {sentence}" in text for sentence in exported.differences)
    assert exported.differences or abs(workload.difference) < 1e-6
    return traces


def rounding(traces: list[tuple[Node, ...]]) -> float:
    """Return the ns by which whole nanoseconds may move the end of the longest chain of computations at most."""
    return 0.5 * 2 * max(sum(node.kind is Kind.COMP for node in trace) for trace in traces)


@pytest.mark.slow
def test_a_design_with_its_plan_is_exported_read_back_and_executed(tmp_path: Path) -> None:
    degrees = degrees_of(tp=2, dp=4, pp=2)
    problem = problem_of(tmp_path, degrees, training(degrees, zero=1, overlap={"dp": True}), vp=2)
    exported = export_design(problem, network(degrees, ORDER, 100), tmp_path / "out")
    states_its_figures(tmp_path / "out", exported)
    assert exported.workloads[0].searched == pytest.approx(float(problem.time(problem.read(exported.design))[0]))
    assert abs(exported.workloads[0].difference) < 0.05
    links = parse_network(read_source(tmp_path / "out" / "network.yml"))
    back = read_cluster(links, parse_system(read_source(tmp_path / "out" / "system.json"), links))
    assert str(back.fabric) == exported.design.replace("near", "link")
    rows = {(row.kind[0], row.what): row for row in exported.workloads[0].collectives}
    # A microbatch of 2048 tokens of 1024 numbers, half of it from each NPU of a tensor parallel group; 4 microbatches
    # pass 2 virtual stages there and back, but for the first and the last end of the way.
    assert (rows["pp", "message"].kind[2], rows["pp", "message"].count) == (2 * 2048 * 1024 // 2, 4 * 2 * 2 - 4)
    assert rows["pp", "message"].where == "to the next stage"
    # Two pairs of a layer, and what sequence parallelism gathers again.
    assert rows["tp", "reduce-scatter"].count == 4 * 2 * (2 + 2)
    assert rows["tp", "all-gather"].count == 4 * 2 * (2 + 4)
    # A bucket for each of the two layers of a stage.
    assert rows["cp+dp", "reduce-scatter"].count == rows["cp+dp", "all-gather"].count == 2
    assert any("interleaved 1F1B with 2 virtual stages" in sentence for sentence in exported.differences)


def test_groups_that_are_no_whole_dimensions_are_listed(tmp_path: Path) -> None:
    degrees = degrees_of(tp=2, dp=4, pp=2)
    problem = problem_of(tmp_path, degrees, training(degrees, order=["tp", "pp", "cp", "dp"]))
    exported = export_design(problem, "FC(4)@near:100_SW(4)@near:25", tmp_path / "out")
    traces = states_its_figures(tmp_path / "out", exported)
    groups = {frozenset(members) for members in read_groups(tmp_path / "out" / "groups.json", 16).values()}
    # Tensor parallel pairs are neighbours; dimension 1 is all of the data parallel group.
    assert groups == {frozenset({npu, npu + 1}) for npu in range(0, 16, 2)}
    ends = Counter(
        (int(str(node.attributes["comm_src"].value)), int(str(node.attributes["comm_dst"].value)))
        for trace in traces
        for node in trace
        if node.kind is Kind.COMM_SEND
    )
    assert set(ends) == {(npu, npu ^ 2) for npu in range(16)}


@pytest.mark.slow
def test_the_plan_of_a_design_is_exported_where_plans_are_open(tmp_path: Path) -> None:
    degrees = degrees_of(tp=2, dp=4, pp=2)
    step = training(degrees, zero=[1, 2], order=[ORDER, ["tp", "cp", "pp", "dp"]]) | {"micro_batch": [1, 2]}
    problem = problem_of(tmp_path, degrees, step, tp=[1, 2, 4], pp=[1, 2], vp="any")
    design = "FC(2)@near:100_SW(8)@near:25 | tp2 pp2x2 dp4 mb1 zero2 order-tp-cp-pp-dp"
    exported = export_design(problem, design, tmp_path / "out")
    assert exported.design == design
    assert f"    {design}\n" in (tmp_path / "out" / "README.md").read_text()
    assert exported.workloads[0].searched == float(problem.time(problem.read(design))[0])
    states_its_figures(tmp_path / "out", exported)
    searched = problem_of(tmp_path, degrees, step, time={"chunks": 4}, tp=[1, 2, 4], pp=[1, 2], vp="any")
    other = export_design(problem, design, tmp_path / "other", searched)
    assert other.workloads[0].searched == float(searched.time(searched.read(design))[0])
    assert other.workloads[0].prediction == exported.workloads[0].prediction


Drawn = tuple[dict[str, int], dict[str, Any], dict[str, Any], dict[str, Any]]


def whole(degrees: dict[str, int], ep: int) -> int:
    """Return an expert parallel group that is no part of a dimension: of one NPU, or of all of a stage."""
    inside = degrees["tp"] * degrees["cp"] * degrees["dp"]
    return inside if ep > 1 and inside in (2, 4, 8) else 1


@st.composite
def steps(draw: st.DrawFn, *, overlap: bool = False) -> Drawn:
    """Draw degrees, a training step, a model, and what else its plan has."""

    def pick(*options: Any) -> Any:
        return draw(st.sampled_from(options))

    def coin() -> bool:
        return draw(st.booleans())

    npus = pick(8, 8, 16, 16, 32, 64)
    degrees = {"pp": pick(1, 2, 4), "cp": pick(1, 2)}
    degrees["tp"] = pick(*(tp for tp in (1, 2, 4) if npus % (tp * degrees["pp"] * degrees["cp"]) == 0))
    degrees["dp"] = npus // (degrees["tp"] * degrees["pp"] * degrees["cp"])
    micro = pick(1, 2)
    step = training(
        degrees, micro_batch=micro, zero=pick(0, 1, 2, 3), recompute=pick("none", "selective", "full"),
        attention=pick("fused", "unfused"), sequence_parallel=coin(), gradients=pick("bf16", "fp32"),
        order=draw(st.permutations(ORDER)), overlap={name: overlap and coin() for name in NOTHING},
    )  # fmt: skip
    step["global_batch"] = degrees["dp"] * degrees["pp"] * micro * pick(1, 2)
    generator = pick(DENSE, ROUTED, {**DENSE, "tied": True})
    inside = degrees["tp"] * degrees["cp"] * degrees["dp"]
    plan = {"vp": pick(1, 2) if degrees["pp"] == 2 else 1}
    plan["ep"] = pick(*(ep for ep in (1, 2, 4, 8) if inside % ep == 0)) if generator is ROUTED else 1
    return degrees, step, generator, plan


@pytest.mark.slow
@given(steps(), st.floats(0, 3))
@costly(20)
def test_a_step_of_one_stage_without_overlap_takes_the_time_of_the_search(
    tmp_path_factory: pytest.TempPathFactory, drawn: Drawn, exponent: float
) -> None:
    degrees, step, generator, plan = drawn
    degrees = {**degrees, "dp": degrees["dp"] * degrees["pp"], "pp": 1}
    step["global_batch"] = 2 * degrees["dp"] * step["micro_batch"]
    folder = tmp_path_factory.mktemp("one")
    problem = problem_of(folder, degrees, step, generator=generator, ep=plan["ep"], time={"chunks": 1})
    exported = export_design(problem, network(degrees, step["order"], 10**exponent), folder / "out")
    workload = exported.workloads[0]
    traces = states_its_figures(folder / "out", exported)
    if all(row.predicted == round(row.modelled * 1e9) for row in workload.collectives):
        assert workload.prediction.last == pytest.approx(workload.searched * 1e9, rel=0, abs=rounding(traces))
    else:  # Experts whose group is a part of a dimension have lists.
        assert any("A group e" in sentence for sentence in exported.differences)


@pytest.mark.slow
@given(steps())
@costly(20)
def test_a_pipeline_takes_the_time_of_the_search_where_communication_costs_nothing(
    tmp_path_factory: pytest.TempPathFactory, drawn: Drawn
) -> None:
    degrees, step, generator, plan = drawn
    folder = tmp_path_factory.mktemp("free")
    plan["ep"] = whole(degrees, plan["ep"])
    problem = problem_of(folder, degrees, step, generator=generator, time=FREE, **plan)
    exported = export_design(problem, network(degrees, step["order"], 1e15), folder / "out")
    workload = exported.workloads[0]
    assert all(row.predicted == 0 for row in workload.collectives)
    off = rounding(nodes_of(folder / "out", exported))
    assert workload.prediction.last == pytest.approx(workload.searched * 1e9, rel=0, abs=off)


@pytest.mark.slow
@given(steps(), st.floats(0, 3))
@costly(20)
def test_the_search_is_a_bound_of_pipelines_without_overlap(
    tmp_path_factory: pytest.TempPathFactory, drawn: Drawn, exponent: float
) -> None:
    degrees, step, generator, plan = drawn
    folder = tmp_path_factory.mktemp("bound")
    plan["ep"] = whole(degrees, plan["ep"])
    problem = problem_of(folder, degrees, step, generator=generator, time={"chunks": 1}, **plan)
    exported = export_design(problem, network(degrees, step["order"], 10**exponent), folder / "out")
    workload, off = exported.workloads[0], rounding(nodes_of(folder / "out", exported))
    of_step = problem.time.loops[0].workload
    assert isinstance(of_step, TrainingStep)
    assert of_step.compute * 1e9 - off <= workload.prediction.last <= workload.searched * 1e9 + off


@pytest.mark.slow
@given(steps(overlap=True), st.floats(0, 3), st.sampled_from(["FC", "RI", "SW"]), st.sampled_from([0, 2]))
@costly(20)
def test_any_step_is_executed_and_its_files_state_the_time(
    tmp_path_factory: pytest.TempPathFactory, drawn: Drawn, exponent: float, block: str, dimensions: int
) -> None:
    degrees, step, generator, plan = drawn
    folder = tmp_path_factory.mktemp("any")
    problem = problem_of(folder, degrees, step, generator=generator, **plan)
    design = network(degrees, step["order"], 10**exponent, block)
    if dimensions:  # dimensions that several groups share
        design = f"{block}({problem.npus // 2})@near:{10**exponent:g}_RI(2)@near:20"
    exported = export_design(problem, design, folder / "out")
    traces = states_its_figures(folder / "out", exported)
    sent, received = (
        Counter(
            tuple(int(str(node.attributes[f"comm_{end}"].value)) for end in ("src", "dst", "tag", "size"))
            for trace in traces
            for node in trace
            if node.kind is kind
        )
        for kind in (Kind.COMM_SEND, Kind.COMM_RECV)
    )
    assert sent == received
    assert max(sent.values(), default=1) == 1


@pytest.mark.parametrize(
    ("step", "degrees"),
    [
        ({"overlap": {"tp": True}}, degrees_of(tp=4, dp=2)),
        ({"overlap": {"tp": True}, "recompute": "full"}, degrees_of(tp=4, dp=2)),
        ({"overlap": {"dp": True}, "zero": 0}, degrees_of(dp=8)),
        ({"overlap": {"dp": True}, "zero": 1}, degrees_of(dp=8)),
        ({"overlap": {"dp": True}, "zero": 3}, degrees_of(dp=8)),
        ({"overlap": {"tp": True, "dp": True}, "zero": 3}, degrees_of(tp=2, dp=4)),
        ({"stack": "megatron-2022"}, degrees_of(tp=4, dp=2)),
    ],
)
def test_communication_that_layers_hide_costs_what_the_search_says(
    tmp_path: Path, step: dict[str, Any], degrees: dict[str, int]
) -> None:
    # Layers are alike, and each hides its own, so that the sum of all layers does.
    problem = problem_of(tmp_path, degrees, training(degrees, sequence=8192, **step), time=FREE)
    design = network(degrees, ORDER, 400)
    workload = export_design(problem, design, tmp_path / "out").workloads[0]
    # Bytes in pieces, times in whole nanoseconds.
    assert workload.difference == pytest.approx(0, abs=2e-5)
    without = {**step, "overlap": NOTHING, "stack": "any"}
    other = problem_of(tmp_path, degrees, training(degrees, sequence=8192, **without), time=FREE)
    assert workload.searched < 0.999 * float(other.time(other.read(design))[0])


def test_more_npus_than_a_step_may_have_are_refused(tmp_path: Path) -> None:
    degrees = degrees_of(tp=2, dp=1024)
    problem = problem_of(tmp_path, degrees, training(degrees))
    with pytest.raises(InputError, match="'stepped' has 2048 NPUs; a training step such as 'small' is exported for at"):
        export_design(problem, network(degrees, ORDER, 100), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_more_nodes_than_traces_may_have_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    degrees = degrees_of(dp=4, pp=2)
    problem = problem_of(tmp_path, degrees, training(degrees))
    exported = export_design(problem, network(degrees, ORDER, 100), tmp_path / "out")
    nodes = sum(map(len, nodes_of(tmp_path / "out", exported)))
    monkeypatch.setattr(exporting, "MAX_STEP_NODES", nodes)
    export_design(problem, network(degrees, ORDER, 100), tmp_path / "fits")
    monkeypatch.setattr(exporting, "MAX_STEP_NODES", nodes - 1)
    with pytest.raises(InputError, match=f"'small' needs traces of {nodes:,} nodes.*fewer microbatches"):
        export_design(problem, network(degrees, ORDER, 100), tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_the_step_of_a_recommendation_model_is_refused(tmp_path: Path) -> None:
    data = {
        "name": "recommended", "npus": 64, "npu": "h100-80gb",
        "fabric": {
            "catalog": "parts-2024", "technologies": ["nvlink4"], "blocks": ["switch"], "max_dimensions": 2,
            "domains": "any",
        },
        "workloads": [{"model": "dlrm-mlperf", "training": {"global_batch": 65536}}], "bandwidth": "ports",
        "time": {"model": "astra", "chunks": 4},
    }  # fmt: skip
    (tmp_path / "p.yaml").write_text(json.dumps(data))
    problem = load_problem(str(tmp_path / "p.yaml"))
    assert isinstance(problem, Problem)
    with pytest.raises(InputError, match="is a training step of a recommendation model; what is exported are"):
        export_design(problem, "SW(8)@nvlink4:450_SW(8)@nvlink4:450", tmp_path / "out")
    assert not (tmp_path / "out").exists()
