"""The iterates of the interior-point method, and what is left to do at them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, chosen
from evo_libra.bandwidth.scaled import Scaled

_FIRST = 0.03


@dataclass
class Iterate:
    """Rates, bandwidths, times of overlaps, slacks, multipliers of inequalities and of equalities; (rows, n) each."""

    s: FloatArray
    b: FloatArray
    z: FloatArray
    w: FloatArray
    y: FloatArray
    nu: FloatArray

    def select(self, designs: IntArray) -> Iterate:
        """Return that of some designs."""
        return Iterate(*(chosen(getattr(self, f.name), designs) for f in fields(self)))


@dataclass(frozen=True)
class Remainder:
    """Residuals of an iterate.

    Attributes
    ----------
    residual : rows and overlaps: left sides minus slacks; `equal_residual` : (e, n) the same of equalities.
    slope : (r, k, g, n) of the overlaps, None without any.
    product : of slacks and multipliers; `count`, `mu` : (n,) their number and mean.
    pull, push : (g, n) what the objective and what the constraints pull the rates with.
    dual : (n,) error of the stationarity.
    merit : (n,) the largest of all errors, relative to the time of the patterns.
    """

    residual: FloatArray
    equal_residual: FloatArray
    slope: FloatArray | None
    product: FloatArray
    count: FloatArray
    mu: FloatArray
    pull: FloatArray
    push: FloatArray
    dual: FloatArray
    merit: FloatArray


def first_iterate(part: Scaled) -> Iterate:
    """Return the iterate from which the method starts, links and box met."""
    count = part.link.shape[2]
    s, b = np.ones((len(part.link), count)), np.where(part.loose > 0, 1.0, part.low)
    z = (part.race_compute + part.race.sum(axis=2)).max(axis=1) + 0.1
    w = np.maximum(part.values(s, b, z), 0.05)
    y = _FIRST / w
    part.race_part(y)[:] = 1.0 / part.race_part(part.active).sum(axis=1, keepdims=True)
    # Links and box are met from the start on, and stay so: their slacks are their left sides.
    exact = part.parts[3].start
    w[:exact] = part.values(s, b, z)[:exact]
    return Iterate(s, b, z, w=w, y=y * part.active, nu=np.zeros((len(part.equal), count)))


def state_of(part: Scaled, it: Iterate) -> Remainder:
    """Return what is left to do at an iterate."""
    sending = part.sending(it.s)
    residual = part.curved(it.b, it.z, sending) - it.w[part.parts[3].start :]
    equal_residual = part.equal_limit - (part.equal * it.b).sum(axis=1)
    count = part.count
    product = it.w * it.y
    products = product.sum(axis=0)
    work = part.size / it.s
    pull = work / it.s
    work = work.sum(axis=0)
    slope = None
    if len(part.race):
        slope = part.race / (it.s * it.s)
        work = work + sending.max(axis=1).sum(axis=0)
        pull = pull + np.einsum("rkgn,rkn->gn", slope, part.race_part(it.y))
    push, b, z = part.backward(it.y, None)
    push = -push
    dual = np.abs((pull - push) * it.s * part.busy).max(axis=0, initial=0.0)
    b -= part.price
    for row, pressure in zip(part.equal, it.nu, strict=True):
        b -= row * pressure
    dual = np.maximum(dual, np.abs(b * it.b * part.loose).max(axis=0, initial=0.0))
    if len(z):
        dual = np.maximum(dual, np.abs(z - 1.0).max(axis=0))
    primal = np.abs(residual).max(axis=0, initial=0.0)
    if len(equal_residual):
        primal = np.maximum(primal, np.abs(equal_residual).max(axis=0))
    merit = np.maximum(np.maximum(products, dual) / np.where(work > 0, work, 1.0), primal)
    return Remainder(
        residual=residual, equal_residual=equal_residual, slope=slope, product=product, count=count,
        mu=products / count, pull=pull, push=push, dual=dual, merit=merit,
    )  # fmt: skip
