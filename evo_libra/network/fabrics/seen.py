"""A fabric as seen from one NPU of each kind: by digits where they are exact, otherwise as a graph up to a cap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from evo_libra.errors import InputError
from evo_libra.network.fabrics.digits import Digits, digits_of
from evo_libra.network.fabrics.graph import Edges, distance_roots, edges_of, graph, graph_orbits, graph_roots
from evo_libra.network.fabrics.layered import LayeredFabric
from evo_libra.network.fabrics.quotient import View, arcs_of, failed_class, failures, orbits_of, rooted, roots
from evo_libra.network.fabrics.relations import relations_of
from evo_libra.network.fabrics.rooted import Orbits, Rooted

GRAPH_CAP = 400_000_000
"""Links times roots, and times failed switches, that a graph may have: about ten seconds on one core."""

DIGITS_CAP = 1_000_000
"""Links of a fabric by digits as seen from all kinds of roots, beyond which a graph is not slower."""


@dataclass(frozen=True)
class Seen:
    """A fabric from one NPU of each kind.

    Attributes
    ----------
    method : ``digits`` or ``graph``; both are exact.
    orbits : kinds of directed links.
    places : place and size of each digit of the NPUs.
    roots : the views, for loads.
    distance_roots : the same for distances; a set of NPUs with the same neighbours needs one view.
    failures : the views with a class that is a failed switch.
    """

    method: str
    orbits: Orbits
    places: tuple[tuple[int, int], ...]
    roots: Callable[[], Iterator[Rooted]]
    distance_roots: Callable[[], Iterator[Rooted]]
    failures: Callable[[], Iterator[tuple[Rooted, int]]]


def seen(
    fabric: LayeredFabric, cuts: tuple[int, ...] = (), counted: tuple[int, int] = (1, 1), method: str = ""
) -> Seen:
    """Return a fabric from one NPU of each kind.

    Parameters
    ----------
    fabric : the fabric.
    cuts : places at which traffic cuts the numbers of NPUs.
    counted : place of the lowest digit, and that above the highest one, whose values traffic tells apart by number.
    method : ``digits`` or ``graph``; by default digits, if they are exact and not too many.
    """
    relations = relations_of(fabric)
    digits = None if relations is None or method == "graph" else digits_of(fabric.layers, relations, cuts)
    if digits is None:
        return _by_graph(fabric, cuts)
    low, high = counted
    frozen = frozenset(digit.component for digit in digits.layers[0] if low <= digit.place < high)
    views = list(roots(digits, frozen))
    if method != "digits" and sum(arcs_of(digits, view.marked) for view in views) > DIGITS_CAP:
        return _by_graph(fabric, cuts)
    return _by_digits(digits, views, frozen)


def _by_digits(digits: Digits, views: list[View], frozen: frozenset[int]) -> Seen:
    def from_roots() -> Iterator[Rooted]:
        return (rooted(digits, view, frozen) for view in views)

    def from_failures() -> Iterator[tuple[Rooted, int]]:
        return ((rooted(digits, view), failed_class(digits, view)) for view in failures(digits))

    places = tuple((digit.place, digit.size) for digit in digits.layers[0])
    return Seen(
        method="digits", orbits=orbits_of(digits, frozen), places=places, roots=from_roots,
        distance_roots=from_roots, failures=from_failures,
    )  # fmt: skip


def _by_graph(fabric: LayeredFabric, cuts: tuple[int, ...]) -> Seen:
    edges = edges_of(fabric)
    places = graph_digits(fabric.npus, cuts)
    whole = graph(fabric, edges, places)

    def from_roots() -> Iterator[Rooted]:
        _check_cap(fabric, edges, fabric.npus)
        return graph_roots(whole)

    def from_kinds() -> Iterator[Rooted]:
        kinds = list(distance_roots(whole))
        _check_cap(fabric, edges, len(kinds))
        return iter(kinds)

    def from_failures() -> Iterator[tuple[Rooted, int]]:
        kinds, nodes = list(distance_roots(whole)), range(fabric.npus, sum(fabric.layers))
        _check_cap(fabric, edges, len(kinds) * len(nodes))
        return ((root, failed) for root in kinds for failed in nodes)

    return Seen(
        method="graph", orbits=graph_orbits(edges), places=places, roots=from_roots,
        distance_roots=from_kinds, failures=from_failures,
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
