"""Structures one step from a structure: two neighbouring dimensions become one, or one becomes two."""

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
    """The steps between the structures of a space whose dimensions have one of so many technologies.

    A dimension in place of two has the technology of one of them. Of two dimensions in place of one, one at least has
    its technology. `known` has the steps from each structure that was asked for, as a search stays at a few.
    """

    space: Space
    technologies: int
    known: dict[int, IntArray] = field(default_factory=dict, compare=False, repr=False)

    def random_steps(self, structure: IntArray, random: np.random.Generator) -> IntArray:
        """Return (n,) structures, each a random step from one of (n,) structures; the same where there is no step."""
        draws = random.random(len(structure)).tolist()
        found = [
            steps[int(draw * len(steps))] if len(steps := self.steps_from(one)) else one
            for one, draw in zip(structure.tolist(), draws, strict=True)
        ]
        return np.array(found, dtype=np.int64)

    def steps_from(self, structure: int) -> IntArray:
        """Return the structures one step from a structure, ascending."""
        if structure not in self.known:
            self.known[structure] = self._steps_from(structure)
        return self.known[structure]

    def _steps_from(self, structure: int) -> IntArray:
        npus, technology = (array[:, 0].tolist() for array in self.space.look_up(np.array([structure])))
        used = tuple((size, kind) for size, kind in zip(npus, technology, strict=True) if size > 1)
        ways = list(_joined(used))
        if len(used) < len(npus):
            ways += _split(used, self.technologies)
        if not ways:
            return np.empty(0, dtype=np.int64)
        steps = np.array([[*way, *[(1, 0)] * (len(npus) - len(way))] for way in ways])
        sizes, kinds = steps[..., 0].T, steps[..., 1].T
        found = np.unique(self.space.find(sizes, padded(sizes, kinds)))
        return found[found >= 0]


def _joined(used: _Dimensions) -> Iterator[_Dimensions]:
    """Yield dimensions of which one is in place of two neighbours."""
    for d, ((inner, one), (outer, other)) in enumerate(pairwise(used)):
        for technology in (one, other):
            yield *used[:d], (inner * outer, technology), *used[d + 2 :]


def _split(used: _Dimensions, technologies: int) -> Iterator[_Dimensions]:
    """Yield dimensions of which two are in place of one."""
    for d, (size, technology) in enumerate(used):
        for inner in divisors_of(size)[1:-1]:
            for other in range(technologies):
                for one, two in ((technology, other), (other, technology)):
                    yield *used[:d], (inner, one), (size // inner, two), *used[d + 1 :]
