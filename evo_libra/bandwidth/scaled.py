"""A program in units in which the start of the interior-point method is all ones, and its iterates."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.bandwidth.program import BandwidthProgram

_ASCENT = 3
_USE = 0.95
_RATE = 0.9
_FIRST = 0.03


@dataclass(frozen=True)
class Scaled:
    """Rates ``s`` (g), bandwidths ``b`` (d) and times of races ``z`` (r), with one stack of inequalities above 0.

    The stack has ``b - link * s`` (g * d rows), ``b - low`` (d), ``high - b`` (d), ``limit - rows . b`` (k) and
    ``z - compute - race / s`` (2 r). What is not there has the value 1, no slope, and multiplier 0.

    Attributes
    ----------
    unit_b, unit_s, unit : what one is in SI: B/s (d, n), bytes per second (g, n), seconds of the objective (n,).
    size : (g, n) weight of each pattern; `link` : (g, d, n) its traffic; `price` : (d, n).
    low, high, rows, limit : the box and the inequalities; `equal`, `equal_limit` the equalities.
    race, race_compute : (r, 2, g, n) and (r, 2, n), the chains.
    loose : (d, n) 0 where the box leaves no room; `busy` : (g, n) 0 where a pattern has no traffic or no bytes, else 1.
    active : (m, n) 1 for the inequalities that are there; `count` : (n,) their number, at least 1.
    """

    unit_b: FloatArray
    unit_s: FloatArray
    unit: FloatArray
    row_scale: FloatArray
    size: FloatArray
    link: FloatArray
    price: FloatArray
    low: FloatArray
    high: FloatArray
    rows: FloatArray
    limit: FloatArray
    equal: FloatArray
    equal_limit: FloatArray
    race: FloatArray
    race_compute: FloatArray
    loose: FloatArray
    busy: FloatArray
    active: FloatArray
    count: FloatArray

    def select(self, chosen: IntArray) -> Scaled:
        """Return some of the designs."""
        return replace(self, **{f.name: getattr(self, f.name)[..., chosen] for f in fields(self)})

    @cached_property
    def parts(self) -> tuple[slice, slice, slice, slice, slice]:
        """The rows of the stack: links, low, high, inequalities, races."""
        patterns, depth, _ = self.link.shape
        ends = np.cumsum([0, patterns * depth, depth, depth, len(self.rows), 2 * len(self.race)]).tolist()
        links, low, high, rows, races = (slice(*ends[k : k + 2]) for k in range(5))
        return links, low, high, rows, races

    @cached_property
    def any_fixed(self) -> FloatArray | None:
        """The bandwidths without room, 1 each, or None where there are none."""
        return None if self.loose.all() else 1.0 - self.loose

    def link_part(self, stack: FloatArray) -> FloatArray:
        """Return the links of a stack as (g, d, n)."""
        return stack[self.parts[0]].reshape(self.link.shape)

    def race_part(self, stack: FloatArray) -> FloatArray:
        """Return the races of a stack as (r, 2, n)."""
        return stack[self.parts[4]].reshape(len(self.race), 2, stack.shape[1])

    def curved(self, s: FloatArray, b: FloatArray, z: FloatArray) -> FloatArray:
        """Return the stack's left sides from `rows` on: those that an iterate need not meet."""
        rows = self.limit - (self.rows * b).sum(axis=1)
        races = z[:, None] - self.race_compute - (self.race / s).sum(axis=2)
        return np.concatenate([rows, races.reshape(-1, s.shape[1])])

    def values(self, s: FloatArray, b: FloatArray, z: FloatArray) -> FloatArray:
        """Return the left sides of the stack."""
        link = (b - self.link * s[:, None]).reshape(-1, s.shape[1])
        stack = np.concatenate([link, b - self.low, self.high - b, self.curved(s, b, z)])
        stack[self.active == 0] = 1.0
        return stack

    def forward(self, s: FloatArray, b: FloatArray, z: FloatArray, slope: FloatArray | None) -> FloatArray:
        """Return the change of the stack along a direction; `slope` (r, 2, g, n) is that of the races."""
        stack = np.empty((len(self.active), s.shape[1]))
        links, low, high, rows, _ = self.parts
        link = stack[links].reshape(self.link.shape)
        np.multiply(self.link, s[:, None], out=link)
        np.subtract(b, link, out=link)
        stack[low], stack[high] = b, -b
        if len(self.rows):
            stack[rows] = -(self.rows * b).sum(axis=1)
        if slope is not None:
            self.race_part(stack)[:] = z[:, None] + (slope * s).sum(axis=2)
        stack *= self.active
        return stack

    def backward(self, stack: FloatArray, slope: FloatArray | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the transpose of `forward`, applied to a stack that is 0 where nothing is active.

        Without a slope the races have no part in the rates.
        """
        _, low, high, rows, _ = self.parts
        link = self.link_part(stack)
        s, b, z = self.backward_tail(stack[rows.start :], slope)
        s -= np.einsum("gdn,gdn->gn", self.link, link)
        for part in link:
            b += part
        b += stack[low]
        b -= stack[high]
        return s, b, z

    def backward_tail(self, stack: FloatArray, slope: FloatArray | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the same of a stack that has nothing but rows and races."""
        patterns, depth, count = self.link.shape
        s, b = np.zeros((patterns, count)), np.zeros((depth, count))
        for row, pressure in zip(self.rows, stack, strict=False):
            b -= row * pressure
        races = stack[len(self.rows) :].reshape(len(self.race), 2, count)
        if slope is not None:
            s += (slope * races[:, :, None]).sum(axis=(0, 1))
        return s, b, races.sum(axis=1)


@dataclass
class Iterate:
    """Rates, bandwidths, times of races, slacks, multipliers of inequalities and of equalities; (rows, n) each."""

    s: FloatArray
    b: FloatArray
    z: FloatArray
    w: FloatArray
    y: FloatArray
    nu: FloatArray

    def select(self, chosen: IntArray) -> Iterate:
        """Return that of some designs."""
        return Iterate(*(getattr(self, f.name)[:, chosen] for f in fields(self)))


@dataclass(frozen=True)
class Remainder:
    """What is left to do at an iterate.

    Attributes
    ----------
    residual : rows and races: left sides minus slacks; `equal_residual` : (e, n) the same of equalities.
    slope : (r, 2, g, n) of the races, None without any.
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
    part.race_part(y)[:] = 0.5
    # Links and box are met from the start on, and stay so: their slacks are their left sides.
    exact = part.parts[3].start
    w[:exact] = part.values(s, b, z)[:exact]
    return Iterate(s, b, z, w, y * part.active, np.zeros((len(part.equal), count)))


def state_of(part: Scaled, it: Iterate) -> Remainder:
    """Return what is left to do at an iterate."""
    residual = part.curved(it.s, it.b, it.z) - it.w[part.parts[3].start :]
    equal_residual = part.equal_limit - (part.equal * it.b).sum(axis=1)
    count = part.count
    product = it.w * it.y
    products = product.sum(axis=0)
    work = part.size / it.s
    pull = work / it.s
    work = work.sum(axis=0)
    slope = None
    if len(part.race):
        each = part.race / it.s
        slope = each / it.s
        work = work + each.sum(axis=2).max(axis=1).sum(axis=0)
        pull = pull + (slope * part.race_part(it.y)[:, :, None]).sum(axis=(0, 1))
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
    return Remainder(residual, equal_residual, slope, product, count, products / count, pull, push, dual, merit)


def scaled(program: BandwidthProgram) -> Scaled:
    """Return a program in units of its start."""
    patterns, _, count = program.traffic.shape
    fixed = program.high <= program.low
    # A pattern without bytes has no say either: nothing would keep its rate from 0.
    bytes_ = program.size + sum(race.size.sum(axis=0) for race in program.races)
    idle = ~(program.traffic > 0).any(axis=1) | (np.asarray(bytes_) <= 0)[:, None]
    unit_b = _start(program, fixed)
    with np.errstate(divide="ignore"):
        rate = (unit_b / program.traffic).min(axis=1, initial=np.inf)
    unit_s = np.where(idle, 1.0, _RATE * np.where(idle, 1.0, rate))
    races = len(program.races)
    sizes = np.array([race.count * race.size for race in program.races]).reshape(races, 2, patterns)
    computes = np.array([race.count * np.array(race.compute) for race in program.races]).reshape(races, 2)
    size, race = program.size[:, None] / unit_s * ~idle, sizes[..., None] / unit_s * ~idle
    unit = size.sum(axis=0) + race.sum(axis=2).max(axis=1).sum(axis=0) + np.abs(program.price * unit_b).sum(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    rows = program.rows * unit_b
    row_scale = np.maximum(np.abs(rows).sum(axis=1), np.abs(program.limit))
    row_scale = np.where(row_scale > 0, row_scale, 1.0)
    rows, limit = rows / row_scale[:, None], program.limit / row_scale
    low, high = program.low / unit_b, program.high / unit_b
    link = program.traffic * (unit_s * ~idle)[:, None] / unit_b
    active = [(link > 0).reshape(-1, count), ~fixed, ~fixed & np.isfinite(high)]
    active += [np.ones((int((~program.equality).sum()) + 2 * races, count), dtype=np.bool_)]
    present = np.concatenate(active).astype(np.float64)
    many = np.maximum(present.sum(axis=0), 1.0)
    # Only the difference of the chains of a race matters; without it the numbers would be those of the whole iteration.
    computes = computes - computes.min(axis=1, keepdims=True, initial=np.inf) if races else computes
    return Scaled(
        unit_b, unit_s, unit, row_scale, size / unit, link, program.price * unit_b / unit, low,
        np.where(np.isfinite(high), high, 0.0), rows[~program.equality], limit[~program.equality],
        rows[program.equality], limit[program.equality], race / unit, computes[..., None] / unit,
        (~fixed).astype(np.float64), (~idle).astype(np.float64), present, many,
    )  # fmt: skip


def _start(program: BandwidthProgram, fixed: BoolArray) -> FloatArray:
    """Return (d, n) bandwidths strictly inside the box, near what budgets with positive coefficients allow."""
    size = np.asarray(program.size + sum(race.count * race.size.max(axis=0) for race in program.races))
    budget = (program.rows >= 0).all(axis=1) & (program.limit > 0)
    safe = np.where(budget, program.limit, np.inf)
    share = program.traffic / np.maximum(program.traffic.sum(axis=1, keepdims=True), 1e-300)
    for step in range(_ASCENT + 1):
        need = np.einsum("g,gdn->dn", size, share * program.traffic)
        price = (program.rows / safe[:, None]).sum(axis=0) + program.price / np.maximum(need.sum(axis=0), 1e-300)
        wish = _within_budgets(program, need, price, safe)
        if step == _ASCENT:
            break
        # Multiplicative ascent on the shares: what is slowest carries more of a pattern.
        share *= (program.traffic / np.maximum(wish, 1e-300)) ** 2
        share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    reach = np.maximum(wish, program.low)
    room = np.where(np.isfinite(program.high), program.high - program.low, reach)
    inside = np.clip(wish, program.low + 0.05 * np.minimum(room, reach), program.low + 0.9 * room)
    inside = np.where(fixed, program.low, inside)
    return np.where(inside > 0, inside, 1.0)


def _within_budgets(program: BandwidthProgram, need: FloatArray, price: FloatArray, safe: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        wish = np.sqrt(need / price)
    good = np.isfinite(wish) & (wish > 0)
    if not good.all():
        caps = np.where(np.isfinite(program.high), program.high, 0.0).max(axis=0)
        typical = np.where(good.any(axis=0), np.where(good, wish, 0.0).max(axis=0), np.where(caps > 0, caps, 1e9))
        wish = np.where(good, wish, np.minimum(0.1 * typical, program.high))
    wish = np.minimum(wish, program.high)
    used = ((program.rows * wish).sum(axis=1) / safe).max(axis=0, initial=0.0)
    return wish * np.where(used > 0, _USE / np.where(used > 0, used, 1.0), 1.0)
