"""Positions and links of the ends of a dimension in a picture, in a square of side 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.network.blocks.grid import sides

MAX_LINKS = 600
"""Links that are drawn one by one; of more, those of one end are."""
_CUBE = 3


@dataclass(frozen=True)
class Layout:
    """Ends of a dimension without switches.

    Attributes
    ----------
    ends : (2, n) middles; `size` : side of the box of an end.
    links : (2, k) places of the ends that are linked; `around` : (k,) whether a link leads around other ends.
    all_links : whether these are all; else they are those of the first end.
    """

    ends: FloatArray
    size: float
    links: IntArray
    around: BoolArray
    all_links: bool


def layout_of(code: str, npus: int) -> Layout:
    """Return the layout of a ring, a fully connected block, a hypercube, a mesh or a torus, by its code.

    A block that none of these is, of another package, is drawn as ends without links.

    >>> layout_of("RI", 4).links.T.tolist()
    [[0, 1], [1, 2], [2, 3], [3, 0]]
    """
    axes = {"ME": 2, "TO": 2, "TC": _CUBE}.get(code)
    if axes is not None:
        return _grid(npus, axes, wrapped=code != "ME")
    links = _LINKS.get(code, _none)(npus)
    kept = links if links.shape[1] <= MAX_LINKS else links[:, (links == 0).any(axis=0)]
    angle = 2 * math.pi * np.arange(npus) / npus - math.pi / 2
    size = min(0.16, 2.2 / npus)
    radius = 0.5 - size / 2
    ends = 0.5 + radius * np.stack([np.cos(angle), np.sin(angle)])
    straight = np.zeros(kept.shape[1], dtype=np.bool_)
    return Layout(ends, size, kept, straight, kept.shape[1] == links.shape[1])


def _none(_npus: int) -> IntArray:
    return np.zeros((2, 0), dtype=np.int64)


def _ring(npus: int) -> IntArray:
    first = np.arange(npus if npus > 2 else 1)  # noqa: PLR2004 - two NPUs are one pair
    return np.stack([first, (first + 1) % npus])


def _full(npus: int) -> IntArray:
    return np.stack(np.triu_indices(npus, 1)).astype(np.int64)


def _hypercube(npus: int) -> IntArray:
    bits = 1 << np.arange(max(npus.bit_length() - 1, 0))
    first = np.repeat(np.arange(npus), len(bits))
    second = first ^ np.tile(bits, npus)
    return np.stack([first, second])[:, first < second]


_LINKS = {"RI": _ring, "FC": _full, "HC": _hypercube}


def _grid(npus: int, axes: int, *, wrapped: bool) -> Layout:
    """Return a mesh or a torus; layers of a cube lie behind each other, a little to the right and upwards."""
    lengths = sides(np.array([npus]), axes)[:, 0]
    place = np.array(np.unravel_index(np.arange(npus), tuple(lengths[::-1].tolist())))[::-1]
    across, down = lengths[0] - 1, lengths[1] - 1
    deep = 0.35 * (lengths[2] - 1) if axes == _CUBE else 0.0
    layer = 0.35 * place[2] if axes == _CUBE else np.zeros(npus)
    step = 1.0 / (max(across, down) + deep + 1.0)
    ends = np.stack([place[0] + layer, place[1] + deep - layer]) * step
    middle = (1.0 - ends.max(axis=1, keepdims=True)) / 2
    links = _neighbours(place, lengths, wrapped=wrapped)
    return Layout(ends + middle, 0.45 * step, links, links[1] < links[0], all_links=True)


def _neighbours(place: IntArray, lengths: IntArray, *, wrapped: bool) -> IntArray:
    found, weights = [], np.cumprod([1, *lengths[:-1]])
    for axis, length in enumerate(lengths):
        ahead = (place[axis] + 1) % length
        linked = (ahead > 0) | (wrapped & (length > 2))  # noqa: PLR2004 - on a side of two, both are the same
        first = np.flatnonzero(linked)
        found.append(np.stack([first, first + (ahead - place[axis])[first] * weights[axis]]))
    return np.concatenate(found, axis=1)


def cells(count: int, width: float, height: float) -> tuple[int, int, float]:
    """Return columns, rows and the side of the largest squares that fit into a rectangle in a given number.

    >>> cells(8, 80.0, 40.0)
    (4, 2, 20.0)
    """
    best = (1, count, 0.0)
    guess = max(1, math.isqrt(max(1, int(count * width / height))))
    for columns in set(range(max(1, guess - 2), guess + 4)) | {1, count}:
        rows = -(-count // columns)
        side = min(width / columns, height / rows)
        if side > best[2] * (1 + 1e-9):
            best = (columns, rows, side)
    return best
