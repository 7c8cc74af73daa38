"""A fabric as seen from one NPU of each kind: by digits where they are exact, otherwise as a graph up to a cap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from evo_libra.errors import InputError
from evo_libra.network.fabrics.digits import Digits, digits_of
from evo_libra.network.fabrics.graph import Edges, distance_roots, edges_of, graph, graph_orbits, graph_roots
from evo_libra.network.fabrics.layered import LayeredFabric
from evo_libra.network.fabrics.quotient import Base, View, arcs_of, base_of, orbits_of, rooted, roots, switches
from evo_libra.network.fabrics.relations import relations_of
from evo_libra.network.fabrics.rooted import Orbits, Rooted

GRAPH_CAP = 200_000_000
"""Links times roots, and times failed switches, that a graph may have: a quarter of a minute on one core."""

DIGITS_CAP = 5_000_000
"""Links by digits as seen from all kinds of roots and failed switches, beyond which the graph is used: some seconds."""


@dataclass(frozen=True)
class Seen:
    """A fabric from one NPU of each kind.

    Attributes
    ----------
    method : ``digits`` or ``graph``; both are exact.
    orbits : kinds of directed links.
    places : place and size of each digit of the NPUs.
    roots : makes the views, for loads.
    distance_roots : the same for distances; a set of NPUs with the same neighbours needs one view.
    layer, weight : layer of the switch that has failed, and the switches like it; 0 and 1 where all work.
    """

    method: str
    orbits: Orbits
    places: tuple[tuple[int, int], ...]
    roots: Callable[[], Iterator[Rooted]]
    distance_roots: Callable[[], Iterator[Rooted]]
    layer: int = 0
    weight: float = 1.0


@dataclass(frozen=True)
class Question:
    """The purpose of a view.

    Attributes
    ----------
    cuts : places at which traffic cuts the numbers of NPUs.
    counted : place of the lowest digit, and that above the highest one, whose values traffic tells apart by number.
    method : ``digits`` or ``graph``; by default digits, if they are exact and not too many.
    """

    cuts: tuple[int, ...] = ()
    counted: tuple[int, int] = (1, 1)
    method: str = ""


def seen(fabric: LayeredFabric, question: Question) -> Seen:
    """Return a fabric from one NPU of each kind."""
    digits = _digits(fabric, question)
    if digits is not None:
        base = base_of(digits, question.counted)
        if question.method == "digits" or not _is_beyond_cap(digits, [base]):
            return _by_digits(digits, base)
    return next(_by_graph(fabric, question.cuts, [None]))


def seen_failing(fabric: LayeredFabric, question: Question) -> Iterator[Seen]:
    """Yield a fabric without a switch, for each kind of switches."""
    digits = _digits(fabric, question)
    if digits is not None:
        failing = switches(digits, base_of(digits, question.counted))
        if question.method == "digits" or not _is_beyond_cap(digits, (switch.marked for switch in failing)):
            failing = switches(digits, base_of(digits, question.counted))
            yield from (_by_digits(digits, switch.marked, switch) for switch in failing)
            return
    yield from _by_graph(fabric, question.cuts, range(fabric.npus, sum(fabric.layers)))


def _digits(fabric: LayeredFabric, question: Question) -> Digits | None:
    relations = relations_of(fabric)
    if relations is None or question.method == "graph":
        return None
    return digits_of(fabric.layers, relations, question.cuts)


def _is_beyond_cap(digits: Digits, bases: Iterable[Base]) -> bool:
    """Whether views have too many links together; no more of them are made than that takes."""
    total = 0
    for view in (view for base in bases for view in roots(digits, base)):
        total += arcs_of(digits, view.marked)
        if total > DIGITS_CAP:
            return True
    return False


def _by_digits(digits: Digits, base: Base, switch: View | None = None) -> Seen:
    def from_roots() -> Iterator[Rooted]:
        return (rooted(digits, view, base, switch) for view in roots(digits, base))

    found = Seen(
        method="digits", orbits=orbits_of(digits, base), roots=from_roots, distance_roots=from_roots,
        places=tuple((digit.place, digit.size) for digit in digits.layers[0]),
    )  # fmt: skip
    return found if switch is None else replace(found, layer=switch.layer, weight=switch.weight)


def _by_graph(fabric: LayeredFabric, cuts: tuple[int, ...], failing: Sequence[int | None]) -> Iterator[Seen]:
    """Yield the graph without each of some switches; None for all of them."""
    edges, places = edges_of(fabric), graph_digits(fabric.npus, cuts)
    whole, orbits = graph(fabric, edges, places), graph_orbits(edges)
    kinds = list(distance_roots(whole))
    first = np.cumsum(fabric.layers)

    def views(all_of: list[Rooted], failed: int | None) -> Iterator[Rooted]:
        _check_cap(fabric, edges, len(all_of) * len(failing))
        return (replace(root, failed=failed) for root in all_of)

    for failed in failing:
        yield Seen(
            method="graph", orbits=orbits, places=places,
            roots=partial(views, list(graph_roots(whole)), failed), distance_roots=partial(views, kinds, failed),
            layer=0 if failed is None else int(np.searchsorted(first, failed, side="right")),
        )  # fmt: skip


def graph_digits(npus: int, cuts: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return place and size of the digits of NPUs between cuts, which divide one another.

    >>> graph_digits(24, (2, 8))
    ((1, 2), (2, 4), (8, 3))
    """
    places = sorted({1, *cuts, npus})
    return tuple((low, high // low) for low, high in pairwise(places)) or ((1, 1),)


def _check_cap(fabric: LayeredFabric, edges: list[Edges], views: int) -> None:
    links = 2 * sum(len(one.lower) for one in edges)
    if links * views > GRAPH_CAP:
        raise InputError(
            f"a fabric of {fabric.npus:,} NPUs whose digits do not say all: {links:,} links as seen from {views:,} "
            f"places are more than {GRAPH_CAP:,}; allowed: sizes and blocks that divide one another, or fewer NPUs"
        )
