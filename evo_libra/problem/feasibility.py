"""Topologies that some bandwidths can serve, and sets of constraints that conflict."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.errors import ConflictError
from evo_libra.problem.constraints import BANDWIDTH, Constraint
from evo_libra.problem.pricing.pricing import Topologies
from evo_libra.problem.protocol import COST
from evo_libra.problem.space import Structures

_SLACK = 1e-9
"""Of a limit, by which rounding may miss it."""


def solvable_structures(
    structures: Structures, low: FloatArray, high: FloatArray, price: FloatArray, constraints: Sequence[Constraint]
) -> Structures:
    """Return the structures that some bandwidths within the box and the linear constraints can serve.

    The answer depends on the technologies of the dimensions alone, so one small linear program is solved for each
    distinct combination of them, with the cheapest block wherever cost is constrained from above.

    Parameters
    ----------
    structures : to choose from.
    low, high : (d, t) B/s of a dimension in each technology.
    price : (d, t) USD per B/s of the cheapest block.
    constraints : of the problem.

    Raises
    ------
    ConflictError : no structure is left; the sentence names a smallest set of constraints that conflict.
    """
    linear = [constraint for constraint in constraints if constraint.quantity in (BANDWIDTH, COST.name)]
    if not linear:
        return structures
    key = np.where(structures.npus > 1, structures.technology, -1)
    kinds, inverse = np.unique(key, axis=1, return_inverse=True)
    row = np.arange(len(key))
    boxes = [
        (np.where(kind >= 0, low[row, kind], 0.0), np.where(kind >= 0, high[row, kind], 0.0),
         np.where(kind >= 0, price[row, kind], 0.0))
        for kind in kinds.T
    ]  # fmt: skip
    meets = np.array([_solvable(kind, box, linear) for kind, box in zip(kinds.T, boxes, strict=True)])
    if not meets.any():
        raise _conflicting(_conflict(kinds.T, boxes, linear))
    return structures.select(meets[inverse.ravel()])


def _conflicting(constraints: Sequence[Constraint]) -> ConflictError:
    texts = tuple(dict.fromkeys(constraint.text for constraint in constraints))
    listed = ", ".join(f"'{text}'" for text in texts)
    return ConflictError(f"no bandwidths within the allowed range can meet {listed}", texts)


def reaching_structures(
    structures: Structures, build: Callable[[], Topologies], constraints: Sequence[Constraint]
) -> Structures:
    """Return the structures of parts whose smallest and largest bandwidths reach every linear constraint.

    The cost of parts depends on sizes, and whole parts cost no less than fractions of them. The topologies of the
    structures are built where there is such a constraint.

    Raises
    ------
    ConflictError : no structure is left; the sentence names the constraints that none can meet.
    """
    linear = [c for c in constraints if c.linear and c.relaxed and not c.ports]
    if not linear:
        return structures
    topologies = build()
    reach = [_reaches(constraint, topologies) for constraint in linear]
    together = np.logical_and.reduce(reach)
    if not together.any():
        alone = [constraint for constraint, some in zip(linear, reach, strict=True) if not some.any()]
        raise _conflicting(alone[:1] or linear)
    return structures.select(together)


def _reaches(constraint: Constraint, designs: Topologies) -> BoolArray:
    """Return (n,) whether some bandwidths in the box of each design meet a constraint."""
    found = np.ones(designs.npus.shape[1], dtype=np.bool_)
    slack = _SLACK * abs(constraint.limit)
    for row in constraint.rows(designs):
        ends = row * np.stack([designs.low, designs.high])
        found &= ends.min(axis=0).sum(axis=0) <= constraint.limit + slack
        if constraint.equality:
            found &= ends.max(axis=0).sum(axis=0) >= constraint.limit - slack
    return found


Box = tuple[FloatArray, FloatArray, FloatArray]
"""Smallest and largest bandwidth and the lowest price of the dimensions of one kind of structure: (d,) each."""


def _solvable(kind: IntArray, box: Box, constraints: Sequence[Constraint]) -> bool:
    """Return whether some bandwidths meet all constraints."""
    if len(constraints) != 1:
        return _meet_together(kind, box, constraints)
    (only,), (low, high, price) = constraints, box
    row = _row(only, kind, price)
    with np.errstate(invalid="ignore"):
        ends = np.where(row != 0, row * np.stack([low, high]), 0.0)
    lowest, highest, slack = ends.min(axis=0).sum(), ends.max(axis=0).sum(), _SLACK * abs(only.limit)
    meets = lowest <= only.limit + slack and (not only.equality or highest >= only.limit - slack)
    return bool(meets and (low <= high).all())


def _row(constraint: Constraint, kind: IntArray, price: FloatArray) -> FloatArray:
    """Return the (d,) coefficients of the bandwidths of one kind of structure; its (d,) prices are 0 where unused."""
    if constraint.quantity == COST.name:
        return np.asarray(constraint.objective * price)
    return constraint.coefficients(np.maximum(kind, 0)[:, None])[:, 0] * (kind >= 0)


def _meet_together(kind: IntArray, box: Box, constraints: Sequence[Constraint]) -> bool:
    from scipy.optimize import linprog  # noqa: PLC0415 - takes a third of a second, and few problems need it

    low, high, price = box
    rows: dict[bool, list[FloatArray]] = {True: [], False: []}
    limits: dict[bool, list[float]] = {True: [], False: []}
    for constraint in constraints:
        row = _row(constraint, kind, price)
        reach = np.where(np.isfinite(high), high, np.maximum(low, 1e9))
        size = float(np.abs(row * reach).max()) or 1.0
        rows[constraint.equality].append(row * 1e9 / size)
        limits[constraint.equality].append(constraint.limit / size)
    result = linprog(
        np.zeros(len(kind)),
        A_ub=rows[False] or None,
        b_ub=limits[False] or None,
        A_eq=rows[True] or None,
        b_eq=limits[True] or None,
        bounds=np.stack([low, high], axis=1) / 1e9,
    )
    return bool(result.status == 0)


def _conflict(kinds: IntArray, boxes: Sequence[Box], constraints: Sequence[Constraint]) -> list[Constraint]:
    """Drop constraints as long as what is left still cannot be met by any structure."""
    conflict = list(constraints)
    for constraint in constraints:
        rest = [other for other in conflict if other is not constraint]
        if not any(_solvable(kind, box, rest) for kind, box in zip(kinds, boxes, strict=True)):
            conflict = rest
    return conflict
