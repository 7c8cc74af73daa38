"""A run whose front does not say what its designs evaluate to is no result."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command import call

from evo_libra.errors import EvoLibraError
from evo_libra.experiment.execution import search_run as runner
from evo_libra.experiment.execution.job import Job
from evo_libra.experiment.execution.worker import execute, perform
from evo_libra.experiment.run import spec as run_spec
from evo_libra.experiment.run.origin import origin_of
from evo_libra.experiment.run.spec import RunSpec, run_of
from evo_libra.experiment.store.folder import DONE, FAILED, FRONT
from evo_libra.front.front import Front
from evo_libra.front.front import front_of as true_front

Make = Callable[..., RunSpec]
MOE = ("npus=512", "fabric.max_dimensions=3", "workloads[0].tp_domain=any")


def off_by(factor: float) -> Callable[..., Front]:
    """Return what makes fronts with another time in their last row."""

    def front_of(*given: Any) -> Front:
        found = true_front(*given)
        last = pl.when(pl.col("id") == len(found) - 1).then(factor).otherwise(1.0)
        return replace(found, frame=found.frame.with_columns(pl.col("time_ms") * last))

    return front_of


@pytest.mark.parametrize("factor", [1 + 4e-12, 0.94, float("nan")])
def test_a_front_that_says_something_else_fails_the_run(
    make: Make, job: Job, monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    spec = make()
    monkeypatch.setattr(runner, "front_of", off_by(factor))
    report = execute(spec.data(), job)
    folder = Path(job.results) / spec.id
    assert report.ending == "failed"
    assert "a fault of the program" in report.error
    assert (folder / FAILED).is_file()
    assert not (folder / DONE).exists()
    assert not (folder / FRONT).exists()
    monkeypatch.undo()
    assert execute(spec.data(), replace(job, again=("failed",))).ending == "done"


def test_rounding_is_no_difference(make: Make, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "front_of", off_by(1 + 4e-16))
    assert execute(make().data(), job).ending == "done"


def test_a_manifest_that_loses_an_order_fails_the_run(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = run_of(origin_of("moe-4k", [*MOE, "workloads[0].parallelism={tp: 8, ep: 64}"]), evaluations=100)

    def lost(data: Any) -> Any:
        return json.loads(json.dumps(data, sort_keys=True))

    monkeypatch.setattr(run_spec, "ordered", lost)
    report = execute(spec.data(), job)
    assert report.ending == "failed"
    assert "another problem" in report.error


def test_a_file_that_changes_meanwhile_does_not_change_the_run(job: Job, tmp_path: Path) -> None:
    text = (Path("problems") / "gpt3-4k.yaml").read_text()
    rows = "".join(
        f"  {name}: {{link_usd_per_GBps: 1, switch_usd_per_GBps: 1, nic_usd_per_GBps: 1}}\n" for name in ("near", "far")
    )
    (tmp_path / "own.yaml").write_text(f"name: own\nsource: none\ntechnologies:\n{rows}")
    (tmp_path / "p.yaml").write_text(text)
    spec = run_of(origin_of(str(tmp_path / "p.yaml"), ["fabric.catalog=own.yaml"]), evaluations=200, population=50)

    def watch(*_: object) -> None:
        (tmp_path / "own.yaml").write_text(f"name: own\nsource: none\ntechnologies:\n{rows.replace('1', '2')}")

    assert perform(spec, job, watch=watch).ending == "done"


def test_a_problem_in_python_has_no_notation_to_be_read_again(job: Job) -> None:
    spec = run_of(origin_of("problems.two_tier:problem", []), evaluations=400, population=100)
    assert execute(spec.data(), job).ending == "done"


def test_the_command_ends_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "front_of", off_by(2.0))
    with pytest.raises(EvoLibraError, match=r"the search failed: the design .* when it is evaluated"):
        call("search", "gpt3-4k", "--evaluations", 100, "--out", tmp_path)
