"""Experiment files mean the runs that they say; studies of their results print what their pages show."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import buying
import libra_budgets
import libra_group
import link_price
import parallelism_sweep
import pytest
from runs import best_of

from evo_libra.errors import InputError
from evo_libra.experiment.execution.batch import run_batch
from evo_libra.experiment.execution.executor import InProcess
from evo_libra.experiment.execution.plan import plan_of
from evo_libra.experiment.file.expansion import load_experiment
from evo_libra.experiment.run.spec import Experiment, RunSpec
from evo_libra.experiment.store.folder import DONE, MANIFEST, RunFolder

ROOT = Path(__file__).parents[2]
RUNS = {
    "comet": 56,
    "engines": 300,
    "libra_budgets": 240,
    "libra_group": 10,
    "link_price": 15,
    "parallelism_sweep": 8,
    "quick": 12,
    "technologies": 28,
    "themis": 90,
}
Keep = Callable[[RunSpec], bool]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(autouse=True)
def own_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVO_LIBRA_CACHE", str(tmp_path / "cache"))


@cache
def planned(name: str) -> Experiment:
    return load_experiment(ROOT / "experiments" / f"{name}.yaml")


def run(name: str, results: Path, keep: Keep = lambda _: True) -> None:
    """Execute an experiment in this process; of large ones only some runs."""
    whole = planned(name)
    experiment = replace(whole, runs=tuple(spec for spec in whole.runs if keep(spec)))
    summary = run_batch(experiment, plan_of(experiment, results), results, InProcess(lambda: False))
    assert summary.count("done") == len(summary.reports)


def rows(text: str) -> list[list[str]]:
    """Return the cells of the table in a text, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def published(name: str) -> list[list[str]]:
    return rows((ROOT / "docs" / "studies" / f"{name}.md").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_an_experiment_file_can_be_planned(name: str) -> None:
    assert len(planned(name).runs) == RUNS[name]


def test_every_experiment_file_is_planned() -> None:
    assert {path.stem for path in (ROOT / "experiments").glob("*.yaml")} == set(RUNS)


@pytest.mark.slow
def test_one_row_of_the_ten_budgets(results: Path) -> None:
    def kept(spec: RunSpec) -> bool:
        fabric, (workload,) = spec.problem["fabric"], spec.problem["workloads"]
        return (
            spec.name == "turing-nlg-4k" and fabric["shape"].startswith("RI(4)") and workload["compute_TFLOPS"] == 234
        )

    run("libra_budgets", results, kept)
    (gains,) = libra_budgets.every_gain(best_of("libra_budgets", results))
    assert gains.budgets == tuple(range(100, 1001, 100))
    assert rows(libra_budgets.table([gains]))[0] in published("libra_budgets")


@pytest.mark.slow
def test_one_network_for_three_models(results: Path) -> None:
    run("libra_group", results)
    found = libra_group.every_network(best_of("libra_group", results))
    assert rows(libra_group.table(found)) == published("libra_group")


@pytest.mark.slow
def test_limits_of_a_buyer() -> None:
    """The rows of the page for rooms without liquid cooling, and for one of limited power."""
    found = [buying.outcome(name) for name in ("air cooling", "a room of 13.5 MW")]
    kept = [row for row in published("buying") if row[0] in {one.limit for one in found}]
    assert rows(buying.table(found)) == kept


@pytest.mark.slow
def test_price_of_links_between_packages(results: Path) -> None:
    run("link_price", results, lambda spec: spec.name == "gpt3-4k")
    found = [link_price.outcome(one) for one in best_of("link_price", results)]
    assert rows(link_price.table(found)) == published("link_price")[:5]


@pytest.mark.slow
def test_parallelisations(results: Path) -> None:
    run("parallelism_sweep", results)
    found = parallelism_sweep.every_split(best_of("parallelism_sweep", results))
    assert rows(parallelism_sweep.table(found)) == published("parallelism_sweep")


def test_what_to_run_is_said_where_results_are_missing(tmp_path: Path) -> None:
    def told() -> str:
        with pytest.raises(InputError) as found:
            best_of("libra_group", tmp_path)
        return str(found.value)

    command = f"evo-libra run experiments/libra_group.yaml --out {tmp_path}"
    assert told() == f"{tmp_path} has no runs of libra_group that are done; {command}"
    run("libra_group", tmp_path, lambda spec: spec.name == "gpt3-4k")
    assert len(best_of("libra_group", tmp_path)) == 2
    first, second = sorted((tmp_path / "gpt3-4k").iterdir())
    (first / DONE).unlink()
    assert told() == f"{tmp_path} has 1 of 2 runs of libra_group that are done; {command}"
    kept = RunFolder(second)
    kept.write_json(MANIFEST, {**kept.read_json(MANIFEST), "program": "0"})
    os.utime(second / DONE)  # of a finished run one date is looked at
    assert told() == f"{tmp_path} has 0 of 2 runs of libra_group that are done; {command} --rerun-stale"


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "studies").glob("*.md")), ids=lambda path: path.stem)
def test_a_page_says_that_its_study_runs_with_domains_that_are_not_sold(path: Path) -> None:
    before = path.read_text().partition("```sh")[0]
    scripts = [ROOT / name for name in re.findall(r"python (experiments/\w+\.py)", path.read_text())]
    asked = any(re.search(r"from effects_off import load", script.read_text()) for script in scripts)
    assert ("`fabric.domains: any`" in before) == asked
    reader = path.read_text().split("\n\n")[1]
    assert not (asked and reader.startswith("For those who buy"))
