"""Stopped after any generation and resumed from bytes, every engine finds the same front, whatever else it has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evo_libra import load_problem
from evo_libra.arrays import FloatArray
from evo_libra.front.archive import Archive, Collection
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.engine import EngineState
from evo_libra.searching.generations import generations, memetic_share, memetic_step
from evo_libra.searching.loop import MemeticStep, SearchOptions, Snapshot, Stagnation, Stop
from evo_libra.searching.registry import DETERMINISTIC, engine_names, load_engine

EVALUATIONS, POPULATION = 110, 20
RESTARTING = SearchOptions(Stop(stagnation=Stagnation(30, growth=0.999)), restarts=2)


def nearer(genes: FloatArray) -> FloatArray:
    """Halve the way to where the last gene is best."""
    return np.vstack([genes[:-1], (genes[-1:] + 2.7) / 2])


def run(problem: SearchProblem, name: str, options: SearchOptions, resume: Snapshot | None = None) -> list[Snapshot]:
    numbers = {"population": POPULATION, "seed": 3, "evaluations": EVALUATIONS}
    return list(generations(problem, load_engine(name, problem), **numbers, options=options, resume=resume))


def stored(snapshot: Snapshot) -> Snapshot:
    """What comes back from a file: the archive settled, the engine's state from its bytes, marks as they were."""
    held = Archive(snapshot.archive.genes.copy(), snapshot.archive.objectives.copy())
    return replace(
        snapshot, engine=EngineState.from_bytes(EngineState.to_bytes(snapshot.engine)), found=Collection(held)
    )


def result(snapshot: Snapshot) -> tuple[bytes, bytes, bytes, int, int]:
    archive = snapshot.archive
    front = archive.genes.tobytes(), archive.objectives.tobytes()
    return *front, EngineState.to_bytes(snapshot.engine), snapshot.evaluations, snapshot.restarts


def check(problem: SearchProblem, name: str, options: SearchOptions) -> list[Snapshot]:
    straight = run(problem, name, options)
    expected = result(straight[-1])
    for snapshot in straight[:-1]:
        assert result(run(problem, name, options, stored(snapshot))[-1]) == expected
    return straight


@pytest.mark.parametrize("name", [
    # AGE-MOEA compiles for seconds.
    pytest.param(name, marks=[pytest.mark.slow] if "agemoea" in name else [])
    for name in engine_names() if name not in DETERMINISTIC
])  # fmt: skip
def test_resumed_after_any_generation_the_front_is_the_same(name: str) -> None:
    straight = check(SampleProblem(), name, replace(RESTARTING, improve=MemeticStep(nearer, every=40, count=6)))
    assert len(straight) > 3
    assert straight[-1].restarts > 0


@pytest.mark.parametrize("name", ["nsga2", "nsga3", "random"])
@pytest.mark.parametrize(
    "options", [SearchOptions(), RESTARTING, SearchOptions(improve=MemeticStep(nearer, every=40, count=6))]
)
def test_each_option_alone_resumes_to_the_same_front(name: str, options: SearchOptions) -> None:
    straight = check(SampleProblem(), name, options)
    assert (straight[-1].restarts > 0) == (options.restarts > 0)


def test_exhaustive_and_exact_bandwidths_resume_to_the_same_front() -> None:
    problem = load_problem("gpt3-4k")
    check(problem, "exhaustive", SearchOptions())
    step = memetic_step(problem, memetic_share(problem, "nsga2"), POPULATION)
    assert step is not None
    check(problem, "nsga2", SearchOptions(improve=replace(step, every=40, count=8)))
