"""What holds the best bandwidths of a network back, with shadow prices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.bandwidth.lower_bound import slopes
from evo_libra.bandwidth.program import Multipliers, Program
from evo_libra.arrays import GIGA, FloatArray
from evo_libra.problem.constraints import Constraint, linear_rows
from evo_libra.problem.problem import Problem
from evo_libra.problem.tables import Skeletons

_BINDING = 1e-6


@dataclass(frozen=True)
class Binding:
    """A limit that holds the optimum back.

    Attributes
    ----------
    limit : the constraint as written, or the cap or floor of a dimension.
    quantity : ``bandwidth``, or the objective that is limited.
    price : seconds saved per B/s, USD or W that the limit is loosened by; where a product is minimised, its change over
        the cost.
    loosened_by : ``raising``, or ``lowering`` for what asks for bandwidth; an equality is raised, and its price may be
        below 0.
    """

    limit: str
    quantity: str
    price: float
    loosened_by: str


def bindings_of(
    problem: Problem, design: Skeletons, program: Program, bandwidth: FloatArray, multipliers: Multipliers
) -> tuple[Binding, ...]:
    """Return what holds bandwidths back: rows by their multipliers, the box by what is left of the stationarity.

    Parameters
    ----------
    problem : of the constraints.
    design, program : one design without its bandwidths, and the program that finds them.
    bandwidth, multipliers : its (d,) best bandwidths in B/s, and the multipliers there.
    """
    linear = [constraint for constraint, _ in linear_rows(problem.constraints, design)]
    rows = multipliers.rows[:, 0]
    work = float((program.size * program.pattern_times(bandwidth[:, None])[:, 0]).sum()) or 1.0
    prices = dict[Constraint, float]()
    for constraint, pressure, row in zip(linear, rows, program.rows[..., 0], strict=True):
        if abs(pressure) * float(np.abs(row * bandwidth).max()) > _BINDING * work:
            # A constraint of several rows is loosened in all of them.
            prices[constraint] = prices.get(constraint, 0.0) + float(pressure)
    found = [
        Binding(constraint.text, constraint.quantity, price, "lowering" if constraint.at_least else "raising")
        for constraint, price in prices.items()
    ]
    rest = slopes(program, multipliers, bandwidth[:, None])[:, 0]
    for d in np.flatnonzero(design.used[:, 0]):
        for name, edge, price in (("most", program.high[d, 0], rest[d]), ("least", program.low[d, 0], -rest[d])):
            at_edge = np.isfinite(edge) and edge > 0 and abs(bandwidth[d] - edge) <= _BINDING * edge
            if at_edge and price * edge > _BINDING * work:
                text = f"bw[{d}] {'<=' if name == 'most' else '>='} {edge / GIGA:g} GB/s"
                found.append(Binding(text, "bandwidth", float(price), "raising" if name == "most" else "lowering"))
    return tuple(found)
