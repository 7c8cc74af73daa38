"""The catalogue: what the files say, whatever became of the index."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from effort import little_work

from evo_libra.errors import InputError
from evo_libra.experiment.execution.job import Job
from evo_libra.experiment.execution.plan import plan_of, tidy, write_plan
from evo_libra.experiment.execution.worker import perform
from evo_libra.experiment.results import index as index_module
from evo_libra.experiment.results.catalogue import Catalogue, read_front, read_log, read_manifest, request
from evo_libra.experiment.results.index import cache_folder, kind_of, on_network
from evo_libra.experiment.results.listing import parse_filter, sort_runs
from evo_libra.experiment.run.record import counts
from evo_libra.experiment.run.spec import Experiment, RunSpec
from evo_libra.experiment.store import claim as claims
from evo_libra.experiment.store import messages
from evo_libra.experiment.store.folder import CHECKPOINT, DONE, FRONT, RunFolder, damaged_files
from evo_libra.experiment.store.messages import all_requested, read_progress, requested

Make = Callable[..., RunSpec]
LISTED = """
import sys
from pathlib import Path
from evo_libra.experiment.results.catalogue import Catalogue
from evo_libra.ui.commands.results import list_runs
list_runs(results=Path(sys.argv[1]), sort="id", rows=1)
(run,) = Catalogue.open(sys.argv[1]).runs()
assert run.folder == Path(sys.argv[1], run.id)
paths = [value for value in vars(run).values() if isinstance(value, Path)]
print([name for name in ("numpy", "polars") if name in sys.modules], paths)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVO_LIBRA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def opened(job: Job) -> Catalogue:
    return Catalogue.open(job.results)


def stopped(spec: RunSpec, job: Job, at: int) -> None:
    reached = [False]

    def watch(snapshot: object, _seconds: float) -> None:
        reached[0] = snapshot.evaluations >= at  # type: ignore[attr-defined]

    perform(spec, job, interrupted=lambda: reached[0], watch=watch)


def statuses(catalogue: Catalogue) -> dict[str, str]:
    return {run.id: run.status for run in catalogue.runs()}


@pytest.mark.slow
def test_runs_are_what_their_files_show(make: Make, job: Job) -> None:
    done, begun, planned = make(seed=1), make(seed=2), replace(make(seed=3), label="npus=4")
    experiment = Experiment("mine", Path("mine.yaml"), (done, begun, planned), 1.0)
    write_plan(experiment, Path(job.results))
    perform(done, job)
    stopped(begun, job, 400)
    catalogue = opened(job)
    assert statuses(catalogue) == {done.id: "done", begun.id: "interrupted", planned.id: "queued"}
    (info,) = catalogue.batches()
    assert (info.id, info.experiment, info.runs, info.runner) == (
        ".batches/mine", "mine", (done.id, begun.id, planned.id), "",
    )  # fmt: skip
    assert [run.id for run in catalogue.runs_of(info)] == list(info.runs)
    first, second, third = catalogue.runs(sort="seed")
    assert (first.experiment, first.evaluations, first.budget, first.seed) == ("mine", 1000, 1000, 1)
    assert (second.evaluations, second.wall_s > 0, second.started > 0) == (400, True, True)
    assert (third.name, third.evaluations, third.budget, third.started) == ("npus=4", 0, 1000, 0.0)
    assert counts(catalogue.runs()) == {"done": 1, "interrupted": 1, "queued": 1}
    assert [point.evaluations for point in read_progress(first.folder)][-1] == 1000
    assert read_manifest(first)["hash"] == done.hash
    assert read_log(first)[-1].endswith("on the front")
    assert read_log(third) == []


def test_a_running_run_shows_its_worker_and_the_front_of_its_checkpoint(make: Make, job: Job) -> None:
    spec, seen = make(), []
    job = replace(job, checkpoint_seconds=0.0)

    def look(snapshot: object, _seconds: float) -> None:
        if snapshot.evaluations == 500:  # type: ignore[attr-defined]
            (run,) = opened(job).runs()
            seen.append((run, read_front(run)))

    perform(spec, job, watch=look)
    (run, front), done = seen[0], opened(job).runs()[0]
    assert (run.status, run.worker.endswith(f":{os.getpid()}")) == ("running", True)
    assert front.objectives == read_front(done).objectives
    assert len(front) > 0
    assert front.frame.columns == ["id", *front.objectives]
    assert done.status == "done"


