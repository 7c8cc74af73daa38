"""Every non-dominated design that a search has seen."""

from __future__ import annotations

from dataclasses import dataclass

import moocore
import numpy as np

from evo_libra.model.arrays import FloatArray


@dataclass(frozen=True)
class Archive:
    """Mutually non-dominated feasible designs, sorted by their objectives; of equal ones the first seen is kept.

    Attributes
    ----------
    genes : (g, k).
    objectives : (m, k).
    """

    genes: FloatArray
    objectives: FloatArray

    @staticmethod
    def empty(genes: int, objectives: int) -> Archive:
        """Return an archive without designs."""
        return Archive(np.empty((genes, 0)), np.empty((objectives, 0)))

    def __len__(self) -> int:
        return int(self.genes.shape[1])

    def add(self, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> Archive:
        """Return the archive with the feasible ones of (g, n) designs that nothing dominates."""
        new = np.flatnonzero(violation <= 0)
        new = new[non_dominated(objectives[:, new])]
        if len(self.objectives) == 2:  # noqa: PLR2004 - two sorted objectives allow a look-up
            new = new[self._beyond(objectives[:, new])]
        if not len(new):
            return self
        merged = np.concatenate([self.objectives, objectives[:, new]], axis=1)
        kept = np.flatnonzero(non_dominated(merged))
        kept = kept[np.lexsort(merged[::-1, kept])]
        return Archive(np.concatenate([self.genes, genes[:, new]], axis=1)[:, kept], merged[:, kept])

    def _beyond(self, objectives: FloatArray) -> FloatArray:
        """Return (n,) whether a design is below the staircase of a two-objective archive."""
        if not len(self):
            return np.ones(objectives.shape[1], dtype=np.bool_)
        left = np.searchsorted(self.objectives[0], objectives[0], side="right") - 1
        return np.asarray((left < 0) | (objectives[1] < self.objectives[1, np.maximum(left, 0)]))


def non_dominated(objectives: FloatArray) -> FloatArray:
    """Return (n,) whether none of (m, n) designs is better in one objective and no worse in the others."""
    if not objectives.shape[1]:
        return np.zeros(0, dtype=np.bool_)
    return np.asarray(moocore.is_nondominated(np.ascontiguousarray(objectives.T)))
