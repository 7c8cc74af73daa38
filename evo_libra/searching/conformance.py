"""What every engine must do, as checks that run on any engine, also on a user's own.

A check is a function of a function that makes the engine for a problem, and of the problem; it raises
`ConformanceError`. An engine refuses a problem by `InputError` when it is made or started; a check that needs that
problem passes then.
"""

from __future__ import annotations

import random as python_random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.front.archive import Archive
from evo_libra.front.indicators import hypervolume
from evo_libra.problem.protocol import Evaluation, Genome, Objective, SearchProblem, SearchSettings
from evo_libra.searching.engine import Engine, EngineState
from evo_libra.searching.engines.random_search import RandomEngine
from evo_libra.searching.generations import generations

POPULATION = 20
"""Designs per generation that suit the problem."""

_SETTINGS = SearchSettings(evaluations=1000, population=POPULATION)


@dataclass(frozen=True)
class SampleProblem:
    """A problem with a whole gene and real ones, a moment to evaluate.

    Attributes
    ----------
    count : objectives, 1 to 3.
    kinds : values of the whole gene; 0 is the best.
    width : real genes that are best at 2.7, besides one that trades the objectives; -1 for no real genes at all.
    feasible : share of the range of the last gene that is feasible; the objectives lure away from it.
    flat : whether all designs have the same objectives.
    """

    count: int = 2
    kinds: int = 5
    width: int = 1
    feasible: float = 1.0
    flat: bool = False
    name: str = "sample"
    settings: SearchSettings = _SETTINGS

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The objectives."""
        return tuple(Objective(f"f{i}", f"f{i}", 1.0, f"f{i}") for i in range(self.count))

    @property
    def genome(self) -> Genome:
        """The genes."""
        names = ("kind", "x", *(f"y{i}" for i in range(self.width)))[: 2 + self.width]
        lower = np.array([0.0, -1.0, *[2.0] * self.width])[: len(names)]
        upper = np.array([self.kinds - 1.0, 1.0, *[3.0] * self.width])[: len(names)]
        return Genome(names, lower, upper, np.arange(len(names)) == 0)

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the evaluation of (g, n) genes."""
        kind, last = genes[0], genes[-1]
        x = genes[1] if len(genes) > 1 else kind / self.kinds
        beside = 1 + kind / 10 + np.abs(genes[2:] - 2.7).sum(axis=0)
        objectives = np.stack([beside + x**2, beside + (x - 1) ** 2, beside + (x + 1) ** 2][: self.count])
        broken = last - 2 - self.feasible if self.feasible < 1 else np.zeros(len(kind))
        return Evaluation(np.ones_like(objectives) if self.flat else objectives, np.maximum(broken, 0.0))

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return nothing: the genes say it all."""
        return {"gene": genes[0].tolist()}

    def identity(self) -> Mapping[str, Any]:
        """Return what results depend on."""
        return {"problem": self.name, "objectives": self.count, "kinds": self.kinds, "feasible": self.feasible}


_GENERATIONS = 5
_LARGE = 300
_SEED = 7

Make = Callable[[SearchProblem], Engine]
Check = Callable[[Make, SearchProblem], None]


class ConformanceError(AssertionError):
    """An engine does not do what every engine must do."""


def _require(condition: object, message: str) -> None:
    if not condition:
        raise ConformanceError(message)


def _started(
    make: Make, problem: SearchProblem, seed: int = _SEED, population: int = POPULATION
) -> tuple[Engine, EngineState]:
    engine = make(problem)
    return engine, engine.start(problem.genome, len(problem.objectives), population, seed)


def _step(engine: Engine, problem: SearchProblem, state: EngineState) -> tuple[FloatArray, EngineState]:
    genes, asked = engine.ask(state)
    return genes, _tell(engine, problem, asked, genes) if genes.shape[1] else asked


def _tell(engine: Engine, problem: SearchProblem, state: EngineState, genes: FloatArray) -> EngineState:
    found = problem.evaluate_genes(genes)
    return engine.tell(state, genes, np.log10(found.objectives), found.violation)


def _asked(make: Make, problem: SearchProblem, seed: int = _SEED) -> list[FloatArray]:
    engine, state = _started(make, problem, seed)
    found = []
    for _ in range(_GENERATIONS):
        genes, state = _step(engine, problem, state)
        found.append(genes)
    return found


def _same(one: list[FloatArray], two: list[FloatArray]) -> bool:
    return len(one) == len(two) and all(a.tobytes() == b.tobytes() for a, b in zip(one, two, strict=True))


def same_seed_same_search(make: Make, problem: SearchProblem) -> None:
    """Check that the same seed asks for the same designs, in the same order."""
    _require(_same(_asked(make, problem), _asked(make, problem)), "two searches with the same seed differ")


def other_seed_other_search(make: Make, problem: SearchProblem) -> None:
    """Check that another seed asks for other designs."""
    _require(not _same(_asked(make, problem), _asked(make, problem, _SEED + 1)), "the seed changes nothing")


def ask_can_be_repeated(make: Make, problem: SearchProblem) -> None:
    """Check that `ask` on the same state gives the same genes, and changes nothing."""
    engine, state = _started(make, problem)
    for _ in range(_GENERATIONS):
        before = EngineState.to_bytes(state)
        one, two = engine.ask(state), engine.ask(state)
        _require(one[0].tobytes() == two[0].tobytes(), "asked twice, the engine asks for other designs")
        _require(
            EngineState.to_bytes(one[1]) == EngineState.to_bytes(two[1]), "asked twice, the engine's states differ"
        )
        _require(EngineState.to_bytes(state) == before, "ask changes the state that it is given")
        _, state = _step(engine, problem, state)


def tell_changes_nothing_it_is_given(make: Make, problem: SearchProblem) -> None:
    """Check that `tell` leaves what it is given as it is, and gives the same when it is repeated."""
    engine, state = _started(make, problem)
    for _ in range(_GENERATIONS):
        genes, asked = engine.ask(state)
        if not genes.shape[1]:
            return
        found = problem.evaluate_genes(genes)
        given = genes, np.log10(found.objectives), found.violation
        before = EngineState.to_bytes(asked), *(array.tobytes() for array in given)
        state, again = engine.tell(asked, *given), engine.tell(asked, *given)
        _require(
            (EngineState.to_bytes(asked), *(array.tobytes() for array in given)) == before,
            "tell changes what it is given",
        )
        _require(EngineState.to_bytes(state) == EngineState.to_bytes(again), "told twice, the states differ")


def genes_are_legal_and_differ(make: Make, problem: SearchProblem) -> None:
    """Check that genes are within the bounds, whole where they must be, and differ within a generation."""
    genome = problem.genome
    engine, state = _started(make, problem)
    for _ in range(_GENERATIONS):
        genes, _ = engine.ask(state)
        _require(genes.ndim == 2 and len(genes) == len(genome), f"genes have shape {genes.shape}")  # noqa: PLR2004
        _require(genes.dtype == np.float64, f"genes are {genes.dtype}")
        _require((genes == genome.repair(genes)).all(), "genes are not legal: repair changes them")
        _require(len(np.unique(genes, axis=1).T) == genes.shape[1], "a generation has a design twice")
        _, state = _step(engine, problem, state)


def state_is_plain(make: Make, problem: SearchProblem) -> None:
    """Check that a state is numbers and JSON, so that nothing runs when it is loaded."""
    engine, state = _started(make, problem)
    for _ in range(_GENERATIONS):
        for name, values in state.arrays.items():
            _require(np.asarray(values).dtype.kind in "fiub", f"'{name}' is of type {np.asarray(values).dtype}")
            _require(not np.isnan(values).any(), f"'{name}' is not a number")
        _require(
            EngineState.to_bytes(EngineState.from_bytes(EngineState.to_bytes(state))) == EngineState.to_bytes(state),
            "a state that was saved and loaded differs",
        )
        _, state = _step(engine, problem, state)


def goes_on_from_any_generation(make: Make, problem: SearchProblem) -> None:
    """Check that a fresh engine goes on from a saved state: same designs, same bytes of every state."""
    engine, state = _started(make, problem)
    states: list[bytes] = [EngineState.to_bytes(state)]
    asked: list[FloatArray] = []
    for _ in range(_GENERATIONS):
        genes, state = _step(engine, problem, state)
        states, asked = [*states, EngineState.to_bytes(state)], [*asked, genes]
    for begin in range(_GENERATIONS):
        other, _ = _started(make, problem, seed=_SEED + 1)
        state = EngineState.from_bytes(states[begin])
        for number in range(begin, _GENERATIONS):
            genes, state = _step(other, problem, state)
            _require(genes.tobytes() == asked[number].tobytes(), f"resumed at {begin}, generation {number} differs")
            _require(
                EngineState.to_bytes(state) == states[number + 1],
                f"resumed at {begin}, the state after {number} differs",
            )


def a_generation_can_be_cut(make: Make, problem: SearchProblem) -> None:
    """Check that a search goes on when only the first of the designs that were asked for come back."""
    engine, state = _started(make, problem)
    for part in (POPULATION // 2, POPULATION, 1, POPULATION):
        genes, state = engine.ask(state)
        _require(genes.shape[1], "after a cut generation the engine has nothing to ask for")
        state = _tell(engine, problem, state, genes[:, :part])


def designs_from_elsewhere(make: Make, problem: SearchProblem) -> None:
    """Check that the engine takes designs that it did not ask for, before the first generation and later."""
    engine, state = _started(make, problem)
    random = np.random.default_rng(_SEED)
    for count in (3, POPULATION, 1):
        genes = problem.genome.sample(random, count)
        state = _tell(engine, problem, state, genes)
        genes, _ = engine.ask(state)
        _require(genes.shape[1], f"after {count} designs from elsewhere, the engine has nothing to ask for")
        _require((genes == problem.genome.repair(genes)).all(), "genes are not legal: repair changes them")
        _, state = _step(engine, problem, state)


def front_only_improves(make: Make, problem: SearchProblem) -> None:
    """Check that the archive's hypervolume never falls."""
    volumes = []
    for snapshot in generations(problem, make(problem), population=POPULATION, seed=_SEED, evaluations=100):
        if len(snapshot.archive):
            points = snapshot.archive.objectives
            volumes.append(hypervolume(points, np.full(len(points), 0.1), np.full(len(points), 1e9)))
    _require(volumes and volumes == sorted(volumes), "the hypervolume falls, or there is no front")


