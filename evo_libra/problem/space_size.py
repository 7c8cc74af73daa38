"""Spaces too large for a table: structures are counted, and built from their index when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import IntArray
from evo_libra.errors import InputError
from evo_libra.network.catalog.technologies import Technology
from evo_libra.problem.space import DimensionRule, Structures, divisors_of, permits, ranks_of

_MOST = 2**53
"""Above that, a gene cannot hold every index."""


_Tails = tuple[IntArray, NDArray[np.int16]]


@dataclass(frozen=True)
class NextDimensions:
    """What the next dimension of a partial structure may be, k ways.

    Attributes
    ----------
    technology, size : (k,).
    ends : (k,) how many structures begin with one of the first ways, each way included: cumulative.
    """

    technology: IntArray
    size: IntArray
    ends: IntArray


@dataclass(frozen=True)
class Every:
    """Every structure of a space, by the few shapes that they have.

    Attributes
    ----------
    shapes : (d, u) sizes of the dimensions; unused dimensions come last and have size 1. Some may have no structure.
    shape : (s,) which one each structure has.
    technology : (d, s) index into the technologies of the space, in 16 bits.
    """

    shapes: IntArray
    shape: IntArray
    technology: NDArray[np.int16]

    def look_up(self, structure: IntArray) -> tuple[IntArray, IntArray]:
        """Return the (d, n) sizes and technologies of (n,) structures."""
        return self.shapes[:, self.shape[structure]], self.technology[:, structure].astype(np.int64)


@dataclass(frozen=True)
class CountedStructures:
    """The structures of a space in the order in which they grow, dimension by dimension.

    Attributes
    ----------
    npus : of the network.
    technologies, rules, min_dimensions, one_each : as for `evo_libra.problem.space.enumerate_structures`.
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
        """None: there are too many structures for a table."""
        return None

    @cached_property
    def total(self) -> int:
        """The number of structures."""
        return self.count(0, self.npus, -1)

    def count(self, depth: int, left: int, last: int) -> int:
        """Return how many structures begin alike.

        Parameters
        ----------
        depth : dimensions so far.
        left : NPUs that they leave to the others.
        last : technology of the last one, -1 for none.
        """
        if left == 1:
            return int(depth >= self.min_dimensions)
        if depth == len(self.rules):
            return 0
        options = self.options(depth, left, last)
        return int(options.ends[-1]) if len(options.ends) else 0

    def may_follow(self, technology: int, last: int) -> bool:
        """Return whether a dimension may have a technology if the one before has another, -1 for none."""
        if last < 0:
            return True
        rank, before = self._ranks[technology], self._ranks[last]
        return rank > before or (rank == before and not self.one_each)

    @cached_property
    def _known(self) -> dict[tuple[int, int, int], NextDimensions]:
        return {}

    @cached_property
    def _ranks(self) -> tuple[int, ...]:
        return tuple(ranks_of(self.technologies).tolist())

    @cached_property
    def _divisors(self) -> tuple[int, ...]:
        return tuple(divisor for divisor in divisors_of(self.npus) if divisor > 1)

    def options(self, depth: int, left: int, last: int) -> NextDimensions:
        """Return the options of the next dimension that lead to a structure; parameters as for `count`."""
        # Technologies of one rank may be followed by the same ones.
        key = depth, left, -1 if last < 0 else self._ranks[last]
        if key not in self._known:
            ways = []
            for technology, size in self._permitted(depth, left):
                if not self.may_follow(technology, last):
                    continue
                count = self.count(depth + 1, left // size, technology)
                if count:
                    ways.append((technology, size, count))
            table = np.array(ways, dtype=np.int64).reshape(-1, 3)
            self._known[key] = NextDimensions(table[:, 0], table[:, 1], np.cumsum(table[:, 2]))
        return self._known[key]

    def _permitted(self, depth: int, left: int) -> list[tuple[int, int]]:
        """Return the technologies and sizes that the next dimension may have, whatever the one before."""
        if (depth, left) not in self._allowed:
            rule, inside = self.rules[depth], self.npus // left
            sizes = [size for size in self._divisors if left % size == 0]
            self._allowed[depth, left] = [
                (technology, size)
                for technology in rule.technologies
                for size in sizes
                if permits(rule, self.technologies[technology], size, inside)
            ]
        return self._allowed[depth, left]

    def every(self) -> Every:
        """Return all structures, in their order."""
        shapes = tuple(self._shapes(0, self.npus))
        return Every(
            np.array(shapes, dtype=np.int64).reshape(-1, len(self.rules)).T, *self._tails(0, self.npus, -1, {})
        )

    def _shapes(self, depth: int, left: int) -> list[tuple[int, ...]]:
        """Return the sizes that dimensions from some depth on may have, permitted or not."""
        if left == 1 or depth == len(self.rules):
            return [(1,) * (len(self.rules) - depth)] * (left == 1)
        sizes = [size for size in self._divisors if left % size == 0]
        return [(size, *rest) for size in sizes for rest in self._shapes(depth + 1, left // size)]

    def _first_shapes(self, depth: int, left: int) -> dict[int, int]:
        """Return where the shapes of each next size begin, under -1 where the last one ends."""
        if (depth, left) not in self._shape_places:
            places, end = {}, 0
            for size in self._divisors if depth < len(self.rules) else ():
                if left % size == 0:
                    places[size] = end
                    end += self._first_shapes(depth + 1, left // size)[-1]
            self._shape_places[depth, left] = {**places, -1: 1 if left == 1 else end}
        return self._shape_places[depth, left]

    @cached_property
    def _shape_places(self) -> dict[tuple[int, int], dict[int, int]]:
        return {}

    @cached_property
    def _allowed(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        return {}

    def _tails(self, depth: int, left: int, last: int, known: dict[tuple[int, int, int], _Tails]) -> _Tails:
        """Return (s,) shapes and (d - depth, s) technologies of all that may follow; parameters as for `count`."""
        if left == 1:
            # An unused dimension has the technology of the last one, as those of `look_up` have.
            return np.zeros(1, dtype=np.int64), np.full((len(self.rules) - depth, 1), max(last, 0), dtype=np.int16)
        key = depth, left, last
        if key not in known:
            options, first = self.options(depth, left, last), self._first_shapes(depth, left)
            count = int(options.ends[-1]) if len(options.ends) else 0
            shape = np.empty(count, dtype=np.int64)
            technology = np.empty((len(self.rules) - depth, count), dtype=np.int16)
            start = 0
            for kind, size, end in zip(options.technology, options.size, options.ends, strict=True):
                rest, following = self._tails(depth + 1, left // int(size), int(kind), known)
                shape[start:end] = first[int(size)] + rest
                technology[0, start:end], technology[1:, start:end] = kind, following
                start = int(end)
            known[key] = shape, technology
        return known[key]

    def look_up(self, structure: IntArray) -> tuple[IntArray, IntArray]:
        """Return the (d, n) sizes and technologies of (n,) structures."""
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
        """Return the (n,) structures of (d, n) sizes and technologies, unused ones last; -1 where there is none."""
        found, left, last = (
            np.zeros(npus.shape[1], np.int64),
            np.full(npus.shape[1], self.npus),
            np.full(npus.shape[1], -1),
        )
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


def count_structures(
    npus: int,
    technologies: Sequence[Technology],
    rules: Sequence[DimensionRule],
    min_dimensions: int,
    *,
    one_each: bool,
) -> CountedStructures:
    """Return the structures of a large space; see `evo_libra.problem.space.enumerate_structures` for the parameters.

    Raises
    ------
    InputError : there are more than a gene can tell apart.
    """
    structures = CountedStructures(npus, tuple(technologies), tuple(rules), min_dimensions, one_each)
    total = structures.total
    if total >= _MOST:
        raise InputError(
            f"the space has {total:.3g} topologies, more than {_MOST:.3g}; fewer dimensions or technologies, or a "
            "largest dimension in the catalogue, make it smaller"
        )
    return structures
