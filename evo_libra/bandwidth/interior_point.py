"""A batched primal-dual interior-point method: one small convex program per design, all at once.

In the rates ``s_g = 1 / t_g`` the program has linear constraints, ``traffic[g, d] * s_g <= b_d``, and the smooth convex
objective ``sum_g size_g / s_g``. Predictor and corrector after Mehrotra (1992); two things differ because the objective
is not linear: the curvature of a rate is the larger one of what the objective and what the constraints pull with, and
the centring never goes below what is left of the stationarity. Without either, one case in a thousand runs in circles.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.bandwidth.iterate import Iterate, Remainder, first_iterate, state_of
from evo_libra.bandwidth.program import BandwidthProgram, Multipliers
from evo_libra.bandwidth.scaled import Scaled, scaled

_SMALLEST = 1e-300
_EPSILON = 1e-16


def cholesky(matrix: FloatArray) -> FloatArray:
    """Factorise (k, k, n) positive definite matrices in place; the lower triangles hold the factors.

    A pivot that rounding has eaten up is replaced by the least that its diagonal entry can tell from 0.
    """
    size = len(matrix)
    every = np.arange(size)
    least = np.maximum(matrix[every, every] * _EPSILON, _SMALLEST)
    for j in range(size):
        pivot = matrix[j, j]
        np.sqrt(np.maximum(pivot, least[j], out=pivot), out=pivot)
        column = matrix[j + 1 :, j]
        column /= pivot
        for i in range(j + 1, size):
            matrix[i:, i] -= column[i - j - 1 :] * column[i - j - 1]
    return matrix


def substitute(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Return the (k, n) solutions for factors of `cholesky` and (k, n) right sides."""
    x = right.copy()
    for j in range(len(x)):
        x[j] /= factor[j, j]
        x[j + 1 :] -= factor[j + 1 :, j] * x[j]
    for j in reversed(range(len(x))):
        x[j] /= factor[j, j]
        x[:j] -= factor[j, :j] * x[j]
    return x


