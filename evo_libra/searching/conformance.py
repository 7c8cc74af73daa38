"""Checks that every engine must pass, also a user's own.

A check is a function of a function that makes the engine for a problem, and of the problem; it raises
`ConformanceError`. An engine refuses a problem by `InputError` when it is made or started; a check that needs that
problem passes then.
"""

from __future__ import annotations

import random as python_random
from collections.abc import Callable, Iterator

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.front.archive import Archive
from evo_libra.front.indicators import hypervolume
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.engine import Engine, EngineState
from evo_libra.searching.engines.nsga import RandomEngine
from evo_libra.searching.generations import generations
from evo_libra.searching.loop import SearchOptions, Snapshot
from evo_libra.searching.sample_problem import POPULATION, SampleProblem

__all__ = ["CHECKS", "POPULATION", "Check", "ConformanceError", "Make", "SampleProblem"]

_GENERATIONS = 5
_LARGE = 300
_SEED = 7

_BROKEN = tuple(SampleProblem(broken=broken) for broken in ("infinite", "nan", "raised"))

Make = Callable[[SearchProblem], Engine]
Check = Callable[[Make, SearchProblem], None]


class ConformanceError(AssertionError):
    """An engine does not do what every engine must do."""


def _require(condition: object, message: str) -> None:
    if not condition:
        raise ConformanceError(message)


def _start(
    make: Make, problem: SearchProblem, seed: int = _SEED, population: int = POPULATION
) -> tuple[Engine, EngineState]:
    engine = make(problem)
    return engine, engine.start(problem.genome, len(problem.objectives), population, seed)


def _start_each(make: Make, *samples: SampleProblem) -> Iterator[tuple[SampleProblem, Engine, EngineState]]:
    """Yield the problems that the engine does not refuse, with the engine and its first state."""
    for sample in samples:
        try:
            engine, state = _start(make, sample)
        except InputError:
            continue
        yield sample, engine, state


def _step(engine: Engine, problem: SearchProblem, state: EngineState) -> tuple[FloatArray, EngineState]:
    genes, asked = engine.ask(state)
    return genes, _tell(engine, problem, asked, genes) if genes.shape[1] else asked


def _tell(engine: Engine, problem: SearchProblem, state: EngineState, genes: FloatArray) -> EngineState:
    return engine.tell(state, genes, *_evaluation(problem, genes))


def _evaluation(problem: SearchProblem, genes: FloatArray) -> tuple[FloatArray, FloatArray]:
    found = problem.evaluate_genes(genes)
    return np.log10(found.objectives), found.violation


def _generations(make: Make, problem: SearchProblem, seed: int = _SEED) -> list[bytes]:
    """Return the genes of the first generations."""
    engine, state = _start(make, problem, seed)
    found = []
    for _ in range(_GENERATIONS):
        genes, state = _step(engine, problem, state)
        found.append(genes.tobytes())
    return found


def _searched(make: Make, sample: SampleProblem) -> tuple[list[Snapshot], FloatArray]:
    """Return the snapshots of a short search, and the genes of all designs that were evaluated."""
    engine, seen = make(sample), [np.empty((len(sample.genome), 0))]
    options = SearchOptions(observe=lambda genes, _: seen.append(genes))
    evaluations = _GENERATIONS * POPULATION
    loop = generations(sample, engine, population=POPULATION, seed=_SEED, evaluations=evaluations, options=options)
    return list(loop), np.concatenate(seen, axis=1)


def _archives(engine: Engine, problem: SearchProblem, evaluations: int) -> list[Archive]:
    """Return the archive after each generation of a search."""
    loop = generations(problem, engine, population=POPULATION, seed=_SEED, evaluations=evaluations)
    return [snapshot.archive for snapshot in loop]


def same_seed_same_search(make: Make, problem: SearchProblem) -> None:
    """Check that the same seed asks for the same designs, in the same order."""
    _require(_generations(make, problem) == _generations(make, problem), "two searches with the same seed differ")


