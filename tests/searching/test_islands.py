"""Islands: what they find depends on the seed and their number, not on where they are."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import ended, wait_for

from evo_libra import load_problem
from evo_libra.arrays import FloatArray
from evo_libra.errors import EvoLibraError, InputError
from evo_libra.front.archive import Archive, Collection
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import Evaluation, SearchProblem
from evo_libra.searching import islands as islands_module
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.engine import EVALUATIONS, EXHAUSTED, STAGNATION, EngineState
from evo_libra.searching.evaluation.parallel import ExpensiveProblem
from evo_libra.searching.generations import generations, memetic_share, memetic_step
from evo_libra.searching.islands import EPOCH, Archipelago, Epoch, Epochs, island_generations, pack, unpack
from evo_libra.searching.loop import MemeticStep, SearchOptions, Snapshot, Stagnation, Stop, derived_seed
from evo_libra.searching.registry import load_engine

POPULATION = 20


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem("gpt3-4k")


def run(
    problem: SearchProblem,
    islands: int,
    evaluations: int,
    *,
    workers: int = 0,
    seed: int = 3,
    engine: str = "nsga2",
    resume: Snapshot | None = None,
    options: SearchOptions | None = None,
) -> list[Snapshot]:
    numbers = {"population": POPULATION, "seed": seed, "evaluations": evaluations}
    place = Archipelago(islands, workers)
    found = island_generations(problem, engine, place, **numbers, resume=resume, options=options or SearchOptions())
    return list(found)


@pytest.mark.slow
def test_front_depends_on_the_seed_and_the_number_of_islands_alone(problem: Problem) -> None:
    options = SearchOptions(improve=short(problem))
    here = run(problem, 3, 3000, options=options)
    there = run(problem, 3, 3000, workers=2, options=options)
    assert [snapshot.evaluations for snapshot in here] == [1200, 2400, 3000]
    for one, two in zip(here, there, strict=True):
        np.testing.assert_array_equal(one.archive.genes, two.archive.genes)
        assert EngineState.to_bytes(one.engine) == EngineState.to_bytes(two.engine)
    for other in (run(problem, 3, 3000, seed=4), run(problem, 2, 3000)):
        assert not np.array_equal(other[-1].archive.objectives, here[-1].archive.objectives)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["nsga2", "nsga3", "random", "pymoo:nsga2"])
def test_islands_go_on_where_they_stopped(problem: Problem, engine: str) -> None:
    whole = run(problem, 2, 2500, engine=engine)
    # What a checkpoint keeps, and nothing else.
    stopped = replace(
        whole[1],
        engine=EngineState.from_bytes(EngineState.to_bytes(whole[1].engine)),
        found=Collection(whole[1].archive),
    )
    resumed = run(problem, 2, 2500, engine=engine, resume=stopped)
    assert whole[-1].ended == resumed[-1].ended == EVALUATIONS
    np.testing.assert_array_equal(whole[-1].archive.genes, resumed[-1].archive.genes)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["nsga2", "nsga3", "pymoo:moead", "deap:nsga3"])
def test_one_island_is_a_search_with_a_seed_of_its_own(problem: Problem, engine: str) -> None:
    *_, island = run(problem, 1, 1500, engine=engine)
    numbers = {"population": POPULATION, "seed": derived_seed(derived_seed(3, 0), 0), "evaluations": 1500}
    *_, last = generations(problem, load_engine(engine, problem), **numbers)
    np.testing.assert_array_equal(last.archive.objectives, island.archive.objectives)
    (own,) = unpack(island.engine, 0)
    assert EngineState.to_bytes(own.engine) == EngineState.to_bytes(last.engine)


def short(problem: Problem) -> MemeticStep:
    rule = memetic_step(problem, memetic_share(problem, "nsga2"), POPULATION)
    assert rule is not None
    # More evaluations than an island has in an epoch.
    return replace(rule, every=POPULATION * EPOCH + 100, count=10)


@pytest.mark.slow
def test_designs_are_improved_on_islands_whose_epochs_are_short(problem: Problem) -> None:
    options = SearchOptions(improve=short(problem))
    plain, improved = run(problem, 2, 2400), run(problem, 2, 2400, options=options)
    np.testing.assert_array_equal(plain[0].archive.genes, improved[0].archive.genes)
    assert not np.array_equal(plain[-1].archive.genes, improved[-1].archive.genes)
    again = run(problem, 2, 2400, options=options, resume=improved[0])
    np.testing.assert_array_equal(improved[-1].archive.genes, again[-1].archive.genes)


def test_migrants_arrive(problem: Problem) -> None:
    before = run(problem, 2, 6 * POPULATION * EPOCH)[-1]  # some are there when the samples at first have ended
    front = {tuple(column) for column in before.archive.genes.T}
    for island in ("0", "1"):
        # Both know designs of the common front: of their own, and of the other one.
        known = {tuple(column) for column in before.engine.arrays[f"{island}/engine/genes"].T}
        assert known & front
        assert len(known) == POPULATION
    shared = set(map(tuple, before.engine.arrays["0/engine/genes"].T)) & set(
        map(tuple, before.engine.arrays["1/engine/genes"].T)
    )
    assert shared


@pytest.mark.slow
def test_islands_stop_restart_start_from_designs_and_are_observed(problem: Problem) -> None:
    seen: list[tuple[FloatArray, Evaluation]] = []
    first = problem.genome.sample(np.random.default_rng(0), 15)
    options = SearchOptions(
        stop=Stop(stagnation=Stagnation(3000, 0.1)), restarts=1, first=first,
        observe=lambda genes, evaluation: seen.append((genes, evaluation)),
    )  # fmt: skip
    snapshots = run(problem, 2, 10**6, options=options)
    assert snapshots[-1].ended == STAGNATION
    assert [s.restarts for s in snapshots if s.restarts] != []
    np.testing.assert_array_equal(seen[0][0], first)
    assert sum(genes.shape[1] for genes, _ in seen) == snapshots[-1].evaluations


def test_exhausted_islands_end() -> None:
    pinned = ["npus=8", "workloads[0].parallelism.tp=4", "fabric.shape=RI(4)@chiplet:100_SW(2)@pod:10"]
    small = load_problem("gpt3-4k", [*pinned, "bandwidth=optimal", "objectives=[time]"])
    *_, last = run(small, 2, 1000)
    assert (last.ended, last.exhausted, len(last.archive)) == (EXHAUSTED, True, 1)


def test_islands_that_make_no_sense_are_refused(problem: Problem) -> None:
    with pytest.raises(InputError, match="at least 1"):
        run(problem, 0, 100)
    with pytest.raises(InputError, match="nothing to chance"):
        run(problem, 2, 100, engine="exhaustive")
    with pytest.raises(InputError, match="the search that goes on has 2"):
        run(problem, 3, 900, resume=run(problem, 2, 800)[-1])
    with ExpensiveProblem(problem, workers=1) as expensive, pytest.raises(InputError, match="processes of its own"):
        next(island_generations(expensive, "nsga2", Archipelago(2), population=20, seed=1, evaluations=40))
    unsendable = SearchOptions(improve=MemeticStep(lambda genes: genes))
    with pytest.raises(InputError, match="cannot be sent"):
        run(problem, 2, 800, workers=1, options=unsendable)


FRAIL = """
import os, signal, time
from dataclasses import dataclass
from multiprocessing import parent_process
from pathlib import Path
from evo_libra.searching.conformance import SampleProblem


