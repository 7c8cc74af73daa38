"""Runs: the same bytes whether they are killed, extended, kept whole or not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evo_libra.errors import InputError
from evo_libra.experiment.execution import search_run as runner
from evo_libra.experiment.execution import worker
from evo_libra.experiment.execution.job import Job, Report
from evo_libra.experiment.execution.worker import ATTEMPTS, count_attempt, execute, perform
from evo_libra.experiment.results.reproduction import reproduce
from evo_libra.experiment.run.origin import build
from evo_libra.experiment.run.spec import RunSpec
from evo_libra.experiment.store.folder import (  # fmt: skip
    CHECKPOINT,
    DONE,
    EVENTS,
    FAILED,
    FRONT,
    LOG,
    MANIFEST,
    RunFolder,
)
from evo_libra.experiment.store.messages import read_events, request, settle
from evo_libra.experiment.store.search_state import kept_designs, kept_genes
from evo_libra.files.integrity import checksum
from evo_libra.front.front import Front

Make = Callable[..., RunSpec]
FIRST_DESIGNS = "designs-000000000000000.parquet"
ENGINES = ("nsga2", "nsga3", "random", "exhaustive")
LEFT_BY_A_DONE_RUN = {CHECKPOINT, DONE, EVENTS, FRONT, LOG, MANIFEST}


def folder_of(spec: RunSpec, job: Job) -> Path:
    return Path(job.results) / spec.id


def bytes_of(spec: RunSpec, job: Job, name: str = FRONT) -> bytes:
    return (folder_of(spec, job) / name).read_bytes()


def stop_at(evaluations: int) -> tuple[Callable[[], bool], Callable[[object, float], None]]:
    reached = [False]

    def watch(snapshot: object, _seconds: float) -> None:
        reached[0] = snapshot.evaluations >= evaluations  # type: ignore[attr-defined]

    return (lambda: reached[0]), watch


def elsewhere(job: Job, tmp_path: Path, name: str = "elsewhere") -> Job:
    (tmp_path / name).mkdir()
    return replace(job, results=str(tmp_path / name))


def test_a_run_is_what_its_data_say(make: Make) -> None:
    spec = make(seed=3)
    again = RunSpec.of(json.loads(json.dumps(spec.data())))
    assert (again.hash, again.search, again.id) == (spec.hash, spec.search, spec.id)
    assert make(seed=4).hash == spec.hash
    assert make(evaluations=2000).search == spec.search
    assert len({make(**{key: value}).hash for key, value in (
        ("seed", 3), ("evaluations", 2000), ("population", 200), ("engine", "nsga3"), ("keep", "designs"),
    )}) == 5  # fmt: skip


def test_a_done_run_has_its_files_and_is_not_run_twice(make: Make, job: Job) -> None:
    spec = make()
    report = execute(spec.data(), job)
    assert (report.ending, report.fresh, report.figures.evaluations) == ("done", True, 1000)
    folder = folder_of(spec, job)
    assert {path.name for path in folder.iterdir()} == LEFT_BY_A_DONE_RUN
    done = json.loads((folder / DONE).read_text())
    assert done["files"] == {FRONT: checksum(folder / FRONT)}
    stamps = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    again = execute(spec.data(), replace(job, batch="another"))
    assert (again.ending, again.fresh, again.figures) == ("done", False, report.figures)
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == stamps


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("keep", ["front", "designs"])
def test_a_longer_run_goes_on_from_a_shorter_one_to_the_same_bytes(
    make: Make, job: Job, tmp_path: Path, engine: str, keep: str
) -> None:
    # 250 cuts the third generation short, which a longer run must do over in full.
    short, long = (make(engine=engine, keep=keep, evaluations=count) for count in (250, 1000))
    perform(short, job)
    perform(long, job)
    straight = elsewhere(job, tmp_path)
    perform(long, straight)
    begun = read_events(folder_of(long, job))[0]
    assert (begun["kind"], 0 < begun["evaluations"] < 250) == ("extended", True)
    for name in (FRONT, *([FIRST_DESIGNS] if keep == "designs" else [])):
        assert bytes_of(long, job, name) == bytes_of(long, straight, name)


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["front", "designs"])
def test_an_interrupted_run_goes_on_to_the_same_bytes(make: Make, job: Job, tmp_path: Path, keep: str) -> None:
    spec = make(keep=keep)
    interrupted, watch = stop_at(400)
    job = replace(job, checkpoint_seconds=0.0)
    first = perform(spec, job, interrupted=interrupted, watch=watch)
    assert (first.ending, first.figures.evaluations) == ("interrupt", 400)
    assert not (folder_of(spec, job) / DONE).exists()
    assert (folder_of(spec, job) / FRONT).exists()
    second = perform(spec, job)
    assert second.ending == "done"
    assert [event["kind"] for event in read_events(folder_of(spec, job)) if event["kind"] != "progress"] == [
        "started", "interrupted", "resumed", "done",
    ]  # fmt: skip
    straight = elsewhere(job, tmp_path)
    perform(spec, straight)
    assert bytes_of(spec, job) == bytes_of(spec, straight)
    if keep == "designs":
        assert bytes_of(spec, job, FIRST_DESIGNS) == bytes_of(spec, straight, FIRST_DESIGNS)


def test_every_design_is_kept_with_what_it_is_worth(make: Make, job: Job) -> None:
    spec = make(keep="designs", engine="random", evaluations=350)
    perform(spec, replace(job, checkpoint_seconds=0.0))
    designs = kept_designs(folder_of(spec, job)).collect()
    assert designs["evaluation"].to_list() == list(range(350))
    front = pl.read_parquet(folder_of(spec, job) / FRONT)
    feasible = designs.filter(pl.col("violation") <= 0)
    assert front["cost_usd"].min() == feasible["cost_usd"].min()
    assert front["time_ms"].min() == feasible["time_ms"].min()
    worth = build(spec.origin).evaluate_genes(kept_genes(designs))
    np.testing.assert_array_equal(worth.violation, designs["violation"])


def test_a_damaged_checkpoint_costs_time_but_no_result(make: Make, job: Job, tmp_path: Path) -> None:
    spec = make()
    interrupted, watch = stop_at(300)
    perform(spec, job, interrupted=interrupted, watch=watch)
    (folder_of(spec, job) / CHECKPOINT).write_bytes(b"nonsense")
    assert perform(spec, job).ending == "done"
    assert "checksum" in (folder_of(spec, job) / LOG).read_text()
    straight = elsewhere(job, tmp_path)
    perform(spec, straight)
    assert bytes_of(spec, job) == bytes_of(spec, straight)


def test_a_run_of_another_program_is_kept_until_it_is_asked_for(
    make: Make, job: Job, newer_program: Callable[[], None]
) -> None:
    spec = make()
    perform(spec, job)
    newer_program()
    assert perform(spec, job).fresh is False
    assert perform(spec, replace(job, again=("stale",))).fresh is True
    assert read_events(folder_of(spec, job))[0]["kind"] == "started"
    assert execute(spec.data(), replace(job, program="older")).error.endswith(
        "another version of evo_libra than the batch"
    )


def test_a_run_that_raises_three_times_is_marked_and_runs_again_when_asked(
    unsteady: Make, job: Job, tmp_path: Path
) -> None:
    spec = unsteady()
    (tmp_path / "raise").touch()
    reports = [execute(spec.data(), job) for _ in range(ATTEMPTS)]
    assert [report.ending for report in reports] == ["again", "again", "failed"]
    folder = folder_of(spec, job)
    assert json.loads((folder / FAILED).read_text())["error"] == "RuntimeError: no luck today"
    assert "Traceback" in (folder / LOG).read_text()
    assert not list(folder.glob("claim-*"))
    (tmp_path / "raise").unlink()
    assert execute(spec.data(), replace(job, batch="next")).ending == "failed"
    assert execute(spec.data(), replace(job, batch="next", again=("failed",))).ending == "done"
    assert {path.name for path in folder.iterdir()} <= LEFT_BY_A_DONE_RUN


def test_attempts_are_counted_from_the_last_checkpoint_and_for_one_batch(make: Make, job: Job) -> None:
    spec = make()
    folder = RunFolder(folder_of(spec, job))
    folder.path.mkdir(parents=True)
    assert [count_attempt(folder, job) for _ in range(3)] == [1, 2, 3]
    assert count_attempt(folder, replace(job, batch="b")) == 1
    interrupted, watch = stop_at(300)
    perform(spec, job, interrupted=interrupted, watch=watch)
    assert count_attempt(folder, job) == 1


def test_a_run_whose_workers_die_at_the_same_place_is_given_up(make: Make, job: Job) -> None:
    spec = make()
    folder = RunFolder(folder_of(spec, job))
    folder.path.mkdir(parents=True)
    for _ in range(ATTEMPTS):
        count_attempt(folder, job)
    report = execute(spec.data(), job)
    assert (report.ending, "died 3 times" in report.error) == ("failed", True)


@pytest.mark.parametrize(("target", "action", "ending"), [
    ("own", "pause", "pause"), ("own", "stop", "stop"), ("batch", "pause", "pause"), ("batch", "stop", "interrupt"),
])  # fmt: skip
def test_requests_are_heard_before_and_while_a_run_works(
    make: Make, job: Job, monkeypatch: pytest.MonkeyPatch, target: str, action: str, ending: str
) -> None:
    monkeypatch.setattr(worker, "POLL_SECONDS", 0.0)
    spec, job = make(), replace(job, stops=("some batch",))
    results = Path(job.results)
    name = spec.id if target == "own" else "some batch"
    request(results, name, action)
    assert perform(spec, job) == Report(spec.id, ending)  # type: ignore[arg-type]
    settle(results, name)

    def ask(snapshot: object, _seconds: float) -> None:
        if snapshot.evaluations == 300:  # type: ignore[attr-defined]
            request(results, name, action)

    report = perform(spec, job, watch=ask)
    assert (report.ending, report.figures.evaluations, report.fresh) == (ending, 300, True)
    settle(results, name)
    assert perform(spec, job).figures.evaluations == 1000


def test_a_run_that_somebody_else_is_at_is_left_alone(make: Make, job: Job) -> None:
    spec, found = make(), []
    other = replace(job, batch="other")
    perform(spec, job, watch=lambda *_: found.append(execute(spec.data(), other)))
    assert {report.ending for report in found} == {"busy"}
    assert f":{os.getpid()} has it" in found[0].error


def test_whoever_lost_its_claim_writes_nothing_more(make: Make, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "POLL_SECONDS", 0.0)
    spec, taken = make(), []

    def take(snapshot: object, _seconds: float) -> None:
        if snapshot.evaluations == 300:  # type: ignore[attr-defined]
            taken.append(worker.Lease(folder_of(spec, job), job.batch))

    assert perform(spec, job, watch=take).ending == "lost"
    folder = folder_of(spec, job)
    assert not (folder / FRONT).exists()
    assert not (folder / CHECKPOINT).exists()
    assert taken[0].valid()


def test_a_worker_that_does_not_see_the_results_says_so(make: Make, job: Job) -> None:
    report = execute(make().data(), replace(job, results=job.results + "/nowhere"))
    assert (report.ending, "does not see" in report.error) == ("storage", True)


def test_a_problem_that_is_another_one_here_is_refused(make: Make, job: Job) -> None:
    spec = make()
    other = replace(spec, problem={**spec.problem, "npus": 17})
    report = execute(other.data(), job)
    assert (report.ending, "another one here" in report.error) == ("failed", True)


def test_a_run_is_reproduced_and_a_changed_front_is_noticed(make: Make, job: Job) -> None:
    spec = make(engine="nsga3")
    perform(spec, job)
    folder = RunFolder(folder_of(spec, job))
    again, found = reproduce(folder)
    assert again.id == spec.id
    assert (found.identical, found.difference) == (True, 0.0)
    front = folder.read_front()
    frame = front.frame.with_columns(time_ms=pl.col("time_ms") * 1.01)
    Front(frame, front.objectives).write(folder.path / FRONT)
    with pytest.raises(InputError, match="not the front that the run wrote"):
        reproduce(folder)
    done = folder.read_json(DONE)
    folder.write_json(DONE, {**done, "files": {FRONT: checksum(folder.path / FRONT)}})
    _, found = reproduce(folder)
    assert not found.identical
    assert found.difference == pytest.approx(0.0099, rel=0.01)
    (folder.path / DONE).unlink()
    with pytest.raises(InputError, match="not finished"):
        reproduce(folder)


def test_the_scale_of_a_problem_is_the_same_for_every_run(make: Make, job: Job) -> None:
    volumes = [perform(make(engine="random", evaluations=count), job).figures.hypervolume for count in (100, 300, 1000)]
    assert volumes == sorted(volumes)
    assert 0 < volumes[0] < volumes[-1]
    assert np.isfinite(volumes).all()


def test_progress_is_told_while_a_run_works(make: Make, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PROGRESS_SECONDS", 0.0)
    spec = make()
    perform(spec, job)
    told = [event["evaluations"] for event in read_events(folder_of(spec, job)) if event["kind"] == "progress"]
    assert told == list(range(100, 1001, 100))
