"""Base of engines of other libraries: these select and let survive; genes, variation and memory are of evo_libra."""

from __future__ import annotations

import abc
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.errors import InputError
from evo_libra.problem.protocol import Genome
from evo_libra.searching.engine import Engine, EngineState
from evo_libra.searching.engines.niching import reference_directions
from evo_libra.searching.engines.variation import is_new, offspring

_ATTEMPTS = 20
_REMEMBERED = 2
LARGEST = 1e300
"""Stands for infinity in a state, which is plain numbers."""
NO_SLOT = -1.0
"""The slot of a design that is for no part of the population in particular."""

Arrays = Mapping[str, FloatArray]


@dataclass(frozen=True)
class LibraryAlgorithm(abc.ABC):
    """An algorithm of another library as functions of arrays.

    The arrays of a population are ``genes`` (g, n), ``objectives`` (m, n) and ``violation`` (n,). Besides them there
    are ``size``, the designs per generation, ``learned``, the number of designs so far, and those of the algorithm. A
    prepared algorithm has (k, m) reference directions, if it needs any.
    """

    min_objectives: int = field(default=1, kw_only=True)
    directed: bool = field(default=False, kw_only=True)
    directions: FloatArray = field(default_factory=lambda: np.empty((0, 0)), kw_only=True)

    def prepare(self, objectives: int, population: int) -> Self:
        """Return the algorithm for a number of objectives and of designs per generation."""
        return replace(self, directions=reference_directions(objectives, population)) if self.directed else self

    def batch(self, size: int) -> int:
        """Return the number of designs of a generation."""
        return size

    def pool(self, arrays: Arrays) -> FloatArray:
        """Return the (g, k) genes that parents are chosen of."""
        return arrays["genes"]

    @abc.abstractmethod
    def parents(self, arrays: Arrays, random: np.random.Generator) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (2, k) parents, the (n,) children of them that are taken of 2 k, and the (n,) slot of each child.

        Children 0 to k - 1 are the first ones of the pairs; a slot is the part of the population that a child is for.
        """

    @abc.abstractmethod
    def survivors(self, arrays: Arrays, new: Arrays, random: np.random.Generator) -> dict[str, FloatArray]:
        """Return the arrays that change for new designs.

        `new` has the arrays of a population and (k,) ``slot``, `NO_SLOT` where a design is not for any.
        """


class LibraryEngine(Engine):
    """An engine, called `name` by users, whose selection and survival are those of another library."""

    _genome: Genome

    def __init__(self, name: str, algorithm: LibraryAlgorithm) -> None:
        self._name, self._algorithm = name, algorithm

    def start(self, genome: Genome, objectives: int, population: int, seed: int) -> EngineState:
        """Return the state before the first generation. Raises `InputError` if the algorithm needs more objectives."""
        needed = self._algorithm.min_objectives
        if objectives < needed:
            raise InputError(f"{self._name} needs at least {needed} objectives; the problem has {objectives}")
        self._genome, self._algorithm = genome, self._algorithm.prepare(objectives, population)
        arrays = {
            "size": np.array(float(population)),
            "sampled": np.array(0.0),
            "learned": np.array(0.0),
            "genes": np.empty((len(genome), 0)),
            "objectives": np.empty((objectives, 0)),
            "violation": np.empty(0),
            "seen": np.empty((len(genome), 0)),
            "slot": np.empty(0),
        }
        return EngineState(arrays, np.random.PCG64(seed).state)

    def ask(self, state: EngineState) -> tuple[FloatArray, EngineState]:
        """Return the next generation: what a sample lacks at first, then children, neither known nor recent."""
        arrays, random = state.arrays, state.generator()
        batch, learned = self._algorithm.batch(int(arrays["size"])), int(arrays["learned"])
        sampling = not arrays["genes"].shape[1] or (not arrays["sampled"] and learned < batch)
        wanted = batch - learned if sampling and learned < batch else batch
        known = np.concatenate([arrays["genes"], arrays["seen"]], axis=1)
        found, slots = known[:, :0], np.empty(0)
        for _ in range(_ATTEMPTS):
            if sampling:
                tried, slot = self._genome.sample(random, wanted), np.full(wanted, NO_SLOT)
            else:
                tried, slot = self._children(arrays, random)
            new = is_new(tried, np.concatenate([known, found], axis=1))
            found, slots = np.concatenate([found, tried[:, new]], axis=1), np.concatenate([slots, slot[new]])
            if found.shape[1] >= wanted:
                break
        changed = {"sampled": np.array(1.0), "slot": slots[:wanted]}
        return found[:, :wanted], EngineState({**arrays, **changed}, random.bit_generator.state)

    def _children(self, arrays: Arrays, random: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        (one, two), taken, slot = self._algorithm.parents(arrays, random)
        pool = self._algorithm.pool(arrays)
        return offspring(self._genome, pool[:, one], pool[:, two], random)[:, taken], slot

    def tell(self, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> EngineState:
        """Return the state with the survivors of the designs known and the new ones, asked for or not."""
        arrays, random, count = state.arrays, state.generator(), genes.shape[1]
        slot = arrays["slot"][:count] if len(arrays["slot"]) else np.full(count, NO_SLOT)
        new = {"genes": genes, "objectives": objectives, "violation": violation, "slot": slot}
        arrays = {**arrays, "learned": arrays["learned"] + count, "slot": np.empty(0)}
        seen = np.concatenate([arrays["seen"], genes], axis=1)[:, -_REMEMBERED * int(arrays["size"]) :]
        changed = self._algorithm.survivors(arrays, new, random)
        return EngineState({**arrays, "seen": seen, **changed}, random.bit_generator.state)


def merge(arrays: Arrays, new: Arrays) -> dict[str, FloatArray]:
    """Return the population and the new designs as one population."""
    names = ("genes", "objectives", "violation")
    return {name: np.concatenate([arrays[name], new[name]], axis=-1) for name in names}


def chosen(population: Arrays, places: IntArray) -> dict[str, FloatArray]:
    """Return the named designs of a population, in that order."""
    return {name: np.ascontiguousarray(values[..., places]) for name, values in population.items()}


def finite(values: ArrayLike) -> FloatArray:
    """Return values with `LARGEST` for infinity."""
    return np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0, posinf=LARGEST, neginf=-LARGEST)


@contextmanager
def quiet() -> Iterator[None]:
    """Hide warnings of libraries that divide by ranges of 0 and check afterwards, and undo filters that they set."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
