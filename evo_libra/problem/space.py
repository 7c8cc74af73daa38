"""The combinations of a search space: sizes of the dimensions and their technologies, counted, and listed if few."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import BoolArray, ColumnIndex, IntArray, columns
from evo_libra.network.catalog.technologies import Technology

MAX_STRUCTURES = 500_000
"""A larger space has no table of its combinations, which would take longer to make than it saves."""
MAX_INDEX = 2**53
"""Above that, a gene cannot hold every index."""

_State = tuple[int, int, int]
_Tails = tuple[list[tuple[int, ...]], IntArray, NDArray[np.int16]]


class Space(Protocol):
    """Combinations by their index, whether there is a table of them or not."""

    def __len__(self) -> int:
        """Return how many there are."""

    @property
    def table(self) -> Structures | None:
        """The table of all combinations, which can hold every process group; None where there are too many."""

    def look_up(self, structure: IntArray) -> tuple[IntArray, IntArray]:
        """Return the (d, n) sizes and technologies of (n,) combinations."""

    def find(self, npus: IntArray, technology: IntArray) -> IntArray:
        """Return the (n,) combinations of (d, n) sizes and technologies, unused ones last; -1 where there is none."""


@dataclass(frozen=True)
class Structures:
    """A table of combinations; a combination is a column.

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
        """The table of all combinations: itself."""
        return self

    def select(self, chosen: BoolArray) -> Structures:
        """Return the chosen combinations."""
        return Structures(self.npus[:, chosen], self.technology[:, chosen])

    def look_up(self, structure: IntArray) -> tuple[IntArray, IntArray]:
        """Return the (d, n) sizes and technologies of (n,) combinations."""
        return columns(self.npus, structure), columns(self.technology, structure)

    def find(self, npus: IntArray, technology: IntArray) -> IntArray:
        """Return the (n,) combinations of (d, n) sizes and technologies, unused ones last; -1 where there is none."""
        return self._index.find(np.concatenate([npus, padded(npus, technology)]))

    @cached_property
    def _index(self) -> ColumnIndex:
        return ColumnIndex.of(np.concatenate([self.npus, self.technology]))


def padded(npus: IntArray, technology: IntArray) -> IntArray:
    """Return (d, n) technologies with that of the last dimension in use in those that are not, as in combinations."""
    last = np.maximum((npus > 1).sum(axis=0) - 1, 0)
    outermost = np.take_along_axis(technology, last[None], axis=0)
    return np.where(np.arange(len(npus))[:, None] > last, outermost, technology)


@dataclass(frozen=True)
class DimensionRule:
    """Technologies that one dimension may have, and its pinned size, if any."""

    npus: int | None
    technologies: tuple[int, ...]


@dataclass(frozen=True)
class NextDimensions:
    """Options of the next dimension of a partial combination: (k,) technologies and sizes.

    `ends` counts the combinations that begin with one of the first ways, each way included.
    """

    technology: IntArray
    size: IntArray
    ends: IntArray


@dataclass(frozen=True)
class Every:
    """Every combination of a space, by the few shapes that they have.

    Attributes
    ----------
    shapes : (d, u) sizes of the dimensions; unused dimensions come last and have size 1.
    shape : (s,) which one each combination has.
    technology : (d, s) index into the technologies of the space, in 16 bits.
    """

    shapes: IntArray
    shape: IntArray
    technology: NDArray[np.int16]

    def look_up(self, structure: IntArray) -> tuple[IntArray, IntArray]:
        """Return the (d, n) sizes and technologies of (n,) combinations."""
        return self.shapes[:, self.shape[structure]], self.technology[:, structure].astype(np.int64)