def any_number_of_objectives(make: Make, problem: SearchProblem) -> None:  # noqa: ARG001 - it has problems of its own
    """Check that one, two and three objectives are searched, or refused by `InputError`."""
    for count in (1, 2, 3):
        sample = SampleProblem(count)
        last = _searched(make, sample, 100)
        _require(last is None or len(last), f"no front of {count} objectives")


def _searched(make: Make, problem: SearchProblem, evaluations: int) -> Archive | None:
    """Return the archive of a search; None where the engine refuses the problem."""
    try:
        engine, _ = _started(make, problem)
    except InputError:
        return None
    *_, last = generations(problem, engine, population=POPULATION, seed=_SEED, evaluations=evaluations)
    return last.archive


def feasible_designs_win(make: Make, problem: SearchProblem) -> None:  # noqa: ARG001 - it has a problem of its own
    """Check that soon most designs asked for are feasible, though objectives lure towards infeasible ones."""
    sample = SampleProblem(width=4, feasible=0.1)
    try:
        engine, state = _started(make, sample)
    except InputError:
        return
    share = []
    for _ in range(6 * _GENERATIONS):
        genes, state = _step(engine, sample, state)
        share.append(float((sample.evaluate_genes(genes).violation <= 0).mean()))
    late = float(np.mean(share[-_GENERATIONS:]))
    _require(late > 0.5, f"{late:.0%} of the late designs are feasible, {sample.feasible:.0%} of the space is")  # noqa: PLR2004


