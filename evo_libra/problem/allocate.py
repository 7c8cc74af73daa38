"""The best bandwidths of designs of a problem: budgets and linear constraints become rows of a convex program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evo_libra.model.allocation.program import Program
from evo_libra.model.allocation.solve import optimal_bandwidth
from evo_libra.model.arrays import FloatArray, IntArray
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.space import Structures
from evo_libra.problem.tables import Skeletons, Tables


def program_for(
    tables: Tables, constraints: Sequence[Constraint], designs: Skeletons, budget: FloatArray | None
) -> Program:
    """Return the convex program of designs under linear constraints and (n,) USD, which come last, of budget.

    Constraints on time are not linear in bandwidth and have no part in it.
    """
    linear = [constraint for constraint in constraints if constraint.quantity != "time"]
    rows = [c.coefficients(designs.technology, designs.price) * designs.used for c in linear]
    count = designs.low.shape[1]
    limits = [np.full(count, constraint.limit) for constraint in linear]
    equality = [constraint.equality for constraint in linear]
    if budget is not None:
        rows, limits, equality = [*rows, designs.price], [*limits, budget], [*equality, False]
    return replace(
        tables.program_of(designs),
        rows=np.array(rows).reshape(len(rows), *designs.low.shape),
        limit=np.array(limits).reshape(len(rows), count),
        equality=np.array(equality, dtype=np.bool_),
    )


def asks_for_cost(constraints: Sequence[Constraint]) -> bool:
    """Return whether some constraint wants a network to cost more, so that dear blocks may be of use."""
    return any(c.quantity == "cost" and (c.equality or c.objective < 0) for c in constraints)


def variants(tables: Tables, constraints: Sequence[Constraint]) -> tuple[IntArray, IntArray]:
    """Return (v,) structures and (d, v) block genes of every design that may be of use, bandwidths aside.

    Of a dimension's blocks only the cheapest matters, as all are equally fast, unless a constraint asks for cost.
    """
    structures = tables.space
    assert isinstance(structures, Structures), "only a table can be enumerated"  # noqa: S101
    structure = np.arange(len(structures))
    gene = tables.cheapest(structures.technology)
    if not asks_for_cost(constraints):
        return structure, gene
    for d in range(len(gene)):
        options = [np.full(gene.shape[1], choice) for choice in range(tables.blocks.shape[2])]
        genes = np.concatenate([np.vstack([gene[:d], option[None], gene[d + 1 :]]) for option in options], axis=1)
        repeated = np.tile(structure, len(options))
        prices = tables.skeletons(repeated, genes).price
        _, first = np.unique(np.vstack([repeated[None], prices]), axis=1, return_index=True)
        structure, gene = repeated[first], genes[:, first]
    return structure, gene


def allocate(
    tables: Tables, constraints: Sequence[Constraint], designs: Skeletons, budget: FloatArray | None
) -> FloatArray:
    """Return the (d, n) bandwidths of least time, and among those of one time, where that is easy, the least.

    A budget below what a design costs at least gets the cheapest bandwidths; where no bandwidths meet the other
    constraints either, what is returned breaks them.
    """
    program = program_for(tables, constraints, designs, budget)
    found = optimal_bandwidth(program)
    poor = np.flatnonzero(np.isinf(found.objective))
    bandwidth = shrunk(program, found.bandwidth)
    if len(poor):
        bandwidth[:, poor] = cheapest(
            replace(program.select(poor), price=designs.price[:, poor]), has_budget=budget is not None
        )
    return bandwidth


def cheapest(program: Program, *, has_budget: bool) -> FloatArray:
    """Return the (d, n) bandwidths of least price that meet the rows, but for a budget that is the last of them."""
    rows = len(program.limit) - has_budget
    if not rows:
        return program.low
    least = replace(
        program, base=0.0, size=np.empty(0), traffic=np.empty((0, *program.low.shape)), races=(),
        rows=program.rows[:rows], limit=program.limit[:rows], equality=program.equality[:rows],
    )  # fmt: skip
    return optimal_bandwidth(least).bandwidth


def shrunk(program: Program, bandwidth: FloatArray) -> FloatArray:
    """Return the least bandwidths that make every pattern as fast as these do.

    Where a constraint asks for bandwidth they are returned as they are.
    """
    if program.equality.any() or (program.rows < 0).any():
        return bandwidth
    with np.errstate(divide="ignore", invalid="ignore"):
        need = (program.traffic / program.pattern_times(bandwidth)[:, None]).max(axis=0, initial=0.0)
    need = np.where(np.isfinite(need), need, bandwidth)
    return np.asarray(np.minimum(np.maximum(need, program.low), bandwidth))