def other_seed_other_search(make: Make, problem: SearchProblem) -> None:
    """Check that another seed asks for other designs."""
    _require(_generations(make, problem) != _generations(make, problem, _SEED + 1), "the seed changes nothing")


def ask_can_be_repeated(make: Make, problem: SearchProblem) -> None:
    """Check that `ask` on the same state gives the same genes, and changes nothing."""
    engine, state = _start(make, problem)
    for _ in range(_GENERATIONS):
        before = EngineState.to_bytes(state)
        (genes, asked), (again, twice) = engine.ask(state), engine.ask(state)
        _require(genes.tobytes() == again.tobytes(), "a repeated ask returns other designs")
        _require(EngineState.to_bytes(asked) == EngineState.to_bytes(twice), "a repeated ask returns another state")
        _require(EngineState.to_bytes(state) == before, "ask changes the state that it is given")
        _, state = _step(engine, problem, state)


def tell_changes_nothing_it_is_given(make: Make, problem: SearchProblem) -> None:
    """Check that `tell` leaves what it is given as it is, and gives the same when it is repeated."""
    engine, state = _start(make, problem)
    for _ in range(_GENERATIONS):
        genes, asked = engine.ask(state)
        if not genes.shape[1]:
            return
        given = genes, *_evaluation(problem, genes)
        before = EngineState.to_bytes(asked), *(array.tobytes() for array in given)
        state, again = engine.tell(asked, *given), engine.tell(asked, *given)
        after = EngineState.to_bytes(asked), *(array.tobytes() for array in given)
        _require(after == before, "tell changes what it is given")
        _require(EngineState.to_bytes(state) == EngineState.to_bytes(again), "a repeated tell returns another state")


def genes_are_legal_and_differ(make: Make, problem: SearchProblem) -> None:
    """Check that genes are within the bounds, whole where they must be, and differ within a generation."""
    genome = problem.genome
    engine, state = _start(make, problem)
    for _ in range(_GENERATIONS):
        genes, _ = engine.ask(state)
        _require(genes.ndim == 2 and len(genes) == len(genome), f"genes have shape {genes.shape}")  # noqa: PLR2004
        _require(genes.dtype == np.float64, f"genes are {genes.dtype}")
        _require((genes == genome.repair(genes)).all(), "genes are not legal: repair changes them")
        _require(len(np.unique(genes, axis=1).T) == genes.shape[1], "a generation has a design twice")
        _, state = _step(engine, problem, state)


def state_is_plain(make: Make, problem: SearchProblem) -> None:
    """Check that a state is numbers and JSON, so that nothing runs when it is loaded."""
    engine, state = _start(make, problem)
    for _ in range(_GENERATIONS):
        for name, values in state.arrays.items():
            _require(np.asarray(values).dtype.kind in "fiub", f"'{name}' is of type {np.asarray(values).dtype}")
            _require(not np.isnan(values).any(), f"'{name}' is not a number")
        saved = EngineState.to_bytes(state)
        _require(
            EngineState.to_bytes(EngineState.from_bytes(saved)) == saved, "a state that was saved and loaded differs"
        )
        _, state = _step(engine, problem, state)


def goes_on_from_any_generation(make: Make, problem: SearchProblem) -> None:
    """Check that a fresh engine goes on from a saved state: same designs, same bytes of every state."""
    engine, state = _start(make, problem)
    states: list[bytes] = [EngineState.to_bytes(state)]
    asked: list[FloatArray] = []
    for _ in range(_GENERATIONS):
        genes, state = _step(engine, problem, state)
        states, asked = [*states, EngineState.to_bytes(state)], [*asked, genes]
    for begin in range(_GENERATIONS):
        other, _ = _start(make, problem, seed=_SEED + 1)
        state = EngineState.from_bytes(states[begin])
        for number in range(begin, _GENERATIONS):
            genes, state = _step(other, problem, state)
            _require(genes.tobytes() == asked[number].tobytes(), f"resumed at {begin}, generation {number} differs")
            same = EngineState.to_bytes(state) == states[number + 1]
            _require(same, f"resumed at {begin}, the state after {number} differs")


