"""Every structure of a space, with bounds that spare most of the work: the exact front at a number of costs."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.errors import InputError
from evo_libra.front.archive import non_dominated
from evo_libra.optimality.bounds import VariantBounds
from evo_libra.optimality.ideal_bandwidth import Ideal, empty_ideal, levels, tiles, with_variants
from evo_libra.optimality.pruning import prune
from evo_libra.problem.pricing.parts import BuiltTopologies
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import Genome, SearchProblem
from evo_libra.searching.engine import Engine, EngineState


class ExhaustiveEngine(Engine):
    """Finds the fastest design at each of as many costs as the population has designs.

    A generation is what a tile of structures adds to the front; when no tile is left, every design emitted last at a
    cost is the fastest one there, to a relative gap of `evo_libra.optimality.bounds.EXACT`.

    Of dimensions that are built of parts it solves the relaxed problem, with parts in any fraction, and around each of
    its optima tries whole ports: in every dimension the nearest number, one step fewer and one more. These designs are
    near the best ones but need not be they: exact only to the gap that `evo_libra.optimality.certificate` proves.

    Of a space without a table, topologies that are beaten at every cost are pruned first (`.optimality.pruning`).
    """

    in_order = "exhaustive goes through a space in order"

    def __init__(self, problem: Problem) -> None:
        self._problem, self._solved = problem, problem.relaxed()
        self._known: tuple[VariantBounds, FloatArray, list[IntArray]] | None = None

    @staticmethod
    def of(problem: SearchProblem) -> ExhaustiveEngine:
        """Return the engine for a problem.

        Raises
        ------
        InputError : the problem is not one of a problem file, so that nothing can be enumerated.
        """
        if isinstance(problem, Problem):
            if not problem.time.exact:
                raise InputError(f"exhaustive solves for bandwidths under LIBRA's time; '{problem.name}' has another")
            return ExhaustiveEngine(problem)
        raise InputError(f"'{problem.name}' is written in Python; exhaustive enumerates the space of a problem file")

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

    def tell(self, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> EngineState:  # noqa: ARG002
        """Return the state once genes are known, all that were asked for or the first of them."""
        learned, offered = int(state.arrays["learned"]) + genes.shape[1], int(state.arrays["offered"])
        if learned < offered:
            return EngineState({**state.arrays, "learned": np.array(float(learned))}, state.random)
        following = {"tile": state.arrays["tile"] + 1.0, "learned": np.array(0.0), "time": state.arrays["after"]}
        return EngineState({**state.arrays, **following}, state.random)

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
        if self._problem.pricing.kits and len(new):
            return _whole(self._problem, part, ideal.bandwidth[:, new])
        return self._problem.encode(part.structure, part.gene, ideal.bandwidth[:, new], ideal.cost[new])


def _whole(problem: Problem, part: VariantBounds, bandwidth: FloatArray) -> FloatArray:
    """Return the (g, m) genes of the best designs of whole ports around (d, n) bandwidths of some structures."""
    depth, count = bandwidth.shape
    steps = np.array(list(itertools.product((0.0, -1.0, 1.0), repeat=depth)))
    every = np.tile(np.arange(count), len(steps))
    designs = problem.pricing.topologies_of(part.npus, part.technology, part.gene, part.structure)
    assert isinstance(designs, BuiltTopologies), "only parts are whole"  # noqa: S101 - our mistake
    hardware = designs.hardware.select(every)
    ports = hardware.ports(bandwidth[:, every]) + np.repeat(steps, count, axis=0).T * hardware.quantum
    whole = np.clip(ports, hardware.min_ports, hardware.max_ports) * hardware.rate
    _, first = np.unique(np.vstack([part.structure[every], whole]), axis=1, return_index=True)
    structure, gene = part.structure[every[first]], part.gene[:, every[first]]
    genes = problem.encode(structure, gene, whole[:, first], np.ones(len(first)))
    found = problem.evaluate_genes(genes)
    feasible = np.flatnonzero(found.violation <= 0)
    return genes[:, feasible[non_dominated(found.objectives[:, feasible])]]
