"""Every engine does what every engine must do, and the checks notice when one does not."""

from __future__ import annotations

import random as shared
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evo_libra import load_problem
from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.problem.protocol import Genome, SearchProblem
from evo_libra.searching.conformance import CHECKS, Check, ConformanceError, SampleProblem
from evo_libra.searching.engine import Engine, EngineState
from evo_libra.searching.engines.deap import DeapEngine
from evo_libra.searching.engines.nsga import RandomEngine
from evo_libra.searching.engines.pymoo import PymooEngine
from evo_libra.searching.registry import DETERMINISTIC, engine_names, load_engine

LEFT_OUT = {
    # It learns nothing and remembers nothing.
    "random": {"learns", "feasible_designs_win", "small_space_ends"},
    # It has no chance in it, and so small a space is one generation; it learns nothing from elsewhere.
    "exhaustive": {"other_seed_other_search", "a_generation_can_be_cut", "designs_from_elsewhere"},
    # The same, and it asks for one design.
    "optimize": {"other_seed_other_search", "a_generation_can_be_cut", "designs_from_elsewhere"},
    # Its second archive goes for infeasible designs on purpose; pymoo's own run of this problem does no better.
    "pymoo:ctaea": {"feasible_designs_win"},
}
COPIED = ("pymoo:", "deap:")
"""Names of engines of libraries, which share one adapter each; here, most of them are tried under `.ci/run` alone."""
TRIED = ("pymoo:nsga2", "pymoo:nsga3", "deap:nsga2")


def named(name: str, check: Check) -> Any:
    """Return a case; numba compiles parts of AGE-MOEA again in each process."""
    slow = "agemoea" in name or (name.startswith(COPIED) and name not in TRIED)
    return pytest.param(name, check, id=f"{name}-{check.__name__}", marks=[pytest.mark.slow] if slow else [])


PAIRS = [
    named(name, check) for name in engine_names() for check in CHECKS if check.__name__ not in LEFT_OUT.get(name, set())
]


@pytest.mark.parametrize(("name", "check"), PAIRS)
def test_engine_conforms(name: str, check: Check) -> None:
    if "agemoea" in name:
        pytest.importorskip("numba")
    problem: SearchProblem = load_problem("gpt3-4k") if name in DETERMINISTIC else SampleProblem()
    check(lambda problem: load_engine(name, problem), problem)


