"""A program in units in which the start of the interior-point method is all ones."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, chosen
from evo_libra.bandwidth.program import BandwidthProgram

_ASCENT = 3
_USE = 0.95
_RATE = 0.9


@dataclass(frozen=True)
class Scaled:
    """Rates ``s`` (g), bandwidths ``b`` (d) and times of overlaps ``z`` (r), with one stack of inequalities above 0.

    The stack has ``b - link * s`` (g * d rows), ``b - low`` (d), ``high - b`` (d), ``limit - rows . b`` (k) and
    ``z - compute - overlap / s`` (r * k). Missing entries have the value 1, no slope, and multiplier 0.

    Attributes
    ----------
    unit_b, unit_s, unit : what one is in SI: B/s (d, n), bytes per second (g, n), seconds of the objective (n,).
    size : (g, n) weight of each pattern; `link` : (g, d, n) its traffic; `price` : (d, n).
    low, high, rows, limit : the box and the inequalities; `equal`, `equal_limit` the equalities.
    race, race_compute : (r, k, g, n) and (r, k, n), the chains.
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

    def select(self, designs: IntArray) -> Scaled:
        """Return some of the designs."""
        return replace(self, **{f.name: chosen(getattr(self, f.name), designs) for f in fields(self)})

    @cached_property
    def parts(self) -> tuple[slice, slice, slice, slice, slice]:
        """The rows of the stack: links, low, high, inequalities, overlaps."""
        patterns, depth, _ = self.link.shape
        chains = int(np.prod(self.race_compute.shape[:2]))
        ends = np.cumsum([0, patterns * depth, depth, depth, len(self.rows), chains]).tolist()
        links, low, high, rows, races = (slice(*ends[k : k + 2]) for k in range(5))
        return links, low, high, rows, races

    @cached_property
    def any_fixed(self) -> FloatArray | None:
        """The bandwidths without room, 1 each, or None where there are none."""
        return None if self.loose.all() else 1.0 - self.loose

    @cached_property
    def missing(self) -> BoolArray | None:
        """The chains that overlaps do not have, (r, k, n), or None where all have as many."""
        missing = np.asarray(self.race_part(self.active) == 0)
        return missing if missing.any() else None

    def link_part(self, stack: FloatArray) -> FloatArray:
        """Return the links of a stack as (g, d, n)."""
        return stack[self.parts[0]].reshape(self.link.shape)

    def race_part(self, stack: FloatArray) -> FloatArray:
        """Return the overlaps of a stack as (r, k, n)."""
        return stack[self.parts[4]].reshape(self.race_compute.shape)

    def sending(self, s: FloatArray) -> FloatArray:
        """Return the (r, k, n) times that chains send for."""
        return np.asarray(np.einsum("rkgn,gn->rkn", self.race, 1.0 / s))

    def curved(self, b: FloatArray, z: FloatArray, sending: FloatArray) -> FloatArray:
        """Return the stack's left sides from `rows` on: those that an iterate need not meet."""
        rows = self.limit - (self.rows * b).sum(axis=1)
        races = z[:, None] - self.race_compute - sending
        if self.missing is not None:
            np.copyto(races, 1.0, where=self.missing)
        return np.concatenate([rows, races.reshape(-1, b.shape[1])])

    def values(self, s: FloatArray, b: FloatArray, z: FloatArray) -> FloatArray:
        """Return the left sides of the stack."""
        link = (b - self.link * s[:, None]).reshape(-1, s.shape[1])
        stack = np.concatenate([link, b - self.low, self.high - b, self.curved(b, z, self.sending(s))])
        stack[self.active == 0] = 1.0
        return stack

    def forward(self, s: FloatArray, b: FloatArray, z: FloatArray, slope: FloatArray | None) -> FloatArray:
        """Return the change of the stack along a direction; `slope` (r, k, g, n) is that of the overlaps."""
        stack = np.empty((len(self.active), s.shape[1]))
        links, low, high, rows, _ = self.parts
        link = stack[links].reshape(self.link.shape)
        np.multiply(self.link, s[:, None], out=link)
        np.subtract(b, link, out=link)
        stack[low], stack[high] = b, -b
        if len(self.rows):
            stack[rows] = -(self.rows * b).sum(axis=1)
        if slope is not None:
            self.race_part(stack)[:] = z[:, None] + np.einsum("rkgn,gn->rkn", slope, s)
        stack *= self.active
        return stack

    def backward(self, stack: FloatArray, slope: FloatArray | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the transpose of `forward`, applied to a stack that is 0 where nothing is active.

        Without a slope the overlaps have no part in the rates.
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
        """Return the same of a stack that has nothing but rows and overlaps."""
        patterns, depth, count = self.link.shape
        s, b = np.zeros((patterns, count)), np.zeros((depth, count))
        for row, pressure in zip(self.rows, stack, strict=False):
            b -= row * pressure
        races = stack[len(self.rows) :].reshape(self.race_compute.shape)
        if slope is not None:
            s += np.einsum("rkgn,rkn->gn", slope, races)
        return s, b, races.sum(axis=1)


def scaled(program: BandwidthProgram) -> Scaled:
    """Return a program in units of its start."""
    count, chains = len(program), program.chains
    fixed = program.high <= program.low
    # A pattern without bytes has no say either: nothing would keep its rate from 0.
    bytes_ = program.size + chains.size.sum(axis=(0, 1))
    idle = ~(program.traffic > 0).any(axis=1) | (bytes_ <= 0)
    unit_b = _start(program, fixed)
    with np.errstate(divide="ignore"):
        rate = (unit_b / program.traffic).min(axis=1, initial=np.inf)
    unit_s = np.where(idle, 1.0, _RATE * np.where(idle, 1.0, rate))
    size, race = program.size / unit_s * ~idle, chains.size / unit_s * ~idle
    unit = size.sum(axis=0) + race.sum(axis=2).max(axis=1).sum(axis=0) + np.abs(program.price * unit_b).sum(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    rows = program.rows * unit_b
    row_scale = np.maximum(np.abs(rows).sum(axis=1), np.abs(program.limit))
    row_scale = np.where(row_scale > 0, row_scale, 1.0)
    rows, limit = rows / row_scale[:, None], program.limit / row_scale
    low, high = program.low / unit_b, program.high / unit_b
    link = program.traffic * (unit_s * ~idle)[:, None] / unit_b
    rows_present = np.ones((int((~program.equality).sum()), count), dtype=np.bool_)
    chains_present = np.broadcast_to(chains.present, (*chains.shape, count)).reshape(-1, count)
    active = [(link > 0).reshape(-1, count), ~fixed, ~fixed & np.isfinite(high), rows_present, chains_present]
    present = np.concatenate(active).astype(np.float64)
    many = np.maximum(present.sum(axis=0), 1.0)
    # Only the difference of the chains of an overlap matters; otherwise the numbers are those of the whole iteration.
    least = chains.compute.min(axis=1, keepdims=True, initial=np.inf, where=chains.present)
    compute = np.where(chains.present, chains.compute - least, 0.0)
    return Scaled(
        unit_b=unit_b, unit_s=unit_s, unit=unit, row_scale=row_scale, size=size / unit, link=link,
        price=program.price * unit_b / unit, low=low, high=np.where(np.isfinite(high), high, 0.0),
        rows=rows[~program.equality], limit=limit[~program.equality], equal=rows[program.equality],
        equal_limit=limit[program.equality], race=race / unit, race_compute=compute / unit,
        loose=(~fixed).astype(np.float64), busy=(~idle).astype(np.float64), active=present, count=many,
    )  # fmt: skip


def _start(program: BandwidthProgram, fixed: BoolArray) -> FloatArray:
    """Return (d, n) bandwidths strictly inside the box, near what budgets with positive coefficients allow."""
    size = program.size + program.chains.size.max(axis=1).sum(axis=0)
    budget = (program.rows >= 0).all(axis=1) & (program.limit > 0)
    safe = np.where(budget, program.limit, np.inf)
    share = program.traffic / np.maximum(program.traffic.sum(axis=1, keepdims=True), 1e-300)
    for step in range(_ASCENT + 1):
        need = np.einsum("gn,gdn->dn", size, share * program.traffic)
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
