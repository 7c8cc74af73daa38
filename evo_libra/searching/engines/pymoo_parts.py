"""Functions of pymoo on arrays; no other module imports pymoo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray
from pymoo.algorithms.moo.ctaea import CADASurvival, RestrictedMating, comp_by_cv_dom_then_random
from pymoo.algorithms.moo.moead import ParallelMOEAD
from pymoo.algorithms.moo.nsga2 import binary_tournament
from pymoo.algorithms.moo.nsga3 import HyperplaneNormalization, ReferenceDirectionSurvival, comp_by_cv_then_random
from pymoo.algorithms.moo.omni import NeighborBasedTournamentSelection, OmniOptimizerSurvival
from pymoo.algorithms.moo.rvea import APDSurvival
from pymoo.algorithms.moo.sms import LeastHypervolumeContributionSurvival, cv_and_dom_tournament
from pymoo.algorithms.moo.spea2 import SPEA2Survival, spea_binary_tournament
from pymoo.algorithms.moo.unsga3 import comp_by_rank_and_ref_line_dist
from pymoo.config import Config
from pymoo.core.individual import Individual, default_config
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.selection import Selection
from pymoo.core.survival import Survival
from pymoo.operators.selection.rnd import RandomSelection
from pymoo.operators.selection.tournament import TournamentSelection
from pymoo.operators.survival.rank_and_crowding import RankAndCrowding

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.installed import require
from evo_libra.searching.engines.library import Arrays, quiet

# pymoo would print a hint to standard output, where answers in JSON go.
Config.warnings["not_compiled"] = False

_CONFIGURATION = default_config()
_NEIGHBOURS = 20
_DIGITS = 12  # To which AGE-MOEA rounds, too; but of designs that are alike then it divides by 0.
_SCALE = ("ideal_point", "worst_point", "nadir_point", "extreme_points")


@dataclass(frozen=True)
class Scheme:
    """An algorithm that merges parents and children and keeps the best.

    `survival` is built for m objectives and (k, m) reference directions, if the scheme is `directed`. It writes `marks`
    on designs, which selection reads, and it, or its `norm`, remembers `memory` between two generations; `bounded`
    survival scales by the ends of the population before children came. Objectives are rounded to `digits`, and designs
    that are alike then merged. With `by_rank`, `binary_tournament` compares ranks, and not dominance.
    """

    selection: Selection
    survival: Callable[[int, FloatArray], Survival]
    marks: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    min_objectives: int = 1
    directed: bool = False
    bounded: bool = False
    digits: int | None = None
    by_rank: bool = False


def scheme(name: str) -> Scheme:
    """Return an algorithm with pymoo's own defaults, its operators aside.

    Raises `InputError` if the algorithm needs a package that is not installed.
    """
    by_crowding, crowding = TournamentSelection(func_comp=binary_tournament), ("rank", "crowding")
    if name in {"agemoea", "agemoea2"}:
        return Scheme(by_crowding, _geometry(name), crowding, min_objectives=2, by_rank=True, digits=_DIGITS)
    by_niche = TournamentSelection(func_comp=_seeded(comp_by_rank_and_ref_line_dist))
    return {
        "nsga2": Scheme(by_crowding, lambda _, __: RankAndCrowding(), crowding),
        "nsga3": Scheme(
            TournamentSelection(func_comp=_seeded(comp_by_cv_then_random)), _niches, (), _SCALE, directed=True
        ),
        "unsga3": Scheme(by_niche, _niches, ("rank", "niche", "dist_to_niche"), _SCALE, directed=True),
        "smsemoa": Scheme(
            TournamentSelection(func_comp=cv_and_dom_tournament),
            lambda _, __: LeastHypervolumeContributionSurvival(),
            bounded=True,
        ),
        "spea2": Scheme(TournamentSelection(spea_binary_tournament), _strength, ("SPEA_F",), _SCALE),
        "rvea": Scheme(
            RandomSelection(),
            lambda _, directions: APDSurvival(directions),
            memory=("ideal", "nadir", "V", "gamma"),
            min_objectives=2,
            directed=True,
        ),
        "omnioptimizer": Scheme(NeighborBasedTournamentSelection(), lambda _, __: OmniOptimizerSurvival(), crowding),
    }[name]


Compare = Callable[..., NDArray[np.int64]]
"""Returns the (n, 1) winners of (n, 2) members of a population."""


def _seeded(compare: Compare) -> Compare:
    """Return a comparison that draws between infeasible designs of equal violation from the engine's random numbers.

    pymoo's own draws between them from a generator without a seed.
    """

    def compare_seeded(
        population: Population, pairs: IntArray, random_state: np.random.Generator, **options: object
    ) -> IntArray:
        violation = population.get("CV")[:, 0][pairs]
        tied = (violation[:, 0] > 0) & (violation[:, 0] == violation[:, 1])
        winners = np.empty((len(pairs), 1), dtype=np.int64)
        winners[~tied] = compare(population, pairs[~tied], random_state=random_state, **options)
        winners[tied, 0] = random_state.permuted(pairs[tied], axis=1)[:, 0]
        return winners

    return compare_seeded


def _niches(_: int, directions: FloatArray) -> Survival:
    return ReferenceDirectionSurvival(directions)


def _strength(objectives: int, _: FloatArray) -> Survival:
    survival = SPEA2Survival(normalize=True)
    survival.norm = HyperplaneNormalization(objectives)
    return survival


def _geometry(name: str) -> Callable[[int, FloatArray], Survival]:
    require("numba", extra="fast", purpose=f"pymoo:{name}")
    from pymoo.algorithms.moo.age import AGEMOEASurvival  # noqa: PLC0415 - it does not load without numba
    from pymoo.algorithms.moo.age2 import AGEMOEA2Survival  # noqa: PLC0415 - the same

    survival = AGEMOEASurvival if name == "agemoea" else AGEMOEA2Survival
    return lambda _, __: survival()


def population_of(arrays: Arrays, marks: Mapping[str, FloatArray] | None = None) -> Population:
    """Return pymoo's form of a population; `places_of` says which designs are left of it later."""
    # One by one and with the sum of violations known: pymoo's own way takes three times as long.
    columns = {"X": arrays["genes"].T, "F": arrays["objectives"].T, "CV": arrays["violation"][:, None], **(marks or {})}
    rows = zip(*(np.ascontiguousarray(column) for column in columns.values()), strict=True)
    return Population(
        [
            Individual(_CONFIGURATION, place=place, **dict(zip(columns, row, strict=True)))
            for place, row in enumerate(rows)
        ]
    )


