"""One design, one figure: whichever way a front came about, its rows are what their designs evaluate to."""

from __future__ import annotations

import tempfile
from pathlib import Path

import agreement
import pytest
from designs import design_file
from effort import costly
from hypothesis import HealthCheck, Phase, given, reject
from hypothesis import strategies as st
from random_problems import refused, write_problem

from evo_libra import load_problem
from evo_libra.errors import EvoLibraError, InputError
from evo_libra.problem.problem import Problem

DRAWN = costly(
    8,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)
"""A share; `tests/end_to_end/design_rows.py` checks thousands of rows."""
SHIPPED: dict[str, tuple[str, ...]] = {
    "dense-1k": ("npus=256", "time.chunks=4"),
    "dense-4k": ("npus=512", "time.chunks=4"),
    "dense-32k": (),
    "dlrm-1k-parts": ("npus=256",),
    "wafer-20": (),
    "moe-4k": ("npus=512",),
    **dict.fromkeys(("gpt3-4k", "language-models-4k", "resnet50-4k", "dlrm-4k", "msft-1t-4k", "turing-nlg-4k"), ()),
}
NUMBERS = {"engine": "nsga2", "evaluations": 24, "population": 12, "seed": 1}


def fresh(name: str, changes: tuple[str, ...] = ()) -> Problem:
    problem = load_problem(name, changes)
    assert isinstance(problem, Problem)
    return problem


def checked(asked: agreement.Asked, way: str) -> int:
    problem = fresh(asked.name, tuple(asked.changes))
    front, folder = agreement.WAYS[way](asked)
    if folder is not None:
        agreement.check_result(folder, problem)
    agreement.check_same_time(front, problem, asked)
    return agreement.check(front, problem)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_every_row_of_a_shipped_problem_is_what_its_design_evaluates_to(name: str, tmp_path: Path) -> None:
    changes = SHIPPED[name]
    ways = list(agreement.WAYS)
    way = ways[list(SHIPPED).index(name) % len(ways)]
    asked = agreement.Asked(design_file(name), changes, NUMBERS, tmp_path)
    assert checked(asked, way) > 0


@pytest.mark.slow
@pytest.mark.parametrize("way", agreement.WAYS)
def test_every_way_finds_the_same_figures_over_scenarios(way: str, tmp_path: Path) -> None:
    changes = (
        "npus=64", "time.chunks=4", "workloads[0].weight={low: 0.5, value: 1, high: 2}",
        "objectives=[time, cost, time.p95, cost.worst, time-cost.mean]", "uncertainty={scenarios: 7, seed: 5}",
    )  # fmt: skip
    assert checked(agreement.Asked("dense-1k", changes, NUMBERS, tmp_path), way) > 0


@pytest.mark.slow
@given(st.data())
@DRAWN
def test_every_row_of_a_drawn_problem_is_what_its_design_evaluates_to(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = write_problem(folder, lambda options: data.draw(st.sampled_from(options)))
        numbers = {**NUMBERS, "engine": data.draw(st.sampled_from(["nsga2", "nsga3", "random"]))}
        changes = data.draw(st.sampled_from([(), ("workloads[0].weight=3",), ("objectives=[time, cost]",)]))
        try:
            fresh(str(path), changes)
        except InputError as error:
            assert refused(error), error
            reject()
        asked = agreement.Asked(str(path), changes, numbers, folder / "out")
        try:
            checked(asked, data.draw(st.sampled_from(list(agreement.WAYS))))
        except EvoLibraError as error:
            assert "the constraints" in str(error) or "too long" in str(error), error
            reject()


def test_a_folder_that_has_moved_gives_the_same_figures(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    catalog = "name: own\nsource: none\ntechnologies:\n  far: {link_usd_per_GBps: 3}\n  near: {link_usd_per_GBps: 1}\n"
    (tmp_path / "here" / "own.yaml").write_text(catalog)
    text = (Path("problems") / "gpt3-4k.yaml").read_text()
    (tmp_path / "here" / "p.yaml").write_text(text)
    changes = ("fabric.catalog=own.yaml",)
    asked = agreement.Asked(str(tmp_path / "here" / "p.yaml"), changes, NUMBERS, tmp_path / "here" / "out")
    _, folder = agreement.by_command(asked)
    assert folder is not None
    asked, folder = agreement.moved(asked, folder, tmp_path / "there")
    problem, front = fresh(asked.name, changes), folder.read_front()
    agreement.check_result(folder, problem)
    agreement.check_same_time(front, problem, asked)
    assert agreement.check(front, problem) > 1


@pytest.mark.slow
def test_worker_processes_find_what_their_designs_evaluate_to(tmp_path: Path) -> None:
    asked = agreement.Asked(
        "moe-4k",
        ("npus=128", "workloads[0].parallelism={ep: 16, tp: 8}", "workloads[0].tp_domain=any"),
        NUMBERS,
        tmp_path,
    )
    front, folder = agreement.in_workers(asked)
    assert folder is not None
    problem = fresh(asked.name, tuple(asked.changes))
    agreement.check_result(folder, problem)
    assert agreement.check(front, problem) > 0
