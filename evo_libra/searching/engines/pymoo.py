"""Algorithms of pymoo behind the engine contract.

Selection and survival are pymoo's, rebuilt from arrays at each step, so that a state can be saved; what an algorithm
remembers between two generations (points that it scales by, a second archive, directions) is among the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.engines import pymoo_parts as parts
from evo_libra.searching.engines.library import Arrays, LibraryAlgorithm, LibraryEngine, chosen, finite, merge
from evo_libra.searching.engines.niching import reference_directions
from evo_libra.searching.evaluation.usable import FAILED_VIOLATION

_EVALUATIONS = 50_000
_ADAPTED = 10
_MAX_VIOLATION = 1e12


class PymooEngine(LibraryEngine):
    """An algorithm of pymoo, such as ``nsga2``; `evo_libra.searching.registry.ENGINES` lists them.

    RVEA's penalty of angles grows to its full size over `evaluations`; no other algorithm has a schedule. Raises
    `InputError` if the algorithm needs a package that is not installed.
    """

    def __init__(self, algorithm: str, evaluations: int = _EVALUATIONS) -> None:
        super().__init__(f"pymoo:{algorithm}", _algorithm(algorithm, evaluations))

    @staticmethod
    def of(algorithm: str, problem: SearchProblem) -> PymooEngine:
        """Return the engine for a problem."""
        return PymooEngine(algorithm, problem.settings.evaluations)


def _algorithm(name: str, evaluations: int) -> LibraryAlgorithm:
    if name == "moead":
        return _Decomposed()
    if name == "ctaea":
        return _TwoArchives()
    scheme = parts.scheme(name)
    needed, directed = scheme.min_objectives, scheme.directed
    if name == "rvea":
        return _Scheduled(scheme, evaluations, min_objectives=needed, directed=directed)
    return _Generational(scheme, min_objectives=needed, directed=directed)


@dataclass(frozen=True)
class _Generational(LibraryAlgorithm):
    """An algorithm that merges parents and children and keeps the best."""

    scheme: parts.Scheme

    def parents(self, arrays: Arrays, random: np.random.Generator) -> tuple[IntArray, IntArray, FloatArray]:
        population = parts.population_of(arrays, {name: arrays[name] for name in self.scheme.marks})
        count = (int(arrays["size"]) + 1) // 2
        pairs = parts.pairs_of(self.scheme.selection, population, count, random, by_rank=self.scheme.by_rank)
        return pairs, np.arange(2 * count), np.zeros(2 * count)

    def survivors(self, arrays: Arrays, new: Arrays, random: np.random.Generator) -> dict[str, FloatArray]:
        everything, scheme = merge(arrays, new), self.scheme
        if scheme.digits is not None:
            everything = _distinct(everything, scheme.digits)
        survival = scheme.survival(len(everything["objectives"]), self.directions)
        keeper = getattr(survival, "norm", survival)
        for name in scheme.memory:
            if name in arrays:
                setattr(keeper, name, arrays[name].copy())
        population, size = parts.population_of(everything), int(arrays["size"])
        kept = parts.survivors_of(survival, population, size, random, **self.options(arrays))
        self.adapt(survival, arrays, new)
        marks = {name: finite([mark or 0.0 for mark in kept.get(name)]) for name in scheme.marks}
        return {**chosen(everything, parts.places_of(kept)), **marks, **_remembered(keeper, scheme.memory)}

    def options(self, arrays: Arrays) -> Mapping[str, Any]:
        if not self.scheme.bounded or not arrays["violation"].size:
            return {}
        return {"ideal": arrays["objectives"].min(axis=1), "nadir": arrays["objectives"].max(axis=1)}

    def adapt(self, survival: Any, arrays: Arrays, new: Arrays) -> None:  # noqa: ANN401 - pymoo's
        """Change a survival for the next generation; most do not."""


def _distinct(population: Arrays, digits: int) -> dict[str, FloatArray]:
    """Return the first of the designs that are alike, objectives rounded."""
    rounded = np.round(population["objectives"], digits)
    _, first = np.unique(np.vstack([rounded, population["violation"]]), axis=1, return_index=True)
    return chosen({**population, "objectives": rounded}, np.sort(first))


def _remembered(keeper: object, names: tuple[str, ...]) -> dict[str, FloatArray]:
    """Return what a survival knows by now; as long as no design is feasible that is nothing."""
    known = {name: getattr(keeper, name) for name in names}
    return {name: np.array(v, float) for name, v in known.items() if v is not None and np.isfinite(v).all()}


@dataclass(frozen=True)
class _Scheduled(_Generational):
    """RVEA, whose penalty of angles grows and whose vectors adapt as the search goes on.

    Beyond its evaluations, or generations, the schedule stays as it is at its end.
    """

    evaluations: int = _EVALUATIONS
    generations: int = 1

    def prepare(self, objectives: int, population: int) -> _Scheduled:
        generations = max(-(-self.evaluations // population), 1)
        return replace(super().prepare(objectives, population), generations=generations)

    def survivors(self, arrays: Arrays, new: Arrays, random: np.random.Generator) -> dict[str, FloatArray]:
        schedule = {"generations": np.array(float(self._generations(arrays)))}
        if arrays["learned"] <= arrays["size"]:
            return {**merge(arrays, new), **schedule}
        return {**super().survivors(arrays, new, random), **schedule}

    def _generations(self, arrays: Arrays) -> int:
        return int(arrays.get("generations", self.generations))

    def options(self, arrays: Arrays) -> Mapping[str, Any]:
        generation, last = max(int(arrays["learned"] // arrays["size"]) - 1, 0), self._generations(arrays)
        return {"n_gen": min(generation, last), "n_max_gen": last}

    def adapt(self, survival: Any, arrays: Arrays, new: Arrays) -> None:  # noqa: ANN401 - pymoo's
        now, period = float(arrays["learned"]), float(arrays["size"]) * -(-self._generations(arrays) // _ADAPTED)
        before = now - new["violation"].size
        # Vectors scaled by a range of 0 would not be numbers.
        ranged = survival.nadir is not None and (survival.nadir > survival.ideal).all()
        if ranged and now // period > before // period:
            survival.adapt()


@dataclass(frozen=True)
class _Decomposed(LibraryAlgorithm):
    """MOEA/D in generations: each sub-problem has a child, which may replace the designs of its neighbours.

    pymoo's takes no constraints; here an infeasible design counts as worse than every feasible one, by its violation.
    """

    min_objectives: int = field(default=2, kw_only=True)
    algorithm: Any = None

    def prepare(self, objectives: int, population: int) -> _Decomposed:
        return replace(self, algorithm=parts.sub_problems(reference_directions(objectives, population)))

    def batch(self, size: int) -> int:  # noqa: ARG002 - one design a sub-problem
        return len(self.algorithm.ref_dirs)

    def parents(self, arrays: Arrays, random: np.random.Generator) -> tuple[IntArray, IntArray, FloatArray]:
        count = self.batch(0)
        order = random.permutation(count)
        pairs = parts.parents_of_sub_problems(self.algorithm, arrays, order, random)
        return pairs, np.arange(count) + count * random.integers(0, 2, count), order.astype(np.float64)

    def survivors(self, arrays: Arrays, new: Arrays, random: np.random.Generator) -> dict[str, FloatArray]:  # noqa: ARG002 - no chance in it
        everything, known = merge(arrays, new), arrays["violation"].size
        objectives = _penalised(everything)
        if not known:
            places = np.arange(self.batch(0)) % new["violation"].size
            return {**chosen(everything, places), "ideal": objectives.min(axis=1)}
        slots = new["slot"].astype(np.int64)
        places, ideal = parts.replaced(self.algorithm, objectives, known, slots, arrays["ideal"])
        return {**chosen(everything, places), "ideal": ideal}


def _penalised(population: Arrays) -> FloatArray:
    """Return (m, n) objectives in which every infeasible design is worse than all feasible ones, by its violation."""
    broken = population["violation"] > 0
    worst = population["objectives"].max(axis=1, initial=0.0, where=~broken)[:, None]
    penalty = np.minimum(population["violation"], _MAX_VIOLATION)
    penalty[population["violation"] >= FAILED_VIOLATION] = 2 * _MAX_VIOLATION
    return np.where(broken, worst + 1.0 + penalty, population["objectives"])


@dataclass(frozen=True)
class _TwoArchives(LibraryAlgorithm):
    """C-TAEA: an archive that converges, which is the population, and one that keeps diversity."""

    min_objectives: int = field(default=2, kw_only=True)
    directed: bool = field(default=True, kw_only=True)

    def batch(self, size: int) -> int:  # noqa: ARG002 - one design a direction
        return len(self.directions)

    def pool(self, arrays: Arrays) -> FloatArray:
        return merge(arrays, _diverse(arrays))["genes"]

    def parents(self, arrays: Arrays, random: np.random.Generator) -> tuple[IntArray, IntArray, FloatArray]:
        count = (len(self.directions) + 1) // 2
        pairs = parts.parents_of_archives(merge(arrays, _diverse(arrays)), count, random)
        return pairs, np.arange(2 * count), np.zeros(2 * count)

    def survivors(self, arrays: Arrays, new: Arrays, random: np.random.Generator) -> dict[str, FloatArray]:
        everything = merge(arrays, new)
        first = everything["violation"].size
        if first < len(self.directions):
            return {**everything, **_as_diverse(everything)}
        known = merge(everything, _diverse(arrays)) if "diverse_genes" in arrays else everything
        converged, diverse, ideal = parts.archives_of(self.directions, known, first, arrays.get("ideal"), random)
        return {**chosen(known, converged), **_as_diverse(chosen(known, diverse)), "ideal": ideal}


def _as_diverse(population: Arrays) -> dict[str, FloatArray]:
    return {f"diverse_{name}": values for name, values in population.items()}


def _diverse(arrays: Arrays) -> dict[str, FloatArray]:
    return {name: arrays[f"diverse_{name}"] for name in ("genes", "objectives", "violation")}
