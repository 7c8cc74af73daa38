"""Where tasks are executed."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from command import call
from cryptography.x509 import load_pem_x509_certificate
from distributed.client import FutureCancelledError
from patience import wait_for

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.experiment.execution import batch as batches
from evo_libra.experiment.execution import local_worker
from evo_libra.experiment.execution.batch import run_batch
from evo_libra.experiment.execution.executor import InProcess
from evo_libra.experiment.execution.job import Job, Report, Undelivered
from evo_libra.experiment.execution.local_worker import LocalWorkers, Place, _Process, local_cluster
from evo_libra.experiment.execution.plan import plan_of
from evo_libra.experiment.execution.private_cluster import new_credentials
from evo_libra.experiment.execution.scheduler import OnScheduler, Silence, Tls, join
from evo_libra.experiment.execution.worker import perform
from evo_libra.experiment.run.spec import Experiment, RunSpec
from evo_libra.experiment.store.folder import FAILED
from evo_libra.experiment.store.messages import request

Make = Callable[..., RunSpec]


PLACE = Place("tls://127.0.0.1:1", {}, "", sys.path)


def mend_until_given_up(workers: LocalWorkers) -> None:
    for _ in range(1000):
        workers.mend()
        time.sleep(0.01)


@pytest.mark.parametrize(("code", "reason"), [(0, "ImportError: no luck"), (1, "ImportError: no luck"), (3, "code 3")])
def test_workers_that_cannot_start_end_the_batch_in_a_sentence(
    code: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "python"
    said = "" if reason.startswith("code") else f"echo Traceback >&2; echo '{reason}' >&2; "
    program.write_text(f"#!/bin/sh\n{said}exit {code}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    workers = LocalWorkers(PLACE, 2)
    with pytest.raises(EvoLibraError, match=f"cannot be started .*{reason}.*--workers 0"):
        mend_until_given_up(workers)
    assert "Traceback" not in capfd.readouterr().err


def sleeping() -> _Process:
    return _Process(subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE))


def test_a_worker_that_was_killed_is_replaced_and_all_end_with_their_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_worker, "_start", lambda _place: sleeping())
    workers = LocalWorkers(PLACE, 2)
    for _ in range(20):  # more often than workers may fail to start
        workers.mend()
        first, second = workers._living  # noqa: SLF001 - what is tested
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        workers.mend()
        assert second in workers._living  # noqa: SLF001 - the same
        assert first not in workers._living  # noqa: SLF001 - the same
    living = [one.process for one in workers._living]  # noqa: SLF001 - the same
    workers.end()
    assert [one.returncode for one in living] == [0, 0]


def test_a_worker_that_was_stopped_is_replaced_and_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_worker, "_start", lambda _place: sleeping())
    monkeypatch.setattr(local_worker, "STOPPED_SECONDS", 0.1)
    told: list[str] = []
    workers = LocalWorkers(PLACE, 2, on_news=told.append)
    workers.mend()
    first, second = workers._living  # noqa: SLF001 - what is tested
    first.process.send_signal(signal.SIGSTOP)
    wait_for(lambda: workers.mend() or told)
    assert told == [f"the worker process {first.process.pid} was stopped; another one takes its place"]
    assert second in workers._living  # noqa: SLF001 - the same
    assert (first in workers._living, len(workers._living)) == (False, 2)  # noqa: SLF001 - the same
    workers.end()


def test_a_worker_that_gives_no_sign_of_life_is_told_of_and_dropped_whatever_its_clock_says() -> None:
    silence = Silence()
    lively = iter([1e9, -1e9, 5.0, 4e9, 0.0, 7.0])
    found = [silence.look(now, {"quiet": 3e9, "lively": next(lively)}) for now in (0.0, 29.0, 31.0, 60.0, 121.0)]
    assert found == [([], []), ([], []), (["quiet"], []), ([], []), ([], ["quiet"])]
    assert silence.look(122.0, {"quiet": 3e9 + 1}) == ([], [])


@pytest.mark.parametrize(("scheduler", "tls", "reason"), [
    ("tls://127.0.0.1:1", Tls(), "asks for certificates; give --tls-ca-file, --tls-cert and --tls-key"),
    ("tls://127.0.0.1:1", Tls(Path("none.pem")), "--tls-ca-file: there is no file none.pem"),
    ("tls://127.0.0.1:1", Tls(key=Path("none.pem")), "--tls-key: there is no file none.pem"),
    ("tls://127.0.0.1:1", Tls(*[Path(__file__)] * 3), "the certificates cannot be used"),
    (__file__, Tls(), "is no scheduler file of Dask"),
])  # fmt: skip
def test_a_scheduler_that_does_not_fit_its_certificates_is_wrong_input(scheduler: str, tls: Tls, reason: str) -> None:
    with pytest.raises(InputError, match=re.escape(reason)):
        join(scheduler, tls)


def test_certificates_need_a_scheduler_that_has_some(tmp_path: Path) -> None:
    credentials, files = new_credentials(), (tmp_path / "cert.pem", tmp_path / "key.pem")
    for file, text in zip(files, (credentials["certificate"], credentials["key"]), strict=True):
        file.write_text(text)
    with pytest.raises(InputError, match="is not encrypted"):
        join("tcp://127.0.0.1:1", Tls(files[0], *files))
    with pytest.raises(InputError, match="--tls-ca-file belongs to --scheduler"):
        call("run", tmp_path / "mine.yaml", "--tls-ca-file", files[0])


def test_what_a_worker_says_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    one = sleeping()
    one.said.append(b"\x1b[31mfirst\n")
    one.arrive()
    one.listen(io.BytesIO(b"\x1b]0;owned\x07\n"))
    one.kill()
    one.close()
    assert capsys.readouterr().err == "\\x1b[31mfirst\n\\x1b]0;owned\\x07\n"


def test_the_certificate_of_local_workers_holds_at_any_date() -> None:
    found = load_pem_x509_certificate(new_credentials()["certificate"].encode())
    assert (found.not_valid_before_utc.year, found.not_valid_after_utc.year) == (1950, 9999)


class Scripted:
    """An executor that answers as it is told, else with what the run really does."""

    def __init__(self, answers: dict[str, list[str]], job: Job) -> None:
        self.answers, self.job = answers, job
        self.order: list[str] = []
        self.real = InProcess(lambda: False)
        self.waiting: list[tuple[str, Report | Undelivered]] = []

    def submit(self, run_id: str, run: dict[str, object], job: dict[str, object]) -> None:
        self.order.append(run_id)
        answers = self.answers.get(run_id, [])
        if not answers:
            self.real.submit(run_id, run, job)
        elif (answer := answers.pop(0)) == "undelivered":
            self.waiting.append((run_id, Undelivered("its workers kept dying")))
        else:
            self.waiting.append((run_id, Report(run_id, answer)))  # type: ignore[arg-type]

    def poll(self, seconds: float) -> list[tuple[str, Report | Undelivered]]:
        found, self.waiting = self.waiting, []
        return found or self.real.poll(seconds)

    def workers(self) -> int:
        return 1

    def withdraw(self) -> None:
        raise AssertionError("a worker is at it")

    def close(self) -> None:
        pass


def run(specs: list[RunSpec], executor: Scripted, **options: object) -> batches.Summary:
    experiment, results = Experiment("mine", Path("mine.yaml"), tuple(specs), 1.0), Path(executor.job.results)
    return run_batch(experiment, plan_of(experiment, results), results, executor, **options)  # type: ignore[arg-type]


def test_longer_runs_wait_for_shorter_ones_of_their_search(make: Make, job: Job) -> None:
    specs = [make(seed=seed, evaluations=count) for count in (500, 300) for seed in (1, 2)]
    executor = Scripted({}, job)
    summary = run(specs, executor)
    assert executor.order == [specs[2].id, specs[3].id, specs[0].id, specs[1].id]
    assert summary.count("done") == 4


def test_a_run_that_never_comes_back_is_given_up_and_one_that_does_is_not(make: Make, job: Job) -> None:
    lost, late = make(seed=1), make(seed=2)
    executor = Scripted({lost.id: ["undelivered", "undelivered"], late.id: ["undelivered"]}, job)
    summary = run([lost, late], executor)
    assert {run_id: report.ending for run_id, report in summary.reports.items()} == {lost.id: "failed", late.id: "done"}
    assert (Path(job.results) / lost.id / FAILED).is_file()


def test_a_run_that_somebody_else_is_at_is_looked_after(
    make: Make, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(batches, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(batches, "WAIT_SECONDS", 0.0)
    spec, told = make(), []
    executor = Scripted({spec.id: ["busy", "lost"]}, job)
    held = batches.Lease(Path(job.results) / spec.id, "somebody")

    def give_back(why: str) -> None:
        told.append(why)
        if held.claim is not None:
            held.__exit__()

    summary = run([spec], executor, on_wait=give_back)
    assert summary.reports[spec.id].fresh
    assert told[0] == "1 run is executed by another program"
    assert executor.order == [spec.id] * 3


def test_requests_of_an_earlier_batch_are_forgotten_and_stops_are_heard(
    make: Make, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "LOOK_SECONDS", 0.0)
    specs, results = [make(seed=seed) for seed in range(3)], Path(job.results)
    for target, action in ((specs[0].id, "stop"), (".batches/mine", "stop"), (".batches/mine/dead", "stop")):
        request(results, target, action)
    assert run(specs[:1], Scripted({}, job)).count("done") == 1
    assert not list((results / ".control").iterdir())
    summary = run(specs, Scripted({}, job), on_end=lambda _ended: request(results, ".batches/mine", "stop"))
    assert (summary.interrupted, summary.skipped) == (True, 1)
    assert not list((results / ".control").iterdir())


def test_interrupted_runs_are_not_sent_any_more(make: Make, job: Job) -> None:
    specs = [make(seed=seed) for seed in range(3)]
    asked = iter([False, False, True, True, True, True, True])
    summary = run(specs, Scripted({}, job), interrupted=lambda: next(asked))
    assert summary.interrupted
    assert summary.count("done") < 3
    assert perform(specs[2], job).ending == "done"
    assert os.listdir(Path(job.results) / ".batches" / "mine") != []  # noqa: PTH208 - names alone


class Answering:
    """A future that has ended, whose result raises an error or comes."""

    key, status = "run", "finished"

    def __init__(self, result: Callable[[float], object], status: str = "finished") -> None:
        self._result, self.status = result, status

    def result(self, timeout: float) -> object:
        return self._result(timeout)


def raising(error: Exception) -> Callable[[float], object]:
    def result(timeout: float) -> object:  # noqa: ARG001 - as Dask calls it
        raise error

    return result


class Completed(list[object]):
    """What a client waits for."""

    def add(self, future: object) -> None:
        self.append(future)


def answered(future: Answering) -> tuple[object, list[object]]:
    """Return the answer of a future, and what is waited for after it."""
    executor, waits = OnScheduler.__new__(OnScheduler), Completed()
    executor._completed, executor._runs = waits, {"run": "a/b"}  # type: ignore[assignment]  # noqa: SLF001 - see above
    return executor._answer(future), list(waits)  # type: ignore[arg-type]  # noqa: SLF001 - what is tested


def test_a_result_that_does_not_come_is_asked_for_again_and_keeps_nobody_waiting() -> None:
    late = Answering(raising(TimeoutError()))
    assert answered(late) == (None, [late])
    own = Answering(raising(TimeoutError("of the task")), status="error")
    assert answered(own) == (Undelivered("the worker cannot execute it: TimeoutError: of the task"), [])


def test_a_report_comes_as_it_is_and_an_error_is_a_sentence() -> None:
    assert answered(Answering(lambda _: "report")) == ("report", [])
    assert answered(Answering(raising(ValueError("x")))) == (
        Undelivered("the worker cannot execute it: ValueError: x"), [],
    )  # fmt: skip
    assert answered(Answering(raising(FutureCancelledError("run", "withdrawn")))) == (None, [])


@pytest.mark.slow
@pytest.mark.parametrize("threads", [3, 4])
def test_a_batch_without_threads_to_start_ends_with_a_sentence_or_its_runs(tmp_path: Path, threads: int) -> None:
    """Callbacks of Dask's futures took a thread each: without it no report came, and a traceback was printed."""
    deny = f"""
import threading
start, left = threading.Thread.start, [{threads}]
def deny(self):
    left[0] -= 1
    if left[0] < 0:
        raise RuntimeError("can't start new thread")
    start(self)
threading.Thread.start = deny
from evo_libra.ui.cli import main; main()
"""
    (tmp_path / "batch.yaml").write_text(
        "problem: gpt3-4k\nengines: nsga2\nevaluations: 500\npopulation: 50\nseeds: 1\n"
    )
    words = [sys.executable, "-P", "-c", deny, "run", "batch.yaml", "--workers", "1"]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in ended.stderr
    done = len(list(tmp_path.glob("results/gpt3-4k/*/done.json")))
    assert (ended.returncode, done) in {(0, 1), (1, 0)}
    assert ended.returncode == 0 or "may start no more threads; finished work is kept" in ended.stderr


