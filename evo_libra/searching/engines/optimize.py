"""The best bandwidths of the few networks of a problem, proven: a search of one design."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.problem.allocation import Allocation
from evo_libra.problem.designs import genes_of
from evo_libra.problem.optimize import GOALS, every_network, optimize
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import COST, TIME, Genome, SearchProblem
from evo_libra.searching.engine import Engine, EngineState, evaluate

ACCURACY = 1e-9
"""Relative difference between what was proven and what the genes decode to, beyond which they are refused."""
PROVEN = 1e-6
"""Relative distance to the bound beyond which a design does not count as proven."""


class OptimizeEngine(Engine):
    """Asks for the design with the least first objective, `time` or `time-cost`, which is proven, and for nothing else.

    It is that of `evo_libra.problem.optimize.optimize`, with the bounds and the constraints of the problem.
    """

    in_order = "optimize evaluates one design alone"

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._best: FloatArray | None = None

    @staticmethod
    def of(problem: SearchProblem) -> OptimizeEngine:
        """Return the engine for a problem.

        Raises
        ------
        InputError : the problem is not one of a problem file, its time is not LIBRA's, its parts are whole, it has
            too many networks, or its first objective has no proof.
        """
        if not isinstance(problem, Problem):
            raise InputError(f"'{problem.name}' is written in Python; optimize solves for bandwidths of a problem file")
        if not problem.time.exact:
            raise InputError(f"optimize solves for bandwidths under LIBRA's time; '{problem.name}' has another")
        if problem.pricing.whole:
            raise InputError(
                f"the parts of '{problem.name}' come in whole ports, and optimize takes any fraction of them; "
                "search with exhaustive, or with `bandwidth: optimal`"
            )
        every_network(problem)
        _check_objectives(problem)
        return OptimizeEngine(problem)

    def start(self, genome: Genome, objectives: int, population: int, seed: int) -> EngineState:  # noqa: ARG002
        """Return the state before the design was asked for; `known` is 1 once the engine knows it."""
        return EngineState({"asked": np.array(0.0), "known": np.array(0.0)}, np.random.PCG64(seed).state)

    def ask(self, state: EngineState) -> tuple[FloatArray, EngineState]:
        """Return the one design; nothing once it is known.

        Raises
        ------
        InputError : nothing limits the bandwidths, or none meet the constraints (a `ConflictError`).
        """
        if state.arrays["known"]:
            return np.empty((len(self._problem.genome), 0)), state
        if self._best is None:
            self._best = _genes(self._problem)
        return self._best.copy(), EngineState({**state.arrays, "asked": np.array(1.0)}, state.random)

    def tell(self, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> EngineState:  # noqa: ARG002
        """Return the state once what was asked for is known; other designs change nothing."""
        return EngineState({**state.arrays, "known": state.arrays["asked"]}, state.random)


def _check_objectives(problem: Problem) -> None:
    names = [objective.name for objective in problem.objectives]
    if names[0] not in GOALS:
        raise InputError(
            f"optimize proves the least of the first objective, {' or '.join(GOALS)}; found {names[0]} first"
        )
    if problem.optimal and names[0] != TIME.name and COST.name not in names:
        raise InputError(
            f"with `bandwidth: optimal` the bandwidths of '{problem.name}' have the least time whatever they cost, "
            "unless cost is an objective, too; for time-cost add it, or use `bandwidth: search`"
        )


def _genes(problem: Problem) -> FloatArray:
    """Return the (g, 1) genes of the best design."""
    goal = problem.objectives[0].name
    best = optimize(problem, objective=goal)
    if best.status != "optimal":
        raise InputError(f"'{problem.name}' is unbounded: {best.reason}")
    if best.gap > PROVEN:
        raise InputError(
            f"the least {goal} of '{problem.name}' is proven to a relative {best.gap:.1g} only; a larger least "
            "bandwidth, or a constraint on their sum, helps"
        )
    genes = genes_of(problem, best.network)
    _check_genes(problem, best, genes)
    return genes


def _check_genes(problem: Problem, best: Allocation, genes: FloatArray) -> None:
    """Refuse genes that do not decode to what was proven, such as those of a budget that none of them can name."""
    result = evaluate(problem, genes)
    proven = best.time if problem.objectives[0].name == TIME.name else best.time * best.cost
    found = float(result.objectives[0, 0])
    if result.violation[0] > 0 or abs(found - proven) > ACCURACY * proven:
        raise InputError(
            f"the genes of '{problem.name}' cannot say its best bandwidths to a relative {ACCURACY:g}; "
            f"{'`bandwidth: search` can' if problem.optimal else 'wider bounds of bandwidth may'}"
        )
