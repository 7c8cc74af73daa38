"""Batches by the real command: executed, skipped, stopped, failing, on a scheduler, detached."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from command import COMMAND, process_json, run, run_json, run_process
from patience import code_of, ended, wait_for

from evo_libra.experiment.execution.private_cluster import new_credentials
from evo_libra.experiment.store.messages import request

ROOT = Path(__file__).parents[2]
STEERED = '''
"""A problem that does what files beside it say."""
import os
import signal
import time
from pathlib import Path

from problems.two_tier import TwoTier

HERE = Path(__file__).parent


class Steered(TwoTier):
    name = "steered"

    def evaluate_genes(self, genes):
        if (HERE / "sleep").exists():
            time.sleep(float((HERE / "sleep").read_text()))
        if (HERE / "memory").exists() and genes.shape[1] == 77:
            raise MemoryError
        if (HERE / "die").exists() and genes.shape[1] == 77:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().evaluate_genes(genes)

    def design_rows(self, genes):
        if (HERE / "raise").exists():
            raise RuntimeError("no luck today")
        return genes


problem = Steered()
'''
BATCH = """
problem: steered:problem
engines: random
population: 50
evaluations: 1000
checkpoint_s: 0.2
seeds: [1, 2, 3, 4]
"""


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVO_LIBRA_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "steered.py").write_text(STEERED)
    (tmp_path / "problems").symlink_to(ROOT / "problems")
    (tmp_path / "batch.yaml").write_text(BATCH)
    return tmp_path


def fronts(folder: Path, results: str = "results") -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in folder.glob(f"{results}/*/*/front.parquet")}


def done(folder: Path, results: str = "results") -> int:
    return len(list(folder.glob(f"{results}/*/*/done.json")))


def leftovers(folder: Path) -> list[str]:
    wrong = (".tmp-", "claim-", "attempt", "failed")
    return [str(path) for path in (folder / "results").rglob("*") if path.name.startswith(wrong)]


def straight(folder: Path) -> dict[str, bytes]:
    run(folder, "run", "batch.yaml", "--trust-code", "--workers", "0", "--out", "straight")
    return fronts(folder, "straight")


@pytest.mark.slow
def test_a_batch_from_its_plan_to_the_comparison_of_its_fronts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "study.yaml").write_text(
        "problem: gpt3-4k\ngrid: {npus: [1024, 4096]}\nengines: [nsga2, random]\nevaluations: 1500\nrepeats: 2\n"
    )
    plan = run_json(tmp_path, "plan", "study.yaml")
    assert (len(plan["runs"]), plan["to_run"], plan["evaluations"]) == (8, 8, 8 * 1500)
    assert {one["state"] for one in plan["runs"]} == {"new"}
    assert list(tmp_path.iterdir()) == [tmp_path / "study.yaml"]
    first = run_process(tmp_path, "run", "study.yaml", "--workers", "2")
    lines = first.stderr.splitlines()
    assert len([line for line in lines if "] done gpt3-4k/" in line]) == 8
    assert "\x1b" not in first.stderr + first.stdout
    assert "8 done, 0 skipped, 0 failed of 8 runs" in first.stdout
    assert first.stdout.endswith("results  evo-libra results experiment:study\n")
    elsewhere = run(tmp_path, "run", "study.yaml", "--workers", "0", "--out", "my results")
    assert "evo-libra results experiment:study --out 'my results'" in elsewhere.stdout
    assert done(tmp_path) == 8
    assert not leftovers(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "results" / "gpt3-4k").rglob("*")}
    again = run_json(tmp_path, "run", "study.yaml")
    assert (again["done"], again["skipped"]) == (0, 8)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "results" / "gpt3-4k").rglob("*")} == before

    listed = run_json(tmp_path, "results", "experiment:study", "engine:nsga2", "--sort", "-hypervolume")["runs"]
    volumes = [one["hypervolume"] for one in listed]
    assert (len(listed), volumes) == (4, sorted(volumes, reverse=True))
    shown = run(tmp_path, "results").stdout
    assert max(map(len, shown.splitlines())) <= 80
    manifest = run_json(tmp_path, "show", listed[0]["id"])["manifest"]
    assert {"problem", "versions", "git", "machine", "seed", "program", "started", "wall_s"} <= manifest.keys()
    assert "population 650" in run(tmp_path, "show", listed[0]["folder"]).stdout
    assert run_json(tmp_path, "reproduce", listed[0]["id"])["identical"] is True
    (found,) = run_json(tmp_path, "compare", "experiment:study", "--figure", "fronts.pdf")["problems"]
    assert [len(group["runs"]) for group in found["groups"].values()] == [2, 2, 2, 2]
    assert (tmp_path / "fronts.pdf").read_bytes().startswith(b"%PDF")
    table = run(tmp_path, "compare", "engine:nsga2,random").stdout
    assert "coverage" in table
    assert max(map(len, table.splitlines())) <= 80
    # Filters hold together, as those of `results`; runs that are named come to them.
    (one_engine,) = run_json(tmp_path, "compare", "experiment:study", "engine:nsga2")["problems"]
    fewer = one_engine["groups"]
    assert sorted(one["id"] for group in fewer.values() for one in group["runs"]) == sorted(one["id"] for one in listed)
    assert (
        "fits 'engine:nsga2 engine:random'" in run(tmp_path, "compare", "engine:nsga2", "engine:random", code=2).stderr
    )
    assert "two runs or more" in run(tmp_path, "compare", listed[0]["id"], code=2).stderr


@pytest.mark.slow
def test_a_longer_budget_goes_on_and_two_workers_give_what_one_process_gives(tmp_path: Path) -> None:
    text = "problem: gpt3-4k\npopulation: 100\nevaluations: [{}]\nseeds: [3, 4]\n"
    (tmp_path / "a.yaml").write_text(text.format("1050"))
    (tmp_path / "b.yaml").write_text(text.format("1050, 2500"))
    run(tmp_path, "run", "a.yaml", "--workers", "0")
    run(tmp_path, "run", "b.yaml", "--workers", "2")
    run(tmp_path, "run", "b.yaml", "--workers", "0", "--out", "other")
    assert len(fronts(tmp_path)) == 4
    assert fronts(tmp_path) == fronts(tmp_path, "other")
    for path in tmp_path.glob("results/*/*e2500*/events.jsonl"):
        assert json.loads(path.read_text().splitlines()[0])["kind"] == "extended"


@pytest.mark.slow
def test_a_run_that_fails_is_marked_and_the_batch_goes_on(work: Path) -> None:
    (work / "batch.yaml").write_text("runs:\n  good: {problem: gpt3-4k, evaluations: 200}\n"
                                     "  bad: {problem: 'steered:problem', evaluations: 200}\n")  # fmt: skip
    (work / "raise").touch()
    found = process_json(work, "run", "batch.yaml", "--trust-code", "--workers", "0", code=3)
    assert (found["done"], found["failed"]) == (1, 1)
    (failure,) = found["failures"]
    assert failure["error"] == "RuntimeError: no luck today"
    log = (work / "results" / failure["id"] / "run.log").read_text()
    assert "Traceback" in log
    assert "given up: RuntimeError: no luck today" in log
    assert run_json(work, "results", "status:failed")["runs"][0]["error"] == failure["error"]
    (work / "raise").unlink()
    again = run(work, "run", "batch.yaml", "--trust-code", code=3).stdout
    assert "0 done, 1 skipped, 1 failed of 2 runs" in again
    assert "1 had failed before" in again
    assert run_json(work, "run", "batch.yaml", "--trust-code", "--retry-failed", "--workers", "0")["failed"] == 0
    assert not leftovers(work)


def test_a_run_without_memory_has_not_failed_and_the_others_end(work: Path) -> None:
    runs = "runs:\n  large: {population: 77}\n  small: {population: 50}\n"
    (work / "batch.yaml").write_text(f"problem: steered:problem\nengines: random\nevaluations: 231\n{runs}")
    (work / "memory").touch()
    found = run(work, "run", "batch.yaml", "--trust-code", "--workers", "0", code=3)
    assert "1 done, 0 skipped, 0 failed, 1 left of 2 runs" in found.stdout
    assert "there is not enough memory; the same command does it" in found.stdout
    (work / "memory").unlink()
    found = run(work, "run", "batch.yaml", "--trust-code", "--workers", "0")
    assert "1 done, 1 skipped, 0 failed of 2 runs" in found.stdout
    assert not leftovers(work)


@pytest.mark.slow
def test_a_run_that_kills_its_workers_is_given_up_and_the_others_end(work: Path) -> None:
    runs = "runs:\n  deadly: {population: 77}\n  harmless: {population: 50, seeds: [1, 2]}\n"
    (work / "batch.yaml").write_text(f"problem: steered:problem\nengines: random\nevaluations: 231\n{runs}")
    (work / "die").touch()
    found = run_json(work, "run", "batch.yaml", "--trust-code", "--workers", "1", code=3)
    assert (found["done"], found["failed"]) == (2, 1)
    assert "died 3 times" in found["failures"][0]["error"]


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", pytest.param("2", marks=pytest.mark.slow)])
def test_ctrl_c_keeps_the_work_and_the_same_command_goes_on_to_the_same_bytes(work: Path, workers: str) -> None:
    expected = straight(work)
    (work / "sleep").write_text("0.1")
    words = [COMMAND, "run", "batch.yaml", "--trust-code", "--workers", workers]
    process = subprocess.Popen(words, cwd=work, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_for(lambda: list(work.glob("results/*/*/checkpoint.npz")))
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does: to the whole group
    _, message = ended(process)
    assert process.returncode == 130
    assert "the same command continues" in message
    assert "Traceback" not in message
    assert done(work) < 4
    assert not leftovers(work)
    (work / "sleep").unlink()
    run(work, *words[1:])
    assert fronts(work) == expected
    assert any("resumed" in path.read_text() for path in work.glob("results/*/*/run.log"))


@pytest.mark.slow  # as `kill_batches.py`, with kills
def test_two_batches_share_runs_that_are_executed_once(work: Path) -> None:
    (work / "sleep").write_text("0.03")
    (work / "other.yaml").write_text(BATCH.replace("[1, 2, 3, 4]", "[4, 3, 2, 1, 5]"))
    words = "--trust-code", "--workers", "1"
    batches = [subprocess.Popen([COMMAND, "run", name, *words], cwd=work, stderr=subprocess.DEVNULL)
               for name in ("batch.yaml", "other.yaml")]  # fmt: skip
    assert [code_of(batch) for batch in batches] == [0, 0]
    assert done(work) == 5
    logs = [path.read_text() for path in work.glob("results/*/*/events.jsonl")]
    assert [log.count('"started"') for log in logs] == [1] * 5
    assert not leftovers(work)


def test_requests_reach_a_batch_that_runs(work: Path) -> None:
    from evo_libra.experiment.results.catalogue import Catalogue, request  # noqa: PLC0415 - the rest is the command's

    (work / "sleep").write_text("0.1")
    process = subprocess.Popen(
        [COMMAND, "run", "batch.yaml", "--trust-code", "--workers", "1"], cwd=work, stderr=subprocess.DEVNULL
    )
    catalogue = Catalogue.open(work / "results")

    def refreshed(query: str) -> list[Any]:
        catalogue.refresh()
        return catalogue.runs(query)

    wait_for(lambda: refreshed("status:running evaluations>0"))
    (running,) = catalogue.runs("status:running")
    (batch,) = catalogue.batches()
    assert batch.runner.endswith(f":{process.pid}")
    assert len(catalogue.runs("status:queued")) == 3
    request(running, "pause")
    wait_for(lambda: refreshed(f"status:paused {running.id}"))
    wait_for(lambda: refreshed("status:running evaluations>0"))
    request(batch, "pause")
    wait_for(lambda: len(refreshed("status:paused")) == 4)
    request(batch, "resume")
    wait_for(lambda: refreshed("status:running evaluations>0"))
    (second,) = catalogue.runs("status:running")
    request(second, "stop")
    wait_for(lambda: refreshed(f"status:interrupted {second.id}"))
    (work / "sleep").write_text("0")
    wait_for(lambda: len(refreshed("status:done")) == 2)
    assert process.poll() is None  # the paused one is waited for
    request(second, "retry")
    request(running, "resume")
    assert code_of(process) == 0
    assert len(refreshed("status:done")) == 4
    assert not list((work / "results" / ".control").iterdir())
    catalogue.close()


@contextlib.contextmanager
def scheduler_with_workers(work: Path, count: int, *tls: str) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    file = work / "scheduler.json"
    dask, there = [sys.executable, "-m", "dask"], ["--scheduler-file", str(file), "--no-dashboard", *tls]
    quiet: dict[str, Any] = {"cwd": work, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [
        subprocess.Popen(
            [*dask, "scheduler", *there, "--host", "tls://127.0.0.1" if tls else "127.0.0.1", "--port", "0"], **quiet
        )
    ]
    try:
        wait_for(file.is_file)
        words = [*dask, "worker", *there, "--nthreads", "1", "--no-nanny"]
        started += [subprocess.Popen(words, **quiet) for _ in range(count)]
        yield str(file), started[1:]
    finally:
        for one in started:
            one.kill()
            one.wait()


@pytest.mark.slow
def test_a_scheduler_whose_workers_are_killed_loses_nothing(work: Path) -> None:
    expected = straight(work)
    (work / "sleep").write_text("0.1")
    credentials = new_credentials()
    (work / "cert.pem").write_text(credentials["certificate"])
    (work / "key.pem").write_text(credentials["key"])
    tls = ["--tls-ca-file", "cert.pem", "--tls-cert", "cert.pem", "--tls-key", "key.pem"]
    with scheduler_with_workers(work, 2, *tls) as (file, workers):
        words = [COMMAND, "run", "batch.yaml", "--trust-code", "--scheduler", file, *tls]
        process = subprocess.Popen(words, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: len(list(work.glob("results/*/*/checkpoint.npz"))) >= 2)
        workers[0].kill()
        (work / "sleep").write_text("0.01")
        assert code_of(process) == 0
        assert run_json(work, "run", "batch.yaml", "--trust-code", "--scheduler", file, *tls)["skipped"] == 4
    assert fronts(work) == expected
    assert sum("resumed" in path.read_text() for path in work.glob("results/*/*/run.log")) >= 1
    assert not leftovers(work)


def test_a_scheduler_that_is_not_there_is_wrong_input(work: Path) -> None:
    assert (
        "there is no file" in run(work, "run", "batch.yaml", "--trust-code", "--scheduler", "none.json", code=2).stderr
    )
    both = run(work, "run", "batch.yaml", "--trust-code", "--scheduler", "none.json", "--workers", "2", code=2)
    assert "--workers is for workers of this machine" in both.stderr
    assert not (work / "results").exists()


@pytest.mark.slow
def test_a_detached_batch_runs_without_its_terminal(work: Path) -> None:
    (work / "sleep").write_text("0.05")
    started = process_json(work, "run", "batch.yaml", "--trust-code", "--workers", "1", "--detach")
    assert started["experiment"] == "batch"
    assert psutil.pid_exists(started["pid"])
    assert os.getsid(started["pid"]) == started["pid"]
    (work / "sleep").write_text("0")
    wait_for(lambda: done(work) == 4)
    wait_for(lambda: "4 done" in (work / started["log"]).read_text())
    assert not leftovers(work)


def test_the_schema_of_experiment_files_is_json(tmp_path: Path) -> None:
    schema = json.loads(run(tmp_path, "schema", "experiment").stdout)
    assert {"problem", "grid", "zip", "list", "engines", "seeds", "repeats", "runs", "include"} <= schema[
        "properties"
    ].keys()


@pytest.mark.slow
def test_an_experiment_that_ships_can_be_planned(tmp_path: Path) -> None:
    assert len(run_json(tmp_path, "plan", str(ROOT / "experiments" / "quick.yaml"))["runs"]) == 12


@pytest.mark.slow
@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), None])
def test_a_batch_on_a_scheduler_without_workers_ends_when_it_is_told_to(work: Path, number: int | None) -> None:
    with scheduler_with_workers(work, 0) as (file, _):
        process = subprocess.Popen(
            [COMMAND, "run", "batch.yaml", "--trust-code", "--scheduler", file],
            cwd=work,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for((work / "results" / ".batches" / "batch" / "runner.json").is_file)
        if number is None:
            request(work / "results", ".batches/batch", "stop")
        else:
            process.send_signal(number)
        _, told = ended(process)
    assert process.returncode == 130
    assert "stopping; runs at work keep a checkpoint" in told
    assert not list((work / "results" / ".control").iterdir())