def a_generation_can_be_cut(make: Make, problem: SearchProblem) -> None:
    """Check that a search goes on when only the first of the designs that were asked for come back."""
    engine, state = _start(make, problem)
    for part in (POPULATION // 2, POPULATION, 1, POPULATION):
        genes, state = engine.ask(state)
        _require(genes.shape[1], "after a cut generation the engine has nothing to ask for")
        state = _tell(engine, problem, state, genes[:, :part])


def designs_from_elsewhere(make: Make, problem: SearchProblem) -> None:
    """Check that the engine takes designs that it did not ask for, before the first generation and later."""
    engine, state = _start(make, problem)
    random = np.random.default_rng(_SEED)
    for count in (3, POPULATION, 1):
        state = _tell(engine, problem, state, problem.genome.sample(random, count))
        genes, _ = engine.ask(state)
        _require(genes.shape[1], f"after {count} designs from elsewhere, the engine has nothing to ask for")
        _require((genes == problem.genome.repair(genes)).all(), "genes are not legal: repair changes them")
        _, state = _step(engine, problem, state)


def front_only_improves(make: Make, problem: SearchProblem) -> None:
    """Check that the archive's hypervolume never falls."""
    fronts = [archive.objectives for archive in _archives(make(problem), problem, 100) if len(archive)]
    volumes = [hypervolume(points, np.full(len(points), 0.1), np.full(len(points), 1e9)) for points in fronts]
    _require(volumes and volumes == sorted(volumes), "the hypervolume falls, or there is no front")


def any_number_of_objectives(make: Make, _problem: SearchProblem) -> None:
    """Check that one, two and three objectives are searched, or refused by `InputError`."""
    for sample, engine, _ in _start_each(make, *map(SampleProblem, (1, 2, 3))):
        _require(len(_archives(engine, sample, 100)[-1]), f"no front of {sample.count} objectives")


def feasible_designs_win(make: Make, _problem: SearchProblem) -> None:
    """Check that soon most designs asked for are feasible, though objectives lure towards infeasible ones."""
    for sample, engine, first in _start_each(make, SampleProblem(width=4, feasible=0.1)):
        share, state = [], first
        for _ in range(6 * _GENERATIONS):
            genes, state = _step(engine, sample, state)
            share.append(float((sample.evaluate_genes(genes).violation <= 0).mean()))
        late = float(np.mean(share[-_GENERATIONS:]))
        _require(late > 0.5, f"{late:.0%} of the late designs are feasible, {sample.feasible:.0%} of the space is")  # noqa: PLR2004


def small_space_ends(make: Make, _problem: SearchProblem) -> None:
    """Check that a search ends when the space has fewer designs than the population and all are known."""
    for sample, engine, _ in _start_each(make, SampleProblem(kinds=6, width=-1)):
        *_, last = generations(sample, engine, population=POPULATION, seed=_SEED, evaluations=50 * POPULATION)
        _require(last.exhausted, f"{sample.kinds} designs, and the engine asks for more after {last.evaluations}")
        _require(len(last.archive), "no front of a small space")


def shared_random_numbers_are_left_alone(make: Make, problem: SearchProblem) -> None:
    """Check that random numbers that all of Python and NumPy share are neither used nor changed."""
    before = _seed_shared(1)
    one = _generations(make, problem)
    _require(before == _shared(), "the engine changes random numbers that others share")
    _seed_shared(2)
    _require(one == _generations(make, problem), "the engine uses random numbers that others share")


def _seed_shared(seed: int) -> tuple[object, bytes]:
    python_random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - whether an engine uses it is the question
    return _shared()


def _shared() -> tuple[object, bytes]:
    return python_random.getstate(), np.random.get_state()[1].tobytes()  # type: ignore[index] # noqa: NPY002 - the same


def large_population(make: Make, problem: SearchProblem) -> None:
    """Check that a generation may have hundreds of designs."""
    engine, state = _start(make, problem, population=_LARGE)
    for _ in range(2):
        genes, state = _step(engine, problem, state)
        _require(genes.shape[1] <= _LARGE, f"a generation of {genes.shape[1]} designs; {_LARGE} were wanted")


def nothing_to_choose_by(make: Make, _problem: SearchProblem) -> None:
    """Check that designs that all have the same objectives, are all infeasible, or come twice, do not stop a search."""
    alike = SampleProblem(flat=True), SampleProblem(3, flat=True)
    infeasible = SampleProblem(feasible=-2.0), SampleProblem(feasible=-1e12)
    for sample, engine, first in _start_each(make, *alike, *infeasible):
        state = first
        for _ in range(_GENERATIONS):
            genes, state = engine.ask(state)
            _require(genes.shape[1], "the engine has nothing to ask for")
            genes = np.concatenate([genes[:, :1], genes], axis=1)[:, : genes.shape[1]]
            state = _tell(engine, sample, state, genes)
            _require(not any(np.isnan(values).any() for values in state.arrays.values()), "the state is not a number")


def designs_that_cannot_be_evaluated_are_infeasible(make: Make, _problem: SearchProblem) -> None:
    """Check that a search goes on past designs that are infinite, NaN or raise, counts them, and finds others."""
    for sample, _, _ in _start_each(make, *_BROKEN):
        found, genes = _searched(make, sample)
        archive, count = found[-1].archive, int(sample.is_broken(genes).sum())
        _require(count and count == found[-1].failures.count, f"{found[-1].failures.count} of {count} are counted")
        _require(len(archive) and np.isfinite(archive.objectives).all(), "the front is empty or not finite")
        _require(not sample.is_broken(archive.genes).any(), "the front has designs that cannot be evaluated")
        arrays = (values for one in found for values in one.engine.arrays.values())
        _require(all(np.isfinite(values).all() for values in arrays), "the state is not finite")


def odd_problems_repeat(make: Make, _problem: SearchProblem) -> None:
    """Check that the same seed gives the same bytes where designs break, violations tie, or objectives are constant."""
    odd = SampleProblem(tied=True), SampleProblem(flat=True), SampleProblem(1), *_BROKEN
    for sample, _, _ in _start_each(make, *odd):
        one, two = (
            [EngineState.to_bytes(each.engine) + each.archive.genes.tobytes() for each in _searched(make, sample)[0]]
            for _ in range(2)
        )
        _require(one == two, f"two searches of {sample} with the same seed differ")


def learns(make: Make, _problem: SearchProblem) -> None:
    """Check that it finds more hypervolume than random search, given the same evaluations."""
    for sample, engine, _ in _start_each(make, SampleProblem(width=8)):
        low, high = np.ones(sample.count), np.full(sample.count, 6.0)
        found, chance = (
            hypervolume(_archives(each, sample, 600)[-1].objectives, low, high) for each in (engine, RandomEngine())
        )
        _require(found > chance, f"hypervolume {found:.5f}; random search has {chance:.5f}")


CHECKS: tuple[Check, ...] = (
    same_seed_same_search, other_seed_other_search, ask_can_be_repeated, tell_changes_nothing_it_is_given,
    genes_are_legal_and_differ, state_is_plain, goes_on_from_any_generation, a_generation_can_be_cut,
    designs_from_elsewhere, front_only_improves, any_number_of_objectives, feasible_designs_win, small_space_ends,
    shared_random_numbers_are_left_alone, large_population, nothing_to_choose_by,
    designs_that_cannot_be_evaluated_are_infeasible, odd_problems_repeat, learns,
)  # fmt: skip
"""Every check; its arguments are a function that makes the engine, and a problem such as ``SampleProblem()``."""