@dataclass(frozen=True)
class Frail(SampleProblem):
    folder: str = "."
    deaths: int = 0
    sleep: float = 0.0

    def evaluate_genes(self, genes):
        time.sleep(self.sleep)
        Path(self.folder, f"{os.getpid()}.pid").touch()
        if parent_process() is not None and genes[1].sum() > 0:
            for i in range(self.deaths):
                mark = Path(self.folder) / f"death{i}"
                if not mark.exists():
                    mark.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
        return super().evaluate_genes(genes)


if __name__ == "__main__":
    from frail import Frail
    from evo_libra.searching.islands import Archipelago, island_generations
    problem, place = Frail(sleep=0.01), Archipelago(2, 2)
    for snapshot in island_generations(problem, "nsga2", place, population=20, seed=1, evaluations=10**9):
        Path("epochs").write_text(str(snapshot.evaluations))
"""


@pytest.fixture
def frail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "frail.py").write_text(FRAIL)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("frail")
    del sys.modules["frail"]


@pytest.mark.slow
def test_epoch_whose_process_dies_is_lived_again(tmp_path: Path, frail: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(frail.Frail(folder=str(tmp_path)), 2, 1200)[-1]
    hurt = run(frail.Frail(folder=str(tmp_path), deaths=1), 2, 1200, workers=1)[-1]
    assert (tmp_path / "death0").exists()
    np.testing.assert_array_equal(whole.archive.genes, hurt.archive.genes)
    assert EngineState.to_bytes(whole.engine) == EngineState.to_bytes(hurt.engine)
    monkeypatch.setattr(islands_module, "MAX_DEATHS", 1)
    with pytest.raises(EvoLibraError, match=r"island 0 failed: the process died: SIGKILL"):
        run(frail.Frail(folder=str(tmp_path), deaths=100), 1, 1200, workers=1)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_processes_end_with_the_search(tmp_path: Path, frail: Any, number: int) -> None:
    assert frail.Frail
    process = subprocess.Popen([sys.executable, "frail.py"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: (tmp_path / "epochs").exists() and len(list(tmp_path.glob("*.pid"))) >= 2)
    process.send_signal(number)
    _, output = ended(process)
    assert process.returncode == -number
    # Python's own word on Ctrl-C, and nothing of the workers.
    assert output.count("Traceback") == (number == signal.SIGINT)
    workers = [int(file.stem) for file in tmp_path.glob("*.pid")]
    assert len(workers) == 2
    wait_for(lambda: not any(map(alive, workers)))


def alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        # A dead process that nobody has asked for is there, too.
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


class Listener:
    """An engine that keeps the genes that it is told."""

    def start(self, genome: object, objectives: int, population: int, seed: int) -> EngineState:  # noqa: ARG002
        return EngineState({"told": np.empty((1, 0))}, {"seed": seed})

    def tell(self, state: EngineState, genes: FloatArray, *_: FloatArray) -> EngineState:
        return EngineState({"told": np.concatenate([state.arrays["told"], genes[:1]], axis=1)}, state.random)


def test_a_twentieth_of_a_population_goes_to_the_next_island() -> None:
    sample, asked = SampleProblem(), []

    def run_epochs(epochs: Sequence[Epoch]) -> list[Epoch]:
        asked.append([epoch.evaluations for epoch in epochs])
        first = [10.0 * i + np.arange(9.0) for i in range(len(epochs))]
        archives = [Archive(np.stack([genes, genes, genes]), np.stack([1.0 + genes, 99.0 - genes])) for genes in first]
        return [replace(epoch, best=archive) for epoch, archive in zip(epochs, archives, strict=True)]

    def migrated(population: int, islands: int) -> list[list[float]]:
        loop = Epochs(sample, Listener(), population, 0, SearchOptions(), islands, run_epochs)  # type: ignore[arg-type]
        now = loop.advance(loop._begun(10**6, None), 10**6)  # noqa: SLF001 - a step of the loop
        return [island.engine.arrays["told"][0].tolist() for island in unpack(now.engine, 0)]

    # Of nine designs the ends and the middle go from an island to the next one, and from the last one to the first.
    assert migrated(60, 3) == [[20.0, 24.0, 28.0], [0.0, 4.0, 8.0], [10.0, 14.0, 18.0]]
    assert migrated(40, 2) == [[10.0, 18.0], [0.0, 8.0]]
    # One design at least, and none where there is no other island.
    assert migrated(4, 2) == [[10.0], [0.0]]
    assert migrated(60, 1) == [[]]
    # 20 generations each.
    assert asked == [[1200] * 3, [800] * 2, [80] * 2, [1200]]


def test_what_is_left_of_the_evaluations_is_shared_evenly() -> None:
    shares: list[int] = []

    def run_epochs(epochs: Sequence[Epoch]) -> list[Epoch]:
        shares.extend(epoch.evaluations for epoch in epochs)
        return list(epochs)

    loop = Epochs(SampleProblem(), Listener(), 20, 0, SearchOptions(), 3, run_epochs)  # type: ignore[arg-type]
    assert loop.advance(loop._begun(10**6, None), 11).evaluations == 11  # noqa: SLF001 - a step of the loop
    assert shares == [4, 4, 3]
    seeds = [state["seed"] for state in loop.start(5).random.values()]
    assert seeds == [derived_seed(5, 0), derived_seed(5, 1), derived_seed(5, 2)]


def test_a_state_holds_as_many_of_the_best_as_a_population() -> None:
    best = Archive(np.arange(9.0)[None], np.stack([np.arange(9.0), 9.0 - np.arange(9.0)]))
    state = pack([Epoch(EngineState({"size": np.array(3.0)}, {"seed": 1}), best)], 3)
    (island,) = unpack(state, 100)
    assert island.best.genes.tolist() == [[0.0, 4.0, 8.0]]
    assert (island.engine.arrays["size"], island.engine.random, island.begun) == (3.0, {"seed": 1}, 100)
    two = unpack(pack([island, island], 3), 101)
    assert [each.begun for each in two] == [50, 50]