def test_a_run_whose_holder_is_gone_is_interrupted(make: Make, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = make()
    stopped(spec, job, 300)
    monkeypatch.setattr(claims, "kernel", lambda: "another host")
    held = claims.acquire(Path(job.results) / spec.id, "x")
    monkeypatch.undo()
    assert held is not None
    catalogue = Catalogue.open(job.results, Path(job.results).parent / "index")
    assert catalogue.runs()[0].status == "running"
    long_ago = time.time() - claims.LEASE_SECONDS - 1
    os.utime(held.path, (long_ago, long_ago))
    catalogue.refresh()
    assert catalogue.runs()[0].status == "interrupted"


@pytest.mark.slow
def test_refresh_sees_what_is_new_changed_and_gone(make: Make, job: Job) -> None:
    one, two = make(seed=1), make(seed=2)
    catalogue = opened(job)
    assert catalogue.runs() == []
    stopped(one, job, 300)
    catalogue.refresh()
    assert statuses(catalogue) == {one.id: "interrupted"}
    perform(one, job)
    perform(two, job)
    catalogue.refresh()
    assert statuses(catalogue) == {one.id: "done", two.id: "done"}
    for path in (Path(job.results) / one.id).iterdir():
        path.unlink()
    catalogue.refresh()
    assert statuses(catalogue) == {two.id: "done"}


def test_the_index_is_used_and_may_be_lost_or_damaged(make: Make, job: Job, cache: Path) -> None:
    perform(make(), job)
    first = opened(job)
    known = first.runs()
    first.close()
    (index,) = cache.glob("*.sqlite")
    with sqlite3.connect(index) as connection:
        assert connection.execute("SELECT id FROM runs").fetchall() == [(known[0].id,)]
    connection.close()
    for damage in (lambda: None, index.unlink, lambda: index.write_bytes(b"SQLite format 3\0 and nonsense" * 100)):
        damage()
        catalogue = opened(job)
        assert catalogue.runs() == known
        catalogue.close()


@pytest.mark.slow
def test_a_listing_imports_no_arrays_and_makes_no_path_of_a_run(make: Make, job: Job) -> None:
    perform(make(), job)
    words = [sys.executable, "-c", LISTED, job.results]
    for _ in range(2):  # as read from its files, and as the index has it
        assert subprocess.run(words, check=True, capture_output=True, text=True).stdout.split("\n")[-2] == "[] []"


def test_an_index_of_a_finished_run_is_read_anew_when_it_was_run_again(make: Make, job: Job) -> None:
    spec = make()
    perform(spec, job)
    catalogue = opened(job)
    (before,) = catalogue.runs()
    perform(spec, replace(job, again=("all",), resume=False))
    catalogue.refresh()
    (after,) = catalogue.runs()
    assert after.updated > before.updated
    assert (after.front_size, after.hypervolume) == (before.front_size, before.hypervolume)


def test_a_run_of_another_program_is_stale(make: Make, job: Job, newer_program: Callable[[], None]) -> None:
    perform(make(), job)
    assert [run.status for run in opened(job).runs()] == ["done"]
    newer_program()
    assert [run.status for run in opened(job).runs()] == ["stale"]


def test_where_nothing_can_be_kept_the_index_lies_in_memory(make: Make, job: Job, tmp_path: Path) -> None:
    perform(make(), job)
    (tmp_path / "file").touch()
    assert len(Catalogue.open(job.results, tmp_path / "file" / "cache").runs()) == 1


def test_a_file_is_no_folder_of_results(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="it is a file"):
        Catalogue.open(tmp_path / "file")
    assert Catalogue.open(tmp_path / "nothing").runs() == []


def test_runs_are_found_by_path_id_and_part(make: Make, job: Job) -> None:
    one, two = make(seed=1), make(seed=21)
    for spec in (one, two):
        perform(spec, job)
    catalogue = opened(job)
    for name in (one.id, "-s1", str(Path(job.results) / one.id)):
        assert catalogue.find(name).id == one.id
    with pytest.raises(InputError, match="stands for 2 runs"):
        catalogue.find("gpt3-4k")
    with pytest.raises(InputError, match="there is no run"):
        catalogue.find("nothing")


def test_the_whole_name_of_a_problem_names_its_run(make: Make, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = make(seed=1), make(seed=2)
    for spec in (one, two):
        perform(spec, job)
    catalogue = opened(job)
    runs = catalogue.runs()
    named = {f"{name}/{run.id.partition('/')[2]}": run for name, run in zip(("four", "four-more"), runs, strict=True)}
    renamed = {run_id: replace(run, id=run_id) for run_id, run in named.items()}
    monkeypatch.setattr(catalogue, "_runs", renamed)
    assert catalogue.find("four").id.startswith("four/")
    with pytest.raises(InputError, match="stands for 2 runs"):
        catalogue.find("fou")


def test_a_run_of_two_experiments_is_found_by_both(make: Make, job: Job) -> None:
    shared, own = make(seed=1), make(seed=2)
    perform(shared, job)
    catalogue = opened(job)
    for name, specs in (("one", (shared,)), ("two", (shared, own))):
        write_plan(Experiment(name, Path(f"{name}.yaml"), specs, 1.0), Path(job.results))
    catalogue.refresh()
    assert {run.id: run.experiment for run in catalogue.runs()} == {shared.id: "one, two", own.id: "two"}
    assert [run.id for run in catalogue.runs("experiment:one")] == [shared.id]
    assert [run.id for run in catalogue.runs("experiment:two", "seed")] == [shared.id, own.id]
    assert catalogue.runs("experiment:t") == []


def test_filters_choose_and_orders_sort(make: Make, job: Job) -> None:
    specs = [make(engine=engine, seed=seed, evaluations=count)
             for engine, seed, count in (("nsga2", 1, 300), ("nsga3", 2, 300), ("random", 10, 200))]  # fmt: skip
    for spec in specs:
        perform(spec, job)
    catalogue = opened(job)

    def found(query: str) -> list[int]:
        return [run.seed for run in catalogue.runs(query, "seed")]

    assert found("") == [1, 2, 10]
    assert found("engine:nsga*") == [1, 2]
    assert found("engine:nsga2,random status:done") == [1, 10]
    assert found("status:do*,FAILED") == [1, 2, 10]
    assert found("-status:queued") == [1, 2, 10]
    for wrong in ("foo", "done,foo", "z*"):
        with pytest.raises(InputError, match=r"unknown status '(foo|z\*)'; allowed: queued, running, .*interrupted"):
            parse_filter(f"status:{wrong}")
    assert found("-engine:nsga2") == [2, 10]
    assert found("evaluations>=300 seed<2") == [1]
    assert found("RANDOM") == [10]
    assert found("-random -nsga3") == [1]
    assert found("hypervolume>1000") == []
    assert [run.seed for run in catalogue.runs(sort="-seed")] == [10, 2, 1]
    assert [run.seed for run in catalogue.runs(sort="engine")] == [1, 2, 10]
    unknown = [replace(run, hypervolume=None) if run.seed == 2 else run for run in catalogue.runs()]
    assert [run.seed for run in sort_runs(unknown, "-hypervolume")][-1] == 2
    for wrong in ("sed:1", "seed>x"):
        with pytest.raises(InputError):
            parse_filter(wrong)
    with pytest.raises(InputError, match="did you mean 'seed'"):
        catalogue.runs(sort="sed")


@pytest.mark.slow
@pytest.mark.parametrize("word", ["a=$a ", "-a ", "id:a "])
def test_a_filter_takes_time_in_proportion_to_its_length(word: str) -> None:
    with little_work():
        parse_filter(word * (120_000 // len(word)))


def test_the_catalogue_is_a_frame(make: Make, job: Job) -> None:
    perform(make(), job)
    frame = opened(job).frame("status:done")
    assert frame.height == 1
    assert frame["evaluations"].to_list() == [1000]
    assert frame.schema.keys() == Catalogue.open("nowhere").frame().schema.keys()
    assert frame.schema == Catalogue.open("nowhere").frame().schema


def test_points_of_fronts_are_known_without_their_files(make: Make, job: Job) -> None:
    done, begun = make(seed=1), make(seed=2)
    perform(done, job)
    stopped(begun, job, 300)
    catalogue = opened(job)
    one, two = (catalogue.find(spec.id) for spec in (done, begun))
    assert catalogue.points(one) is None  # nobody has read it yet
    for run in (one, two):
        front = read_front(run)
        points = {column: front.frame[column].to_numpy() for column in front.objectives}
        catalogue.keep_points(run, points)
        found = opened(job).points(run)
        assert found is not None
        assert list(found) == list(points)
        assert all(np.array_equal(found[column], points[column]) for column in points)
    os.utime(one.folder / FRONT)  # written anew, by whomever
    assert catalogue.points(one) is None
    (two.folder / FRONT).unlink()  # as while it is at work
    assert catalogue.points(two) is not None
    (two.folder / CHECKPOINT).write_bytes(b"damaged")
    assert catalogue.points(two) is None


def test_requests_lie_beside_the_runs(make: Make, job: Job) -> None:
    spec = make()
    write_plan(Experiment("mine", Path("mine.yaml"), (spec,), 1.0), Path(job.results))
    catalogue = opened(job)
    (run,), (batch,) = catalogue.runs(), catalogue.batches()
    request(run, "pause")
    request(batch, "stop")
    results = Path(job.results)
    assert requested(results, spec.id) == "pause"
    assert all_requested(results) == {spec.id: "pause", batch.id: "stop"}
    catalogue.refresh()
    assert catalogue.runs()[0].status == "paused"
    assert not run.folder.exists()
    with pytest.raises(InputError, match="did you mean 'pause'"):
        request(run, "paus")


def test_runs_of_a_batch_at_work_wait_for_workers_or_to_be_resumed(make: Make, job: Job) -> None:
    done, begun, queued = (make(seed=seed) for seed in range(3))
    perform(done, job)
    stopped(begun, job, 300)
    write_plan(Experiment("mine", Path("mine.yaml"), (done, begun, queued), 1.0), Path(job.results))
    catalogue = opened(job)
    (batch,) = catalogue.batches()

    def seen(target: str, action: str) -> tuple[str, ...]:
        messages.request(Path(job.results), target, action)
        catalogue.refresh()
        assert opened(job).runs() == catalogue.runs()
        return tuple(found.status for found in catalogue.runs(sort="seed"))

    assert seen(batch.id, "pause") == ("done", "interrupted", "queued")  # nobody executes it
    with claims.Lease(batch.folder, "mine"):
        assert seen(batch.id, "pause") == ("done", "paused", "paused")
        assert [found.seed for found in catalogue.runs("status:paused")] == [1, 2]
        assert seen(batch.id, "resume") == ("done", "queued", "queued")
        assert seen(begun.id, "pause") == ("done", "paused", "queued")
        assert seen(begun.id, "resume") == ("done", "queued", "queued")
        assert seen(begun.id, "stop") == ("done", "interrupted", "queued")
        assert seen(begun.id, "retry") == ("done", "queued", "queued")
        assert seen(f"{batch.id}/execution", "stop") == ("done", "interrupted", "queued")
    assert seen(batch.id, "pause") == ("done", "interrupted", "queued")


def test_what_a_killed_worker_left_beside_a_done_run_is_removed_and_nothing_else(make: Make, job: Job) -> None:
    done, begun = make(seed=1), make(seed=2)
    perform(done, job)
    stopped(begun, job, 300)
    results = Path(job.results)
    kept = {path.name for path in (results / done.id).iterdir()}
    for spec in (done, begun):
        for name in (".tmp-x.json", "attempt.json"):
            (results / spec.id / name).write_text("{}")
        tidy(spec, results, "batch")
    assert {path.name for path in (results / done.id).iterdir()} == kept
    assert (results / begun.id / "attempt.json").exists()


def test_a_plan_tells_what_is_there(make: Make, job: Job, newer_program: Callable[[], None]) -> None:
    specs = [make(seed=seed) for seed in range(4)]
    perform(specs[0], job)
    stopped(specs[1], job, 300)
    results = Path(job.results)
    RunFolder(results / specs[2].id).write_json("failed.json", {"error": "x"})
    experiment = Experiment("mine", Path("mine.yaml"), tuple(specs), 1.0)
    assert [run.state for run in plan_of(experiment, results)] == ["done", "begun", "failed", "new"]
    newer_program()
    assert plan_of(experiment, results)[0].state == "stale"
    manifest = RunFolder(results / specs[0].id)
    manifest.write_json("manifest.json", {**manifest.read_json("manifest.json"), "hash": "another"})
    with pytest.raises(InputError, match="belongs to another run"):
        plan_of(experiment, results)


def test_network_file_systems_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = "/dev/sda / ext4 rw 0 0\nserver:/home /home nfs4 rw 0 0\nx /home/fast\\040disk xfs rw 0 0\n"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: mounts)
    monkeypatch.setattr(os.path, "exists", lambda _: True)
    monkeypatch.setattr(Path, "resolve", lambda self: self)
    assert kind_of(Path("/home/me/cache")) == "nfs4"
    assert on_network(Path("/home"))
    assert kind_of(Path("/home/fast disk/x")) == "xfs"
    assert not on_network(Path("/homes"))
    monkeypatch.delenv("EVO_LIBRA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/home/me/.cache")
    assert not str(cache_folder()).startswith("/home")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "evo-libra"


def test_an_index_in_the_temporary_folder_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVO_LIBRA_CACHE")
    monkeypatch.setattr(index_module, "on_network", lambda _: True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    usual = cache_folder()
    assert usual == tmp_path / f"evo-libra-{os.getuid()}" == cache_folder()
    assert stat.S_IMODE(usual.stat().st_mode) == 0o700
    usual.chmod(0o777)
    assert cache_folder() not in (usual, cache_folder())
    usual.rmdir()
    usual.symlink_to(tmp_path)
    fresh = cache_folder()
    assert fresh != usual
    assert stat.S_IMODE(fresh.stat().st_mode) == 0o700


def test_a_front_that_is_not_there_yet_is_no_crash(make: Make, job: Job) -> None:
    spec = make()
    stopped(spec, job, 300)
    (run,) = opened(job).runs()
    assert len(read_front(run)) > 0
    (run.folder / FRONT).unlink()
    assert read_front(run).frame.columns == ["id", "time_ms", "cost_usd"]
    (run.folder / CHECKPOINT).unlink()
    with pytest.raises(InputError, match="no front yet"):
        read_front(run)
    assert not (run.folder / DONE).exists()


def test_a_damaged_front_is_refused_and_a_damaged_mark_is_none(make: Make, job: Job) -> None:
    spec = make()
    perform(spec, job)
    folder = RunFolder(Path(job.results) / spec.id)
    mark, front = (folder.path / DONE).read_bytes(), (folder.path / FRONT).read_bytes()
    assert folder.done
    assert damaged_files(folder) == {}
    (folder.path / FRONT).write_bytes(front[:40] + bytes([front[40] ^ 1]) + front[41:])
    assert list(damaged_files(folder)) == [FRONT]
    with pytest.raises(InputError, match="is damaged or was changed by hand"):
        read_front(opened(job).runs()[0])
    (folder.path / FRONT).write_bytes(front)
    (folder.path / DONE).write_bytes(mark[:-9])
    assert list(damaged_files(folder)) == [DONE]
    assert not folder.done
    assert plan_of(Experiment("mine", Path("mine.yaml"), (spec,), 1.0), Path(job.results))[0].state == "damaged"
    assert perform(spec, job).ending == "done"
    assert damaged_files(folder) == {}
    assert (folder.path / FRONT).read_bytes() == front


def test_a_word_that_is_nearly_a_filter_is_told_how_to_be_one(job: Job) -> None:
    with pytest.raises(
        InputError, match="character 8 of 'status=done': 'done' is no number; for a text write status:done"
    ):
        opened(job).runs("status=done")
    with pytest.raises(InputError, match="character 4 of '#3 sed<4': unknown field 'sed'"):
        opened(job).runs("#3 sed<4")
    assert opened(job).runs("npus=3") == []  # a label may say so


def test_an_index_of_an_earlier_layout_is_made_anew(make: Make, job: Job, cache: Path) -> None:
    perform(make(), job)
    opened(job).close()
    (path,) = cache.rglob("*.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as index:
        index.executescript("DROP TABLE fronts; PRAGMA user_version = 2;")
    catalogue = opened(job)
    (run,) = catalogue.runs()
    assert catalogue.points(run) is None
    catalogue.keep_points(run, {"time_ms": np.array([1.0])})
    assert catalogue.points(run) is not None
    catalogue.close()
