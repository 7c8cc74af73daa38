"""The baseline of a design: the best that can be built of the same network with one bandwidth in all dimensions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, Population
from evo_libra.problem.constraints import linear_rows
from evo_libra.problem.hardware import Hardware
from evo_libra.problem.problem import Problem
from evo_libra.problem.tables import Skeletons

_ROUNDING = 1e-9


def equal_split(
    problem: Problem, network: Population, *, most: float = np.inf, fastest: bool = True
) -> Population | None:
    """Return the best feasible design with equal bandwidths of the first of some networks; None where there is none.

    Time falls with the bandwidth, and the product of time and cost rises: the best one has the most bandwidth that
    caps, ports and constraints allow, or the least.

    Parameters
    ----------
    problem : which designs are feasible.
    network : sizes, blocks and technologies; its bandwidths do not matter.
    most : B/s of a dimension that are not exceeded.
    fastest : whether the best design has the least time, and not the least product of time and cost.
    """
    design = _without_bandwidth(problem, network.select([0]))
    low, high = _range(problem, design)
    high = min(high, most)
    if not (low <= high * (1.0 + _ROUNDING) and 0 < (high if fastest else low) < np.inf):
        return None
    each = np.array([high if fastest else low])
    if design.hardware is not None and not problem.optimal:
        each = _whole_ports(design.hardware, design.used > 0, low, high)
    if not len(each):
        return None
    one = network.select([0] * len(each))
    found = replace(one, bandwidth=np.where(one.npus > 1, each, 0.0))
    feasible = np.flatnonzero(problem.evaluate(found).violation <= 0)
    return found.select(feasible[[-1 if fastest else 0]]) if len(feasible) else None


def _without_bandwidth(problem: Problem, one: Population) -> Skeletons:
    tables, used = problem.tables, (one.npus > 1).astype(np.float64)
    hardware = tables.hardware_of(one.npus, one.technology) if tables.kits else None
    low, high = (hardware.low, hardware.high) if hardware else tables.box(one.technology)
    price = problem.unit_prices(one)
    return Skeletons(np.array([-1]), one.npus, one.technology, one.block, price, low, high, used, hardware)


def _range(problem: Problem, design: Skeletons) -> tuple[float, float]:
    """Return the least and largest bandwidth that box and linear constraints allow in all dimensions at once."""
    used = design.used[:, 0] > 0
    low, high = float(design.low[used].max()), float(design.high[used].min())
    for constraint, row in linear_rows(problem.constraints, design):
        each = float(row.sum())
        if each > 0 or (each and constraint.equality):
            high = min(high, constraint.limit / each)
        if each < 0 or (each and constraint.equality):
            low = max(low, constraint.limit / each)
    return low, high


def _whole_ports(hardware: Hardware, used: BoolArray, low: float, high: float) -> FloatArray:
    """Return the bandwidths in a range that are whole ports in every dimension, ascending."""
    steps = (hardware.rate * hardware.quantum)[used]
    largest = float(steps.max())
    first, last = np.ceil(low / largest * (1.0 - _ROUNDING)), np.floor(high / largest * (1.0 + _ROUNDING))
    found = np.arange(first, last + 1.0) * largest
    count = found[:, None] / steps
    return found[(np.abs(count - np.rint(count)) <= _ROUNDING * count).all(axis=1)]
