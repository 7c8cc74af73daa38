"""Every structure of a space, with bounds that spare most of the work: the exact front at a number of costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evo_libra.errors import InputError
from evo_libra.front.ideal import Ideal, levels, nothing_yet, tiles, with_variants
from evo_libra.front.screen import Screen, screen
from evo_libra.model.arrays import FloatArray, IntArray
from evo_libra.problem.genome import Genome
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem
from evo_libra.search.engine import EngineState


class ExhaustiveEngine:
    """Finds the fastest design at each of as many costs as the population has designs.

    A generation is what a tile of structures adds to the front; when no tile is left, every design emitted last at a
    cost is the fastest one there, to a relative gap of `evo_libra.front.screen.EXACT`.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._known: tuple[Screen, FloatArray, list[IntArray]] | None = None

    @staticmethod
    def of(problem: SearchProblem) -> ExhaustiveEngine:
        """Return the engine for a problem.

        Raises
        ------
        InputError : the problem is not one of a problem file, so that nothing can be enumerated.
        """
        if isinstance(problem, Problem):
            return ExhaustiveEngine(problem)
        raise InputError(f"'{problem.name}' is written in Python; exhaustive enumerates the space of a problem file")

    def start(self, genome: Genome, objectives: int, population: int, seed: int) -> EngineState:  # noqa: ARG002
        """Return the state before the first tile."""
        arrays = {"levels": np.array(float(population)), "tile": np.array(0.0), "time": np.full(population, np.inf)}
        return EngineState(arrays, np.random.PCG64(seed).state)

    def ask(self, state: EngineState) -> tuple[FloatArray, EngineState]:
        """Return what the next tile that improves the front adds to it; nothing after the last one."""
        bounds, cost, parts = self._space(int(state.arrays["levels"]))
        tile, time = int(state.arrays["tile"]), state.arrays["time"][: len(cost)]
        genes = np.empty((len(self._problem.genome), 0))
        while tile < len(parts) and not genes.shape[1]:
            before = replace(nothing_yet(cost, len(self._problem.choices)), time=time)
            after = with_variants(self._problem, bounds, parts[tile], before)
            genes, time, tile = self._genes(bounds, after), after.time, tile + 1
        return genes, EngineState({**state.arrays, "tile": np.array(float(tile)), "time": time}, state.random)

    def tell(self, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> EngineState:  # noqa: ARG002
        """Return the state as it is: what was asked is known already."""
        return state

    def _space(self, count: int) -> tuple[Screen, FloatArray, list[IntArray]]:
        if self._known is None:
            bounds = screen(self._problem)
            self._known = bounds, levels(self._problem, bounds, count), list(tiles(bounds))
        return self._known

    def _genes(self, bounds: Screen, ideal: Ideal) -> FloatArray:
        new = np.flatnonzero(ideal.variant >= 0)
        part = bounds.select(ideal.variant[new])
        return self._problem.encode(part.structure, part.gene, ideal.bandwidth[:, new], ideal.cost[new])