@pytest.mark.slow
def test_nothing_is_executed_again_because_the_worker_that_holds_its_report_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = local_cluster(2, tmp_path)
    client = executor._client  # noqa: SLF001 - what is tested
    client.wait_for_workers(2)
    executed = client.submit(tempfile.mkdtemp, dir=str(tmp_path), pure=False)
    executed.result()
    [address] = client.who_has(executed)[executed.key]
    holder = str(client.scheduler_info()["workers"][address]["name"])
    end = LocalWorkers.end

    def one_after_the_other(workers: LocalWorkers) -> None:
        workers.kill(holder)
        time.sleep(0.5)  # enough for the other one to execute it
        end(workers)

    monkeypatch.setattr(LocalWorkers, "end", one_after_the_other)
    executor.close()
    assert len(list(tmp_path.iterdir())) == 1


def test_how_far_runs_at_work_are_is_told(make: Make, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(batches, "NEWS_SECONDS", 0.0)
    begun, other = make(), make(seed=1)
    told: list[str] = []
    at_work: list[object] = []
    found = perform(begun, job, interrupted=lambda: bool(at_work), watch=lambda *now: at_work.append(now))
    executor = Scripted({}, job)
    idle, real = iter([True, True]), executor.poll
    monkeypatch.setattr(executor, "poll", lambda seconds: [] if next(idle, False) else real(seconds))
    assert run([begun, other], executor, on_news=told.append).count("done") == 2
    assert told[0] == f"1 run at work, {found.figures.evaluations} of 1,000 evaluations; 1 not begun"
    assert 0 < found.figures.evaluations < 1000


class Silent(InProcess):
    """An executor whose reports are lost on their way."""

    def poll(self, seconds: float) -> list[tuple[str, Report | Undelivered]]:
        super().poll(seconds)
        return []


def test_a_batch_ends_by_what_is_on_disk_where_reports_are_lost(
    make: Make, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(batches, "SILENT_SECONDS", 0.0)
    runs = tuple(make(seed=seed) for seed in range(3))
    experiment = Experiment("lost", Path("lost.yaml"), runs, 1.0)
    results = Path(job.results)
    found = run_batch(experiment, plan_of(experiment, results), results, Silent(lambda: False))
    assert {run: report.ending for run, report in found.reports.items()} == {run.id: "done" for run in runs}
    assert all(report.figures.evaluations == 1000 for report in found.reports.values())


class Idle(Silent):
    """An executor that never executes what it is sent."""

    def submit(self, run_id: str, run: Mapping[str, object], job: Mapping[str, object]) -> None:
        pass


def test_runs_that_no_worker_has_are_sent_again_and_ended(
    make: Make, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOOK_SECONDS", "SILENT_SECONDS", "IDLE_SECONDS"):
        monkeypatch.setattr(batches, name, 0.0)
    run = make()
    experiment = Experiment("idle", Path("idle.yaml"), (run,), 1.0)
    results = Path(job.results)
    found = run_batch(experiment, plan_of(experiment, results), results, Idle(lambda: False))
    assert found.reports[run.id].ending == "machine"
    assert found.reports[run.id].error == "its workers give no report"


def test_a_batch_that_is_asked_to_stop_ends_without_reports(
    make: Make, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(batches, "SILENT_SECONDS", 0.0)
    told: list[str] = []
    run = make()
    experiment = Experiment("stopped", Path("stopped.yaml"), (run,), 1.0)
    results = Path(job.results)
    found = run_batch(
        experiment, plan_of(experiment, results), results, Idle(lambda: False), interrupted=lambda: True,
        on_news=told.append,
    )  # fmt: skip
    assert found.interrupted
    assert told[-1] == "1 run has not answered; checkpoints are kept"
