"""NSGA-II, NSGA-III and SPEA2 of DEAP behind the engine contract; the one module that imports DEAP.

Selection and survival are DEAP's. It knows individuals with a fitness, which are made for each step, and draws from the
random numbers that all of Python shares, which are seeded for each step and put back afterwards.
"""

from __future__ import annotations

import random as python_random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from deap import base, tools

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.engines.library import Arrays, LibraryAlgorithm, LibraryEngine, chosen, merge, quiet

_MULTIPLE = 4
_MEMORY = ("best", "worst", "extreme")


class DeapEngine(LibraryEngine):
    """An algorithm of DEAP: ``nsga2``, ``nsga3`` or ``spea2``."""

    def __init__(self, algorithm: str, _problem: SearchProblem | None = None) -> None:
        super().__init__(f"deap:{algorithm}", _Algorithm(algorithm, directed=algorithm == "nsga3"))


@contextmanager
def borrowed_random(random: np.random.Generator) -> Iterator[None]:
    """Seed the random numbers that all of Python and all of NumPy share, and put their state back afterwards."""
    before, numpy_before = python_random.getstate(), np.random.get_state()  # noqa: NPY002 - what DEAP draws from
    seeds = random.integers(0, 2**32, 2)
    python_random.seed(int(seeds[0]))
    np.random.seed(int(seeds[1]))  # noqa: NPY002 - the same
    try:
        yield
    finally:
        python_random.setstate(before)
        np.random.set_state(numpy_before)  # noqa: NPY002 - the same


class _Fitness(base.ConstrainedFitness):  # type: ignore[misc] # DEAP has no types
    """Objectives to minimise; an infeasible design has none, and loses to every feasible one."""

    crowding_dist = 0.0
    __hash__ = base.Fitness.__hash__

    def __init__(self, values: Sequence[float], violation: float) -> None:
        self.weights = (-1.0,) * len(values)
        super().__init__(() if violation > 0 else values, [violation])


@dataclass(frozen=True)
class _Individual:
    place: int
    fitness: _Fitness


@dataclass(frozen=True)
class _Algorithm(LibraryAlgorithm):
    """Selection and survival by name."""

    name: str

    def parents(self, arrays: Arrays, random: np.random.Generator) -> tuple[IntArray, IntArray, FloatArray]:
        count = (int(arrays["size"]) + 1) // 2
        people = _individuals(arrays)
        with borrowed_random(random):
            if self.name == "nsga2":
                tools.emo.assignCrowdingDist([one for one in people if one.fitness.valid])
                parents = _tournaments(people, 2 * count)
            else:
                parents = tools.selRandom(people, 2 * count)
        return _places(parents).reshape(count, 2).T, np.arange(2 * count), np.zeros(2 * count)

    def survivors(self, arrays: Arrays, new: Arrays, random: np.random.Generator) -> dict[str, FloatArray]:
        everything = merge(arrays, new)
        feasible = np.flatnonzero(everything["violation"] <= 0)
        infeasible = np.flatnonzero(everything["violation"] > 0)
        size, best = int(arrays["size"]), feasible
        memory: dict[str, FloatArray] = {}
        if len(feasible):
            with borrowed_random(random), quiet():
                best, memory = self._best(arrays, chosen(everything, feasible), min(size, len(feasible)))
            best = feasible[best]
        rest = infeasible[np.argsort(everything["violation"][infeasible], kind="stable")][: size - len(best)]
        return {**chosen(everything, np.concatenate([best, rest])), **memory}

    def _best(self, arrays: Arrays, designs: Arrays, count: int) -> tuple[IntArray, dict[str, FloatArray]]:
        if self.name == "nsga3":
            return self._by_niche(arrays, designs, count)
        select: Callable[..., list[_Individual]] = tools.selSPEA2 if self.name == "spea2" else tools.selNSGA2
        options = {} if self.name == "spea2" else {"nd": _sorting(designs)}
        return _places(select(_individuals(designs), count, **options)), {}

    def _by_niche(self, arrays: Arrays, designs: Arrays, count: int) -> tuple[IntArray, dict[str, FloatArray]]:
        """Select by niches of objectives from the best point on: DEAP adds intercepts to it at some places only."""
        best = np.minimum(designs["objectives"].min(axis=1), arrays.get("best", np.inf))
        people = _individuals({**designs, "objectives": designs["objectives"] - best[:, None]})
        known = {
            "best_point": np.zeros((1, len(best))),
            "worst_point": arrays["worst"][None] - best,
            "extreme_points": arrays["extreme"] - best,
        } if "best" in arrays else {}  # fmt: skip
        kept, memory = tools.selNSGA3(people, count, self.directions, nd=_sorting(designs), return_memory=True, **known)
        points = best, memory.worst_point + best, memory.extreme_points + best
        return _places(kept), dict(zip(_MEMORY, points, strict=True))


def _sorting(designs: Arrays) -> str:
    """Return the sorting that works: DEAP's fast one needs two objectives."""
    return "log" if len(designs["objectives"]) > 1 else "standard"


def _individuals(arrays: Arrays) -> list[_Individual]:
    rows = zip(arrays["objectives"].T.tolist(), arrays["violation"].tolist(), strict=True)
    return [_Individual(place, _Fitness(values, violation)) for place, (values, violation) in enumerate(rows)]


def _places(people: Sequence[_Individual]) -> IntArray:
    return np.array([one.place for one in people], dtype=np.int64)


def _tournaments(people: list[_Individual], count: int) -> list[_Individual]:
    """Return winners of DEAP's tournaments, which take fours and no more at a time than there are individuals."""
    people = people * -(-_MULTIPLE // len(people))
    max_count = len(people) // _MULTIPLE * _MULTIPLE
    found: list[_Individual] = []
    while len(found) < count:
        found += tools.selTournamentDCD(people, max_count)
    return found[:count]