class DiagonalHead:
    """A system ``[[diag(head), -cross], [-cross^T, tail]]``, solved through the Schur complement of its tail."""

    def __init__(self, head: FloatArray, cross: FloatArray, tail: FloatArray, fixed: FloatArray | None) -> None:
        """Factorise: head (g, n), cross (g, d, n), tail (d, d, n); `fixed` (d, n) says which rows stay 0."""
        if fixed is not None:
            cross = cross * (1.0 - fixed)
        self.head, self.scaled = head, cross / head[:, None]
        tail -= np.einsum("gin,gjn->ijn", cross, self.scaled)
        if fixed is not None:
            hold(tail, fixed)
        self.factor = cholesky(tail)

    def solve(self, head: FloatArray, tail: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both parts of the solution."""
        b = substitute(self.factor, tail + (self.scaled * head[:, None]).sum(axis=0))
        return head / self.head + (self.scaled * b).sum(axis=1), b


class DenseHead:
    """The same with a dense (h, h, n) head, whose lower triangle counts."""

    def __init__(self, head: FloatArray, cross: FloatArray, tail: FloatArray, fixed: FloatArray | None) -> None:
        size, depth = len(head), len(tail)
        matrix = np.empty((size + depth, size + depth, head.shape[-1]))
        matrix[:size, :size], matrix[size:, size:] = head, tail
        matrix[:size, size:], matrix[size:, :size] = -cross, -cross.transpose(1, 0, 2)
        if fixed is not None:
            hold(matrix, np.concatenate([np.zeros((size, head.shape[-1])), fixed]))
        self.factor = cholesky(matrix)

    def solve(self, head: FloatArray, tail: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both parts of the solution."""
        x = substitute(self.factor, np.concatenate([head, tail]))
        return x[: len(head)], x[len(head) :]


class RacesHead:
    """The same with times of overlaps before the rates; they are eliminated first, each by itself.

    A chain of stiffness k and (g,) slopes adds ``k (1, slope) (1, slope)^T`` to the time of its overlap and the rates.
    Without that time an overlap leaves ``sum_chains k apart apart^T``; ``apart`` is the distance of slopes from their
    mean. Written like that nothing cancels, even if one chain is stiffer than the others by all digits.
    """

    def __init__(
        self, head: FloatArray, cross: FloatArray, tail: FloatArray, fixed: FloatArray | None, stiff: FloatArray,
        slope: FloatArray,
    ) -> None:  # fmt: skip
        """Factorise: head (g, n) on the diagonal of the rates, stiff (r, k, n), slope (r, k, g, n)."""
        (patterns, count), chains = head.shape, stiff.shape[0] * stiff.shape[1]
        self.total = np.maximum(stiff.sum(axis=1), _SMALLEST)
        self.mean = np.einsum("rkn,rkgn->rgn", stiff / self.total[:, None], slope)
        apart = (slope - self.mean[:, None]).reshape(chains, patterns, count)
        pulled = apart * stiff.reshape(chains, 1, count)
        rates = np.zeros((patterns, patterns, count))
        for g in range(patterns):
            rates[g:, g] = np.einsum("cn,chn->hn", pulled[:, g], apart[:, g:])
        every = np.arange(patterns)
        rates[every, every] += head
        self.rest = DenseHead(rates, cross, tail, fixed)

    def solve(self, head: FloatArray, tail: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both parts of the solution; the head has the overlaps first."""
        races = len(self.total)
        s, b = self.rest.solve(head[races:] - np.einsum("rgn,rn->gn", self.mean, head[:races]), tail)
        return np.concatenate([head[:races] / self.total - np.einsum("rgn,gn->rn", self.mean, s), s]), b


def hold(matrix: FloatArray, fixed: FloatArray) -> None:
    """Make the named rows and columns of (k, k, n) matrices those of the identity."""
    free = 1.0 - fixed
    matrix *= free * free[:, None]
    every = np.arange(len(matrix))
    matrix[every, every] += fixed


_MAX_STEPS = 60
_PATIENCE = 14
"""Steps after which the best iterate is kept, as rounding may stop what is left; most designs are done after 11."""
_BOUNDARY = 0.995
_SPARSE = 0.6


def interior_point(program: BandwidthProgram, accuracy: float) -> tuple[FloatArray, Multipliers]:
    """Return bandwidths near the optimum and multipliers that nearly prove it.

    The bandwidths meet the box, and linear constraints up to the method's last residual; where no bandwidths meet the
    constraints, the result is meaningless, and its violation is too large to be taken for an answer.
    """
    if len(program) == 1:
        # Sums over an axis next to one of length 1 round in another order: a design alone is solved as one of two.
        bandwidth, multipliers = interior_point(program.select(np.zeros(2, dtype=np.int64)), accuracy)
        return bandwidth[:, :1], multipliers.select(slice(1))
    # In one order in memory, whatever the order that the program came in.
    program = program.select(slice(None))
    whole = part = scaled(program)
    it = first_iterate(part)
    result, best = first_iterate(part), np.full(len(program), np.inf)
    left, going = np.arange(len(program)), np.ones(len(program), dtype=np.bool_)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for step in range(_MAX_STEPS):
            state = state_of(part, it)
            done = ~(state.merit >= accuracy)
            kept = going & (state.merit < best[left]) & (done | (step >= _PATIENCE))
            if kept.any():
                for f in fields(it):
                    getattr(result, f.name)[:, left[kept]] = getattr(it, f.name)[:, kept]
                best[left[kept]] = state.merit[kept]
            going &= ~done
            if not going.any():
                break
            # Moving what is left together costs as much as a step of it.
            if going.mean() < _SPARSE:
                chosen = np.flatnonzero(going)
                chosen = chosen if len(chosen) > 1 else np.repeat(chosen, 2)
                left, part, it, going = left[chosen], part.select(chosen), it.select(chosen), going[chosen]
                state = state_of(part, it)
            it = _step(part, it, state)
    return _unscaled(program, whole, result)


def _step(part: Scaled, it: Iterate, state: Remainder) -> Iterate:
    """Return the iterate after one predictor-corrector step."""
    # With r = dw / w and a target t for the products, dy / y = t / (w y) - 1 - r; the predictor has t = 0.
    inverse_w = 1.0 / it.w
    ratio = it.y * inverse_w
    newton, stiffness = _factorised(part, it, ratio, state)
    equal = _equality_columns(part, newton)
    tail = part.parts[3].start
    held = ratio[tail:] * state.residual
    pull = part.size / (it.s * it.s)

    def direction(aim: FloatArray | None) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        s, b, z = part.backward(aim, state.slope) if aim is not None else part.backward_tail(-held, state.slope)
        s += pull
        s *= part.busy
        b -= part.price
        for row, rest in zip(part.equal, state.equal_residual, strict=True):
            b += row * (rest * stiffness)
        b *= part.loose
        x, db = newton.solve(np.concatenate([z - 1.0, s]) if len(z) else s, b)
        x, db, nu = _onto_equalities(part, equal, x, db, state.equal_residual)
        dz, ds = x[: len(it.z)], x[len(it.z) :]
        relative = part.forward(ds, db, dz, state.slope)
        relative[tail:] += state.residual
        relative *= inverse_w
        return ds, db, dz, relative, nu

    r = direction(None)[3]
    length = 1.0 / np.maximum(np.maximum(-r.min(axis=0), 1.0 + r.max(axis=0)), 1.0)
    second = r * r
    second += r
    second *= state.product
    after = ((1.0 - length) * state.mu * state.count - length * length * second.sum(axis=0)) / state.count
    center = np.clip((after / np.maximum(state.mu, 1e-300)) ** 3, 1e-6, 1.0)
    # Progress in the products must not outrun the stationarity, which a curved objective brings down more slowly.
    mu = np.maximum(center * state.mu, np.minimum(state.dual / state.count, state.mu))
    second += mu
    second *= part.active
    aim = second * inverse_w
    aim[tail:] -= held
    ds, db, dz, r, nu = direction(aim)
    # If nothing is active the product is 0, and so is its target.
    second /= np.maximum(state.product, 1e-300)
    second -= 1.0
    second -= r
    length = _BOUNDARY / np.maximum(np.maximum(-r.min(axis=0), -second.min(axis=0)), _BOUNDARY)
    # The rates have no slack of their own.
    length = np.minimum(length, 0.9 / np.maximum((-ds / it.s).max(axis=0, initial=0.0), 0.9))
    r *= length
    r += 1.0
    r *= it.w
    second *= length
    second += 1.0
    second *= it.y
    s, b = it.s + length * ds, it.b + length * db
    return Iterate(s, b, it.z + length * dz, w=r, y=second, nu=it.nu + length * (nu - it.nu))


def _factorised(
    part: Scaled, it: Iterate, ratio: FloatArray, state: Remainder
) -> tuple[DiagonalHead | RacesHead, FloatArray]:
    """Return the Newton system over times of overlaps and rates (the head) and bandwidths (the tail)."""
    # Equalities join it with a stiffness (n,), as in an augmented Lagrangian: that changes no solution, but without it
    # what holds the level of the bandwidths is lost in rounding.
    _, low, high, rows, _ = part.parts
    _, depth, count = part.link.shape
    link = part.link_part(ratio)
    cross = part.link * link
    # At the solution push equals pull; before it, the larger one keeps a step from overshooting towards rate 0.
    curvature = np.maximum(state.pull, state.push)
    curvature += state.pull
    curvature /= it.s
    curvature += np.einsum("gdn,gdn->gn", part.link, cross)
    curvature += 1.0 - part.busy
    tail = np.zeros((depth, depth, count))
    for row, stiff in zip(part.rows, ratio[rows], strict=True):
        tail += row * (row * stiff)[:, None]
    every = np.arange(depth)
    tail[every, every] += link.sum(axis=0) + ratio[low] + ratio[high]
    stiffness = tail[every, every].max(axis=0)
    for row in part.equal:
        tail += row * (row * stiffness)[:, None]
    if state.slope is None:
        return DiagonalHead(curvature, cross, tail, part.any_fixed), stiffness
    stiff = part.race_part(ratio)
    return RacesHead(curvature, cross, tail, fixed=part.any_fixed, stiff=stiff, slope=state.slope), stiffness


_Equal = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def _equality_columns(part: Scaled, newton: DiagonalHead | RacesHead) -> _Equal | None:
    """Return what eliminates the equalities: their rows, the system's answers to them, the factor of the rest."""
    if not len(part.equal):
        return None
    rows = part.equal * part.loose
    head = np.zeros((len(part.race) + len(part.link), part.link.shape[2]))
    answers = [newton.solve(head, row) for row in rows]
    heads, tails = np.stack([head for head, _ in answers]), np.stack([tail for _, tail in answers])
    gram = np.einsum("edn,fdn->efn", rows, tails)
    every = np.arange(len(gram))
    # Equalities that say the same twice would make it singular.
    gram[every, every] *= 1.0 + 1e-13
    return rows, heads, tails, cholesky(gram)


def _onto_equalities(
    part: Scaled, equal: _Equal | None, head: FloatArray, tail: FloatArray, residual: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    if equal is None:
        return head, tail, np.zeros((0, part.link.shape[2]))
    rows, heads, tails, factor = equal
    nu = substitute(factor, (rows * tail).sum(axis=1) - residual)
    return head - (heads * nu[:, None]).sum(axis=0), tail - (tails * nu[:, None]).sum(axis=0), nu


def _unscaled(program: BandwidthProgram, whole: Scaled, it: Iterate) -> tuple[FloatArray, Multipliers]:
    # If nothing was solved multipliers may be beyond all bounds; the proof then shows it.
    inside = np.clip(it.b * whole.unit_b, program.low, program.high)
    rows = np.empty(program.limit.shape)
    rows[~program.equality], rows[program.equality] = it.y[whole.parts[3]], it.nu
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.nan_to_num(rows * whole.unit / whole.row_scale)
    multipliers = Multipliers(whole.link_part(it.y) * whole.link, rows, whole.race_part(it.y))
    return np.where(whole.loose > 0, inside, program.low), multipliers