@dataclass(frozen=True)
class CountedStructures:
    """The combinations of a space in the order in which they grow, dimension by dimension.

    Ranks of technologies never go back outwards, and with `one_each` each rank is used once. So is a technology whose
    domain is one dimension. All technologies of a
    combination are those of one accelerator. The rules are those of each possible dimension, the innermost first. A
    partial combination has a depth, the NPUs that it leaves to the other dimensions, and the technology of its last
    -1 for none.
    """

    npus: int
    technologies: tuple[Technology, ...]
    rules: tuple[DimensionRule, ...]
    min_dimensions: int
    one_each: bool

    def __len__(self) -> int:
        return self.total

    @property
    def table(self) -> Structures | None:
        """None: there are too many combinations for a table."""
        return None

    @cached_property
    def total(self) -> int:
        """The number of combinations."""
        return self.count(0, self.npus, -1)

    def count(self, depth: int, left: int, last: int) -> int:
        """Return how many combinations begin with a partial one."""
        if left == 1:
            return int(depth >= self.min_dimensions)
        if depth == len(self.rules):
            return 0
        return int(self.options(depth, left, last).ends[-1:].sum())

    def may_follow(self, technology: int, last: int) -> bool:
        """Return whether a dimension may have a technology if the one before has another, -1 for none."""
        if last < 0:
            return True
        rank, before = self.ranks[technology], self.ranks[last]
        one_npu = self.technologies[technology].npu == self.technologies[last].npu
        again = not (self.one_each or self.technologies[technology].one_domain)
        return one_npu and (rank > before or (rank == before and again))

    @cached_property
    def follows(self) -> BoolArray:
        """(t, t) whether a dimension may have the first technology if the one before has the second."""
        kinds = range(len(self.technologies))
        return np.array([[self.may_follow(t, last) for last in kinds] for t in kinds])

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The rank of each technology; inner dimensions have lower ranks."""
        return tuple(t if kind.rank is None else kind.rank for t, kind in enumerate(self.technologies))

    @cached_property
    def _kinds(self) -> tuple[int, ...]:
        found = [(technology.npu, rank) for technology, rank in zip(self.technologies, self.ranks, strict=True)]
        places = {kind: place for place, kind in enumerate(dict.fromkeys(found))}
        return tuple(places[kind] for kind in found)

    @cached_property
    def _divisors(self) -> list[int]:
        return divisors_of(self.npus)[1:]

    @cached_property
    def _known(self) -> dict[_State, NextDimensions]:
        return {}

    @cached_property
    def _allowed(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        return {}

    def options(self, depth: int, left: int, last: int) -> NextDimensions:
        """Return the options of the next dimension of a partial combination that lead to a combination."""
        # Technologies of one rank and accelerator may be followed by the same ones.
        key = depth, left, -1 if last < 0 else self._kinds[last]
        if key not in self._known:
            ways = [
                (technology, size, count)
                for technology, size in self._permitted(depth, left)
                if self.may_follow(technology, last) and (count := self.count(depth + 1, left // size, technology))
            ]
            table = np.array(ways, dtype=np.int64).reshape(-1, 3)
            self._known[key] = NextDimensions(table[:, 0], table[:, 1], np.cumsum(table[:, 2]))
        return self._known[key]

    def _permitted(self, depth: int, left: int) -> list[tuple[int, int]]:
        """Return the technologies and sizes that the next dimension may have, whatever the one before."""
        if (depth, left) not in self._allowed:
            rule, inside = self.rules[depth], self.npus // left
            sizes = [size for size in self._divisors if left % size == 0 and rule.npus in (None, size)]
            self._allowed[depth, left] = [
                (technology, size)
                for technology in rule.technologies
                for size in sizes
                if self.technologies[technology].permits(size, inside)
            ]
        return self._allowed[depth, left]

    def every(self) -> Every:
        """Return all combinations, in their order."""
        shapes, shape, technology = self._tails(0, self.npus, -1, {})
        return Every(np.array(shapes, dtype=np.int64).reshape(-1, len(self.rules)).T, shape, technology)

    def _tails(self, depth: int, left: int, last: int, known: dict[_State, _Tails]) -> _Tails:
        """Return the shapes that may follow a partial combination, then (s,) shapes and (d - depth, s) technologies."""
        unused = len(self.rules) - depth
        if left == 1:
            # An unused dimension has the technology of the last one, as those of `look_up` have.
            return [(1,) * unused], np.zeros(1, dtype=np.int64), np.full((unused, 1), max(last, 0), dtype=np.int16)
        key = depth, left, last
        if key not in known:
            options, count, start = self.options(depth, left, last), self.count(depth, left, last), 0
            place: dict[tuple[int, ...], int] = {}
            shape, technology = np.empty(count, dtype=np.int64), np.empty((unused, count), dtype=np.int16)
            for kind, size, end in zip(*(array.tolist() for array in vars(options).values()), strict=True):
                shapes, rest, following = self._tails(depth + 1, left // size, kind, known)
                shape[start:end] = np.array([place.setdefault((size, *one), len(place)) for one in shapes])[rest]
                technology[0, start:end], technology[1:, start:end] = kind, following
                start = end
            known[key] = list(place), shape, technology
        return known[key]

    def look_up(self, structure: IntArray) -> tuple[IntArray, IntArray]:
        """Return the (d, n) sizes and technologies of (n,) combinations."""
        count = len(structure)
        npus = np.ones((len(self.rules), count), dtype=np.int64)
        technology = np.zeros((len(self.rules), count), dtype=np.int64)
        rest, left, last = structure.astype(np.int64), np.full(count, self.npus), np.full(count, -1)
        for depth in range(len(self.rules)):
            states, which = np.unique(np.stack([left, last]), axis=1, return_inverse=True)
            for state, (remaining, before) in enumerate(states.T.tolist()):
                if remaining == 1:
                    continue
                mine = np.flatnonzero(which.ravel() == state)
                options = self.options(depth, remaining, before)
                way = np.searchsorted(options.ends, rest[mine], side="right")
                rest[mine] -= np.where(way > 0, options.ends[way - 1], 0)
                npus[depth, mine], last[mine] = options.size[way], options.technology[way]
                left[mine] = remaining // options.size[way]
            technology[depth] = np.maximum(last, 0)
        return npus, technology

    def find(self, npus: IntArray, technology: IntArray) -> IntArray:
        """Return the (n,) combinations of (d, n) sizes and technologies, unused ones last; -1 where there is none."""
        count = npus.shape[1]
        found, left, last = np.zeros(count, np.int64), np.full(count, self.npus), np.full(count, -1)
        for depth in range(len(self.rules)):
            growing = np.flatnonzero((left > 1) & (found >= 0))
            states, which = np.unique(np.stack([left, last])[:, growing], axis=1, return_inverse=True)
            for state, (remaining, before) in enumerate(states.T.tolist()):
                mine = growing[which.ravel() == state]
                options = self.options(depth, remaining, before)
                ways = (options.size == npus[depth, mine, None]) & (options.technology == technology[depth, mine, None])
                way = ways.argmax(axis=1) if len(options.size) else np.zeros(len(mine), np.int64)
                first = np.append(0, options.ends)[way]
                found[mine] = np.where(ways.any(axis=1), found[mine] + first, -1)
            left, last = left // npus[depth], np.where(npus[depth] > 1, technology[depth], last)
        return np.where(left == 1, found, -1)

    def listed(self) -> Structures:
        """Return the table of all combinations: by technologies first, then sizes, so that neighbours are alike."""
        every = self.every()
        sizes, chosen = every.look_up(np.arange(len(every.shape)))
        order = np.lexsort(np.concatenate([sizes[::-1], chosen[::-1], (sizes > 1).sum(axis=0)[None]]))
        return Structures(sizes[:, order], chosen[:, order])


def divisors_of(number: int) -> list[int]:
    """Return the divisors of a number, ascending."""
    small = [divisor for divisor in range(1, int(number**0.5) + 1) if number % divisor == 0]
    return sorted({*small, *(number // divisor for divisor in small)})
