"""Faults of the machine: no failures of runs, whatever says that they are there."""

from __future__ import annotations

import errno
import os
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from evo_libra.chakra.trace import Metadata
from evo_libra.chakra.write import write_trace
from evo_libra.errors import InputError, StorageError, machine_fault
from evo_libra.experiment.execution import worker
from evo_libra.experiment.execution import worker as attempts
from evo_libra.experiment.execution.job import Job
from evo_libra.experiment.execution.worker import ATTEMPTS, abandon, count_attempt, execute, perform
from evo_libra.experiment.run.spec import RunSpec
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.experiment.store.messages import request
from evo_libra.searching.evaluation.parallel import Cache

Make = Callable[..., RunSpec]


def full_database() -> sqlite3.Error:
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA max_page_count = 1")
    with pytest.raises(sqlite3.Error) as found:
        connection.execute("CREATE TABLE a (b)")
    connection.close()
    return found.value


def unreadable() -> InputError:
    try:
        try:
            raise PermissionError(errno.EACCES, "Permission denied", "workload.txt")
        except OSError:
            raise InputError("workload.txt cannot be read") from None
    except InputError as error:
        return error


FAULTS = [
    (OSError(errno.ENOSPC, "No space left on device", "trace.et"), "storage", "the disk of trace.et is full"),
    (OSError(errno.EDQUOT, "Disk quota exceeded"), "storage", "takes no more: disk quota exceeded"),
    (full_database(), "storage", "the disk is full"),
    (MemoryError("Unable to allocate 9 EiB"), "machine", "not enough memory: Unable to allocate 9 EiB"),
    (OSError(errno.EMFILE, "Too many open files"), "machine", "too many open files"),
    (unreadable(), "machine", "workload.txt: permission denied"),
]


@pytest.mark.parametrize(("error", "ending", "words"), FAULTS)
def test_a_fault_of_the_machine_is_no_failure_of_a_run(
    make: Make, job: Job, monkeypatch: pytest.MonkeyPatch, error: Exception, ending: str, words: str
) -> None:
    def search(*_: object, **__: object) -> None:
        raise error

    spec = make()
    monkeypatch.setattr(worker, "run_search", search)
    for _ in range(ATTEMPTS + 1):
        report = execute(spec.data(), job)
        assert (report.ending, words in report.error) == (ending, True), report
    folder = Path(job.results) / spec.id
    assert {path.name for path in folder.iterdir()} <= {"events.jsonl", "run.log"}
    monkeypatch.undo()
    assert execute(spec.data(), replace(job, batch="next")).ending == "done"


@pytest.mark.parametrize("error", [PermissionError(errno.EACCES, "no"), ValueError("no"), InputError("no")])
def test_a_mistake_of_a_problem_is_no_fault_of_the_machine(error: Exception) -> None:
    assert machine_fault(error) is None


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["front", "designs"])
def test_whatever_file_does_not_fit_the_run_has_not_failed(make: Make, job: Job, keep: str) -> None:
    spec = make(keep=keep)
    for size in (1, 1_000, 3_000, 6_000):
        with files_up_to(size), pytest.raises(StorageError, match="takes no more: file too large"):
            perform(spec, job)
        left = {path.name for path in (Path(job.results) / spec.id).iterdir()}
        assert not {name for name in left if name.startswith(("failed", "attempt", "claim", ".tmp"))}
    assert perform(spec, job).ending == "done"


def test_a_worker_that_the_system_has_ended_for_want_of_memory_has_not_failed(
    make: Make, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, kills = make(), [3]
    folder = RunFolder(Path(job.results) / spec.id)
    folder.path.mkdir(parents=True)
    monkeypatch.setattr(attempts, "memory_kills", lambda: kills[0])
    for give_up in (lambda: execute(spec.data(), job), lambda: abandon(spec, job, "its workers kept dying")):
        for _ in range(ATTEMPTS):
            count_attempt(folder, job)
            kills[0] += 1
        report = give_up()
        assert (report.ending, "not enough memory" in report.error) == ("machine", True)
        assert list(folder.path.iterdir()) == []
    for _ in range(ATTEMPTS):
        count_attempt(folder, job)
    assert execute(spec.data(), job).ending == "failed"


@pytest.mark.parametrize("mask", [0o002, 0o027])
def test_files_follow_the_umask(make: Make, job: Job, mask: int) -> None:
    before = os.umask(mask)
    try:
        perform(make(keep="designs"), job, finish=lambda outcome: outcome.folder.write("front.png", b""))
        request(Path(job.results), "some batch", "stop")
        Cache(Path(job.results) / "evaluations.sqlite", {}).close()
        write_trace(Path(job.results) / "trace.et", Metadata(), [])
    finally:
        os.umask(before)
    files = [path for path in Path(job.results).rglob("*") if path.is_file()]
    assert len(files) > 7
    assert {path.stat().st_mode & 0o777 for path in files} == {0o666 & ~mask}
