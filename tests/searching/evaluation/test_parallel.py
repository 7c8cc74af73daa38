from __future__ import annotations

import importlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from patience import wait_for

from evo_libra import load_problem, search
from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError, StorageError
from evo_libra.problem.protocol import Evaluation
from evo_libra.searching.asynchronous import completions
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.engine import SECONDS, STAGNATION
from evo_libra.searching.evaluation import workers as workers_of
from evo_libra.searching.evaluation.parallel import Cache, ExpensiveProblem
from evo_libra.searching.evaluation.usable import FAILED_VIOLATION
from evo_libra.searching.evaluation.workers import Done, Workers
from evo_libra.searching.generations import generations
from evo_libra.searching.loop import MemeticStep, SearchOptions, Snapshot, Stagnation, Stop
from evo_libra.searching.registry import load_engine

SIMULATOR = '''
import os, signal, subprocess, sys, time
from dataclasses import dataclass

from evo_libra.errors import ConflictError
from evo_libra.searching.loop import Stagnation, Stop
from evo_libra.searching.conformance import SampleProblem


@dataclass(frozen=True)
class Simulator:
    """Fails by the value of the first gene, sleeps a little, and counts its calls in a file."""

    log: str
    sleep: float = 0.0
    fails: tuple = (1, 2, 3, 4)
    name = "simulator"
    genome = SampleProblem().genome
    objectives = SampleProblem().objectives
    settings = SampleProblem().settings

    def evaluate_one(self, genes):
        with open(self.log, "a") as file:
            file.write(f"{genes[0]:g} {os.getpid()}\\n")
        time.sleep(self.sleep)
        print("what a simulator prints")
        kind = genes[0] if genes[0] in self.fails else 0
        if kind == 1:
            raise ValueError("no convergence")
        if kind == 2:
            child = subprocess.Popen(["sleep", "60"])
            with open(self.log + ".child", "w") as file:
                file.write(str(child.pid))
            time.sleep(60)
        if kind == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        if kind == 5:
            raise OSError(28, "No space left on device")
        if kind == 6:
            raise ConflictError("no licence file", ("a",))
        if kind == 7:
            return [0.0, 1.0], 0.0
        if kind == 8:
            return [1.0, 2.0, 3.0], 0.0
        if kind == 9:
            return None
        if kind == 4:
            return [float("nan"), 1.0], 0.0
        evaluation = SampleProblem().evaluate_genes(genes[:, None])
        return evaluation.objectives[:, 0], evaluation.violation[0]

    def describe(self, genes):
        return SampleProblem().describe(genes)

    def identity(self):
        return {"problem": "simulator"}


def unable():
    raise RuntimeError("no licence")


def dying():
    os._exit(3)


def asleep_once():
    """Return a function that stops its process in the task of a file that is not there yet."""
    return _sleep_once


def _sleep_once(path):
    if not os.path.exists(path):
        open(path, "w").close()
        os.kill(os.getpid(), signal.SIGSTOP)
    return os.environ.get("PYTHONSAFEPATH"), sys.flags.safe_path
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the module of the simulator."""
    folder = tmp_path_factory.mktemp("simulator")
    (folder / "simulator.py").write_text(SIMULATOR)
    return folder


@pytest.fixture(scope="module")
def simulator(folder: Path) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("simulator")
        del sys.modules["simulator"]


@pytest.fixture(scope="module")
def sample() -> Iterator[ExpensiveProblem]:
    """Return the sample problem with two processes, which all tests of this module share."""
    with ExpensiveProblem(SampleProblem(), workers=2) as expensive:
        yield expensive


def calls(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def alive(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    if state.exists():
        return state.read_text().rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def genes_of(*kinds: float) -> FloatArray:
    return np.array([kinds, [0.5] * len(kinds), [2.5] * len(kinds)])


@pytest.mark.slow
def test_every_way_to_fail_is_told_and_the_rest_goes_on(
    tmp_path: Path, simulator: Any, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = simulator.Simulator(str(tmp_path / "log"))
    with ExpensiveProblem(problem, workers=2, timeout=1.0, cache=tmp_path / "kept.sqlite") as expensive:

        def clock() -> float:
            """Stand still until the design that takes long is the only one left: time does not tell slow machines."""
            return 2.0 if len(expensive) == 1 and (tmp_path / "log.child").exists() else 0.0

        monkeypatch.setattr(workers_of, "time", SimpleNamespace(monotonic=clock))
        genes = genes_of(0, 1, 2, 3, 4, 0)
        evaluation = expensive.evaluate_genes(genes)
        good = SampleProblem().evaluate_genes(genes[:, :1])
        np.testing.assert_array_equal(evaluation.objectives[:, [0, 5]], np.repeat(good.objectives, 2, axis=1))
        np.testing.assert_array_equal(evaluation.violation, [0, *[FAILED_VIOLATION] * 4, 0])
        assert np.isfinite(evaluation.objectives).all()
        assert evaluation.failures.count == 4
        reasons = {int(failure.genes[0]): failure.reason for failure in evaluation.failures.first}
        assert reasons == {
            1: "ValueError: no convergence",
            2: "it took longer than 1 s",
            3: "the process died: SIGSEGV",
            4: "its f0 is nan; a finite number is needed",
        }
        assert len(calls(tmp_path / "log")) == 5
        child = int((tmp_path / "log.child").read_text())
        wait_for(lambda: not alive(child))  # a busy machine ends it a moment after it is told
        assert capfd.readouterr().out == ""
    monkeypatch.undo()
    # Another process, another time: nothing is evaluated twice, and failures are still listed.
    with ExpensiveProblem(problem, workers=2, cache=tmp_path / "kept.sqlite") as again:
        known = again.evaluate_genes(genes[:, ::-1])
        np.testing.assert_array_equal(known.objectives, evaluation.objectives[:, ::-1])
        assert [int(failure.genes[0]) for failure in known.failures.first] == [4, 3, 2, 1]
        assert {int(failure.genes[0]): failure.reason for failure in known.failures.first} == reasons
    assert len(calls(tmp_path / "log")) == 5
    with ExpensiveProblem(problem, workers=1, cache=tmp_path / "kept.sqlite", retry=True) as retried:
        retried.evaluate_genes(genes_of(0, 1))
    assert [line.split()[0] for line in calls(tmp_path / "log")[5:]] == ["1"]


@pytest.mark.slow
def test_a_full_disk_says_nothing_about_a_design(tmp_path: Path, simulator: Any) -> None:
    log, kept = str(tmp_path / "log"), tmp_path / "kept.sqlite"
    full = ExpensiveProblem(simulator.Simulator(log, fails=(5,)), workers=1, cache=kept)
    with full, pytest.raises(StorageError, match="the disk is full"):
        full.evaluate_genes(genes_of(5))
    with ExpensiveProblem(simulator.Simulator(log, fails=()), workers=1, cache=kept) as expensive:
        assert expensive.evaluate_genes(genes_of(5)).violation[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "message"),
    [(6, "^no licence file$"), (7, "the f0 of a design of 'simulator' is 0"), (8, r"objectives of shape \(3, 1\)")],
)
def test_a_mistake_of_the_user_ends_the_search_as_without_processes(
    tmp_path: Path, simulator: Any, kind: int, message: str
) -> None:
    with ExpensiveProblem(simulator.Simulator(str(tmp_path / "log"), fails=(kind,)), workers=1) as expensive:
        assert expensive.evaluate_genes(genes_of(0)).failures.count == 0
        with pytest.raises(InputError, match=message):
            expensive.evaluate_genes(genes_of(0, kind))


@pytest.mark.slow
def test_what_is_no_evaluation_is_told(tmp_path: Path, simulator: Any) -> None:
    with ExpensiveProblem(simulator.Simulator(str(tmp_path / "log"), fails=(9,)), workers=1) as expensive:
        (failure,) = expensive.evaluate_genes(genes_of(9)).failures.first
    assert failure.reason == "it returned None, not 2 objectives and a violation"


@pytest.mark.slow
def test_a_search_in_processes_is_the_search_without(tmp_path: Path, simulator: Any) -> None:
    plain = SampleProblem()
    with ExpensiveProblem(simulator.Simulator(str(tmp_path / "log"), fails=()), workers=2) as expensive:
        options: dict[str, Any] = {"engine": "deap:nsga2", "population": 20, "evaluations": 60, "seed": 4}
        found = search(expensive, **options)
        assert len(calls(tmp_path / "log")) == 60
    # The simulator takes the first gene for 0 here, as far as failing goes; its objectives are those of the sample.
    assert found.frame.equals(search(plain, **options).frame)


@pytest.mark.slow
def test_problems_that_evaluate_many_are_evaluated_one_by_one(sample: ExpensiveProblem) -> None:
    genes = genes_of(0, 1, 2)
    found = sample.evaluate_genes(genes)
    np.testing.assert_array_equal(found.objectives, SampleProblem().evaluate_genes(genes).objectives)


@pytest.mark.slow
def test_steady_state_goes_on_past_slow_designs_and_resumes(tmp_path: Path, simulator: Any) -> None:
    problem = simulator.Simulator(str(tmp_path / "log"), fails=(2, 4))
    options: dict[str, Any] = {"population": 10, "seed": 1}
    engine = load_engine("pymoo:moead", SampleProblem())
    with ExpensiveProblem(problem, workers=2, timeout=2.0) as expensive:
        last: Snapshot | None = None
        for snapshot in completions(expensive, engine, evaluations=14, **options):
            assert len(expensive) <= 2
            last = snapshot
        assert last is not None
        assert last.evaluations == 14 == len(calls(tmp_path / "log"))
        resumed = list(completions(expensive, engine, evaluations=16, resume=last, **options))
        assert [one.evaluations for one in resumed] == [15, 16]
    reasons = {failure.reason for failure in last.failures.first}
    assert "it took longer than 2 s" in reasons
    assert not np.isin(last.archive.genes[0], [2, 4]).any()
    assert len(last.archive) > 0


@pytest.mark.slow
def test_steady_state_starts_from_designs_stops_and_restarts(sample: ExpensiveProblem) -> None:
    seen: list[FloatArray] = []
    first = sample.genome.sample(np.random.default_rng(1), 8)
    numbers = {"population": 10, "seed": 1, "evaluations": 100_000}
    options = SearchOptions(
        stop=Stop(stagnation=Stagnation(60, 0.2)), restarts=1, first=first,
        observe=lambda genes, _evaluation: seen.append(genes),
    )  # fmt: skip
    engine = load_engine("nsga2", sample)
    *_, last = completions(sample, engine, **numbers, options=options)
    assert (last.ended, last.restarts, last.evaluations) == (STAGNATION, 1, len(seen))
    # The last of them may be overtaken by designs that the engine asks for.
    assert (
        {genes.tobytes() for genes in seen[:7]}
        <= {genes.tobytes() for genes in first.T}
        <= {genes.tobytes() for genes in seen}
    )
    short = SearchOptions(stop=Stop(seconds=1e-3))
    (ended,) = completions(sample, engine, **numbers, resume=last, options=short)
    assert ended.ended == SECONDS
    assert ended.seconds > last.seconds > 0
    with pytest.raises(InputError, match="improves no designs"):
        completions(sample, engine, **numbers, options=SearchOptions(improve=MemeticStep(abs)))


@pytest.mark.slow
def test_steady_state_ends_when_the_space_does() -> None:
    with ExpensiveProblem(SampleProblem(kinds=6, width=-1), workers=2) as expensive:
        *_, last = completions(
            expensive, load_engine("deap:nsga2", SampleProblem()), population=20, seed=0, evaluations=100
        )
    assert last.exhausted
    assert last.evaluations <= 6
    exhaustive = load_engine("exhaustive", load_problem("gpt3-4k"))
    with pytest.raises(InputError, match="in order"):
        completions(expensive, exhaustive, population=20, seed=0, evaluations=9)


@pytest.mark.slow
@pytest.mark.parametrize(("load", "message"), [("unable", "RuntimeError: no licence"), ("dying", "exit code 3")])
def test_workers_that_cannot_start_are_an_error(simulator: Any, load: str, message: str) -> None:
    with Workers(getattr(simulator, load), 2) as workers:
        workers.submit(1)
        with pytest.raises(InputError, match=message):
            workers.wait()


@pytest.mark.slow
def test_a_process_that_is_stopped_is_replaced_and_its_task_done(
    tmp_path: Path, simulator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.setattr(workers_of, "LOOK_SECONDS", 0.05)
    with Workers(simulator.asleep_once, 1) as workers:
        number = workers.submit(str(tmp_path / "stopped"))
        # It was started from a safe path, and programs that it starts have the paths that they always have.
        assert workers.wait() == [Done(number, (None, True))]
    assert "PYTHONSAFEPATH" not in os.environ


def test_wrong_numbers_and_problems_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        ExpensiveProblem(SampleProblem(), workers=0)
    with pytest.raises(InputError, match="timeout of 0 s"):
        ExpensiveProblem(SampleProblem(), workers=1, timeout=0.0)
    local = ExpensiveProblem(SampleProblem(), workers=1, load=lambda: SampleProblem())  # noqa: PLW0108 - no function of a module
    with local, pytest.raises(InputError, match="cannot be sent"):
        local.evaluate_genes(genes_of(0))


def test_a_file_that_is_no_cache_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database, but longer than a header of one would be" * 30)
    with pytest.raises(InputError, match="cannot be used"):
        Cache(tmp_path / "text", {})


def test_cache_keeps_problems_apart_and_zero_is_zero(tmp_path: Path) -> None:
    one, two = Cache(tmp_path / "c", {"problem": 1}), Cache(tmp_path / "c", {"problem": 2})
    one.put(np.array([0.0, 1.0]), Evaluation(np.array([[0.1], [2.0]]), np.array([0.5])))
    found = one.get(np.array([-0.0, 1.0]))
    assert found is not None
    assert (found.objectives.tolist(), found.violation.tolist()) == ([[0.1], [2.0]], [0.5])
    assert found.failures.count == 0
    assert two.get(np.array([0.0, 1.0])) is None
    one.close()
    two.close()


def test_designs_that_differ_in_the_last_digit_are_kept_apart(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "kept.sqlite", {"problem": "sample"})
    designs = [np.array([value, 1.0]) for value in (0.0, 1e-20, 2e-20, 1.0, 1.0 + 2.0**-52)]
    for number, genes in enumerate(designs):
        cache.put(genes, Evaluation(np.array([[1.0 + number], [2.0]]), np.array([0.5 * number])))
    for number, genes in enumerate(designs):
        found = cache.get(genes)
        assert found is not None
        assert (found.objectives[:, 0].tolist(), found.violation.tolist()) == ([1.0 + number, 2.0], [0.5 * number])
    zero = cache.get(np.array([-0.0, 1.0]))
    assert zero is not None
    assert zero.objectives[0, 0] == 1.0
    cache.close()


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
from simulator import Simulator
from evo_libra import search
from evo_libra.searching.evaluation.parallel import ExpensiveProblem

if __name__ == "__main__":
    problem = Simulator(sys.argv[1] + "/log", sleep=0.05, fails=())
    with ExpensiveProblem(problem, workers=2, cache=sys.argv[1] + "/kept.sqlite") as expensive:
        search(expensive, engine="deap:nsga2", population=20, evaluations=4000)
"""


@pytest.mark.slow
def test_what_was_evaluated_survives_a_kill_and_workers_do_not(tmp_path: Path, folder: Path, simulator: Any) -> None:
    script = tmp_path / "run.py"
    script.write_text(KILLED)
    command = [sys.executable, str(script), str(tmp_path), str(folder)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": "."})
    wait_for(lambda: len(calls(tmp_path / "log")) >= 25 or process.poll() is not None)
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    logged = calls(tmp_path / "log")
    pids = {int(line.split()[1]) for line in logged}
    wait_for(lambda: not any(map(alive, pids)))
    with sqlite3.connect(tmp_path / "kept.sqlite") as file:
        (kept,) = file.execute("SELECT count(*) FROM designs").fetchone()
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    file.close()
    assert len(logged) - 3 <= kept <= len(logged)
    before = len(calls(tmp_path / "log"))
    again = simulator.Simulator(str(tmp_path / "log"), fails=())
    with ExpensiveProblem(again, workers=2, cache=tmp_path / "kept.sqlite") as expensive:
        engine = load_engine("deap:nsga2", SampleProblem())
        *_, last = generations(expensive, engine, population=20, seed=0, evaluations=20)
    assert last.evaluations == 20
    assert len(calls(tmp_path / "log")) == before
