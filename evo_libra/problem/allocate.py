"""The best bandwidths of designs of a problem: budgets and linear constraints become rows of a convex program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.bandwidth.program import BandwidthProgram, only_price
from evo_libra.bandwidth.solve import optimal_bandwidth
from evo_libra.problem.constraints import Constraint, linear_rows
from evo_libra.problem.hardware import port_rows
from evo_libra.problem.tables import Skeletons, Tables


def program_for(
    tables: Tables,
    constraints: Sequence[Constraint],
    designs: Skeletons,
    budget: FloatArray | None,
    *,
    separate: bool = False,
) -> BandwidthProgram:
    """Return the convex program of designs under linear constraints and (n,) USD, which come last, of budget.

    Constraints that are not linear in bandwidth have no part in it. Those on ports are merged to as many as a design
    has technologies of several dimensions, unless each is to have a row of its own, in their order (`separate`).
    """
    merged = [] if separate or designs.hardware is None else port_rows(designs.hardware.shared)
    alone = [c for c in constraints if separate or designs.hardware is None or not c.ports]
    linear = [*linear_rows(alone, designs), *merged]
    count = designs.low.shape[1]
    rows = [row for _, row in linear]
    limits = [np.full(count, constraint.limit) for constraint, _ in linear]
    equality = [constraint.equality for constraint, _ in linear]
    if budget is not None:
        rows, limits, equality = [*rows, designs.price], [*limits, budget], [*equality, False]
    return replace(
        tables.program_of(designs),
        rows=np.array(rows).reshape(len(rows), *designs.low.shape),
        limit=np.array(limits).reshape(len(rows), count),
        equality=np.array(equality, dtype=np.bool_),
    )


def every_block_counts(constraints: Sequence[Constraint]) -> bool:
    """Return whether expensive blocks may be of use: some constraint asks for cost, or for a bisection."""
    return any(c.quantity == "bisection" or (c.quantity == "cost" and not c.at_most) for c in constraints)


def variants(
    tables: Tables, constraints: Sequence[Constraint], npus: IntArray, technology: IntArray
) -> tuple[IntArray, IntArray]:
    """Return (v,) columns of (d, n) sizes and technologies, and (d, v) block genes, that may be of use.

    Of a dimension's blocks only the cheapest matters, as all are equally fast, unless a constraint asks for cost or
    limits the bisection.
    """
    column, gene = np.arange(npus.shape[1]), tables.cheapest(technology)
    if not every_block_counts(constraints):
        return column, gene
    for d in range(len(gene)):
        options = [np.full(gene.shape[1], choice) for choice in range(tables.blocks.shape[2])]
        genes = np.concatenate([np.vstack([gene[:d], option[None], gene[d + 1 :]]) for option in options], axis=1)
        repeated = np.tile(column, len(options))
        built = tables.skeletons_of(npus[:, repeated], technology[:, repeated], genes)
        _, first = np.unique(np.vstack([repeated[None], built.price, built.cuts]), axis=1, return_index=True)
        column, gene = repeated[first], genes[:, first]
    return column, gene


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
        rows = len(program.limit) - (budget is not None)
        bandwidth[:, poor] = cheapest(program.select(poor), designs.price[:, poor], rows)
    return bandwidth


def cheapest(program: BandwidthProgram, price: FloatArray, rows: int) -> FloatArray:
    """Return the (d, n) bandwidths of least price (d, n), in USD per B/s, that meet the first rows of a program.

    Where none meet them, they are the least of the box, which break a row.
    """
    if not rows:
        return program.low
    held = replace(program, rows=program.rows[:rows], limit=program.limit[:rows], equality=program.equality[:rows])
    found = optimal_bandwidth(only_price(held, price))
    return np.where(np.isfinite(found.objective), found.bandwidth, program.low)


def shrunk(program: BandwidthProgram, bandwidth: FloatArray) -> FloatArray:
    """Return the least bandwidths that make every pattern as fast as these do.

    Where a constraint asks for bandwidth they are returned as they are.
    """
    if program.equality.any() or (program.rows < 0).any():
        return bandwidth
    with np.errstate(divide="ignore", invalid="ignore"):
        need = (program.traffic / program.pattern_times(bandwidth)[:, None]).max(axis=0, initial=0.0)
    need = np.where(np.isfinite(need), need, bandwidth)
    return np.asarray(np.minimum(np.maximum(need, program.low), bandwidth))
