"""Random search: the baseline that every engine has to beat."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.problem.protocol import Genome, SearchProblem
from evo_libra.searching.engine import Engine, EngineState


class RandomEngine(Engine):
    """Samples the genome uniformly."""

    def __init__(self) -> None:
        self._genome: Genome | None = None

    @staticmethod
    def of(_problem: SearchProblem) -> RandomEngine:
        """Return the engine for a problem."""
        return RandomEngine()

    def start(self, genome: Genome, objectives: int, population: int, seed: int) -> EngineState:  # noqa: ARG002
        """Return the state before the first generation."""
        self._genome = genome
        random = np.random.Generator(np.random.PCG64(seed))
        return EngineState({"population": np.array(float(population))}, random.bit_generator.state)

    def ask(self, state: EngineState) -> tuple[FloatArray, EngineState]:
        """Return a sample of the genome."""
        assert self._genome is not None, "start comes first"  # noqa: S101 - a programming error, not a user's
        random = state.generator()
        genes = self._genome.sample(random, int(state.arrays["population"]))
        return genes, EngineState(state.arrays, random.bit_generator.state)

    def tell(self, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> EngineState:  # noqa: ARG002
        """Return the state as it is: nothing is learnt."""
        return state