def _beats_chance(make: Make, sample: SampleProblem, evaluations: int) -> None:
    found, by_chance = _searched(make, sample, evaluations), _searched(lambda _: RandomEngine(), sample, evaluations)
    if found is None or by_chance is None:
        return
    low, high = np.ones(sample.count), np.full(sample.count, 6.0)
    volumes = [hypervolume(archive.objectives, low, high) for archive in (found, by_chance)]
    _require(volumes[0] > volumes[1], f"hypervolume {volumes[0]:.5f}; random search has {volumes[1]:.5f}")


def small_space_ends(make: Make, problem: SearchProblem) -> None:  # noqa: ARG001 - it has a problem of its own
    """Check that a search ends when the space has fewer designs than the population and all are known."""
    sample = SampleProblem(kinds=6, width=-1)
    try:
        engine, _ = _started(make, sample)
    except InputError:
        return
    *_, last = generations(sample, engine, population=POPULATION, seed=_SEED, evaluations=50 * POPULATION)
    _require(last.exhausted, f"{sample.kinds} designs, and the engine asks for more after {last.evaluations}")
    _require(len(last.archive), "no front of a small space")


def shared_random_numbers_are_left_alone(make: Make, problem: SearchProblem) -> None:
    """Check that random numbers that all of Python and NumPy share are neither used nor changed."""
    python_random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - whether an engine uses it is the question
    before = python_random.getstate(), np.random.get_state()[1].tobytes()  # type: ignore[index] # noqa: NPY002
    one = _asked(make, problem)
    after = python_random.getstate(), np.random.get_state()[1].tobytes()  # type: ignore[index] # noqa: NPY002
    _require(before == after, "the engine changes random numbers that others share")
    python_random.seed(2)
    np.random.seed(2)  # noqa: NPY002 - the same
    _require(_same(one, _asked(make, problem)), "the engine uses random numbers that others share")


