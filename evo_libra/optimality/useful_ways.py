"""Ways to go on with a partial combination, without technologies that another one beats in every completion."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, IntArray
from evo_libra.problem.constraints import BANDWIDTH, Constraint
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import COST, TIME


class UsefulOptions:
    """The technologies and sizes of the next dimension that may be of use, by what is left of a partial combination.

    A technology stands for another one of the same size where it costs no more, has no narrower box, carries as much
    of the bandwidth, and lets the same technologies follow: in every completion it can take the place of the other.
    If what groups get depends on the block, it has the same one. The price of parts depends on the sizes, so that no
    technology stands for another.
    """

    def __init__(self, problem: Problem) -> None:
        self.space = problem.counted
        self._stands = _stands_for(problem)
        self._npus, self._pricing = problem.npus, problem.pricing
        self._known: dict[tuple[int, int, int], tuple[IntArray, IntArray]] = {}
        self._costs: dict[tuple[int, int, int], float] = {}

    def of(self, depth: int, left: int, last: int) -> tuple[IntArray, IntArray]:
        """Return (k,) technologies and sizes after `depth` dimensions, the last of which has a technology or is -1."""
        key = depth, left, last
        if key not in self._known:
            options = self.space.options(*key)
            same = options.size[:, None] == options.size
            beaten = self._stands[depth][np.ix_(options.technology, options.technology)] & same
            kept = np.flatnonzero(~beaten.any(axis=0))
            self._known[key] = options.technology[kept], options.size[kept]
        return self._known[key]

    def min_cost(self, depth: int = 0, left: int | None = None, last: int = -1) -> float:
        """Return USD that no further dimensions undercut, with every bandwidth at its floor; as for `of`.

        Linear constraints are left out. Without arguments it is the least cost of any design.
        """
        left = self.space.npus if left is None else left
        if left == 1:
            return 0.0
        key = depth, left, last
        if key not in self._costs:
            technologies, sizes = (array.tolist() for array in self.of(*key))
            price, low = self._pricing.min_price[depth], self._pricing.low[depth]
            further = (
                self._npus * float(price[technology] * low[technology])
                + self.min_cost(depth + 1, left // size, technology)
                for technology, size in zip(technologies, sizes, strict=True)
            )
            self._costs[key] = min(further, default=np.inf)
        return self._costs[key]


def _stands_for(problem: Problem) -> BoolArray:
    """Return (d, t, t) whether the first technology stands for the second one in a dimension."""
    pricing, space, time = problem.pricing, problem.counted, problem.time
    kinds = len(space.technologies)
    if pricing.kits or not all(_only_helps(constraint) for constraint in problem.constraints):
        return np.zeros((len(space.rules), kinds, kinds), dtype=np.bool_)
    rank = np.array(space.ranks)
    owner = np.array([kind.npu or "" for kind in space.technologies])
    block = np.array([kit.block for kit in time.kits] or [0] * kinds)
    reached = np.ones(kinds) if time.efficiency is None else time.efficiency
    depth = len(space.rules)
    less = np.stack([
        pricing.min_price, pricing.low, -pricing.high, np.tile(rank, (depth, 1)), np.tile(-reached, (depth, 1)),
    ])  # fmt: skip
    first, second = less[..., :, None], less[..., None, :]
    # Of two that are alike, the first one stands for the other.
    before = (first < second).any(axis=0) | (np.arange(kinds)[:, None] < np.arange(kinds))
    alike = (owner[:, None] == owner) & (block[:, None] == block)
    return np.asarray((first <= second).all(axis=0) & before & alike)


def _only_helps(constraint: Constraint) -> bool:
    """Return whether a design that is no slower and no more expensive, with the same bandwidths, meets it as well."""
    if constraint.quantity == BANDWIDTH:
        return not any(constraint.technology)
    return constraint.quantity in (TIME.name, COST.name) and constraint.at_most
