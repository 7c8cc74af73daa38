"""Engines that prove what they find: the exact front of a space, and the best bandwidths of a few networks."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cached_property

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.errors import InputError
from evo_libra.front.archive import non_dominated
from evo_libra.optimality.bounds import EXACT, VariantBounds, topologies_of
from evo_libra.optimality.ideal_bandwidth import Ideal, empty_ideal, levels, tiles, with_variants
from evo_libra.optimality.order_fronts import front_of_orders
from evo_libra.optimality.pruning import prune
from evo_libra.optimality.scope import EXACT_FRONT, scope_of
from evo_libra.optimality.whole_designs import MAX_NETWORKS, MAX_TIMED, effort_of
from evo_libra.optimality.whole_front import whole_front
from evo_libra.problem.allocation import Allocation
from evo_libra.problem.designs import genes_of
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.optimize import every_network, optimize
from evo_libra.problem.plan_goals import GOALS
from evo_libra.problem.plans import check_time_decides
from evo_libra.problem.pricing.parts import BuiltTopologies
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import COST, TIME, Genome, ReadsDesigns, SearchProblem
from evo_libra.searching.engine import Engine, EngineState
from evo_libra.searching.evaluation.usable import evaluate


class ExhaustiveEngine(Engine):
    """Proves the front that it finds.

    Of whole ports it evaluates every network, with every plan and every way to run collectives, under any time and for
    any objectives, and asks for the designs of the exact front in one generation; see
    `evo_libra.optimality.whole_front`. All else is of bandwidths in any fraction, of more designs of whole ports than
    it can evaluate, and of time and cost under LIBRA's time.

    There it finds the fastest design at each of as many costs as the population has designs. A generation is what a
    tile of combinations adds to the front; when no tile is left, every design emitted last at a cost is the fastest one
    there, to a relative gap of `evo_libra.optimality.bounds.EXACT`.

    Of too many designs of whole ports it solves the relaxed problem, with parts in any fraction, and around each of
    its optima tries whole ports: in every dimension the nearest number, one step fewer and one more. These designs are
    near the best ones but need not be they: exact only to the gap that `evo_libra.optimality.certificate` proves. So
    are those under a limit of what a faster and cheaper design may have more of, such as energy.

    If workloads leave plans open, it evaluates every pair of a topology and a plan that fits the memory, without the
    plans that another one beats on every network.

    Of a space without a table, topologies that are beaten at every cost are pruned first (`.optimality.pruning`).
    """

    in_order = "exhaustive goes through a space in order"

    def __init__(self, problem: SearchProblem) -> None:
        if not isinstance(problem, Problem):
            raise InputError(f"{_other(problem)}; exhaustive enumerates the space of a problem file")
        self._problem, self._whole = problem, effort_of(problem) is not None
        if not self._whole:
            _check_time_and_cost(problem)
        self._known: tuple[VariantBounds, FloatArray, list[IntArray]] | None = None

    def start(self, genome: Genome, objectives: int, population: int, seed: int) -> EngineState:  # noqa: ARG002
        """Return the state before the first tile.

        The engine knows `learned` designs of tile number `tile`; with all `offered` ones, `after` are the best times.
        """
        none = np.full(population, np.inf)
        numbers = {"levels": population, "tile": 0, "learned": 0, "offered": 0}
        arrays = {name: np.array(float(number)) for name, number in numbers.items()}
        return EngineState({**arrays, "time": none, "after": none}, np.random.PCG64(seed).state)

    def ask(self, state: EngineState) -> tuple[FloatArray, EngineState]:
        """Return what the next tile that improves the front adds to it; nothing after the last one."""
        if self._whole:
            return self._at_once(self._best, state)
        bounds, cost, parts = self._space(int(state.arrays["levels"]))
        tile, learned, time = int(state.arrays["tile"]), int(state.arrays["learned"]), state.arrays["time"][: len(cost)]
        genes = np.empty((len(self._problem.genome), 0))
        while tile < len(parts):
            before = replace(empty_ideal(cost, len(self._problem.choices)), time=time)
            after = with_variants(self._solved, bounds, parts[tile], before)
            genes = self._genes(bounds, after)
            if genes.shape[1]:
                numbers = {"tile": tile, "offered": genes.shape[1]}
                arrays = {name: np.array(float(number)) for name, number in numbers.items()}
                state = EngineState({**state.arrays, **arrays, "time": time, "after": after.time}, state.random)
                break
            tile += 1
        return genes[:, learned:], state

    @cached_property
    def _solved(self) -> Problem:
        return self._problem.relaxed()

    @cached_property
    def _best(self) -> FloatArray:
        """The (g, m) genes of the front of whole ports."""
        found = whole_front(self._problem) if self._problem.book is None else front_of_orders(self._problem)
        assert found is not None, "their number was evaluated"  # noqa: S101 - internal error
        return found.designs.genes(self._problem)

    def _at_once(self, genes: FloatArray, state: EngineState) -> tuple[FloatArray, EngineState]:
        learned = int(state.arrays["learned"])
        if state.arrays["tile"]:
            return genes[:, :0], state
        return genes[:, learned:], EngineState(
            {**state.arrays, "offered": np.array(float(genes.shape[1]))}, state.random
        )

    def tell(self, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> EngineState:  # noqa: ARG002
        """Return the state once genes are known, all that were asked for or the first of them."""
        learned, offered = int(state.arrays["learned"]) + genes.shape[1], int(state.arrays["offered"])
        if learned < offered:
            return EngineState({**state.arrays, "learned": np.array(float(learned))}, state.random)
        following = {"tile": state.arrays["tile"] + 1.0, "learned": np.array(0.0), "time": state.arrays["after"]}
        return EngineState({**state.arrays, **following}, state.random)

    def claim(self, population: int) -> str:
        """Return whether the front is exact, at how many costs, or only near it, and the space of this proof."""
        if self._whole:
            return f"{EXACT_FRONT} {scope_of(self._problem)}"
        if self._problem.pricing.whole:
            near = "whole ports next to the best parts in any fraction, so `certify` says how far it may be from"
            return f"The front is not exact: it has {near} the best of {scope_of(self._problem)}"
        return (
            f"The front has the fastest design at each of {population:,} costs, to a relative {EXACT:g}, of "
            f"{scope_of(self._problem)}"
        )

    def _space(self, count: int) -> tuple[VariantBounds, FloatArray, list[IntArray]]:
        if self._known is None:
            bounds = prune(self._solved)
            self._known = bounds, levels(self._solved, bounds, count), list(tiles(bounds))
        return self._known

    def _genes(self, bounds: VariantBounds, ideal: Ideal) -> FloatArray:
        new = np.flatnonzero(ideal.variant >= 0)
        if not len(new):
            return np.empty((len(self._problem.genome), 0))
        part = bounds.select(ideal.variant[new])
        if self._problem.pricing.whole and len(new):
            return _whole(self._problem, part, ideal.bandwidth[:, new])
        return self._problem.encode(
            part.structure, part.gene, ideal.bandwidth[:, new], ideal.cost[new], _plan_of(self._problem, part)
        )


def _check_time_and_cost(problem: Problem) -> None:
    """Refuse a problem whose designs are too many to evaluate each, if the front of others cannot be proven."""
    if len(problem.sources.spares) > 1:
        raise InputError(
            f"exhaustive chooses spares where it evaluates each design of whole ports, and '{problem.name}' has too "
            "many or other ones; with one number in `faults.spares` it proves time and cost, and nsga2 searches all"
        )
    if problem.pricing.whole and not (problem.time.exact and set(problem.objectives) <= {TIME, COST}):
        raise InputError(
            f"'{problem.name}' has more designs of whole ports than exhaustive evaluates ({MAX_NETWORKS:,}, or "
            f"{MAX_TIMED:,} where LIBRA's time bounds none of them); of more it proves the front of time and cost "
            "under LIBRA's time, and nsga2 searches others"
        )
    if not problem.time.exact:
        raise InputError(f"exhaustive solves for bandwidths under LIBRA's time; '{problem.name}' has another")
    robust = [one.name for one in problem.objectives if MEASURES[one.name].statistic is not None]
    if robust:
        raise InputError(
            f"exhaustive proves fronts at stated prices and weights, and {robust[0]} is over scenarios; nsga2 "
            "searches it"
        )
    others = [objective.name for objective in problem.objectives if objective not in (TIME, COST)]
    if others:
        raise InputError(f"exhaustive proves the front of time and cost; '{problem.name}' has {', '.join(others)}, too")
    check_time_decides(problem.time, problem.constraints)


def _front_of(problem: Problem, genes: FloatArray) -> FloatArray:
    """Return those of some designs that meet the limits and that no other one beats."""
    found = problem.evaluate_genes(genes)
    feasible = np.flatnonzero(found.violation <= 0)
    return genes[:, feasible[non_dominated(found.objectives[:, feasible])]]


def _plan_of(problem: Problem, part: VariantBounds) -> IntArray | None:
    return part.plan if problem.time.tables else None


def _whole(problem: Problem, part: VariantBounds, bandwidth: FloatArray) -> FloatArray:
    """Return the (g, m) genes of the best designs of whole ports around (d, n) bandwidths of some combinations."""
    depth, count = bandwidth.shape
    steps = np.array(list(itertools.product((0.0, -1.0, 1.0), repeat=depth)))
    every = np.tile(np.arange(count), len(steps))
    designs = topologies_of(problem, part)
    assert isinstance(designs, BuiltTopologies), "only parts are whole"  # noqa: S101 - internal error
    hardware = designs.hardware.select(every)
    ports = hardware.ports(bandwidth[:, every]) + np.repeat(steps, count, axis=0).T * hardware.quantum
    whole = np.clip(ports, hardware.min_ports, hardware.max_ports) * hardware.rate
    _, first = np.unique(np.vstack([part.structure[every], part.plan[:, every], whole]), axis=1, return_index=True)
    chosen = part.select(every[first])
    genes = problem.encode(
        chosen.structure, chosen.gene, whole[:, first], np.ones(len(first)), _plan_of(problem, chosen)
    )
    return _front_of(problem, genes)


ACCURACY = 1e-9
"""Relative difference between what was proven and what the genes decode to, beyond which they are refused."""
PROVEN = 1e-6
"""Relative distance to the bound beyond which a design does not count as proven."""


class OptimizeEngine(Engine):
    """Asks for the design with the least first objective, `time` or `time-cost`, which is proven, and for nothing else.

    It is that of `evo_libra.problem.optimize.optimize`, with the bounds and the constraints of the problem.
    """

    in_order = "optimize evaluates one design alone"

    def __init__(self, problem: SearchProblem) -> None:
        if not isinstance(problem, Problem):
            raise InputError(f"{_other(problem)}; optimize solves for bandwidths of a problem file")
        if not problem.time.exact:
            raise InputError(f"optimize solves for bandwidths under LIBRA's time; '{problem.name}' has another")
        if problem.pricing.whole:
            raise InputError(
                f"the parts of '{problem.name}' come in whole ports, and optimize takes any fraction of them; "
                "search with exhaustive, or with `bandwidth: optimal`"
            )
        every_network(problem)
        _check_objectives(problem)
        self._problem = problem
        self._best: FloatArray | None = None

    def start(self, genome: Genome, objectives: int, population: int, seed: int) -> EngineState:  # noqa: ARG002
        """Return the state before the design was asked for; `known` is 1 once the engine knows it."""
        return EngineState({"asked": np.array(0.0), "known": np.array(0.0)}, np.random.PCG64(seed).state)

    def ask(self, state: EngineState) -> tuple[FloatArray, EngineState]:
        """Return the one design; nothing once it is known.

        Raises `InputError` if nothing limits the bandwidths, or none meet the constraints (a `ConflictError`).
        """
        if state.arrays["known"]:
            return np.empty((len(self._problem.genome), 0)), state
        if self._best is None:
            self._best = _genes(self._problem)
        return self._best.copy(), EngineState({**state.arrays, "asked": np.array(1.0)}, state.random)

    def tell(self, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> EngineState:  # noqa: ARG002
        """Return the state once what was asked for is known; other designs change nothing."""
        return EngineState({**state.arrays, "known": state.arrays["asked"]}, state.random)

    def claim(self, population: int) -> str:  # noqa: ARG002 - it is one design
        """Return that no design has less of the first objective, and the space of this proof."""
        goal = self._problem.objectives[0].name
        return f"No design has less {goal}, to a relative {PROVEN:g}, of {scope_of(self._problem)}"


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


def _other(problem: SearchProblem) -> str:
    """Return what a problem is that has no space of designs or orders."""
    kind = "asks for a fabric of switches" if isinstance(problem, ReadsDesigns) else "is written in Python"
    return f"'{problem.name}' {kind}"
