"""NSGA-II and NSGA-III of pymoo behind the engine contract; the one module that imports pymoo.

Survival is pymoo's (its ranking is moocore's); selection, variation and the search for duplicates are arrays of ours,
since pymoo's own go through Python objects one by one and take most of its time.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from pymoo.algorithms.moo.nsga3 import ReferenceDirectionSurvival
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.operators.survival.rank_and_crowding.metrics import calc_crowding_distance
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting
from pymoo.util.ref_dirs import get_reference_directions

from evo_libra.model.arrays import FloatArray, IntArray
from evo_libra.problem.genome import Genome
from evo_libra.search.engine import EngineState
from evo_libra.search.variation import is_new, offspring

_ATTEMPTS = 20
_NORMALISATION = ("ideal_point", "worst_point", "nadir_point", "extreme_points")


class PymooEngine:
    """NSGA-II (Deb et al. 2002) or NSGA-III (Deb and Jain 2014).

    Parameters
    ----------
    algorithm : ``nsga2`` or ``nsga3``.
    """

    def __init__(self, algorithm: str) -> None:
        self._algorithm = algorithm
        self._genome: Genome | None = None
        self._directions = np.empty((0, 0))

    def start(self, genome: Genome, objectives: int, population: int, seed: int) -> EngineState:
        """Return the state before the first generation."""
        self._genome = genome
        if self._algorithm == "nsga3":
            self._directions = reference_directions(objectives, population)
        random = np.random.Generator(np.random.PCG64(seed))
        arrays = {
            "size": np.array(float(population)),
            "genes": np.empty((len(genome), 0)),
            "objectives": np.empty((objectives, 0)),
            "violation": np.empty(0),
            "crowding": np.empty(0),
        }
        return EngineState(arrays, random.bit_generator.state)

    def ask(self, state: EngineState) -> tuple[FloatArray, EngineState]:
        """Return the next generation: a sample at first, then children that are new."""
        assert self._genome is not None, "start comes first"  # noqa: S101 - a programming error, not a user's
        random = state.generator()
        size = int(state.arrays["size"])
        known = state.arrays["genes"]
        found = np.empty((len(self._genome), 0))
        for _ in range(_ATTEMPTS):
            tried = self._genome.sample(random, size) if not known.shape[1] else self._children(state, size, random)
            found = np.concatenate([found, tried[:, is_new(tried, np.concatenate([known, found], axis=1))]], axis=1)
            if found.shape[1] >= size:
                break
        return found[:, :size], EngineState(state.arrays, random.bit_generator.state)

    def _children(self, state: EngineState, size: int, random: np.random.Generator) -> FloatArray:
        assert self._genome is not None  # noqa: S101 - checked by ask
        parents = state.arrays["genes"][:, _tournament(state, 2 * ((size + 1) // 2), random)]
        half = parents.shape[1] // 2
        return offspring(self._genome, parents[:, :half], parents[:, half:], random)

    def tell(self, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> EngineState:
        """Return the state with the survivors of the parents and the children."""
        old = state.arrays
        merged = {
            "genes": np.concatenate([old["genes"], genes], axis=1),
            "objectives": np.concatenate([old["objectives"], objectives], axis=1),
            "violation": np.concatenate([old["violation"], violation]),
        }
        random = state.generator()
        survivors, extra = self._survive(old, merged, random)
        kept = {name: values[..., survivors] for name, values in merged.items()}
        return EngineState({"size": old["size"], **kept, **extra}, random.bit_generator.state)

    def _survive(
        self,
        old: Mapping[str, FloatArray],
        merged: Mapping[str, FloatArray],
        random: np.random.Generator,
    ) -> tuple[IntArray, dict[str, FloatArray]]:
        size = int(old["size"])
        if self._algorithm == "nsga2":
            chosen, crowding = rank_and_crowding(merged["objectives"], merged["violation"], size)
            return chosen, {"crowding": crowding}
        population = Population.new(
            "X", np.arange(merged["violation"].size), "F", merged["objectives"].T, "G", merged["violation"][:, None]
        )
        problem = Problem(n_var=1, n_obj=len(merged["objectives"]), n_ieq_constr=1)
        survival = self._reference_survival(old)
        survivors = survival.do(problem, population, n_survive=min(size, len(population)), random_state=random)
        chosen = np.array([int(individual.X) for individual in survivors])
        norm = survival.norm
        kept = {name: getattr(norm, name) for name in _NORMALISATION if getattr(norm, name) is not None}
        return chosen, {"crowding": np.zeros(len(chosen)), **{k: np.asarray(v, float) for k, v in kept.items()}}

    def _reference_survival(self, old: Mapping[str, FloatArray]) -> ReferenceDirectionSurvival:
        survival = ReferenceDirectionSurvival(self._directions)
        for name in _NORMALISATION:
            if name in old:
                setattr(survival.norm, name, old[name].copy())
        return survival


def rank_and_crowding(objectives: FloatArray, violation: FloatArray, size: int) -> tuple[IntArray, FloatArray]:
    """Return the survivors of NSGA-II, best first, and their crowding distances.

    Feasible designs go front by front, the last front by crowding; infeasible ones fill up by their violation.

    Parameters
    ----------
    objectives : (m, n).
    violation : (n,).
    size : how many survive, at most.
    """
    feasible = np.flatnonzero(violation <= 0)
    infeasible = np.flatnonzero(violation > 0)
    chosen: list[IntArray] = []
    crowding: list[FloatArray] = []
    left = size
    values = objectives.T[feasible]
    for front in NonDominatedSorting().do(values, n_stop_if_ranked=size) if len(feasible) else []:
        # Finite, so that a state is plain numbers: an end of a front is less crowded than anything.
        distance = np.nan_to_num(calc_crowding_distance(values[front]), posinf=1e300)
        order = np.argsort(-distance, kind="stable")[:left] if len(front) > left else np.arange(len(front))
        chosen.append(feasible[np.asarray(front)[order]])
        crowding.append(distance[order])
        left -= len(order)
        if not left:
            break
    rest = infeasible[np.argsort(violation[infeasible], kind="stable")][:left]
    return np.concatenate([*chosen, rest]).astype(np.int64), np.concatenate([*crowding, np.zeros(len(rest))])


def reference_directions(objectives: int, population: int) -> FloatArray:
    """Return the most Das-Dennis directions that the population can serve: (k, m), k <= population."""
    if objectives == 1:
        return np.ones((1, 1))
    partitions, found = 1, np.eye(objectives)
    while True:
        directions = np.asarray(get_reference_directions("das-dennis", objectives, n_partitions=partitions))
        if len(directions) > population:
            return found
        partitions, found = partitions + 1, directions


def _tournament(state: EngineState, count: int, random: np.random.Generator) -> IntArray:
    """Return the winners of binary tournaments: less violation, then dominance, then less crowded, then the first."""
    arrays = state.arrays
    one, two = random.integers(0, arrays["violation"].size, (2, count))
    objectives, violation, crowding = arrays["objectives"], arrays["violation"], arrays["crowding"]
    better = (objectives[:, two] <= objectives[:, one]).all(axis=0) & (objectives[:, two] < objectives[:, one]).any(
        axis=0
    )
    worse = (objectives[:, one] <= objectives[:, two]).all(axis=0) & (objectives[:, one] < objectives[:, two]).any(
        axis=0
    )
    second = better | (~worse & (crowding[two] > crowding[one]))
    broken = (violation[one] > 0) | (violation[two] > 0)
    return np.asarray(np.where(np.where(broken, violation[two] < violation[one], second), two, one))
