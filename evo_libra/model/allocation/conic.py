"""One program as a second-order cone program for clarabel: the reference, and the fallback of the batched method."""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse

from evo_libra.model.allocation.program import Multipliers, Program
from evo_libra.model.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class _Rows:
    """Rows ``coefficients . x + slack = right`` with slack in a cone, collected until the matrix is built."""

    columns: list[tuple[int, int, float]]
    right: list[float]

    def add(self, terms: dict[int, float], right: float) -> None:
        self.columns.extend((len(self.right), column, value) for column, value in terms.items() if value)
        self.right.append(right)


def conic(program: Program) -> tuple[FloatArray, Multipliers, BoolArray]:
    """Return bandwidths, multipliers and (n,) whether bandwidths exist, of each design in turn.

    Raises
    ------
    ArithmeticError : the solver could neither solve a program nor show that it has no solution.
    """
    found = [_one(program.select(slice(n, n + 1))) for n in range(len(program))]
    bandwidth = np.stack([b for b, *_ in found], axis=1)
    parts = [m for _, m, _ in found]
    multipliers = Multipliers(
        *(np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in ("share", "rows", "race"))
    )
    return bandwidth, multipliers, np.array([solved for *_, solved in found])


def _one(program: Program) -> tuple[FloatArray, Multipliers, bool]:
    """Variables are bandwidths, times per byte and times of the races, all in units of their size.

    ``b * t >= traffic`` is the cone ``|(2 sqrt(traffic), b - t)| <= b + t``.
    """
    patterns, depth, _ = program.traffic.shape
    races = len(program.races)
    traffic, rows, limit = program.traffic[..., 0], program.rows[..., 0], program.limit[:, 0]
    low, high, price = program.low[:, 0], program.high[:, 0], program.price[:, 0]
    unit = _typical(rows, limit, low, high)
    pace = np.where(traffic.any(axis=1), traffic.max(axis=1, initial=0.0), 1.0) / unit
    size = program.size * pace
    scale = float(size.sum() + sum(r.count * (r.size * pace).sum(axis=1).max() for r in program.races))
    scale = scale + float(np.abs(price * unit).sum()) or 1.0
    count = depth + patterns + races
    cost = np.concatenate([price * unit, size, [race.count for race in program.races]]) / scale
    cost[depth + patterns :] = 1.0
    zero, positive, cones = _Rows([], []), _Rows([], []), _Rows([], [])
    row_scale = np.maximum(np.abs(rows).max(axis=1, initial=0.0) * unit, 1e-300)
    for k in range(len(limit)):
        target = zero if program.equality[k] else positive
        target.add({d: rows[k, d] * unit / row_scale[k] for d in range(depth)}, limit[k] / row_scale[k])
    for d in range(depth):
        positive.add({d: -1.0}, -low[d] / unit)
        if np.isfinite(high[d]):
            positive.add({d: 1.0}, high[d] / unit)
    for r, race in enumerate(program.races):
        for chain in range(2):
            terms = {depth + g: race.count * race.size[chain, g] * pace[g] / scale for g in range(patterns)}
            positive.add({**terms, depth + patterns + r: -1.0}, -race.count * race.compute[chain] / scale)
    links = [(g, d) for g in range(patterns) for d in range(depth) if traffic[g, d] > 0]
    for g, d in links:
        cones.add({d: -1.0, depth + g: -1.0}, 0.0)
        cones.add({}, 2.0 * float(np.sqrt(traffic[g, d] / (unit * pace[g]))))
        cones.add({d: -1.0, depth + g: 1.0}, 0.0)
    for g in np.flatnonzero(~traffic.any(axis=1)):
        positive.add({depth + int(g): -1.0}, 0.0)
    solution = _solve(count, cost, zero, positive, cones)
    status = str(solution.status)
    if "Infeasible" in status and "Dual" not in status:
        empty = Multipliers(np.zeros((patterns, depth, 1)), np.zeros((len(limit), 1)), np.zeros((races, 1)))
        return np.full(depth, np.nan), empty, False
    x, z = np.array(solution.x), np.array(solution.z)
    if not np.isfinite(x).all():
        raise ArithmeticError(f"clarabel found neither a solution nor a proof that there is none: {status}")
    bandwidth = np.clip(x[:depth] * unit, low, high)
    multipliers = np.empty((len(limit), 1))
    inequalities = np.flatnonzero(~program.equality)
    multipliers[program.equality, 0] = z[: len(zero.right)]
    multipliers[inequalities, 0] = z[len(zero.right) : len(zero.right) + len(inequalities)]
    multipliers *= (scale / row_scale)[:, None]
    share = np.zeros((patterns, depth, 1))
    dual = z[len(zero.right) + len(positive.right) :].reshape(-1, 3)
    for (g, d), (along, _, across) in zip(links, dual, strict=True):
        share[g, d, 0] = max(along - across, 0.0)
    start = len(zero.right) + len(positive.right) - 2 * races - int((~traffic.any(axis=1)).sum())
    chains = z[start : start + 2 * races].reshape(races, 2)
    race = chains[:, :1] / np.maximum(chains.sum(axis=1, keepdims=True), 1e-300)
    return bandwidth, Multipliers(share, multipliers, race), True


def _typical(rows: FloatArray, limit: FloatArray, low: FloatArray, high: FloatArray) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.abs(limit[:, None] / rows)
    sizes = np.concatenate([reach.ravel(), low, high])
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return float(np.exp(np.log(sizes).mean())) if len(sizes) else 1e9


def _solve(count: int, cost: FloatArray, zero: _Rows, positive: _Rows, cones: _Rows) -> clarabel.DefaultSolution:
    parts = [part for part in (zero, positive, cones) if part.right]
    matrix = sparse.vstack(
        [
            sparse.csc_matrix(
                ([v for *_, v in part.columns], ([r for r, *_ in part.columns], [c for _, c, _ in part.columns])),
                shape=(len(part.right), count),
            )
            for part in parts
        ],
        format="csc",
    )
    kinds = [clarabel.ZeroConeT(len(zero.right))] if zero.right else []
    kinds += [clarabel.NonnegativeConeT(len(positive.right))]
    kinds += [clarabel.SecondOrderConeT(3)] * (len(cones.right) // 3)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    right = np.concatenate([part.right for part in parts])
    quadratic = sparse.csc_matrix((count, count))
    return clarabel.DefaultSolver(quadratic, cost, matrix, right, kinds, settings).solve()
