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
from evo_libra.network.fabrics.digits import Digits
from evo_libra.network.fabrics.patterns import Row, Steps, next_value, patterns, rows_like, steps
from evo_libra.network.fabrics.relations import Relation
from evo_libra.network.fabrics.rooted import Orbits, Rooted


@dataclass(frozen=True)
class View:
    """A kind of nodes of a layer.

    Attributes
    ----------
    layer : its index.
    rows : for each component, the values of the digits of one such node.
    marked : for each component, the values that are distinguished as seen from this node.
    weight : nodes of this kind.
    """

    layer: int
    rows: tuple[Row, ...]
    marked: tuple[int, ...]
    weight: float


Base = tuple[int, ...]
"""For each component, the values that are distinguished from the beginning."""


def base_of(digits: Digits, counted: tuple[int, int]) -> Base:
    """Return the base of traffic that tells values of digits apart by number.

    Parameters
    ----------
    digits : addresses of the fabric.
    counted : place of the lowest such digit of an NPU, and that above the highest one.
    """
    low, high = counted
    frozen = {digit.component for digit in digits.layers[0] if low <= digit.place < high}
    return tuple(size if index in frozen else 0 for index, size in enumerate(digits.sizes))


def roots(digits: Digits, base: Base) -> Iterator[View]:
    """Yield the kinds of NPUs."""
    return _kinds(digits, 0, base)


def switches(digits: Digits, base: Base) -> Iterator[View]:
    """Yield the kinds of switches; what is marked for one is the base of the fabric without it."""
    for layer in range(1, len(digits.layers)):
        yield from _kinds(digits, layer, base)


def _kinds(digits: Digits, layer: int, base: Base) -> Iterator[View]:
    columns = (patterns(*column) for column in zip(digits.counts[layer], base, digits.sizes, strict=True))
    for rows in product(*columns):
        weight = prod(rows_like(*one) for one in zip(rows, base, digits.sizes, strict=True))
        marked = tuple(next_value(row, mark) for row, mark in zip(rows, base, strict=True))
        yield View(layer, rows, marked, float(weight))


class _Classes:
    """Classes of all layers as numbers: those of a layer are a mixed radix number of the patterns of its components."""

    def __init__(self, digits: Digits, marked: tuple[int, ...]) -> None:
        self.digits, self.marked = digits, marked
        self.rows = [
            [patterns(digits.counts[layer][index], mark, size) for index, (mark, size) in self._components()]
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


def _steps(digits: Digits, relation: int, base: Base, marked: Base) -> dict[int, Steps]:
    """Return the links of a relation by component, those alone that one of its layers has digits of."""
    lower, ties = digits.relations[relation].lower, digits.ties[relation]
    return {
        index: steps(digits.counts[lower][index], ties[index], base[index], marked[index], size)
        for index, size in enumerate(digits.sizes)
        if digits.counts[lower][index] or ties[index]
    }


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


def _arcs(classes: _Classes, relation: Relation, found: dict[int, Steps]) -> _Arcs:
    """Return the links of a relation from its lower to its upper end."""
    lower = [len(classes.rows[relation.lower][index]) for index in found]
    upper = [len(classes.rows[relation.upper][index]) for index in found]
    parts = list(found.values())
    links, same = np.ones(1), np.ones(1, dtype=np.bool_)
    for part in parts:
        links = np.multiply.outer(links, part.links).ravel()
        same = np.logical_and.outer(same, part.same).ravel()
    arcs = _Arcs(
        source=classes.first[relation.lower] + _outer([part.lower for part in parts], lower),
        target=classes.first[relation.upper] + _outer([part.upper for part in parts], upper),
        links=links * relation.parallel,
        orbit=_outer([part.orbit for part in parts], [len(part.orbit_links) for part in parts]),
    )
    return _chosen(arcs, ~same) if relation.is_within else arcs


def _chosen(arcs: _Arcs, which: BoolArray) -> _Arcs:
    return _Arcs(arcs.source[which], arcs.target[which], arcs.links[which], arcs.orbit[which])


def orbits_of(digits: Digits, base: Base) -> Orbits:
    """Return the kinds of directed links, in the order of their numbers in `rooted`."""
    counts, rates, servers = [], [], []
    for index, relation in enumerate(digits.relations):
        links = np.full(1, float(relation.parallel))
        for part in _steps(digits, index, base, base).values():
            links = np.multiply.outer(links, part.orbit_links).ravel()
        for _ in range(1 if relation.is_within else 2):
            counts.append(links)
            rates.append(np.full(len(links), relation.rate))
            servers.append(np.full(len(links), relation.is_server))
    return Orbits(np.concatenate(counts), np.concatenate(rates), np.concatenate(servers))


def rooted(digits: Digits, view: View, base: Base, switch: View | None = None) -> Rooted:
    """Return the fabric as seen from one of its `roots`; after a failure, the base is what the switch marks."""
    classes = _Classes(digits, view.marked)
    size, first, columns = classes.size(), 0, []
    for index, relation in enumerate(digits.relations):
        parts = _steps(digits, index, base, view.marked)
        kinds = prod(len(part.orbit_links) for part in parts.values())
        up = _arcs(classes, relation, parts)
        for arcs in (up,) if relation.is_within else (up, _turned(up, size)):
            columns.append((arcs.source, arcs.target, arcs.links, arcs.orbit + first, np.full(len(arcs.orbit), index)))
            first += kinds
    source, target, links, orbit, relation_of = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Rooted(
        npus=int(classes.first[1]), size=size, source=source, target=target, links=links, orbit=orbit,
        relation=relation_of, root=classes.index(view.layer, view.rows), weight=view.weight, values=classes.values(),
        failed=None if switch is None else classes.index(switch.layer, switch.rows),
    )  # fmt: skip


def _turned(arcs: _Arcs, size: FloatArray) -> _Arcs:
    """Return the other direction of links: both ends have as many in all."""
    links = arcs.links * size[arcs.source] / size[arcs.target]
    return _Arcs(arcs.target, arcs.source, links, arcs.orbit)


def arcs_of(digits: Digits, marked: Base) -> int:
    """Return a bound on the arcs of a view, before it is made: links of all relations, both ways."""
    return 2 * sum(prod(_step_counts(digits, index, marked)) for index in range(len(digits.relations)))


def _step_counts(digits: Digits, relation: int, marked: Base) -> Iterator[int]:
    counts = digits.counts[digits.relations[relation].lower]
    for index, (size, ties) in enumerate(zip(digits.sizes, digits.ties[relation], strict=True)):
        yield _count(counts[index] + ties.count(None), marked[index], size)


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
