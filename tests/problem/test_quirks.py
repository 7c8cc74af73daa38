"""What ASTRA-sim does otherwise: one table, a page of the docs, and warnings where it concerns a design."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command import call, options, sets

from evo_libra import load_problem
from evo_libra.astra_sim.export import export_design
from evo_libra.chakra.trace import Metadata
from evo_libra.chakra.write import compute_node, write_trace
from evo_libra.problem.designs import warnings_of
from evo_libra.problem.problem import Problem
from evo_libra.timing import quirks
from evo_libra.timing.quirks import OF_SCHEDULERS, QUIRKS, WARNED, Handling

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "astra-sim.md"
WHOLE = "RI(4)@chiplet:256_FC(4)@package:100_SW(4)@pod:50"
SPLIT = "FC(8)@chiplet:256_SW(8)@pod:64"


def keys(**time: Any) -> list[str]:
    rows = {"model": "astra", "latency_ns": 500, "chunks": 16} | time
    return ["npus=64", "workloads[0].parallelism={tp: 4}", f"time={json.dumps(rows)}"]


def load(*more: str, **time: Any) -> Problem:
    found = load_problem("gpt3-4k", [*keys(**time), *more])
    assert isinstance(found, Problem)
    return found


def names(problem: Problem, *designs: str) -> list[str]:
    return [warned.quirk.name for warned in warnings_of(problem, designs or [WHOLE])]


def test_the_page_has_the_table() -> None:
    chapters = re.split(r"^## (.*)$", PAGE.read_text(), flags=re.MULTILINE)[1:]
    assert chapters[::2] == [handling.value for handling in Handling]
    told = []
    for chapter, text in zip(chapters[::2], chapters[1::2], strict=True):
        sections = re.split(r"^### `(.*)`$", text, flags=re.MULTILINE)[1:]
        told += [
            (chapter, name, " ".join(body.split())) for name, body in zip(sections[::2], sections[1::2], strict=True)
        ]
    assert [(chapter, name) for chapter, name, _ in told] == [(quirk.handling.value, quirk.name) for quirk in QUIRKS]
    assert all(body.startswith(quirk.sentence) for (_, _, body), quirk in zip(told, QUIRKS, strict=True))
    assert [quirk for quirk in QUIRKS if quirk.handling is Handling.WARNED] == list(WARNED)


@pytest.mark.parametrize(("time", "expected"), [
    ({}, []),
    ({"policy": "smallest-first"}, ["scheduler-keys"]),
    ({"scheduler": "round-robin"}, ["scheduler-keys", "round-robin-counter"]),
    ({"model": "themis"}, ["scheduler-keys", "stale-loads"]),
    ({"model": "themis", "policy": "alternate"}, ["scheduler-keys", "stale-loads", "queue-order-deadlock"]),
    ({"scheduler": "offline-greedy-flex", "policy": "fewest-phases-first"},
     ["scheduler-keys", "stale-loads", "queue-order-deadlock"]),
    ({"scheduler": "themis-paper"}, ["paper-scheduler"]),
    ({"scheduler": "ideal"}, ["paper-scheduler"]),
    ({"latency_occupies": False}, ["paper-scheduler"]),
])  # fmt: skip
def test_schedulers_and_policies(time: dict[str, Any], expected: list[str]) -> None:
    assert names(load(**time)) == expected


def test_a_round_robin_that_comes_round_is_where_it_was() -> None:
    two_dimensions = "RI(4)@chiplet:256_SW(16)@pod:50"
    assert names(load(scheduler="round-robin"), two_dimensions) == ["scheduler-keys"]
    # What is left over of fifteen chunks is one more, the sixteenth.
    assert names(load(scheduler="round-robin", chunks=15), two_dimensions) == ["scheduler-keys"]
    assert names(load(scheduler="round-robin", chunks=1), two_dimensions) == ["scheduler-keys", "round-robin-counter"]


def test_a_single_collective_meets_nothing_that_an_earlier_one_left(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("DATA\n1\nlayer -1 3 NONE 0 3 NONE 0 3 ALLREDUCE 1048576 1\n")
    (tmp_path / "one.yaml").write_text(
        "name: one\nnpus: 64\nfabric: {catalog: libra}\nworkloads: [{file: one.txt, parallelism: {tp: 1}}]\n"
        "time: {model: themis, latency_ns: 500, scheduler: [round-robin, offline-greedy]}\n"
    )
    problem = load_problem(str(tmp_path / "one.yaml"))
    assert isinstance(problem, Problem)
    assert names(problem, WHOLE) == ["scheduler-keys"]
    assert names(problem, f"{WHOLE} scheduler=offline-greedy") == ["scheduler-keys"]


def test_groups_that_hold_a_part_of_a_dimension() -> None:
    assert names(load("workloads[0].parallelism={tp: 16}"), SPLIT) == ["groups-as-rings"]
    one = load("workloads[0].parallelism={tp: 16}")
    assert names(one, "SW(64)@pod:64") == ["groups-as-rings", "one-dimension-groups"]


def test_two_collectives_at_a_time_only_where_the_first_is_the_longer() -> None:
    problem = load(overlap="tp-dp")
    assert names(problem, WHOLE) == []
    assert names(problem, WHOLE.replace(":256", ":32")) == ["one-collective-at-a-time"]


def tiny_trace(folder: Path, operations: int, rates: str) -> Problem:
    """Return a problem of a trace whose second computation has so many operations."""
    nodes = [compute_node(0, "matmul", operations=10**9, size=10**6)]
    nodes.append(compute_node(3, "scalar", operations=operations, size=1, data=(0,)))
    write_trace(folder / "step.et", Metadata(), nodes)
    (folder / "step.yaml").write_text(
        f"name: step\nnpus: 4\nfabric: {{catalog: libra}}\nworkloads: [{{trace: step.et{rates}}}]\n"
        "time: {model: astra, latency_ns: 500}\n"
    )
    found = load_problem(str(folder / "step.yaml"))
    assert isinstance(found, Problem)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("operations", "expected"), [(999, ["instant-computation"]), (1000, [])])
def test_a_computation_of_less_than_a_nanosecond_is_named(tmp_path: Path, operations: int, expected: list[str]) -> None:
    """1 TFLOP/s runs a thousand operations in 1 ns; the memory would take less."""
    problem = tiny_trace(tmp_path, operations, ", compute_TFLOPS: 1, memory_GBps: 1000")
    assert names(problem, "SW(4)@pod:20") == expected
    for warned in warnings_of(problem, ["SW(4)@pod:20"]):
        assert "aborts at a computation of less than 1 ns" in str(warned)
        assert str(warned).endswith("Here: node 3 'scalar' of NPU 0 in step. [instant-computation]")
        assert warned.json()["nodes"] == ["node 3 'scalar' of NPU 0 in step"]


@pytest.mark.slow
def test_a_recorded_time_is_under_no_roofline(tmp_path: Path) -> None:
    assert names(tiny_trace(tmp_path, 1, ""), "SW(4)@pod:20") == []


def test_designs_are_counted() -> None:
    problem = load(scheduler=["baseline", "offline-greedy"])
    found = warnings_of(problem, problem.read([WHOLE, f"{WHOLE} scheduler=offline-greedy"]))
    assert [(warned.quirk.name, warned.designs, warned.of) for warned in found] == [
        ("scheduler-keys", 1, 2), ("stale-loads", 1, 2),
    ]  # fmt: skip
    assert str(found[1]).startswith("warning for 1 of 2 designs: ASTRA-sim keeps the loads")
    assert str(found[1]).endswith("[stale-loads]")


def test_libras_time_is_not_asked_of_astra_sim() -> None:
    problem = load_problem("gpt3-4k")
    assert warnings_of(problem, ["SW(4096)@pod:20"]) == []


@pytest.mark.slow
def test_commands_tell_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    time = keys(model="themis", policy="alternate")
    expected = [quirks.SCHEDULER_KEYS, quirks.STALE_LOADS, quirks.QUEUE_ORDER_DEADLOCK]

    def told(text: str) -> list[str]:
        assert max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 80
        return re.findall(r"warning: .*?\]", " ".join(text.split()))

    def warned(text: str) -> list[tuple[str, str]]:
        return [(each["quirk"], each["warning"]) for each in json.loads(text)["warnings"]]

    call("evaluate", "gpt3-4k", "--design", WHOLE, *sets(time))
    assert told(capsys.readouterr().out) == [f"warning: {quirk.sentence} [{quirk.name}]" for quirk in expected]
    call("evaluate", "gpt3-4k", "--design", WHOLE, *sets(time), "--json")
    assert warned(capsys.readouterr().out) == [(quirk.name, quirk.sentence) for quirk in expected]
    shape = ["fabric.shape=RI(4)_FC(4)_SW(4)"]
    numbers = {"engine": "random", "evaluations": 40, "population": 20, "seed": 1}
    searching = ("search", "gpt3-4k", *options(numbers), "--out", tmp_path, *sets([*time, *shape]))
    call(*searching)
    assert len(told(capsys.readouterr().out)) == len(expected)
    (folder,) = (path.parent for path in tmp_path.rglob("done.json"))
    call(*searching, "--resume", "--json")
    assert warned(capsys.readouterr().out) == [(quirk.name, quirk.sentence) for quirk in expected]
    for model, found in (("themis", True), ("libra", False)):
        call("rescore", folder, "--time", model, "--json")
        assert bool(warned(capsys.readouterr().out)) == found
    call("export", folder, 0, "--astra-sim", tmp_path / "json", "--json")
    assert warned(capsys.readouterr().out) == [(quirk.name, quirk.sentence) for quirk in expected]
    exported = export_design(load(model="themis", policy="alternate"), WHOLE, tmp_path / "out")
    assert list(exported.differences) == [quirk.sentence for quirk in expected]
    assert all(quirk in OF_SCHEDULERS for quirk in expected)
