"""A writer that is stopped before any of its writes, and goes on after another has finished, changes nothing."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from patience import ended

from evo_libra.experiment.execution import worker
from evo_libra.experiment.execution.job import Job
from evo_libra.experiment.execution.search_run import Outcome, run_search
from evo_libra.experiment.execution.worker import ATTEMPTS, perform
from evo_libra.experiment.run.spec import RunSpec
from evo_libra.experiment.store.claim import LEASE_SECONDS, current_claim
from evo_libra.experiment.store.folder import DONE, FRONT, PLOT

Make = Callable[..., RunSpec]
Folder = dict[str, bytes | None]
BROKEN: list[bool] = []
CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.truncate", "os.chmod")
STOPPED = '''
"""Stop before the front is moved to its place, as a suspended machine does."""
import os
import signal
import sys
from pathlib import Path

from evo_libra.experiment.store import claim
from evo_libra.experiment.execution.job import Job
from evo_libra.experiment.run.spec import RunSpec
from evo_libra.experiment.execution.worker import perform

claim.HEARTBEAT_SECONDS = 0.1
run, job = eval(sys.stdin.read())
move = Path.replace

def stopping(path, target):
    if target.name == "front.parquet":
        os.kill(os.getpid(), signal.SIGSTOP)
    return move(path, target)

Path.replace = stopping
print(perform(RunSpec.of(run), Job(**job)).ending)
'''


class Writes:
    """Calls a function before the n-th change of a folder by this thread.

    Python tells its audit hooks of whatever is about to be opened, moved or removed, whoever in the program does it.
    What is appended to a file that is open already goes through `os.write`.

    Attributes
    ----------
    folder : the folder.
    left : changes until the function is called.
    act : the function; None where nobody waits for a change.
    """

    def __init__(self) -> None:
        self.folder, self.left = "", 0
        self.act: Callable[[], None] | None = None
        self._thread = threading.get_ident()
        sys.addaudithook(self._hear)  # for good

    @contextmanager
    def stopped(self, folder: Path, at: int, act: Callable[[], None]) -> Iterator[None]:
        write = os.write

        def append(descriptor: int, data: bytes) -> int:
            self._change(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
            return write(descriptor, data)

        self.folder, self.left, self.act = str(folder), at, act
        os.write = append
        try:
            yield
        finally:
            self.act, os.write = None, write

    def _hear(self, event: str, words: tuple[Any, ...]) -> None:
        if self.act is None:
            return
        if event == "open" and isinstance(words[0], str) and words[2] & (os.O_WRONLY | os.O_RDWR):
            self._change(words[0])
        elif event in CHANGES:
            paths = [os.fspath(path) for path in words if isinstance(path, str | os.PathLike)]
            # Names may be those in a folder that is open.
            numbers = [number for number in words[1:] if isinstance(number, int) and number >= 0]
            folders = [Path(f"/proc/self/fd/{number}") for number in numbers]
            self._change(*paths, *(str(path.readlink()) for path in folders if path.is_dir()))

    def _change(self, *paths: str) -> None:
        if self.act is None or threading.get_ident() != self._thread:
            return
        self.left -= any(path.startswith(self.folder) for path in paths)
        if not self.left:
            act, self.act = self.act, None
            act()


@pytest.fixture(scope="module")
def writes() -> Writes:
    return Writes()


def without_links(*_: object) -> None:
    raise OSError(errno.ENOTSUP, "no links here")


def files_of(folder: Path) -> Folder:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def picture(outcome: Outcome) -> None:
    outcome.folder.write(PLOT, b"a picture")


def fresh(_spec: RunSpec, job: Job) -> Job:
    return job


def interrupted(spec: RunSpec, job: Job) -> Job:
    seen: list[object] = []
    report = perform(spec, job, interrupted=lambda: bool(seen), watch=lambda *now: seen.append(now))
    assert report.ending == "interrupt"
    return job


def done(spec: RunSpec, job: Job) -> Job:
    assert perform(spec, job, finish=picture).ending == "done"
    return replace(job, again=("all",), resume=False)


def damaged(spec: RunSpec, job: Job) -> Job:
    assert perform(spec, job, finish=picture).ending == "done"
    for name in (FRONT, DONE):
        path = Path(job.results) / spec.id / name
        path.unlink()
        path.mkdir()
    return job


def failing(spec: RunSpec, job: Job) -> Job:
    BROKEN.append(True)
    for _ in range(ATTEMPTS - 1):
        assert perform(spec, job).ending == "again"
    return job


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "links"),
    [
        (fresh, True),
        (failing, True),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((interrupted, True), (done, True), (damaged, True))),
        pytest.param(fresh, False, marks=pytest.mark.slow),
    ],
)
def test_a_writer_that_was_stopped_changes_nothing_that_another_has_finished(
    make: Make,
    job: Job,
    tmp_path: Path,
    writes: Writes,
    monkeypatch: pytest.MonkeyPatch,
    before: Callable[[RunSpec, Job], Job],
    links: bool,  # noqa: FBT001
) -> None:
    def search(*given: Any, **more: Any) -> Outcome:
        if BROKEN:
            raise RuntimeError("no luck today")
        return run_search(*given, **more)

    monkeypatch.setattr(worker, "run_search", search)
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)  # nobody pulls the plug; half of the time
    if not links:
        monkeypatch.setattr(os, "link", without_links)
    spec, wrong = make(engine="random", evaluations=100, population=50, keep="designs"), list[str]()
    stop_at, found = 0, "begun"
    while found != "never stopped":
        stop_at += 1
        BROKEN.clear()
        results = tmp_path / f"{stop_at}"
        results.mkdir()
        mine = before(spec, replace(job, results=str(results), checkpoint_seconds=0.0))
        found = harm(spec, mine, writes, stop_at)
        if found not in ("", "never stopped"):
            wrong.append(f"{stop_at}: {found}")
    BROKEN.clear()
    assert not wrong, f"{len(wrong)} of {stop_at}\n" + "\n".join(wrong)
    assert stop_at > 20  # it wrote at all


def harm(spec: RunSpec, job: Job, writes: Writes, stop_at: int) -> str:
    """Stop a run before one of its writes, let another attempt end, let it go on; return what is wrong then."""
    folder, kept = Path(job.results) / spec.id, Folder()
    others, claimed = list[str](), list[bool]()

    def another() -> None:
        BROKEN.clear()
        claimed.append(current_claim(folder) is not None)
        # The same batch need not wait for the lease to end.
        others.append(perform(spec, replace(job, again=("failed",), resume=True), finish=picture).ending)
        kept.update(files_of(folder))

    with writes.stopped(folder, stop_at, another):
        report = perform(spec, job, finish=picture).ending
    if not others:
        return "never stopped"
    after = files_of(folder)
    different = sorted(name for name in kept.keys() | after.keys() if kept.get(name, b"") != after.get(name, b""))
    if not claimed[0] and "all" in job.again:
        different = []  # It claims the run afterwards, and was asked to do again what is done.
    fine = others[0] in ("done", "failed") and report in ("lost", "busy", "done", "failed") and not different
    return "" if fine else f"{others[0]}, {report}, {different}"


@pytest.mark.slow
def test_a_process_that_was_stopped_past_its_lease_loses_the_run(make: Make, job: Job) -> None:
    spec, other = make(), replace(job, batch="other")
    given = repr((spec.data(), asdict(job)))
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(given)
    process.stdin.close()
    process.stdin = None
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    assert perform(spec, other).ending == "busy"
    folder = Path(job.results) / spec.id
    (claim,) = folder.glob("claim-*")
    past = time.time() - LEASE_SECONDS - 1
    os.utime(claim, (past, past))
    assert perform(spec, other).ending == "done"
    kept = files_of(folder)
    process.send_signal(signal.SIGCONT)
    told, _ = ended(process)
    assert told.strip() == "lost"
    assert files_of(folder) == kept
    assert not list(folder.glob("attempt*")) + list(folder.glob("claim*"))
