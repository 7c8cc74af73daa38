"""Cheap lower bounds of every topology of a space, which leave few topologies to solve exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from evo_libra.arrays import TILE, FloatArray, IntArray, no_plans
from evo_libra.bandwidth.program import BandwidthProgram, ascend, hyperbola
from evo_libra.bandwidth.solve import only_price, optimal_bandwidth
from evo_libra.errors import InputError
from evo_libra.problem.allocate import min_time_of, program_for, variants
from evo_libra.problem.plans import UsefulPlans, useful_plans
from evo_libra.problem.pricing.pricing import Topologies
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import TIME

EXACT = 1e-9
"""Relative gap up to which a time counts as the least one."""

MAX_PAIRS = 1_000_000
"""More pairs of a topology and a plan than that are not bounded one by one."""

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
    """Cheap bounds of v variants; a variant is a combination with a choice of blocks and of plans.

    Attributes
    ----------
    structure : (v,) index of the combination, -1 for one that is not in a table.
    npus, technology, gene : (d, v) sizes, technologies and block genes.
    plan : (w, v) places of the plans of workloads that leave some open.
    """

    structure: IntArray
    npus: IntArray
    technology: IntArray
    gene: IntArray
    plan: IntArray
    slack: ClassVar[float] = EXACT


def bound_variants(problem: Problem) -> VariantBounds:
    """Return bounds of every variant of a space; of blocks and plans, of those that may be of use.

    An `InputError` says that the problem does not minimise time, or that there are too many variants to bound each.
    """
    structure, npus, technology, gene = shapes_of(problem)
    if problem.time.tables:
        return _bounds_of_plans(problem, structure, npus, technology, gene)
    found = bounds_of(problem, structure, npus, technology, gene)
    return fastest_exact(problem, found) if _only_ports(problem) else found


def shapes_of(problem: Problem) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return (v,) combinations and (d, v) sizes, technologies and blocks that may be of use; see `bound_variants`."""
    if TIME not in problem.objectives:
        raise InputError("least times at each cost are asked for, but time is no objective of the problem")
    table = problem.structures.table
    if table is None:
        raise InputError(
            f"the space has {len(problem.structures):,} topologies, too many to bound each; "
            "search it with another engine and certify the front"
        )
    structure, gene = variants(problem.pricing, problem.constraints, table.npus, table.technology)
    return structure, table.npus[:, structure], table.technology[:, structure], gene


def _bounds_of_plans(
    problem: Problem, structure: IntArray, npus: IntArray, technology: IntArray, gene: IntArray
) -> VariantBounds:
    plans = useful_plans(problem.time, problem.constraints)
    shape, group = held(problem, plans, npus, technology)
    if (pairs := plans.ways.members.count(group)) > MAX_PAIRS:
        raise InputError(
            f"the space has {pairs:,} pairs of a topology and a plan, too many to bound each; "
            "search it with another engine and certify the front"
        )
    node, plan = plans.ways.members.of(group)
    at = shape[node]
    found = bounds_of(
        problem, structure[at], npus=npus[:, at], technology=technology[:, at], gene=gene[:, at],
        plan=plans.plans[:, plan],
    )  # fmt: skip
    return fastest_exact(problem, found)


def held(problem: Problem, plans: UsefulPlans, npus: IntArray, technology: IntArray) -> tuple[IntArray, IntArray]:
    """Return the indices of (d, v) combinations and of groups of plans whose process groups they can hold, in pairs."""
    # Plans ask for the accelerator that the innermost technology is of and for the ends of domains, for nothing else.
    owner, outside = problem.time.owner, problem.time.outside(technology)
    first = technology[0] * 0 if owner is None else owner[technology[0]]
    asked = np.zeros(technology.shape) if outside is None else outside
    nothing = [] if problem.time.unjoined is None else [(technology >= 0) & problem.time.unjoined[technology]]
    keys = np.concatenate([npus, first[None], asked, *nothing])
    _, example, kind = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    shapes, inner, examples = npus[:, example], technology[:, example], plans.ways.examples
    shape, group = (array.ravel() for array in np.indices((shapes.shape[1], examples.shape[1])))
    fits = problem.time.fits(shapes[:, shape], examples[:, group], inner[:, shape]).reshape(shapes.shape[1], -1)
    found, groups = np.nonzero(fits[kind.ravel()])
    return found, groups


def bounds_of(
    problem: Problem, structure: IntArray, npus: IntArray, technology: IntArray, gene: IntArray,
    plan: IntArray | None = None,
) -> VariantBounds:  # fmt: skip
    """Return bounds of some variants; the parameters are those of `VariantBounds`."""
    plan = no_plans(len(structure)) if plan is None else plan
    none = np.empty(0)
    whole = VariantBounds(
        base=none, kappa=none, min_time=none, min_cost=none, structure=structure, npus=npus, technology=technology,
        gene=gene, plan=plan,
    )  # fmt: skip
    starts = range(0, max(len(structure), 1), TILE)
    parts = [_bounds(problem, topologies_of(problem, whole, slice(start, start + TILE))) for start in starts]
    base, kappa, min_time, min_cost = (np.concatenate(column) for column in zip(*parts, strict=True))
    return VariantBounds(
        base=base, kappa=kappa, min_time=min_time, min_cost=min_cost, structure=structure, npus=npus,
        technology=technology, gene=gene, plan=plan,
    )  # fmt: skip


def _bounds(problem: Problem, designs: Topologies) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    program = program_for(problem.traffic, problem.constraints, designs, None)
    base, kappa = hyperbola(program, ascend(program, designs.price, _STEPS), designs.price)
    min_cost = (designs.price * designs.low).sum(axis=0)
    if _only_ports(problem):
        # No coefficient is negative: where the least bandwidths do not meet the rows, none do.
        affords = ((program.rows * program.low).sum(axis=1) <= program.limit * (1.0 + EXACT)).all(axis=0)
        return base, kappa, min_time_of(program), np.where(affords, min_cost, np.inf)
    if problem.time.tables:
        return base, kappa, min_time_of(program), np.maximum(min_cost, _min_cost(program, designs))
    if len(program.limit):
        min_cost = np.maximum(min_cost, optimal_bandwidth(only_price(program, designs.price)).bound)
    return base, kappa, optimal_bandwidth(program).bound, min_cost


def _only_ports(problem: Problem) -> bool:
    return bool(problem.pricing.kits) and all(c.ports or not c.linear for c in problem.constraints)


def _min_cost(program: BandwidthProgram, designs: Topologies) -> FloatArray:
    """Return (n,) USD that no bandwidths within the rows undercut, solved once for all plans of a network."""
    if not len(program.limit):
        return np.zeros(len(program))
    networks = np.concatenate([designs.npus, designs.technology, designs.block])
    _, first, kind = np.unique(networks, axis=1, return_index=True, return_inverse=True)
    part = only_price(program.select(first), designs.price[:, first])
    return optimal_bandwidth(part).bound[kind.ravel()]


def fastest_exact(problem: Problem, bounds: VariantBounds) -> VariantBounds:
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


_ALL = slice(None)


def topologies_of(problem: Problem, part: VariantBounds, some: slice = _ALL) -> Topologies:
    """Return the topologies of some variants, with their plans."""
    networks = (part.npus[:, some], part.technology[:, some], part.gene[:, some], part.structure[some])
    return replace(problem.pricing.topologies_of(*networks), plan=part.plan[:, some])
