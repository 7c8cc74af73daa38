"""The study of engines: its runs go on where they were cut off, and its page has the tables that the runs make."""

from __future__ import annotations

from pathlib import Path

import engine_quality as study
import numpy as np
import pytest

from evo_libra.front.indicators import REFERENCE
from evo_libra.searching.generations import search

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "studies" / "engine_quality.md"


def test_runs_go_on_where_they_were_cut_off(tmp_path: Path) -> None:
    store, first = study.Store(tmp_path), study.Run("p", "auto", 0, 0.5)
    store.add(first)
    with (tmp_path / "runs.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"problem": "p", "eng')
    assert store.runs() == [first]
    second = study.Run("p", "pymoo:nsga2", 0, 0.25)
    store.add(second)
    assert store.runs() == [first, second]
    axes = study.Axes([1.0, 1.0], [2.0, 3.0])
    store.add_axes("p", axes)
    assert store.axes() == {"p": axes}


def test_missing_runs_are_done_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "EVALUATIONS", 200)
    store = study.Store(tmp_path)
    study.run_missing(store, ["zdt6"], ["auto", "pymoo:nsga2"], [1, 2])
    runs = store.runs()
    assert [(run.engine, run.seed) for run in runs] == [
        ("auto", 1), ("pymoo:nsga2", 1), ("auto", 2), ("pymoo:nsga2", 2),
    ]  # fmt: skip
    study.run_missing(store, ["zdt6"], ["auto", "pymoo:nsga2"], [1, 2])
    assert store.runs() == runs


def test_medians_and_p_are_those_of_the_runs() -> None:
    ours, theirs, others = np.arange(3.0, 8.0), np.arange(5.0), np.full(5, 5.5)
    every = {"auto": ours, "pymoo:nsga2": theirs, "pymoo:spea2": others}
    runs = [study.Run("zdt1", name, seed, value) for name, values in every.items() for seed, value in enumerate(values)]
    (one,) = study.compare(runs)
    assert one.best == ("pymoo:spea2", 5.5)
    assert not one.not_below
    # U = 23 of 25, with the tie corrections of Mann and Whitney: five pairs or fewer would not be significant.
    assert 0.005 < one.p < 0.05
    assert study.compare([run for run in runs if run.engine != "auto"]) == []


@pytest.mark.parametrize("name", ["zdt1", "dtlz2"])
def test_the_known_front_of_a_test_problem_is_out_of_reach_of_a_search(name: str) -> None:
    problem = study.TestProblem(name)
    axes = study.axes_of(problem)
    found = search(problem, evaluations=1500, population=100, seed=0)
    largest = REFERENCE ** len(problem.objectives)
    assert 0 < axes.volume(study.objectives_of(problem, found)) < largest
    best = np.array(axes.ideal)[:, None]
    assert axes.volume(best) == pytest.approx(largest)


@pytest.mark.slow
def test_the_page_counts_what_its_table_says() -> None:
    page = PAGE.read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ") and line.count("|") == len(study.HEAD) + 1]
    body = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    shipped = {*study.searched(), *study.ORDERS_SINCE}
    assert {row[0] for row in body} == {*shipped, *study.TESTS}
    not_below = study.HEAD.index("not below")
    assert f"not below the best: {sum(row[not_below] == 'yes' for row in body)} of {len(body)} problems" in page
    p = study.HEAD.index("p")
    above = sum(float(row[p]) < study.SIGNIFICANT for row in body if row[0] not in study.TESTS)
    assert f"p < {study.SIGNIFICANT}: {above} of {len(shipped)} problem files" in page
