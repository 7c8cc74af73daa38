"""The contract of an engine, and its state as arrays and as bytes."""

from __future__ import annotations

import abc
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import FloatArray
from evo_libra.problem.protocol import Genome

EVALUATIONS, EXHAUSTED, SECONDS, STAGNATION, GAP = "evaluations", "exhausted", "seconds", "stagnation", "gap"
"""Why a search ended."""

Arrays = Mapping[str, NDArray[Any]]
"""State of an engine, by name."""

_HEAD = "head"


@dataclass(frozen=True)
class EngineState:
    """All that an engine remembers: arrays by name, and the state of a `numpy.random.PCG64` as plain data."""

    arrays: Arrays
    random: Mapping[str, Any]

    def generator(self, reused: np.random.Generator | None = None) -> np.random.Generator:
        """Return a generator that continues where this state stopped; `reused` saves the time to make one."""
        generator = reused or np.random.Generator(np.random.PCG64(0))
        state: Any = dict(self.random)
        generator.bit_generator.state = state
        return generator

    def to_bytes(self) -> bytes:
        """Return the state as arrays and JSON, which run no code when they are read."""
        buffer = io.BytesIO()
        head = np.frombuffer(json.dumps(dict(self.random), sort_keys=True).encode(), dtype=np.uint8)
        arrays: dict[str, Any] = {f"_{name}": self.arrays[name] for name in sorted(self.arrays)}
        np.savez(buffer, allow_pickle=False, **{_HEAD: head}, **arrays)
        return buffer.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> EngineState:
        """Return the state that `to_bytes` wrote."""
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            arrays = {name[1:]: found[name] for name in found.files if name != _HEAD}
            return EngineState(arrays, json.loads(bytes(found[_HEAD]).decode()))


class Engine(abc.ABC):
    """A search algorithm as pure functions of its state.

    `ask` may be called again on a state and returns the same genes. `tell` on a state that was saved and loaded returns
    what it would have returned at once. Objectives are minimised; they come as log10, since designs differ by factors.
    An engine of a user need not inherit from this class; the three abstract methods are enough.
    """

    in_order: ClassVar[str] = ""
    """Why the engine must hear of designs in the order in which it asked for them; empty where any order will do."""

    @abc.abstractmethod
    def start(self, genome: Genome, objectives: int, population: int, seed: int) -> EngineState:
        """Return the state before the first generation.

        Raises
        ------
        InputError : the engine cannot search such a problem.
        """

    @abc.abstractmethod
    def ask(self, state: EngineState) -> tuple[FloatArray, EngineState]:
        """Return (g, n) legal genes to evaluate, none when the engine has nothing left to try, and the state after."""

    @abc.abstractmethod
    def tell(self, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> EngineState:
        """Return the state that knows the (m, n) objectives and (n,) violations of (g, n) genes.

        After `ask` the genes are those of `ask`, or the first of them. Otherwise they come from elsewhere: from an
        earlier front, another search or a memetic step. Engines that do not learn ignore them.
        """

    def claim(self, population: int) -> str:  # noqa: ARG002 - engines that prove something need it
        """Return the proof of the front once nothing is left to ask for, with its space; empty without any."""
        return ""
