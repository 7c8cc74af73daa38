"""The contract of an engine: start, ask, tell on arrays."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import FloatArray
from evo_libra.errors import EngineError, unknown
from evo_libra.problem.genome import Genome
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.registry import load_own_engine, own_engine_names

Arrays = Mapping[str, NDArray[Any]]
"""What an engine remembers, by name."""


@dataclass(frozen=True)
class EngineState:
    """All that an engine remembers: arrays and the state of its random numbers, so that it can be saved and resumed.

    Attributes
    ----------
    arrays : by name, as the engine likes.
    random : state of a `numpy.random.PCG64` bit generator, as plain data.
    """

    arrays: Arrays
    random: Mapping[str, Any]

    def generator(self, reused: np.random.Generator | None = None) -> np.random.Generator:
        """Return a generator that goes on where this state stopped; one that is reused need not be made."""
        generator = reused or np.random.Generator(np.random.PCG64(0))
        state: Any = dict(self.random)
        generator.bit_generator.state = state
        return generator


class Engine(Protocol):
    """A search algorithm as pure functions of its state.

    `ask` may be called again on a state and gives the same genes; `tell` on a state that was saved and loaded gives
    what it would have given at once. Objectives are minimised; they come as log10, since designs differ by factors.
    """

    def start(self, genome: Genome, objectives: int, population: int, seed: int) -> EngineState:
        """Return the state before the first generation."""

    def ask(self, state: EngineState) -> tuple[FloatArray, EngineState]:
        """Return (g, n) legal genes to evaluate; none when the engine has nothing left to try."""

    def tell(self, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> EngineState:
        """Return the state after (g, n) genes have got (m, n) objectives and (n,) violations.

        After `ask` they are what was asked, or the first of it. Otherwise they are designs from elsewhere: those that a
        search starts from, those of another search, those that were improved; engines that learn nothing ignore them.
        """


OWN = ("nsga2", "nsga3", "random", "exhaustive", "optimize")
WITHOUT_CHANCE = ("exhaustive", "optimize")
"""Those that ask for the same designs whatever the seed, in an order of their own, and learn nothing from others."""
LIBRARIES: dict[str, tuple[str, ...]] = {
    "pymoo": (
        "nsga2", "nsga3", "unsga3", "agemoea", "agemoea2", "smsemoa", "moead", "rvea", "spea2", "ctaea",
        "omnioptimizer",
    ),
    "deap": ("nsga2", "nsga3", "spea2"),
}  # fmt: skip
"""Algorithms of other libraries, called ``<library>:<algorithm>``; listed here, as importing a library takes long."""


def engine_names() -> tuple[str, ...]:
    """Return the names that `load_engine` takes, beside ``module:object`` for an engine of one's own."""
    return (*_ours(), *own_engine_names())


def _ours() -> tuple[str, ...]:
    return (*OWN, *(f"{library}:{name}" for library, names in LIBRARIES.items() for name in names))


def is_code(name: str) -> bool:
    """Return whether a name is ``module:object``, which is imported to load it."""
    library, _, _ = name.rpartition(":")
    return bool(library) and library not in LIBRARIES


def load_engine(name: str, problem: SearchProblem) -> Engine:
    """Return an engine by name for a problem; the names of this program's engines are theirs alone.

    Raises
    ------
    EngineError : there is no such engine, or one of a user's own cannot be loaded.
    InputError : it cannot search this problem.
    """
    library, _, algorithm = name.rpartition(":")
    # To look for the engines of others takes as long as a short search.
    if name not in _ours():
        if not is_code(name) and name not in own_engine_names():
            raise EngineError(unknown("engine", name, engine_names()))
        return load_own_engine(name, problem)
    if library:
        return _foreign(library, algorithm, problem)
    if name == "exhaustive":
        from evo_libra.searching.engines.exhaustive import ExhaustiveEngine  # noqa: PLC0415 - engines are imported when chosen

        return ExhaustiveEngine.of(problem)
    if name == "optimize":
        from evo_libra.searching.engines.optimize import OptimizeEngine  # noqa: PLC0415 - the same

        return OptimizeEngine.of(problem)
    if name == "random":
        from evo_libra.searching.engines.random_search import RandomEngine  # noqa: PLC0415 - the same

        return RandomEngine()
    from evo_libra.searching.engines.nsga import nsga2, nsga3  # noqa: PLC0415 - the same

    return nsga2() if name == "nsga2" else nsga3()


def _foreign(library: str, algorithm: str, problem: SearchProblem) -> Engine:
    if library == "pymoo":
        from evo_libra.searching.engines.pymoo import PymooEngine  # noqa: PLC0415 - pymoo takes a third of a second

        return PymooEngine(algorithm, problem.settings.evaluations)
    from evo_libra.searching.engines.deap import DeapEngine  # noqa: PLC0415 - most users have no need of it

    engine: Engine = DeapEngine(algorithm)
    return engine


EVALUATIONS, EXHAUSTED, SECONDS, STAGNATION, GAP = "evaluations", "exhausted", "seconds", "stagnation", "gap"


def saved(state: EngineState) -> bytes:
    """Return a state as bytes, the way that checkpoints keep it: arrays and JSON, nothing that could run."""
    buffer = io.BytesIO()
    head = np.frombuffer(json.dumps(dict(state.random), sort_keys=True).encode(), dtype=np.uint8)
    np.savez(buffer, allow_pickle=False, head=head, **{f"_{k}": state.arrays[k] for k in sorted(state.arrays)})
    return buffer.getvalue()


def loaded(data: bytes) -> EngineState:
    """Return the state of `saved` bytes."""
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        arrays = {name[1:]: found[name] for name in found.files if name != "head"}
        return EngineState(arrays, json.loads(bytes(found["head"]).decode()))