class Broken:
    """An engine that does one thing wrong: parts of an engine are replaced by functions of it and the arguments."""

    def __init__(self, **parts: Callable[..., Any]) -> None:
        self.engine: Engine = DeapEngine("nsga2")
        self.parts, self.calls = parts, 0

    def _do(self, part: str, *arguments: Any) -> Any:
        self.calls += 1
        given = self.parts.get(part)
        return given(self, *arguments) if given else getattr(self.engine, part)(*arguments)

    def start(self, genome: Genome, objectives: int, population: int, seed: int) -> EngineState:
        self.genome = genome
        return self._do("start", genome, objectives, population, seed)  # type: ignore[no-any-return]

    def ask(self, state: EngineState) -> tuple[FloatArray, EngineState]:
        return self._do("ask", state)  # type: ignore[no-any-return]

    def tell(self, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> EngineState:
        return self._do("tell", state, genes, objectives, violation)  # type: ignore[no-any-return]


def seeded_by_the_clock(broken: Broken, *arguments: Any) -> EngineState:
    return broken.engine.start(*arguments[:3], seed=np.random.SeedSequence().entropy)  # type: ignore[arg-type]


def seeded_always_alike(broken: Broken, *arguments: Any) -> EngineState:
    return broken.engine.start(*arguments[:3], seed=0)


def asks_on(broken: Broken, state: EngineState) -> tuple[FloatArray, EngineState]:
    genes, after = broken.engine.ask(state)
    return np.roll(genes, broken.calls, axis=1), after


def tells_in_place(
    broken: Broken, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray
) -> EngineState:
    after = broken.engine.tell(state, genes, objectives, violation)
    objectives += 1
    return after


def leaves_the_bounds(broken: Broken, state: EngineState) -> tuple[FloatArray, EngineState]:
    genes, after = broken.engine.ask(state)
    return genes + 0.5, after


def asks_twice_for_one(broken: Broken, state: EngineState) -> tuple[FloatArray, EngineState]:
    genes, after = broken.engine.ask(state)
    return np.concatenate([genes[:, :1], genes[:, :-1]], axis=1), after


def keeps_no_number(
    broken: Broken, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray
) -> EngineState:
    after = broken.engine.tell(state, genes, objectives, violation)
    return replace(after, arrays={**after.arrays, "best": np.array(np.nan)})


def remembers_in_itself(broken: Broken, state: EngineState) -> tuple[FloatArray, EngineState]:
    genes, after = broken.engine.ask(state)
    shift = 0.01 * (broken.calls > 8)
    return broken.genome.repair(genes - shift), after


def stops_when_cut(
    broken: Broken, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray
) -> EngineState:
    after = broken.engine.tell(state, genes, objectives, violation)
    return after if genes.shape[1] == 20 else replace(after, arrays={**after.arrays, "stop": np.array(1.0)})


def asks_nothing_after_a_stop(broken: Broken, state: EngineState) -> tuple[FloatArray, EngineState]:
    genes, after = broken.engine.ask(state)
    return (genes[:, :0] if "stop" in state.arrays else genes), after


def asks_nothing(broken: Broken, state: EngineState) -> tuple[FloatArray, EngineState]:
    genes, after = broken.engine.ask(state)
    return genes[:, :0], after


def forgets(
    broken: Broken, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray
) -> EngineState:
    del broken, genes, objectives, violation
    return state


def overlooks_violation(
    broken: Broken, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray
) -> EngineState:
    return broken.engine.tell(state, genes, objectives, 0 * violation)


def draws_what_others_share(broken: Broken, state: EngineState) -> tuple[FloatArray, EngineState]:
    shared.random()  # noqa: S311 - that is what is wrong with it
    return broken.engine.ask(state)


def squares_its_squares(
    broken: Broken, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray
) -> EngineState:
    after = broken.engine.tell(state, genes, objectives, violation)
    with np.errstate(over="ignore"):
        return replace(after, arrays={**after.arrays, "squares": violation**4})


def draws_where_violations_tie(
    broken: Broken, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray
) -> EngineState:
    after = broken.engine.tell(state, genes, objectives, violation)
    tied = (violation > 0).sum() > 1
    return replace(after, arrays={**after.arrays, "drawn": np.array(np.random.default_rng().random() if tied else 0.0)})


def asks_for_too_many(broken: Broken, state: EngineState) -> tuple[FloatArray, EngineState]:
    one, after = broken.engine.ask(state)
    two, after = broken.engine.ask(after)
    return np.concatenate([one, two], axis=1), after


@pytest.mark.parametrize(
    ("check", "parts"),
    [
        ("same_seed_same_search", {"start": seeded_by_the_clock}),
        ("other_seed_other_search", {"start": seeded_always_alike}),
        ("ask_can_be_repeated", {"ask": asks_on}),
        ("tell_changes_nothing_it_is_given", {"tell": tells_in_place}),
        ("genes_are_legal_and_differ", {"ask": leaves_the_bounds}),
        ("genes_are_legal_and_differ", {"ask": asks_twice_for_one}),
        ("state_is_plain", {"tell": keeps_no_number}),
        ("goes_on_from_any_generation", {"ask": remembers_in_itself}),
        ("a_generation_can_be_cut", {"tell": stops_when_cut, "ask": asks_nothing_after_a_stop}),
        ("designs_from_elsewhere", {"tell": stops_when_cut, "ask": asks_nothing_after_a_stop}),
        ("front_only_improves", {"ask": asks_nothing}),
        ("any_number_of_objectives", {"ask": asks_nothing}),
        ("feasible_designs_win", {"tell": overlooks_violation}),
        ("small_space_ends", {"tell": forgets}),
        ("shared_random_numbers_are_left_alone", {"ask": draws_what_others_share}),
        ("large_population", {"ask": asks_for_too_many}),
        ("nothing_to_choose_by", {"ask": asks_nothing}),
        ("designs_that_cannot_be_evaluated_are_infeasible", {"tell": squares_its_squares}),
        ("odd_problems_repeat", {"tell": draws_where_violations_tie}),
        ("learns", {"tell": forgets}),
    ],
)
def test_check_notices(check: str, parts: dict[str, Callable[..., Any]]) -> None:
    found = next(one for one in CHECKS if one.__name__ == check)
    with pytest.raises(ConformanceError):
        found(lambda _: Broken(**parts), SampleProblem())


def test_every_check_is_known_to_notice_something() -> None:
    (mark,) = test_check_notices.pytestmark  # type: ignore[attr-defined]
    assert {check for check, _ in mark.args[1]} == {check.__name__ for check in CHECKS}


def test_a_state_is_the_same_once_it_was_saved() -> None:
    state = RandomEngine().start(SampleProblem().genome, 2, 20, seed=3)
    again = EngineState.from_bytes(EngineState.to_bytes(state))
    assert again.random == state.random
    assert again.arrays.keys() == state.arrays.keys()
    assert again.generator().random() == state.generator().random()


def test_engines_of_libraries_say_how_many_objectives_they_need() -> None:
    with pytest.raises(InputError, match="pymoo:moead needs at least 2 objectives; the problem has 1"):
        PymooEngine("moead").start(SampleProblem(1).genome, 1, 20, seed=0)
