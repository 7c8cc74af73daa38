"""Reference directions: points spread evenly over the plane on which objectives add up to 1."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from evo_libra.arrays import FloatArray

_INNER = 0.5


def reference_directions(objectives: int, most: int) -> FloatArray:
    """Return (k, m) directions, as many as `most` allows.

    Those of Das and Dennis (1998). Where the steps are so few that all of them lie on the edges, a second layer half as
    wide is put inside (Deb and Jain 2014).

    Parameters
    ----------
    objectives : m.
    most : largest k; the m corners are always there.
    """
    if objectives == 1:
        return np.ones((1, 1))
    steps = _most_steps(objectives, most)
    outer = das_dennis(objectives, steps)
    room = most - len(outer)
    if steps >= objectives or room < objectives:
        return outer
    inner = das_dennis(objectives, _most_steps(objectives, room))
    return np.concatenate([outer, _INNER * inner + (1 - _INNER) / objectives])


def _most_steps(objectives: int, most: int) -> int:
    steps = 1
    while comb(steps + objectives, objectives - 1) <= most:
        steps += 1
    return steps


def das_dennis(objectives: int, steps: int) -> FloatArray:
    """Return the (k, m) points of the plane whose coordinates are whole multiples of 1 / steps."""
    # Bars between stars: where the bars are says how many stars each coordinate has.
    places = steps + objectives - 1
    bars = np.array(list(combinations(range(places), objectives - 1)))
    edges = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), places)])
    return (np.diff(edges, axis=1) - 1) / steps