def places_of(population: Population) -> IntArray:
    """Return where the designs of a population were in the one that it comes from."""
    return np.array([individual.get("place") for individual in population], dtype=np.int64)


def pairs_of(
    selection: Selection, population: Population, count: int, random: np.random.Generator, **options: object
) -> IntArray:
    """Return (2, count) parents."""
    compared = "comp_by_rank_and_crowding" if options.pop("by_rank", False) else "comp_by_dom_and_crowding"
    asking = SimpleNamespace(tournament_type=compared, random_state=random)
    pairs = selection.do(None, population, count, 2, to_pop=False, algorithm=asking, random_state=random, **options)
    return np.asarray(pairs, dtype=np.int64).T


def survivors_of(
    survival: Survival, population: Population, count: int, random: np.random.Generator, **options: object
) -> Population:
    """Return the survivors, at most `count`, feasible designs first."""
    problem = Problem(n_var=1, n_obj=len(population[0].F), n_ieq_constr=1)
    with quiet():
        return survival.do(problem, population, n_survive=min(count, len(population)), random_state=random, **options)


def sub_problems(directions: FloatArray) -> ParallelMOEAD:
    """Return MOEA/D's sub-problems: directions, their neighbours and the way objectives become one."""
    algorithm = ParallelMOEAD(directions, n_neighbors=min(_NEIGHBOURS, len(directions)))
    algorithm.setup(Problem(n_var=1, n_obj=directions.shape[1]))
    return algorithm


def parents_of_sub_problems(
    algorithm: ParallelMOEAD, arrays: Arrays, order: IntArray, random: np.random.Generator
) -> IntArray:
    """Return (2, n) parents, most of them neighbours, for n sub-problems."""
    neighbours = algorithm.neighbors[order]
    return pairs_of(algorithm.selection, population_of(arrays), len(order), random, neighbors=neighbours)


def replaced(
    algorithm: ParallelMOEAD, objectives: FloatArray, known: int, slots: IntArray, ideal: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the design of each sub-problem and the ideal point once children may have replaced some.

    Of (m, n) objectives the first `known` are the population, the others its children. A child is for the sub-problem
    of its slot; below 0 it is for the sub-problem that it suits best.
    """
    nothing = {"genes": objectives[:0], "violation": np.zeros(objectives.shape[1])}
    everyone = population_of({"objectives": objectives, **nothing})
    children, ideal = objectives.T[known:], np.minimum(ideal, objectives[:, known:].min(axis=1))
    scores = algorithm.decomposition.do(children, algorithm.ref_dirs, _type="many_to_many", ideal_point=ideal)
    slots = np.where(slots < 0, scores.argmin(axis=1), slots)
    algorithm.pop, algorithm.ideal, algorithm.indices = everyone[:known], ideal, slots
    algorithm._advance(infills=everyone[known:])  # noqa: SLF001 - pymoo's public step runs its own loop
    return places_of(algorithm.pop), algorithm.ideal


def parents_of_archives(both: Arrays, count: int, random: np.random.Generator) -> IntArray:
    """Return (2, count) parents of C-TAEA's two archives, which are one after the other."""
    return pairs_of(RestrictedMating(func_comp=comp_by_cv_dom_then_random), population_of(both), count, random)


def archives_of(
    directions: FloatArray, arrays: Arrays, first: int, ideal: FloatArray | None, random: np.random.Generator
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the designs of C-TAEA's two archives and the ideal point.

    The arrays hold the first archive, the children, both `first` designs together, and the second archive.
    """
    survival, everyone = CADASurvival(directions), population_of(arrays)
    survival.ideal_point = survival.ideal_point if ideal is None else ideal.copy()
    with quiet():
        converged, diverse = survival.do(
            None, everyone[:first], everyone[first:], n_survive=len(directions), random_state=random
        )
    return places_of(converged), places_of(diverse), survival.ideal_point
