"""One program as a second-order cone program for clarabel: the reference, and the fallback of the batched method."""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.bandwidth.program import BandwidthProgram, Multipliers, joined_multipliers

_MOST = 1e60


@dataclass(frozen=True)
class _Rows:
    """Rows ``coefficients . x + slack = right`` with slack in a cone, collected until the matrix is built."""

    columns: list[tuple[int, int, float]]
    right: list[float]

    def add(self, terms: dict[int, float], right: float) -> None:
        self.columns.extend((len(self.right), column, value) for column, value in terms.items() if value)
        self.right.append(right)


def conic(program: BandwidthProgram) -> tuple[FloatArray, Multipliers, BoolArray]:
    """Return bandwidths, multipliers and (n,) whether bandwidths may exist, of each design in turn.

    Only a full proof of infeasibility counts as one; where the solver gives up, what it has is returned as it is.
    """
    found = [_one(program.select(slice(n, n + 1))) for n in range(len(program))]
    bandwidth = np.stack([b for b, *_ in found], axis=1)
    multipliers = joined_multipliers([multipliers for _, multipliers, _ in found])
    return bandwidth, multipliers, np.array([solved for *_, solved in found])


@dataclass(frozen=True)
class _Units:
    """Units of the variables: B/s, seconds per byte of each pattern, seconds of the objective."""

    bandwidth: float
    pace: FloatArray
    time: float


def _units(program: BandwidthProgram) -> _Units:
    traffic = program.traffic[..., 0]
    bandwidth = _typical(program)
    pace = np.where(traffic.any(axis=1), traffic.max(axis=1, initial=0.0), 1.0) / bandwidth
    time = float(program.size[:, 0] @ pace) + float(np.abs(program.price).sum()) * bandwidth
    if len(program.chains):
        time += float((program.chains.size[..., 0] @ pace).max(axis=1).sum())
    return _Units(bandwidth, pace, time or 1.0)


def _one(program: BandwidthProgram) -> tuple[FloatArray, Multipliers, bool]:
    """Variables are bandwidths, times per byte and times of the overlaps."""
    # ``b * t >= traffic`` is the cone ``|(2 sqrt(traffic), b - t)| <= b + t``.
    patterns, depth, _ = program.traffic.shape
    traffic, units = program.traffic[..., 0], _units(program)
    races, present = len(program.chains), program.chains.present[..., 0]
    cost = [program.price[:, 0] * units.bandwidth, program.size[:, 0] * units.pace, np.full(races, units.time)]
    row_size = np.abs(program.rows[..., 0]).max(axis=1, initial=0.0) * units.bandwidth
    # A row of a technology that the design does not have is all 0.
    row_size = np.where(row_size > 0, row_size, np.maximum(np.abs(program.limit[:, 0]), 1.0))
    zero, positive, cones = _Rows([], []), _Rows([], []), _Rows([], [])
    for row, limit, equality, size in zip(
        program.rows[..., 0], program.limit[:, 0], program.equality, row_size, strict=True
    ):
        terms = {d: row[d] * units.bandwidth / size for d in range(depth)}
        (zero if equality else positive).add(terms, limit / size)
    _add_box(positive, program, units)
    _add_races(positive, program, units)
    idle = np.flatnonzero(~traffic.any(axis=1)).tolist()
    for g in idle:
        positive.add({depth + g: -1.0}, 0.0)
    links = [(g, d) for g in range(patterns) for d in range(depth) if traffic[g, d] > 0]
    for g, d in links:
        cones.add({d: -1.0, depth + g: -1.0}, 0.0)
        cones.add({}, 2.0 * float(np.sqrt(traffic[g, d] / (units.bandwidth * units.pace[g]))))
        cones.add({d: -1.0, depth + g: 1.0}, 0.0)
    solution = _solve(depth + patterns + races, np.concatenate(cost) / units.time, zero, positive, cones)
    status = str(solution.status)
    if status == "PrimalInfeasible":
        none = Multipliers(np.zeros((patterns, depth, 1)), np.zeros((len(row_size), 1)), np.zeros((*present.shape, 1)))
        return np.full(depth, np.nan), none, False
    # A solver that gives up may return anything, also values whose squares would overflow.
    x, z = (np.clip(np.nan_to_num(np.array(found)), -_MOST, _MOST) for found in (solution.x, solution.z))
    bandwidth = np.clip(x[:depth] * units.bandwidth, program.low[:, 0], program.high[:, 0])
    rows = np.empty(len(row_size))
    start = len(zero.right)
    rows[program.equality], rows[~program.equality] = z[:start], z[start : start + int((~program.equality).sum())]
    share = np.zeros((patterns, depth, 1))
    dual = z[start + len(positive.right) :].reshape(-1, 3)
    for (g, d), (along, _, across) in zip(links, dual, strict=True):
        share[g, d, 0] = max(along - across, 0.0)
    end = start + len(positive.right) - len(idle)
    race = np.zeros(present.shape)
    race[present] = z[end - int(present.sum()) : end]
    return bandwidth, Multipliers(share, (rows * units.time / row_size)[:, None], race[..., None]), True


def _add_box(positive: _Rows, program: BandwidthProgram, units: _Units) -> None:
    for d, (low, high) in enumerate(zip(program.low[:, 0], program.high[:, 0], strict=True)):
        positive.add({d: -1.0}, -low / units.bandwidth)
        if np.isfinite(high):
            positive.add({d: 1.0}, high / units.bandwidth)


def _add_races(positive: _Rows, program: BandwidthProgram, units: _Units) -> None:
    patterns, depth, _ = program.traffic.shape
    chains = program.chains
    for r, k in np.argwhere(chains.present[..., 0]).tolist():
        # The chains of all like layers together, in units of the objective.
        terms = {depth + g: chains.size[r, k, g, 0] * units.pace[g] / units.time for g in range(patterns)}
        positive.add({**terms, depth + patterns + r: -1.0}, -chains.compute[r, k, 0] / units.time)


def _typical(program: BandwidthProgram) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.abs(program.limit[:, 0][:, None] / program.rows[..., 0])
    sizes = np.concatenate([reach.ravel(), program.low[:, 0], program.high[:, 0]])
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
