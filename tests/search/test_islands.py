"""Islands: what they find depends on the seed and their number, not on where they are."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.model.arrays import FloatArray
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import Evaluation
from evo_libra.search.engine import load_engine
from evo_libra.search.islands import EPOCH, Archipelago, island_generations
from evo_libra.search.memetic import usual
from evo_libra.search.run import EVALUATIONS, EXHAUSTED, STAGNATION, Options, Snapshot, generations
from evo_libra.search.state_bytes import saved
from evo_libra.search.termination import Stagnation, Stop

POPULATION = 20


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem("gpt3-4k")


def run(
    problem: Problem,
    islands: int,
    evaluations: int,
    *,
    workers: int = 0,
    seed: int = 3,
    engine: str = "nsga2",
    resume: Snapshot | None = None,
    options: Options | None = None,
) -> list[Snapshot]:
    numbers = {"population": POPULATION, "seed": seed, "evaluations": evaluations}
    place = Archipelago(islands, workers)
    found = island_generations(problem, engine, place, **numbers, resume=resume, options=options or Options())
    return list(found)


def test_front_depends_on_the_seed_and_the_number_of_islands_alone(problem: Problem) -> None:
    options = Options(improve=usual(problem, "nsga2"))
    here = run(problem, 3, 3000, options=options)
    there = run(problem, 3, 3000, workers=2, options=options)
    assert [snapshot.evaluations for snapshot in here] == [1200, 2400, 3000]
    for one, two in zip(here, there, strict=True):
        np.testing.assert_array_equal(one.archive.genes, two.archive.genes)
        assert saved(one.engine) == saved(two.engine)
    for other in (run(problem, 3, 3000, seed=4), run(problem, 2, 3000)):
        assert not np.array_equal(other[-1].archive.objectives, here[-1].archive.objectives)


@pytest.mark.parametrize("engine", ["nsga2", "nsga3", "random", "pymoo:nsga2"])
def test_islands_go_on_where_they_stopped(problem: Problem, engine: str) -> None:
    whole = run(problem, 2, 2500, engine=engine)
    resumed = run(problem, 2, 2500, engine=engine, resume=whole[1])
    assert whole[-1].ended == resumed[-1].ended == EVALUATIONS
    np.testing.assert_array_equal(whole[-1].archive.genes, resumed[-1].archive.genes)


def test_one_island_is_a_search_of_its_own(problem: Problem) -> None:
    *_, island = run(problem, 1, 1000)
    state = run(problem, 1, POPULATION * EPOCH)[-1].engine
    assert island.engine.arrays.keys() == state.arrays.keys()
    engine = load_engine("nsga2", problem)
    best = [
        last.archive.objectives.min(axis=1)
        for *_, last in (generations(problem, engine, population=POPULATION, seed=s, evaluations=1000) for s in (1, 2))
    ]
    # Alike, not the same: its random numbers are its own.
    np.testing.assert_allclose(island.archive.objectives.min(axis=1), np.mean(best, axis=0), rtol=0.5)


def test_migrants_arrive(problem: Problem) -> None:
    before = run(problem, 2, 2 * POPULATION * EPOCH)[-1]
    front = {tuple(column) for column in before.archive.genes.T}
    for island in ("0", "1"):
        # Both know designs of the common front: of their own, and of the other one.
        known = {tuple(column) for column in before.engine.arrays[f"{island}/genes"].T}
        assert known & front
        assert len(known) == POPULATION
    shared = set(map(tuple, before.engine.arrays["0/genes"].T)) & set(map(tuple, before.engine.arrays["1/genes"].T))
    assert shared


def test_islands_stop_restart_start_from_designs_and_are_observed(problem: Problem) -> None:
    seen: list[tuple[FloatArray, Evaluation]] = []
    first = problem.genome.sample(np.random.default_rng(0), 15)
    options = Options(
        stop=Stop(stagnation=Stagnation(3000, 0.1)), restarts=1, first=first,
        observe=lambda genes, worth: seen.append((genes, worth)),
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
