"""Bandwidths moved into the box and onto the linear constraints, for a whole population at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.problem.constraints import TOLERANCE, Constraint, excess

_SWEEPS = 200
_SCALING_SWEEPS = 60


def project(
    bandwidth: FloatArray, low: FloatArray, high: FloatArray, constraints: Sequence[tuple[Constraint, FloatArray]]
) -> FloatArray:
    """Return bandwidths that meet the box and, where a few projections can, the linear constraints.

    Cyclic projections: first in the metric of the bandwidths themselves, in which a sum is met by scaling all of them
    alike and a small dimension is not driven to its floor; then, for what is left, in the Euclidean one. A single sum
    with a box is always met. What still fails is a constraint violation of the design.

    Parameters
    ----------
    bandwidth : (d, n) B/s.
    low, high : (d, n) the box; both 0 in unused dimensions.
    constraints : each with its (d, n) coefficients.
    """
    bandwidth = np.clip(bandwidth, low, high)
    if not constraints:
        return bandwidth
    todo = np.flatnonzero(_broken(bandwidth, constraints))
    for sweep in range(_SWEEPS):
        if not len(todo):
            break
        part = bandwidth[:, todo]
        local = [(constraint, coefficients[:, todo]) for constraint, coefficients in constraints]
        for constraint, coefficients in local:
            part = _onto(constraint, coefficients, part, low[:, todo], high[:, todo], scaling=sweep < _SCALING_SWEEPS)
        bandwidth[:, todo] = part
        todo = todo[_broken(part, local)]
    return bandwidth


def violation(constraint: Constraint, coefficients: FloatArray, bandwidth: FloatArray) -> FloatArray:
    """Return (n,) the relative violation of a constraint that is linear in bandwidth."""
    terms = coefficients * bandwidth
    return excess(constraint, terms.sum(axis=0), np.abs(terms).max(axis=0))


def _broken(bandwidth: FloatArray, constraints: Sequence[tuple[Constraint, FloatArray]]) -> FloatArray:
    total = np.zeros(bandwidth.shape[1])
    for constraint, coefficients in constraints:
        total += violation(constraint, coefficients, bandwidth)
    return np.asarray(total > 0)


def _onto(
    constraint: Constraint, a: FloatArray, b: FloatArray, low: FloatArray, high: FloatArray, *, scaling: bool
) -> FloatArray:
    residual = constraint.limit - (a * b).sum(axis=0)
    # Aim a hair inside an inequality, so that rounding does not leave it violated.
    if not constraint.equality:
        residual = np.minimum(residual - 0.1 * TOLERANCE * np.abs(constraint.limit), 0.0)
    step = a * b if scaling else a
    # What already stands at its bound in the direction of the step cannot take part in it.
    stuck = ((step * residual < 0) & (b <= low)) | ((step * residual > 0) & (b >= high))
    step = np.where(stuck, 0.0, step)
    length = (a * step).sum(axis=0)
    stride = np.divide(residual, length, out=np.zeros_like(residual), where=length != 0)
    return np.asarray(np.clip(b + step * stride, low, high))
