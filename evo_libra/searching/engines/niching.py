"""Survival of NSGA-III: designs are spread over reference directions (Deb and Jain 2014)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.searching.engines.survival import by_front, ranks, turns

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

_INNER = 0.5


def reference_directions(objectives: int, max_count: int) -> FloatArray:
    """Return the (k, m) directions of Das and Dennis (1998) for m objectives, at most `max_count` unless m are more.

    If the steps are so few that all directions lie on the edges, a second layer half as wide is put inside (Deb and
    Jain 2014).
    """
    if objectives == 1:
        return np.ones((1, 1))
    steps = _max_steps(objectives, max_count)
    outer = das_dennis(objectives, steps)
    room = max_count - len(outer)
    if steps >= objectives or room < objectives:
        return outer
    inner = das_dennis(objectives, _max_steps(objectives, room))
    return np.concatenate([outer, _INNER * inner + (1 - _INNER) / objectives])


def _max_steps(objectives: int, max_count: int) -> int:
    steps = 1
    while comb(steps + objectives, objectives - 1) <= max_count:
        steps += 1
    return steps


def das_dennis(objectives: int, steps: int) -> FloatArray:
    """Return the (k, m) points of the plane whose coordinates are whole multiples of 1 / steps."""
    # Bars between stars: where the bars are says how many stars each coordinate has.
    places = steps + objectives - 1
    bars = np.array(list(combinations(range(places), objectives - 1)))
    edges = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), places)])
    return (np.diff(edges, axis=1) - 1) / steps


_FAR = 1e300
_MULTIPLICATIONS = 200_000
_TINY = 1e-6
_SMALL = 1e-3
_STEEP = 1e6


class Niches:
    """Selection of NSGA-III: anyone has children, the feasible first; survivors are spread over directions."""

    def memory(self, objectives: int, population: int) -> dict[str, NDArray[Any]]:
        """Return the directions and the scale of the objectives before any design is known."""
        nothing = np.full(objectives, _FAR)
        directions = reference_directions(objectives, population)
        return {"directions": directions, "ideal": nothing, "worst": -nothing, "extremes": np.empty((objectives, 0))}

    def parents(self, arrays: Mapping[str, NDArray[Any]], count: int, random: np.random.Generator) -> IntArray:
        """Return `count` members; of two that compete the one with less violation, or else the first one, wins."""
        violation = arrays["violation"]
        one = turns(len(violation), count, random)
        if not (violation > 0).any():
            return one
        two = turns(len(violation), count, random)
        return np.where(violation[two] < violation[one], two, one)

    def survivors(
        self,
        arrays: Mapping[str, NDArray[Any]],
        objectives: FloatArray,
        violation: FloatArray,
        random: np.random.Generator,
    ) -> tuple[IntArray, dict[str, NDArray[Any]]]:
        """Return which designs survive, with the scale of their objectives."""
        size, rank = int(arrays["size"]), ranks(objectives, violation)
        feasible = violation <= 0
        safe, cut = by_front(rank, size)
        room = size - int(safe.sum())
        scale = Scale(arrays["ideal"], arrays["worst"], arrays["extremes"])
        if feasible.any():
            first = np.take(objectives, np.flatnonzero(feasible & (rank == 0)), axis=1)
            scale, nadir = rescale(scale, objectives[:, feasible], first)
        last = np.flatnonzero(cut)
        if len(last) > room and feasible[last[0]]:
            scaled = (objectives - scale.ideal[:, None]) / (nadir - scale.ideal)[:, None]
            before, _ = nearest(scaled[:, safe], arrays["directions"])
            niche, distance = nearest(scaled[:, last], arrays["directions"])
            occupied = np.bincount(before, minlength=len(arrays["directions"]))
            last = last[chosen_by_niche(niche, distance, occupied, room, random)]
        kept = np.sort(np.concatenate([np.flatnonzero(safe), last[:room]]))
        return kept, {"ideal": scale.ideal, "worst": scale.worst, "extremes": scale.extremes}


@dataclass(frozen=True)
class Scale:
    """The scale of the objectives: smallest and largest values, and (m, k) designs that are best along an axis."""

    ideal: FloatArray
    worst: FloatArray
    extremes: FloatArray


def rescale(scale: Scale, objectives: FloatArray, first: FloatArray) -> tuple[Scale, FloatArray]:
    """Return the scale after (m, n) more designs, `first` the non-dominated ones, and its (m,) nadir point."""
    ideal = np.minimum(scale.ideal, objectives.min(axis=1))
    worst = np.maximum(scale.worst, objectives.max(axis=1))
    extremes = _extremes(np.concatenate([scale.extremes, first], axis=1), ideal, _SMALL * (worst - ideal))
    nadir = _intercepts(extremes, ideal)
    nadir = first.max(axis=1) if nadir is None else np.minimum(nadir, worst)
    flat = nadir - ideal <= _TINY
    nadir = np.where(flat, objectives.max(axis=1), nadir)
    # In an objective that is the same everywhere nothing is far from anything.
    return Scale(ideal, worst, extremes), np.where(nadir - ideal <= _TINY, ideal + 1.0, nadir)


def _extremes(objectives: FloatArray, ideal: FloatArray, small: FloatArray) -> FloatArray:
    """Return (m, m) designs: column j has the least of the largest of its other objectives, small ones left out."""
    above = objectives - ideal[:, None]
    above[above < small[:, None]] = 0.0
    weights = np.where(np.eye(len(ideal)) > 0, 1.0, _STEEP)
    worst = np.stack([(above * weight[:, None]).max(axis=0) for weight in weights])
    return np.asarray(np.take(objectives, worst.argmin(axis=1), axis=1))


def _intercepts(extremes: FloatArray, ideal: FloatArray) -> FloatArray | None:
    """Return where the plane through the extreme designs meets the axes; None where there is no such plane."""
    try:
        plane = np.linalg.solve((extremes - ideal[:, None]).T, np.ones(len(ideal)))
    except np.linalg.LinAlgError:
        return None
    with np.errstate(divide="ignore"):
        reach = 1.0 / plane
    return np.asarray(ideal + reach) if np.isfinite(reach).all() and (reach > _TINY).all() else None


def nearest(scaled: FloatArray, directions: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the (n,) nearest of (k, m) directions to each of (m, n) designs, the ideal at 0, and the distances.

    The nearest line is the one with the longest projection; of equally long ones the first.
    """
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    points = np.ascontiguousarray(scaled.T)
    which, reach = (_among_all if len(unit) < _MANY else _in_a_tree)(points, unit)
    squared = (scaled**2).sum(axis=0) - reach**2
    return which, np.sqrt(np.maximum(squared, 0.0))


