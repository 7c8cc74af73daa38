"""The structures of a search space: sizes of the dimensions and their technologies, enumerated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import BoolArray, IntArray
from evo_libra.network.catalog.technologies import Technology

MAX_STRUCTURES = 500_000
"""A larger space is counted (`evo_libra.problem.space_size`): its tables would take longer to make than they save."""

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Structures:
    """Every structure of a space; a structure is a column.

    Attributes
    ----------
    npus : (d, s) sizes; unused dimensions come last and have size 1.
    technology : (d, s) index into the technologies of the space.
    """

    npus: IntArray
    technology: IntArray

    def __post_init__(self) -> None:
        # Look-ups are by row, for a whole population: rows in one piece are five times as fast.
        object.__setattr__(self, "npus", np.ascontiguousarray(self.npus))
        object.__setattr__(self, "technology", np.ascontiguousarray(self.technology))

    def __len__(self) -> int:
        return int(self.npus.shape[1])

    @property
    def table(self) -> Structures:
        """The table of all structures: itself."""
        return self

    def select(self, chosen: BoolArray) -> Structures:
        """Return the chosen structures."""
        return Structures(self.npus[:, chosen], self.technology[:, chosen])

    def look_up(self, structure: IntArray) -> tuple[IntArray, IntArray]:
        """Return the (d, n) sizes and technologies of (n,) structures."""
        return columns(self.npus, structure), columns(self.technology, structure)

    def find(self, npus: IntArray, technology: IntArray) -> IntArray:
        """Return the (n,) structures of (d, n) sizes and technologies, unused ones last; -1 where there is none."""
        every = np.concatenate([self.npus, self.technology]), np.concatenate([npus, padded(npus, technology)])
        _, kind = np.unique(np.concatenate(every, axis=1), axis=1, return_inverse=True)
        known, asked = np.split(kind.ravel(), [len(self)])
        place = np.full(kind.max(initial=-1) + 1, -1)
        place[known] = np.arange(len(self))
        return np.asarray(place[asked])


class Space(Protocol):
    """Structures by their index, whether there is a table of them or not."""

    def __len__(self) -> int:
        """Return how many there are."""

    @property
    def table(self) -> Structures | None:
        """The table of all structures, which can hold every process group; None where there are too many."""

    def look_up(self, structure: IntArray) -> tuple[IntArray, IntArray]:
        """Return the (d, n) sizes and technologies of (n,) structures."""

    def find(self, npus: IntArray, technology: IntArray) -> IntArray:
        """Return the (n,) structures of (d, n) sizes and technologies, unused ones last; -1 where there is none."""


@dataclass(frozen=True)
class DimensionRule:
    """Technologies that one dimension may have, and its pinned size, if any."""

    npus: int | None
    technologies: tuple[int, ...]


def columns(table: NDArray[T], chosen: IntArray) -> NDArray[T]:
    """Return (d, n) the chosen columns of a (d, s) table; a take a row is twice as fast as one over the columns."""
    found = np.empty((len(table), len(chosen)), dtype=table.dtype)
    for row, source in zip(found, table, strict=True):
        np.take(source, chosen, out=row, mode="clip")
    return found


def padded(npus: IntArray, technology: IntArray) -> IntArray:
    """Return (d, n) technologies with that of the last dimension in use in those that are not, as in structures."""
    last = np.maximum((npus > 1).sum(axis=0) - 1, 0)
    outermost = np.take_along_axis(technology, last[None], axis=0)
    return np.where(np.arange(len(npus))[:, None] > last, outermost, technology)


def enumerate_structures(
    npus: int,
    technologies: Sequence[Technology],
    rules: Sequence[DimensionRule],
    min_dimensions: int,
    *,
    one_each: bool,
) -> Structures:
    """Enumerate all structures whose dimensions multiply to the NPUs.

    Ranks of technologies never go back inwards along the dimensions, and with `one_each` each is used by one at most.
    The order is by technologies first and sizes second, so that neighbours are alike.

    Parameters
    ----------
    npus : NPUs of the network.
    technologies : the technologies, innermost first.
    rules : one for each possible dimension, the innermost first.
    min_dimensions : in use.
    one_each : whether a technology serves one dimension at most.
    """
    ranks = ranks_of(technologies)
    divisors = np.array([divisor for divisor in divisors_of(npus) if divisor > 1], dtype=np.int64)
    left = np.array([npus], dtype=np.int64)
    sizes = np.empty((0, 1), dtype=np.int64)
    chosen = np.empty((0, 1), dtype=np.int64)
    done: list[Structures] = []
    for depth, rule in enumerate(rules):
        inside, divides = npus // left, [left % divisor == 0 for divisor in divisors]
        grown = [
            (technology, divisor, np.flatnonzero(allowed))
            for technology in rule.technologies
            for follows in [_may_follow(chosen, ranks[technology], ranks, one_each=one_each)]
            for divisor, divided in zip(divisors, divides, strict=True)
            for allowed in [_permitted(follows & divided, rule, technologies[technology], int(divisor), inside)]
            if allowed.any()
        ]
        parents = np.concatenate([parents for *_, parents in grown] or [np.empty(0, np.int64)])
        size = np.repeat([divisor for _, divisor, _ in grown], [len(parents) for *_, parents in grown]).astype(np.int64)
        kind = np.repeat([technology for technology, *_ in grown], [len(p) for *_, p in grown]).astype(np.int64)
        left = left[parents] // size
        sizes, chosen = np.vstack([sizes[:, parents], size]), np.vstack([chosen[:, parents], kind])
        if depth + 1 >= min_dimensions:
            done.append(_padded(sizes[:, left == 1], chosen[:, left == 1], len(rules)))
        sizes, chosen, left = sizes[:, left > 1], chosen[:, left > 1], left[left > 1]
    return _sorted(done, len(rules))


def permits(rule: DimensionRule, technology: Technology, size: int, inside: int) -> bool:
    """Return whether a dimension may have a size in a technology, outside of some NPUs."""
    return (rule.npus is None or rule.npus == size) and technology.permits(size, inside)


def ranks_of(technologies: Sequence[Technology]) -> IntArray:
    """Return (t,) the rank of each technology; dimensions of equal ranks may come in any order."""
    return np.array([t if technology.rank is None else technology.rank for t, technology in enumerate(technologies)])


def _permitted(
    allowed: BoolArray, rule: DimensionRule, technology: Technology, size: int, inside: IntArray
) -> BoolArray:
    """Return which of the allowed partial structures, outside of (s,) NPUs, a dimension may follow."""
    found = allowed.copy()
    for npus in np.unique(inside[allowed]).tolist():
        if not permits(rule, technology, size, npus):
            found &= inside != npus
    return found


def _may_follow(chosen: IntArray, rank: int, ranks: IntArray, *, one_each: bool) -> BoolArray:
    if not len(chosen):
        return np.ones(chosen.shape[1], dtype=np.bool_)
    return np.asarray(ranks[chosen[-1]] < rank if one_each else ranks[chosen[-1]] <= rank)


def _padded(sizes: IntArray, chosen: IntArray, depth: int) -> Structures:
    missing = ((0, depth - len(sizes)), (0, 0))
    return Structures(np.pad(sizes, missing, constant_values=1), np.pad(chosen, missing, mode="edge"))


def _sorted(parts: Sequence[Structures], depth: int) -> Structures:
    if not parts:
        return Structures(np.empty((depth, 0), np.int64), np.empty((depth, 0), np.int64))
    sizes = np.concatenate([part.npus for part in parts], axis=1)
    chosen = np.concatenate([part.technology for part in parts], axis=1)
    order = np.lexsort(np.concatenate([sizes[::-1], chosen[::-1], (sizes > 1).sum(axis=0)[None]]))
    return Structures(sizes[:, order], chosen[:, order])


def divisors_of(number: int) -> list[int]:
    """Return the divisors of a number, ascending."""
    small = [divisor for divisor in range(1, int(number**0.5) + 1) if number % divisor == 0]
    return sorted({*small, *(number // divisor for divisor in small)})
