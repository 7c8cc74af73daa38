"""A fabric as seen from one NPU, by digits: exact, with some dozen classes of nodes at any number of NPUs.

To permute the values of a component is a symmetry. Of those that keep the root, each class of nodes is one orbit: for
each digit, whether it has the value of the root, of one of its other digits in the component, or another one. Roots of
one pattern of equal digits look the same, so that there is one root for each pattern, with its number of NPUs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.network.fabrics.digits import Digits, tied_places
from evo_libra.network.fabrics.patterns import Row, Steps, next_value, patterns, rows_like, steps
from evo_libra.network.fabrics.relations import Relation
from evo_libra.network.fabrics.rooted import Orbits, Rooted


@dataclass(frozen=True)
class View:
    """A node, or two, from which a fabric is seen.

    Attributes
    ----------
    rows : for each component, the values of the digits of the root.
    marked : for each component, the values that are told apart.
    weight : NPUs, or pairs of an NPU and a switch, that look the same.
    failed : layer and rows of a switch that is taken away; None for none.
    """

    rows: tuple[Row, ...]
    marked: tuple[int, ...]
    weight: float
    failed: tuple[int, tuple[Row, ...]] | None = None


def roots(digits: Digits, frozen: frozenset[int] = frozenset()) -> Iterator[View]:
    """Yield a root for each kind of NPU.

    Parameters
    ----------
    digits : addresses of the fabric.
    frozen : components whose values are all told apart, as traffic does that counts.
    """
    base = _base(digits, frozen)
    for rows, weight in _kinds(digits, 0, base):
        yield View(rows, _marks(rows, base), weight)


def failures(digits: Digits) -> Iterator[View]:
    """Yield a root and a switch that is taken away for each kind of such a pair."""
    for root in roots(digits):
        for layer in range(1, len(digits.layers)):
            for rows, weight in _kinds(digits, layer, root.marked):
                yield View(root.rows, _marks(rows, root.marked), root.weight * weight, (layer, rows))


def _base(digits: Digits, frozen: frozenset[int]) -> tuple[int, ...]:
    return tuple(size if index in frozen else 0 for index, size in enumerate(digits.sizes))


def _kinds(digits: Digits, layer: int, marked: Sequence[int]) -> Iterator[tuple[tuple[Row, ...], float]]:
    """Yield the kinds of nodes of a layer with the number of nodes of each."""
    counts = [len(digits.members(layer, index)) for index in range(len(digits.sizes))]
    columns = (patterns(*column) for column in zip(counts, marked, digits.sizes, strict=True))
    for rows in product(*columns):
        yield rows, float(prod(rows_like(*one) for one in zip(rows, marked, digits.sizes, strict=True)))


def _marks(rows: Sequence[Row], marked: Sequence[int]) -> tuple[int, ...]:
    return tuple(next_value(row, mark) for row, mark in zip(rows, marked, strict=True))


class _Classes:
    """Classes of all layers as numbers: those of a layer are a mixed radix number of the patterns of its components."""

    def __init__(self, digits: Digits, view: View) -> None:
        self.digits, self.marked = digits, view.marked
        self.rows = [
            [patterns(len(digits.members(layer, index)), mark, size) for index, (mark, size) in self._components()]
            for layer in range(len(digits.layers))
        ]
        counts = [prod(len(rows) for rows in layer) for layer in self.rows]
        self.first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def _components(self) -> Iterator[tuple[int, tuple[int, int]]]:
        return enumerate(zip(self.marked, self.digits.sizes, strict=True))

    def size(self) -> FloatArray:
        """Return the nodes of each class."""
        parts = []
        for layer in self.rows:
            sizes = np.ones(1)
            for (_, (mark, size)), rows in zip(self._components(), layer, strict=True):
                sizes = np.multiply.outer(sizes, [float(rows_like(row, mark, size)) for row in rows]).ravel()
            parts.append(sizes)
        return np.concatenate(parts)

    def index(self, layer: int, rows: Sequence[Row]) -> int:
        """Return the class of a node."""
        found = 0
        for options, row in zip(self.rows[layer], rows, strict=True):
            found = found * len(options) + options.index(row)
        return int(self.first[layer]) + found

    def values(self) -> IntArray:
        """Return the digits of the NPUs, a column for each in the order of their places."""
        columns: dict[int, IntArray] = {}
        for index, rows in enumerate(self.rows[0]):
            inner = prod(len(one) for one in self.rows[0][index + 1 :])
            outer = prod(len(one) for one in self.rows[0][:index])
            for place, digit in enumerate(self.digits.members(0, index)):
                one = np.array([row[place] for row in rows], dtype=np.int64)
                columns[digit.place] = np.tile(np.repeat(one, inner), outer)
        ordered = [columns[place] for place in sorted(columns)]
        return np.stack(ordered, axis=1) if ordered else np.zeros((1, 0), dtype=np.int64)


def ties_of(digits: Digits, relation: Relation, component: int) -> tuple[int | None, ...]:
    """Return for each upper digit of a component the lower one that it is tied to; None for a free one."""
    lower = [digit.place for digit in digits.members(relation.lower, component)]
    upper = [digit.place for digit in digits.members(relation.upper, component)]
    tied = {
        high: low
        for low, high in tied_places(relation, {digit.place: digit.size for digit in digits.layers[relation.lower]})
    }
    return tuple(lower.index(tied[place]) if place in tied else None for place in upper)


def _steps(digits: Digits, relation: Relation, base: Sequence[int], marked: Sequence[int]) -> list[Steps]:
    return [
        steps(
            len(digits.members(relation.lower, index)),
            ties_of(digits, relation, index),
            base[index],
            marked[index],
            size,
        )
        for index, size in enumerate(digits.sizes)
    ]


def _outer(parts: Sequence[IntArray], radices: Sequence[int]) -> IntArray:
    """Return all combinations of indices as mixed radix numbers."""
    found = np.zeros(1, dtype=np.int64)
    for part, radix in zip(parts, radices, strict=True):
        found = np.add.outer(found * radix, part).ravel()
    return found


@dataclass(frozen=True)
class _Arcs:
    source: IntArray
    target: IntArray
    links: FloatArray
    orbit: IntArray


def _arcs(classes: _Classes, relation: Relation, parts: Sequence[Steps]) -> _Arcs:
    """Return the links of a relation from its lower to its upper end."""
    lower = [len(rows) for rows in classes.rows[relation.lower]]
    upper = [len(rows) for rows in classes.rows[relation.upper]]
    links, same = np.ones(1), np.ones(1, dtype=np.bool_)
    for part in parts:
        links = np.multiply.outer(links, part.links).ravel()
        same = np.logical_and.outer(same, part.same).ravel()
    found = _Arcs(
        source=classes.first[relation.lower] + _outer([part.lower for part in parts], lower),
        target=classes.first[relation.upper] + _outer([part.upper for part in parts], upper),
        links=links * relation.parallel,
        orbit=_outer([part.orbit for part in parts], [len(part.orbit_links) for part in parts]),
    )
    return _chosen(found, ~same) if relation.is_within else found


def _chosen(arcs: _Arcs, which: BoolArray) -> _Arcs:
    return _Arcs(arcs.source[which], arcs.target[which], arcs.links[which], arcs.orbit[which])


def orbits_of(digits: Digits, frozen: frozenset[int] = frozenset()) -> Orbits:
    """Return the kinds of directed links, in the order of their numbers in `rooted`."""
    base = _base(digits, frozen)
    counts, rates, servers = [], [], []
    for relation in digits.relations:
        links = np.full(1, float(relation.parallel))
        for part in _steps(digits, relation, base, base):
            links = np.multiply.outer(links, part.orbit_links).ravel()
        for _ in range(1 if relation.is_within else 2):
            counts.append(links)
            rates.append(np.full(len(links), relation.rate))
            servers.append(np.full(len(links), relation.is_server))
    return Orbits(np.concatenate(counts), np.concatenate(rates), np.concatenate(servers))


def rooted(digits: Digits, view: View, frozen: frozenset[int] = frozenset()) -> Rooted:
    """Return the fabric as seen from a root; the `frozen` components are those of `roots`."""
    classes, base = _Classes(digits, view), _base(digits, frozen)
    size, first, columns = classes.size(), 0, []
    for index, relation in enumerate(digits.relations):
        parts = _steps(digits, relation, base, view.marked)
        kinds = prod(len(part.orbit_links) for part in parts)
        up = _arcs(classes, relation, parts)
        for arcs in (up,) if relation.is_within else (up, _turned(up, size)):
            columns.append((arcs.source, arcs.target, arcs.links, arcs.orbit + first, np.full(len(arcs.orbit), index)))
            first += kinds
    source, target, links, orbit, relation_of = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Rooted(
        npus=int(classes.first[1]), size=size, source=source, target=target, links=links, orbit=orbit,
        relation=relation_of, root=classes.index(0, view.rows), weight=view.weight, values=classes.values(),
    )  # fmt: skip


def failed_class(digits: Digits, view: View) -> int:
    """Return the class of the switch that is taken away, which is that switch alone."""
    layer, rows = view.failed if view.failed is not None else (0, view.rows)
    return _Classes(digits, view).index(layer, rows)


def _turned(arcs: _Arcs, size: FloatArray) -> _Arcs:
    """Return the other direction of links: both ends have as many in all."""
    links = arcs.links * size[arcs.source] / size[arcs.target]
    return _Arcs(arcs.target, arcs.source, links, arcs.orbit)


def arcs_of(digits: Digits, marked: Sequence[int]) -> int:
    """Return a bound on the arcs of a view, before it is made: links of all relations, both ways."""
    counts = [prod(_step_count(digits, relation, marked)) for relation in digits.relations]
    return 2 * sum(counts)


def _step_count(digits: Digits, relation: Relation, marked: Sequence[int]) -> Iterator[int]:
    for index, size in enumerate(digits.sizes):
        ties = ties_of(digits, relation, index)
        free = sum(tie is None for tie in ties)
        yield _count(len(digits.members(relation.lower, index)) + free, marked[index], size)


def _count(length: int, marked: int, size: int) -> int:
    """Return the number of patterns: of rows that use v values so far, each digit has those and a new one."""
    rows = {marked: 1}
    for _ in range(length):
        following: dict[int, int] = {}
        for used, number in rows.items():
            following[used] = following.get(used, 0) + number * used
            if used < size:
                following[used + 1] = following.get(used + 1, 0) + number
        rows = following
    return sum(rows.values())
