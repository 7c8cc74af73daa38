"""Combinations one step from a combination: two neighbouring dimensions become one, or one becomes two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.problem.space import Space, divisors_of, padded

_Dimensions = tuple[tuple[int, int], ...]
"""Size and technology of the dimensions in use, the innermost first."""


@dataclass(frozen=True)
class StructureSteps:
    """The steps between the combinations of a space of some technologies.

    A dimension in place of two has the technology of one of them. Of two dimensions in place of one, one at least has
    its technology. `known` has the steps from each combination that was asked for, as a search stays at a few.
    """

    space: Space
    technologies: int
    known: dict[int, IntArray] = field(default_factory=dict, compare=False, repr=False)

    def random_steps(self, structure: IntArray, random: np.random.Generator) -> IntArray:
        """Return (n,) combinations, each a random step from the given one; the same where there is no step."""
        self._learn(structure)
        draws = random.random(len(structure)).tolist()
        found = [
            steps[int(draw * len(steps))] if len(steps := self.known[one]) else one
            for one, draw in zip(structure.tolist(), draws, strict=True)
        ]
        return np.array(found, dtype=np.int64)

    def steps_from(self, structure: int) -> IntArray:
        """Return the combinations one step from a combination, ascending."""
        self._learn(np.array([structure]))
        return self.known[structure]

    def _learn(self, structure: IntArray) -> None:
        """Find the steps from those of (n,) combinations that are not known yet; all at once take less time."""
        missing = [one for one in np.unique(structure).tolist() if one not in self.known]
        if not missing:
            return
        npus, technology = self.space.look_up(np.array(missing))
        ways = [list(self._ways(*columns)) for columns in zip(npus.T.tolist(), technology.T.tolist(), strict=True)]
        ends = np.cumsum([len(some) for some in ways])
        steps = np.array([way for some in ways for way in some], dtype=np.int64).reshape(-1, len(npus), 2)
        sizes, kinds = steps[..., 0].T, steps[..., 1].T
        near = np.split(self.space.find(sizes, padded(sizes, kinds)), ends[:-1])
        self.known.update((one, np.unique(found[found >= 0])) for one, found in zip(missing, near, strict=True))

    def _ways(self, npus: list[int], technology: list[int]) -> Iterator[_Dimensions]:
        """Yield what may be the dimensions of combinations one step from one, those that are not in use last."""
        used = tuple((size, kind) for size, kind in zip(npus, technology, strict=True) if size > 1)
        for way in (*_joined(used), *(_split(used, self.technologies) if len(used) < len(npus) else ())):
            yield *way, *[(1, 0)] * (len(npus) - len(way))


def _joined(used: _Dimensions) -> Iterator[_Dimensions]:
    """Yield dimensions in which one replaces two neighbours."""
    for d, ((inner, one), (outer, other)) in enumerate(pairwise(used)):
        for technology in (one, other):
            yield *used[:d], (inner * outer, technology), *used[d + 2 :]


def _split(used: _Dimensions, technologies: int) -> Iterator[_Dimensions]:
    """Yield dimensions in which two replace one."""
    for d, (size, technology) in enumerate(used):
        for inner in divisors_of(size)[1:-1]:
            for other in range(technologies):
                for one, two in ((technology, other), (other, technology)):
                    yield *used[:d], (inner, one), (size // inner, two), *used[d + 1 :]
