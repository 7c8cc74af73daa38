"""Constraints on bandwidths and objectives: how far designs break them, and bandwidths moved to meet them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.problem.figures import Figures, TotalCostOfOwnership
from evo_libra.problem.objectives import MEASURES, Coefficients, Measure

TOLERANCE = 1e-9
"""Relative violation that counts as none: rounding, not a relaxation."""

BANDWIDTH = "bandwidth"
_SWEEPS = 200
_SCALING_SWEEPS = 60
_EXACT_SWEEPS, _BEYOND = 2, 0.5
"""Sweeps after which projections onto several inequalities overshoot by a share: else they creep into a corner."""


@dataclass(frozen=True)
class Constraint:
    """``sum of terms <= limit`` or ``== limit``; a dimension that a design lacks has bandwidth 0.

    If the terms are linear in the bandwidths, methods that solve for bandwidths or repair them know the constraint;
    any other one is a violation of the designs that break it.

    Attributes
    ----------
    text : as the user wrote it.
    quantity : ``bandwidth``, or the name of an objective.
    equality : whether the terms must equal the limit.
    dimension : (d,) coefficients of the dimensions' bandwidths.
    technology : (t,) coefficients of the bandwidths of all dimensions of a technology.
    objective : coefficient of the objective.
    limit : in SI.
    at_least : whether it was written with ``>=``; the terms are then those of the other direction.
    ports : whether it says that dimensions of one technology share its ports; catalogues say so, users do not.
    tco : figures of the total cost of ownership, where the objective needs them.
    own_memory : whether it is the memory of each NPU that limits; the limit is that of the largest one.
    """

    text: str
    quantity: str
    equality: bool
    dimension: tuple[float, ...]
    technology: tuple[float, ...]
    objective: float
    limit: float
    at_least: bool = False
    ports: bool = False
    tco: TotalCostOfOwnership | None = None
    own_memory: bool = False

    @property
    def measure(self) -> Measure | None:
        """The objective that is limited; None where it is a bandwidth."""
        return MEASURES.get(self.quantity)

    @property
    def linear(self) -> bool:
        """Whether the terms are linear in the bandwidths; a bisection of at least so much is, a smaller one is not."""
        if self.measure is not None and self.measure.smallest is not None:
            return self.objective < 0 and not self.equality
        return self.measure is None or self.bought

    @property
    def bought(self) -> bool:
        """Whether it limits a figure of the bill of materials: cost, power, or both."""
        return self.measure is not None and self.measure.summed is not None

    @property
    def at_most(self) -> bool:
        """Whether it is an upper limit of an objective."""
        return self.objective > 0 and not self.equality

    @property
    def relaxed(self) -> bool:
        """Whether a design that meets it still does where parts come in any fraction and time is a lower bound.

        Then cost, power and time are no higher, and an upper limit holds all the more; bandwidths are the same.
        """
        return self.at_most or self.measure is None or self.measure.smallest is not None

    def coefficients(self, technology: IntArray) -> FloatArray:
        """Return the coefficient of every bandwidth: (d, n) from (d, n) technologies."""
        dimension = np.asarray(self.dimension)[: len(technology), None]
        return np.asarray(dimension + np.asarray(self.technology)[technology])

    def rows(self, designs: Coefficients) -> list[FloatArray]:
        """Return the (d, n) coefficients of all bandwidths, ``coefficients . bandwidth <= limit`` for each of them.

        A bisection has a row for each dimension, any other linear constraint has one, and the rest has none.
        """
        if not self.linear:
            return []
        if self.measure is None:
            return [self.coefficients(designs.technology) * designs.used]
        if self.measure.smallest is not None:
            # Not -0.0 where a dimension has no part in a row.
            return [self.objective * row + 0.0 for row in self.measure.smallest(designs)]
        assert self.measure.summed is not None  # noqa: S101 - else it is not linear
        return [np.asarray(self.objective * self.measure.summed(designs, self.tco))]

    def excess(self, figures: Figures) -> FloatArray:
        """Return the relative violation (n,) of an objective, 0 where the constraint holds."""
        value = self.objective * MEASURES[self.quantity].value(figures)
        if self.own_memory and figures.npu_capacity is not None:
            value = value * (self.limit / figures.npu_capacity)
        return excess(self, value, 0.0)

    def limit_of_first(self, figures: Figures) -> float:
        """Return the limit of the first design, in SI."""
        own = figures.npu_capacity if self.own_memory else None
        return self.limit if own is None else float(np.ravel(own)[0])

    def excess_of(self, cost: FloatArray, watts: FloatArray) -> FloatArray:
        """Return the relative violation (n,) of a constraint that is `bought`, for (n,) USD and (n,) W."""
        no_dimension, no_bandwidth = np.empty((0, len(cost)), dtype=np.int64), np.empty((0, len(cost)))
        return self.excess(
            Figures(
                time=cost,
                cost=cost,
                watts=watts,
                npus=no_dimension,
                block=no_dimension,
                bandwidth=no_bandwidth,
                tco=self.tco,
            )
        )


def linear_rows(constraints: Sequence[Constraint], designs: Coefficients) -> list[tuple[Constraint, FloatArray]]:
    """Return the constraints that are linear in the bandwidths of some designs, with their (d, n) coefficients."""
    return [(constraint, row) for constraint in constraints for row in constraint.rows(designs)]


def excess(constraint: Constraint, value: FloatArray, scale: FloatArray | float) -> FloatArray:
    """Return the relative violation (n,) of a constraint whose left side has (n,) values; 0 where it holds.

    The scale is the size of the terms: a violation that is rounding at that size does not count.
    """
    over = value - constraint.limit
    over = np.abs(over) if constraint.equality else np.maximum(over, 0.0)
    size = np.maximum(scale, abs(constraint.limit))
    relative = over / np.where(size > 0, size, 1.0)
    return np.asarray(np.where(relative > TOLERANCE, relative, 0.0))


def project(
    bandwidth: FloatArray, low: FloatArray, high: FloatArray, constraints: Sequence[tuple[Constraint, FloatArray]]
) -> FloatArray:
    """Return (d, n) bandwidths that meet the box and, where a few projections can, the linear constraints.

    Cyclic projections: first in the metric of the bandwidths themselves, in which a sum is met by scaling all of them
    alike and a small dimension is not driven to its floor; then, for what is left, in the Euclidean one. A single sum
    with a box is always met. Exact projections creep into the corner of several constraints; after the first sweeps
    they overshoot inequalities, which few sweeps then meet (Agmon 1954). A constraint that still fails is a
    violation of the design. The box of an unused dimension is 0 to 0.
    """
    bandwidth = np.minimum(np.maximum(bandwidth, low), high)  # Takes half of the time of `np.clip`.
    if not constraints:
        return bandwidth
    todo = np.flatnonzero(_broken(bandwidth, constraints))
    for sweep in range(_SWEEPS):
        if not len(todo):
            break
        part = bandwidth[:, todo]
        local = [(constraint, coefficients[:, todo]) for constraint, coefficients in constraints]
        for constraint, coefficients in local:
            part = _onto(
                constraint, coefficients, part, low[:, todo], high[:, todo], scaling=sweep < _SCALING_SWEEPS,
                beyond=_BEYOND if sweep >= _EXACT_SWEEPS and len(local) > 1 else 0.0,
            )  # fmt: skip
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
    constraint: Constraint,
    a: FloatArray,
    b: FloatArray,
    low: FloatArray,
    high: FloatArray,
    *,
    scaling: bool,
    beyond: float,
) -> FloatArray:
    """Return bandwidths moved to meet one constraint; an inequality is overshot by a share of its violation."""
    residual = constraint.limit - (a * b).sum(axis=0)
    # Aim a hair inside an inequality, so that rounding does not leave it violated.
    if not constraint.equality:
        residual = np.minimum(residual - 0.1 * TOLERANCE * np.abs(constraint.limit), 0.0) * (1.0 + beyond)
    step = a * b if scaling else a
    # A bandwidth at its bound in the direction of the step cannot take part in it.
    stuck = ((step * residual < 0) & (b <= low)) | ((step * residual > 0) & (b >= high))
    step = np.where(stuck, 0.0, step)
    length = (a * step).sum(axis=0)
    stride = np.divide(residual, length, out=np.zeros_like(residual), where=length != 0)
    return np.asarray(np.clip(b + step * stride, low, high))
