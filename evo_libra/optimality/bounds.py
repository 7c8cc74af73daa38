"""Cheap lower bounds of every topology of a space, which leave few topologies to solve exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from evo_libra.arrays import TILE, FloatArray, IntArray
from evo_libra.bandwidth.lower_bound import ascend, hyperbola
from evo_libra.bandwidth.program import BandwidthProgram, only_price
from evo_libra.bandwidth.solve import optimal_bandwidth
from evo_libra.errors import InputError
from evo_libra.problem.allocate import program_for, variants
from evo_libra.problem.pricing.pricing import Topologies
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import TIME

EXACT = 1e-9
"""Relative gap up to which a time counts as the least one."""

_STEPS = 12
_BATCH = 256


@dataclass(frozen=True)
class CostBounds:
    """Bounds of v networks, or kinds of them.

    Attributes
    ----------
    base, kappa : (v,) time is at least ``base + kappa / cost``.
    min_time, min_cost : (v,) seconds that no budget, and USD that no feasible bandwidths undercut.
    """

    base: FloatArray
    kappa: FloatArray
    min_time: FloatArray
    min_cost: FloatArray
    slack: ClassVar[float] = 0.0
    """By which part of the lowest cost a cost may be below it."""

    def __len__(self) -> int:
        return len(self.base)

    def select(self, chosen: IntArray) -> Self:
        """Return some of them."""
        return type(self)(*(array[..., chosen] for array in vars(self).values()))

    def join(self, other: Self) -> Self:
        """Return both, these first."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return type(self)(*(np.concatenate(pair, axis=-1) for pair in pairs))

    def bound(self, cost: FloatArray) -> FloatArray:
        """Return the (v, k) seconds that none undercuts at (k,) costs; infinite below its lowest cost."""
        bound = np.maximum(self.base[:, None] + self.kappa[:, None] / cost, self.min_time[:, None])
        return np.where(cost < self.min_cost[:, None] * (1.0 - self.slack), np.inf, bound)


@dataclass(frozen=True)
class VariantBounds(CostBounds):
    """Cheap bounds of v variants; a variant is a structure with a choice of blocks.

    Attributes
    ----------
    structure : (v,) index of the structure, -1 for one that is not in a table.
    npus, technology, gene : (d, v) sizes, technologies and block genes.
    """

    structure: IntArray
    npus: IntArray
    technology: IntArray
    gene: IntArray
    slack: ClassVar[float] = EXACT


def bound_variants(problem: Problem) -> VariantBounds:
    """Return bounds of every variant of a space; of a dimension's blocks, of those that `variants` returns.

    An `InputError` says that the problem does not minimise time, or that the space has no table.
    """
    if TIME not in problem.objectives:
        raise InputError("least times at each cost are asked for, but time is no objective of the problem")
    table = problem.structures.table
    if table is None:
        raise InputError(
            f"the space has {len(problem.structures):,} topologies, too many to look at each; "
            "search it with another engine and certify the front"
        )
    npus, technology = table.npus, table.technology
    structure, gene = variants(problem.pricing, problem.constraints, npus, technology)
    found = bounds_of(problem, structure, npus[:, structure], technology[:, structure], gene)
    return _fastest_exact(problem, found) if _only_ports(problem) else found


def bounds_of(
    problem: Problem, structure: IntArray, npus: IntArray, technology: IntArray, gene: IntArray
) -> VariantBounds:
    """Return bounds of some variants; the parameters are those of `VariantBounds`."""
    tiles = [slice(start, start + TILE) for start in range(0, max(len(structure), 1), TILE)]
    designs = [problem.pricing.topologies_of(npus[:, t], technology[:, t], gene[:, t], structure[t]) for t in tiles]
    parts = [_bounds(problem, part) for part in designs]
    base, kappa, min_time, min_cost = (np.concatenate(column) for column in zip(*parts, strict=True))
    return VariantBounds(base, kappa, min_time, min_cost, structure, npus, technology, gene)


def _bounds(problem: Problem, designs: Topologies) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    program = program_for(problem.traffic, problem.constraints, designs, None)
    base, kappa = hyperbola(program, ascend(program, designs.price, _STEPS), designs.price)
    min_cost = (designs.price * designs.low).sum(axis=0)
    if _only_ports(problem):
        # No coefficient is negative: where the least bandwidths do not meet the rows, none do.
        affords = ((program.rows * program.low).sum(axis=1) <= program.limit * (1.0 + EXACT)).all(axis=0)
        return base, kappa, _min_time(program), np.where(affords, min_cost, np.inf)
    if len(program.limit):
        min_cost = np.maximum(min_cost, optimal_bandwidth(only_price(program, designs.price)).bound)
    return base, kappa, optimal_bandwidth(program).bound, min_cost


def _only_ports(problem: Problem) -> bool:
    return bool(problem.pricing.kits) and all(c.ports or not c.linear for c in problem.constraints)


def _min_time(program: BandwidthProgram) -> FloatArray:
    """Return (n,) seconds that no bandwidths undercut: those of the box, and of each row for itself."""
    free = replace(program, rows=program.rows[:0], limit=program.limit[:0], equality=program.equality[:0])
    found = optimal_bandwidth(free).bound
    for row, limit in zip(program.rows, program.limit, strict=True):
        mine = np.flatnonzero(row.any(axis=0))
        part, price = free.select(mine), row[:, mine]
        base, kappa = hyperbola(part, ascend(part, price, _STEPS), price)
        found[mine] = np.maximum(found[mine], base + kappa / limit[mine])
    return found


def _fastest_exact(problem: Problem, bounds: VariantBounds) -> VariantBounds:
    """Return the bounds with exact `min_time` of the fastest variants, so that no others are as fast."""
    min_time, best = bounds.min_time.copy(), np.inf
    order = np.argsort(min_time, kind="stable")
    for start in range(0, len(order), _BATCH):
        some = order[start : start + _BATCH]
        if min_time[some[0]] > best * (1.0 + EXACT):
            break
        designs = topologies_of(problem, bounds.select(some))
        found = optimal_bandwidth(program_for(problem.traffic, problem.constraints, designs, None))
        min_time[some] = np.maximum(min_time[some], found.bound)
        best = min(best, float(found.objective.min()))
    return replace(bounds, min_time=min_time)


def topologies_of(problem: Problem, part: VariantBounds) -> Topologies:
    """Return the topologies of variants."""
    return problem.pricing.topologies_of(part.npus, part.technology, part.gene, part.structure)