def large_population(make: Make, problem: SearchProblem) -> None:
    """Check that a generation may have hundreds of designs."""
    engine, state = _started(make, problem, population=_LARGE)
    for _ in range(2):
        genes, state = _step(engine, problem, state)
        _require(genes.shape[1] <= _LARGE, f"a generation of {genes.shape[1]} designs; {_LARGE} were wanted")


def nothing_to_choose_by(make: Make, problem: SearchProblem) -> None:  # noqa: ARG001 - it has problems of its own
    """Check that designs that all have the same objectives, are all infeasible, or come twice, do not stop a search."""
    for sample in (
        SampleProblem(flat=True),
        SampleProblem(3, flat=True),
        SampleProblem(feasible=-2.0),
        SampleProblem(feasible=-1e12),
    ):
        try:
            engine, state = _started(make, sample)
        except InputError:
            continue
        for _ in range(_GENERATIONS):
            genes, state = engine.ask(state)
            _require(genes.shape[1], "the engine has nothing to ask for")
            genes = np.concatenate([genes[:, :1], genes], axis=1)[:, : genes.shape[1]]
            state = _tell(engine, sample, state, genes)
            _require(not any(np.isnan(values).any() for values in state.arrays.values()), "the state is not a number")


def learns(make: Make, problem: SearchProblem) -> None:  # noqa: ARG001 - it has a problem of its own
    """Check that it finds more hypervolume than random search, given the same evaluations."""
    _beats_chance(make, SampleProblem(width=8), 600)


CHECKS: tuple[Check, ...] = (
    same_seed_same_search,
    other_seed_other_search,
    ask_can_be_repeated,
    tell_changes_nothing_it_is_given,
    genes_are_legal_and_differ,
    state_is_plain,
    goes_on_from_any_generation,
    a_generation_can_be_cut,
    designs_from_elsewhere,
    front_only_improves,
    any_number_of_objectives,
    feasible_designs_win,
    small_space_ends,
    shared_random_numbers_are_left_alone,
    large_population,
    nothing_to_choose_by,
    learns,
)
"""Every check; its arguments are a function that makes the engine, and a problem such as ``SampleProblem()``."""