_MANY = 1000
"""Directions from which on a tree finds the nearest one sooner than a loop over all of them."""
_CANDIDATES = 4
"""Directions of a tree's answer whose projections are compared: rounding swaps neighbours that are equally near."""


def _among_all(points: FloatArray, unit: FloatArray) -> tuple[IntArray, FloatArray]:
    which, reach = np.empty(len(points), dtype=np.int64), np.empty(len(points))
    # A part at a time, so that it stays in the cache and is too small for the threads of a library of linear algebra,
    # which would take longer to wake than to work.
    rows = max(_MULTIPLICATIONS // unit.size, 1)
    for start in range(0, len(points), rows):
        part = slice(start, start + rows)
        projection = points[part] @ unit.T
        which[part] = projection.argmax(axis=1)
        reach[part] = projection.max(axis=1)
    return which, reach


def _in_a_tree(points: FloatArray, unit: FloatArray) -> tuple[IntArray, FloatArray]:
    """Of points on the unit sphere, the nearest has the longest projection."""
    length = np.linalg.norm(points, axis=1, keepdims=True)
    found = np.sort(_tree(unit.tobytes(), unit.shape).query(points / np.where(length > 0, length, 1.0), _CANDIDATES)[1])
    projection = np.einsum("nm,ncm->nc", points, unit[found])
    best = projection.argmax(axis=1)[:, None]
    at_ideal = (length[:, 0] == 0)[:, None]
    which = np.where(at_ideal, 0, np.take_along_axis(found, best, axis=1))
    return which[:, 0].astype(np.int64), np.take_along_axis(projection, best, axis=1)[:, 0]


@lru_cache(maxsize=4)
def _tree(unit: bytes, shape: tuple[int, int]) -> cKDTree:
    """Return the tree of (k, m) directions of unit length; they stay the same for a whole search."""
    from scipy.spatial import cKDTree  # noqa: PLC0415 - few searches have as many directions

    return cKDTree(np.frombuffer(unit).reshape(shape))


def chosen_by_niche(
    niche: IntArray, distance: FloatArray, occupied: IntArray, count: int, random: np.random.Generator
) -> IntArray:
    """Return (count,) which designs get the last places: one at a time to a direction that has the fewest.

    A direction without any takes the design nearest to it, another one any of its designs.

    Each of n designs has a niche, its direction, and a distance from it; `occupied` are the (k,) designs that each
    direction has already. Chance decides between equals.
    """
    lots, ties = random.random((2, len(niche)))
    order = np.lexsort((lots, niche))
    start = np.concatenate([[True], niche[order][1:] != niche[order][:-1]])
    # The nearest design of an empty direction is its first.
    by_distance = np.lexsort((distance, niche))
    first = by_distance[start]
    lots[first[occupied[niche[first]] == 0]] = -1.0
    order = np.lexsort((lots, niche))
    begin = np.flatnonzero(start)
    turn = np.arange(len(niche)) - np.repeat(begin, np.diff(begin, append=len(niche)))
    filled = occupied[niche[order]] + turn
    # Directions with equally many come in any order, but a direction's own designs one after the other.
    return np.asarray(order[np.lexsort((ties, filled))[:count]])
