"""What a problem is: the order of what has one, every file it reads, and the way back from a manifest."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from designs import design_file

from evo_libra import load_problem, search
from evo_libra.chakra.trace import CollectiveType, Metadata, Node
from evo_libra.chakra.write import collective_node, compute_node, write_trace
from evo_libra.errors import InputError
from evo_libra.experiment.execution.prepared import Problems
from evo_libra.experiment.file.expansion import load_experiment
from evo_libra.experiment.run.origin import build, digest_of, origin_of, with_assignments
from evo_libra.experiment.run.spec import RunSpec, manifest_of, run_of, spec_of
from evo_libra.experiment.store.folder import MANIFEST, RunFolder
from evo_libra.experiment.store.stored_runs import problem_as_run
from evo_libra.files.integrity import canonical_hash
from evo_libra.problem.problem import Problem
from evo_libra.ui.terminal.breakdown import break_down
from evo_libra.ui.terminal.details import Design

MOE_DESIGN = "SW(8)@nvlink4:225_RI(64)@optics-400g:50"
SMALL = ("npus=512", "fabric.max_dimensions=3", "workloads[0].tp_domain=any")
LAYER = "HYBRID_TRANSFORMER\n1\nl -1 10 NONE 0 10 NONE 0 10 ALLREDUCE {} 10\n"
LINEAR = "name: own\nsource: none\ntechnologies:\n"
PRICES = "  {}: {{link_usd_per_GBps: {}, switch_usd_per_GBps: 1, nic_usd_per_GBps: 1}}\n"


def run(name: str, *assignments: str) -> RunSpec:
    return run_of(origin_of(name, assignments), evaluations=200, population=50)


def groups(text: str) -> str:
    return f"workloads[0].parallelism={text}"


def milliseconds(problem: object, design: str) -> float:
    assert isinstance(problem, Problem)
    return float(problem.evaluate(design).objectives[0, 0]) * 1e3


def test_the_order_of_process_groups_makes_another_problem() -> None:
    inner, outer = run("moe-4k", *SMALL), run("moe-4k", *SMALL, groups("{ep: 64, tp: 8}"))
    assert inner.problem["workloads"][0]["parallelism"] == [["tp", 8], ["ep", 64]]
    assert outer.problem["workloads"][0]["parallelism"] == [["ep", 64], ["tp", 8]]
    assert inner.hash != outer.hash
    assert inner.id != outer.id
    assert milliseconds(build(inner.origin), MOE_DESIGN) != milliseconds(build(outer.origin), MOE_DESIGN)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["{tp: 8, ep: 64}", "{ep: 64, tp: 8}", "{dp: 1, ep: 64, tp: 8}"])
def test_process_groups_as_a_list_are_the_same_problem(order: str) -> None:
    data = json.loads(order.replace("{", '{"').replace(", ", ', "').replace(":", '":'))
    mapped, listed = run("moe-4k", *SMALL, groups(order)), run("moe-4k", *SMALL, groups(json.dumps(list(data.items()))))
    assert mapped.hash == listed.hash
    time = milliseconds(load_problem("moe-4k", [*SMALL, groups(order)]), MOE_DESIGN)
    assert [milliseconds(build(one.origin), MOE_DESIGN) for one in (mapped, listed)] == [time, time]


@pytest.mark.parametrize("name", ["gpt3-4k", design_file("dlrm-1k-parts")])
def test_bandwidths_that_are_left_out_are_not_those_that_are_written(name: str) -> None:
    left_out, written = "bandwidth={mode: optimal}", "bandwidth={mode: optimal, min_GBps: 0.1, max_GBps: 1000}"
    problems = [load_problem(name, [assignment]) for assignment in (left_out, written)]
    assert all(isinstance(problem, Problem) for problem in problems)
    low = [problem.choices[0].low.tolist() for problem in problems if isinstance(problem, Problem)]
    same = canonical_hash(problems[0].identity()) == canonical_hash(problems[1].identity())
    assert not same or low[0] == low[1]
    assert (name == "gpt3-4k") == (low[0] == low[1])


def test_a_group_of_a_list_is_changed_by_its_place() -> None:
    spec = run("moe-4k", *SMALL, groups("[[ep, 64], [tp, 8]]"), "workloads[0].parallelism[1][1]=4")
    assert spec.problem["workloads"][0]["parallelism"] == [["ep", 64], ["tp", 4]]


def test_every_row_of_a_run_of_a_mixture_of_experts_is_what_evaluating_it_says() -> None:
    front = search(build(origin_of("moe-4k", SMALL)), evaluations=400, population=100)
    again = load_problem("moe-4k", SMALL).evaluate(front.frame["design"].to_list())
    np.testing.assert_allclose(again.objectives[0] * 1e3, front.frame["time_ms"].to_numpy(), rtol=1e-12)


@pytest.mark.parametrize("order", ["{tp: 8, ep: 64}", "{ep: 64, tp: 8}"])
def test_a_manifest_whose_keys_a_tool_has_sorted_gives_the_problem_again(order: str) -> None:
    spec = run("moe-4k", *SMALL, groups(order))
    text = json.dumps(manifest_of(spec, build(spec.origin), (), Path()), sort_keys=True)
    again = spec_of(json.loads(text))
    assert again.hash == spec.hash
    assert canonical_hash(build(again.origin).identity()) == canonical_hash(spec.problem)
    assert milliseconds(build(again.origin), MOE_DESIGN) == milliseconds(build(spec.origin), MOE_DESIGN)


def test_a_file_that_includes_another_says_the_order(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        "problem: moe-4k\nset: {'workloads[0].parallelism': {tp: 8, dp: 8}, 'workloads[0].tp_domain': any}\n"
    )
    (tmp_path / "e.yaml").write_text(
        "include: base.yaml\nset: {'workloads[0].parallelism': {ep: 64, dp: 8, tp: 8}}\nevaluations: 100\n"
    )
    (spec,) = load_experiment(tmp_path / "e.yaml").runs
    assert spec.problem["workloads"][0]["parallelism"] == [["ep", 64], ["dp", 8], ["tp", 8]]


def test_the_order_of_technologies_in_a_catalogue_makes_another_problem(tmp_path: Path) -> None:
    rows, fabric = [PRICES.format("near", 1), PRICES.format("far", 2)], "fabric.catalog=own.yaml"
    (tmp_path / "p.yaml").write_text((Path("problems") / "gpt3-4k.yaml").read_text())
    seen = {}
    for order in itertools.permutations(rows):
        (tmp_path / "own.yaml").write_text(LINEAR + "".join(order))
        seen[order] = run(str(tmp_path / "p.yaml"), fabric, "fabric.technologies=").hash
        assert [one["name"] for one in build(origin_of(str(tmp_path / "p.yaml"), [fabric])).identity()["technologies"]]
    assert len(set(seen.values())) == 2


def nodes(npu: int, operations: int) -> list[Node]:
    collective = collective_node(2, "g", CollectiveType.ALL_REDUCE, 4096, group=str(1 + npu // 2))
    return [compute_node(1, "c", operations=operations, size=10), collective]


def traced(folder: Path) -> None:
    """Write a problem that names a file in every place where one can be named."""
    text = LAYER.format(1000)
    for name in ("w.txt", "table.txt", "deeper/w.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for npu in range(4):
        write_trace(folder / f"pair.{npu}.et", Metadata(), nodes(npu, 1000))
    write_trace(folder / "one.et", Metadata(), [compute_node(1, "c", operations=1000, size=10)])
    (folder / "groups.json").write_text(json.dumps({"1": [0, 1], "2": [2, 3]}))
    roof = "compute_TFLOPS: 1, memory_GBps: 1"
    (folder / "own.yaml").write_text(LINEAR + PRICES.format("near", 1) + PRICES.format("far", 2))
    (folder / "p.yaml").write_text(
        "name: many\nnpus: 4\nfabric: {catalog: own.yaml, max_dimensions: 2}\nworkloads:\n"
        "- {file: w.txt, parallelism: {tp: 2}}\n"
        "- {file: deeper/w.txt, parallelism: {tp: 2}}\n"
        "- {generator: {kind: table, file: table.txt}, parallelism: {tp: 2}}\n"
        f"- {{trace: pair, groups: groups.json, {roof}}}\n"
        f"- {{trace: one.et, {roof}}}\n"
    )


CHANGES: dict[str, Callable[[Path], Any]] = {
    "w.txt": lambda path: path.write_text(LAYER.format(2000)),
    "deeper/w.txt": lambda path: path.write_text(LAYER.format(2000)),
    "table.txt": lambda path: path.write_text(LAYER.format(2000)),
    "groups.json": lambda path: path.write_text(json.dumps({"1": [0, 1], "2": [2, 3], "3": [0, 2]})),
    "pair.3.et": lambda path: write_trace(path, Metadata(), nodes(3, 2000)),
    "one.et": lambda path: write_trace(path, Metadata(), [compute_node(1, "c", operations=2000, size=10)]),
    "own.yaml": lambda path: path.write_text(LINEAR + PRICES.format("near", 1) + PRICES.format("far", 3)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_changes_makes_another_run(tmp_path: Path, name: str) -> None:
    traced(tmp_path)
    before = run(str(tmp_path / "p.yaml"))
    assert run(str(tmp_path / "p.yaml")).id == before.id
    CHANGES[name](tmp_path / name)
    after = run(str(tmp_path / "p.yaml"))  # in the same process, which keeps problems
    assert (after.id, after.hash) != (before.id, before.hash)
    assert after.id.split("/")[0] == before.id.split("/")[0]
    assert canonical_hash(load_problem(str(tmp_path / "p.yaml")).identity()) == canonical_hash(after.problem)


def test_the_figures_of_a_model_of_the_catalogue_are_part_of_a_problem() -> None:
    names = {"gpt3-4k": "hidden", "resnet50-4k": "digest"}
    for name, key in names.items():
        (figures,) = load_problem(name).identity()["models"].values()
        assert key in figures


def test_a_worker_builds_a_problem_once_and_only_the_one_that_was_planned(tmp_path: Path) -> None:
    traced(tmp_path)
    planned, problems = run(str(tmp_path / "p.yaml")), Problems()
    assert problems.of(planned) is problems.of(planned)
    (tmp_path / "own.yaml").write_text(LINEAR + PRICES.format("near", 1) + PRICES.format("far", 3))
    assert digest_of(problems.of(planned).problem) == planned.problem_digest
    with pytest.raises(InputError, match="another one here than where it was planned"):
        Problems().of(planned)


def test_degrees_of_a_run_can_be_set_as_those_of_its_problem_file() -> None:
    spec = run("moe-4k", *SMALL)
    data = json.loads(json.dumps(manifest_of(spec, build(spec.origin), (), Path()), sort_keys=True))
    again = with_assignments(spec_of(data).origin, ["workloads[0].parallelism.tp=4"])
    assert build(again).identity() == build(with_assignments(spec.origin, ["workloads[0].parallelism.tp=4"])).identity()


@pytest.mark.parametrize("name", ["my_link", "4ever", "a b", "x:1", "near@pod"])
def test_technologies_have_names_that_designs_can_be_read_back_from(tmp_path: Path, name: str) -> None:
    (tmp_path / "own.yaml").write_text(LINEAR + PRICES.format(json.dumps(name), 1))
    (tmp_path / "p.yaml").write_text((Path("problems") / "gpt3-4k.yaml").read_text())
    with pytest.raises(InputError, match=r"own\.yaml:4:\d+: technologies"):
        load_problem(str(tmp_path / "p.yaml"), ["fabric.catalog=own.yaml"])


def test_a_result_whose_catalogue_has_changed_is_not_shown_under_the_new_one(tmp_path: Path) -> None:
    traced(tmp_path)
    spec = run(str(tmp_path / "p.yaml"))
    folder = RunFolder(tmp_path / "run")
    folder.write_json(MANIFEST, manifest_of(spec, build(spec.origin), (), Path()))
    assert canonical_hash(problem_as_run(folder).identity()) == canonical_hash(spec.problem)
    CHANGES["own.yaml"](tmp_path / "own.yaml")
    with pytest.raises(InputError, match="has changed since its run"):
        problem_as_run(folder)
    assert "has changed since its run" in break_down(folder, Design("run", "1", {}, "RI(4)@near:10")).note
