"""One network of NPUs and switches as links with two ends each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Wiring:
    """Links of one network. Its NPUs come first in the numbers of its ends, its switches behind them.

    Attributes
    ----------
    npus : how many there are.
    tier : (s,) tier of each switch, 1 next to the NPUs.
    ends : (2, m) what each link connects; the end that is nearer to the NPUs comes first.
    position : (npus + s,) where everything stands, in places of NPUs: a switch in the middle of what is below it.
    """

    npus: int
    tier: IntArray
    ends: IntArray
    position: FloatArray


def direct(npus: int, pairs: Sequence[IntArray], each: int) -> Wiring:
    """Return NPUs that are linked to each other, `each` times for each of some (2, k) pairs."""
    ends = np.concatenate(pairs, axis=1) if pairs else np.empty((2, 0), dtype=np.int64)
    none = np.empty(0, dtype=np.int64)
    return Wiring(npus, none, np.repeat(ends, each, axis=1), np.arange(npus, dtype=np.float64))


def planes(plane: Wiring, count: int, together: int = 1) -> Wiring:
    """Return networks of the same NPUs side by side; of single switches, each holds `together` of the networks."""
    switches = len(plane.tier)
    copies = -(-count // together)
    shift = np.arange(count) // together * switches
    ends = plane.ends[:, None] + np.where(plane.ends[:, None] >= plane.npus, shift[:, None], 0)
    position = np.concatenate([plane.position[: plane.npus], np.tile(plane.position[plane.npus :], copies)])
    return Wiring(plane.npus, np.tile(plane.tier, copies), ends.reshape(2, -1), position)


def spread(sizes: Sequence[int] | IntArray) -> IntArray:
    """Return the owner of each thing, in the order of the owners, from the number of things of each.

    >>> spread([2, 1]).tolist()
    [0, 0, 1]
    """
    return np.repeat(np.arange(len(sizes)), sizes)


def equal_parts(whole: int, parts: int) -> IntArray:
    """Return sizes of parts that are as equal as can be, the smaller ones first.

    >>> equal_parts(10, 4).tolist()
    [2, 2, 3, 3]
    """
    size, rest = divmod(whole, parts)
    return np.array([size] * (parts - rest) + [size + 1] * rest, dtype=np.int64)
