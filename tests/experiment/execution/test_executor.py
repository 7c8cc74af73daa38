"""Where tasks are executed."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command import call
from cryptography.x509 import load_pem_x509_certificate
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


PLACE = Place("tls://127.0.0.1:1", {}, "")


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


def test_a_result_that_never_comes_does_not_keep_the_program_from_ending() -> None:
    class Never:
        key, status = "run", "finished"

        def result(self, timeout: float) -> None:
            time.sleep(min(timeout, 0.01))
            raise TimeoutError

    class Client:
        def close(self, timeout: float) -> None: ...

    executor = OnScheduler(Client())  # type: ignore[arg-type] # nothing else of it is used
    waiting = threading.Thread(target=executor._take, args=("run", Never()), daemon=True)  # noqa: SLF001 - Dask calls it
    waiting.start()
    executor.close()
    wait_for(lambda: not waiting.is_alive())
    assert executor._ended.empty()  # noqa: SLF001 - nothing has ended


def test_nothing_is_executed_again_because_the_worker_that_holds_its_report_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = local_cluster(2)
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
