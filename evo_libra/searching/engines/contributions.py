"""Selection by contributions to the hypervolume (SMS-EMOA, Beume et al. 2007), for a generation at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import moocore
import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import FloatArray, IntArray, columns
from evo_libra.problem.protocol import Genome
from evo_libra.searching.engines.survival import ENDS, Crowding, largest, least_crowded, survivors, turns, winners

MAX_OBJECTIVES = 3
"""Of four objectives and more a contribution takes milliseconds and not microseconds, so that crowding decides."""
_REFERENCE = 1.1
_RIVALS, _RIVALS_OF_NUMBERS = 1, 8
"""Of the winner of a binary tournament, while there are several fronts: few where genes are categories, as a search
that is greedy among them ends in the first good ones."""
_CHILDREN, _CHILDREN_OF_NUMBERS = 1.0, 0.5
"""Designs of a generation, as a share of the population; see `docs/why/search.md`."""
_ROUNDS = 3
"""In which designs leave a front; SMS-EMOA itself takes one at a time."""


class Contributions(Crowding):
    """Selection of a small population, greedier than that of NSGA-II.

    While the population has several fronts, parents are the best of three instead of two, or of ten where all genes are
    numbers. Once it is one front, those that contribute least to its hypervolume leave it, and of two parents the one
    that contributes more wins. `children` says how many children a population should have at a time, as a share of it.
    """

    def __init__(self, genome: Genome | None = None) -> None:
        categories = genome is None or genome.categorical.any()
        self._rivals = _RIVALS if categories else _RIVALS_OF_NUMBERS
        self.children = _CHILDREN if categories else _CHILDREN_OF_NUMBERS

    def parents(self, arrays: Mapping[str, NDArray[Any]], count: int, random: np.random.Generator) -> IntArray:
        """Return `count` winners of tournaments."""
        found = super().parents(arrays, count, random)
        if arrays["front"].any():
            for _ in range(self._rivals):
                found = winners(arrays, found, turns(len(arrays["front"]), count, random))
        return found

    def survivors(
        self,
        arrays: Mapping[str, NDArray[Any]],
        objectives: FloatArray,
        violation: FloatArray,
        random: np.random.Generator,  # noqa: ARG002 - nothing is left to chance
    ) -> tuple[IntArray, dict[str, NDArray[Any]]]:
        """Return which designs survive, with their fronts and contributions."""
        thin = most_contributing if len(objectives) <= MAX_OBJECTIVES else least_crowded
        kept, front, value = survivors(objectives, violation, int(arrays["size"]), thin)
        return kept, {"front": front, "crowding": value}


def most_contributing(front: FloatArray, size: int) -> tuple[IntArray, FloatArray]:
    """Return `size` of (m, n) designs without those that add least to the hypervolume, and what these contribute.

    The front is scaled to its extent; the designs that are best in an objective stay, with `ENDS`.
    """
    low = front.min(axis=1, keepdims=True)
    span = front.max(axis=1, keepdims=True) - low
    scaled = (front - low) / np.where(span > 0, span, 1.0)
    kept = np.arange(front.shape[1])
    value = _contributions(scaled)
    for left in range(_ROUNDS, 0, -1):
        leaving = -(-(len(kept) - size) // left)
        if leaving:
            kept = columns(kept, np.flatnonzero(largest(value, len(kept) - leaving)))
            value = _contributions(columns(scaled, kept))
    return kept, value


def _contributions(scaled: FloatArray) -> FloatArray:
    points = np.ascontiguousarray(scaled.T)
    found = np.asarray(moocore.hv_contributions(points, ref=np.full(len(scaled), _REFERENCE)))
    found[scaled.argmin(axis=1)] = ENDS
    return found
