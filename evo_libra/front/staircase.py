"""The front of two objectives: a staircase, which falls in the second one where it rises in the first one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, columns


@dataclass(frozen=True)
class Staircase:
    """The front of two objectives of designs that come one after the other.

    It needs no genes, so that it costs little to keep it up to date.

    Attributes
    ----------
    objectives : (2, k) of the designs on the front, sorted by the first objective.
    place : (k,) how many designs came before each of them.
    count : designs that came.
    """

    objectives: FloatArray
    place: IntArray
    count: int

    @staticmethod
    def of_sorted(objectives: FloatArray) -> Staircase:
        """Return the staircase of (2, n) designs that came in its order and are all on it."""
        count = objectives.shape[1]
        return Staircase(objectives, np.arange(count), count)

    def add(self, objectives: FloatArray) -> Staircase:
        """Return the staircase once (2, n) more designs have come; of equal ones the first stays."""
        able = self.may_lack(objectives)
        able = able[staircase(*columns(objectives, able))]
        count = self.count + objectives.shape[1]
        if not len(able):
            return Staircase(self.objectives, self.place, count)
        new, steps = columns(objectives, able), self.objectives.shape[1]
        # A step that a new design dominates is neither before it in the first objective nor below it in the second.
        start = np.searchsorted(self.objectives[0], new[0])
        gone = _union(start, steps - np.searchsorted(self.objectives[1, ::-1], new[1]))
        order = np.delete(np.arange(steps), gone)
        order = np.insert(order, start - np.searchsorted(gone, start), steps + np.arange(len(able)))
        place = np.concatenate([self.place, self.count + able])
        return Staircase(columns(np.concatenate([self.objectives, new], axis=1), order), place[order], count)

    def may_lack(self, objectives: FloatArray) -> IntArray:
        """Return which of (2, n) designs no step dominates or equals."""
        left = np.searchsorted(self.objectives[0], objectives[0], side="right")
        height = np.concatenate([[np.inf], self.objectives[1]])
        return np.flatnonzero(objectives[1] < height[left])


def _union(start: IntArray, end: IntArray) -> IntArray:
    """Return the numbers in any of (n,) ranges, sorted; neither starts nor ends fall."""
    begin = np.maximum(start, np.append(0, end[:-1]))
    length = np.maximum(end - begin, 0)
    before = np.cumsum(length) - length
    return np.repeat(begin - before, length) + np.arange(int(length.sum()))


def stable_order(values: FloatArray) -> IntArray:
    """Return the order of (n,) values, then by place, in half the time of sorting the places by the values."""
    mask = np.int64((1 << len(values).bit_length()) - 1)
    # As whole numbers the bits of positive numbers are in order; those of negative ones are once turned around.
    keys = (values + 0.0).view(np.int64)
    keys ^= ((keys >> 63).view(np.uint64) >> np.uint64(1)).view(np.int64)
    # The place goes into the low bits, so that one sort of whole numbers does.
    keys &= ~mask
    keys |= np.arange(len(values))
    keys.sort()
    keys &= mask
    ordered = columns(values, keys)
    if (ordered[1:] < ordered[:-1]).any():
        # Values that differ in the low bits alone are neighbours by now, which a merge sort has little work with.
        return keys[np.argsort(ordered, kind="stable")]
    return keys


def staircase(first: FloatArray, second: FloatArray) -> IntArray:
    """Return which of designs with two (n,) objectives nothing dominates, sorted; of equal ones the first.

    That takes a third of moocore's time.
    """
    if not len(first):
        return np.empty(0, dtype=np.int64)
    order = stable_order(first)
    x, y = columns(first, order), columns(second, order)
    lowest = np.minimum.accumulate(y)
    lower = np.ones(len(order), dtype=np.bool_)
    np.less(y[1:], lowest[:-1], out=lower[1:])
    step = np.flatnonzero(lower)
    # Of designs that are the same in the first objective the last step is the lowest one.
    along = columns(x, step)
    lowest_one = along[1:] != along[:-1]
    if not lowest_one.all():
        step = step[np.concatenate([lowest_one, [True]])]
    # Of equal designs the first one, as they are in order of place, is the step.
    return columns(order, step)
