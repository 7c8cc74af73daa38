"""The exact front of time and cost of fabrics of switches, by bounds of their sides and an evaluation of what is left.

A side is the links of NPUs. Its cost, and the time that the cuts of its ports leave, bound all fabrics that have it.
Few sides remain whose switches may have links to others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.errors import InputError
from evo_libra.front.archive import Archive, non_dominated
from evo_libra.network.fabrics.bits import LAYERS, PAIRS
from evo_libra.optimality.comparisons import SAME, factors
from evo_libra.optimality.switch_fabrics.cores import Cores, Fabric
from evo_libra.optimality.switch_fabrics.cuts import TimeBound
from evo_libra.optimality.switch_fabrics.sides import LayerKinds, layer_kinds, members_of, sides
from evo_libra.optimality.watch import Progress, Watch, never
from evo_libra.problem.switch_fabrics.bill import nic_cost
from evo_libra.problem.switch_fabrics.genes import GENES, Fields
from evo_libra.problem.switch_fabrics.objectives import COST, TIME
from evo_libra.problem.switch_fabrics.problem import FabricProblem

_BATCH = 20_000
"""Designs that are evaluated at a time."""

_UNWATCHED = 256
"""Fabrics between two readings of the clock."""


class _OverError(Exception):
    """A watch has ended the proof."""


@dataclass(frozen=True)
class ExactFront:
    """The front that no fabric of a space improves, or what is known of it where there was no time left.

    Attributes
    ----------
    genes, objectives : (g, n) and (2, n), sorted by time; known designs have genes of 0.
    sides : links of NPUs that keep the limits, each graph of them once; those of costs beyond any use left out.
    evaluated : designs that were evaluated.
    waiting : sides, some of whose fabrics no bound excludes and that are not evaluated.
    bound : (2, k) times and costs that none of the fabrics of these sides undercuts both of.
    """

    genes: FloatArray
    objectives: FloatArray
    sides: int
    evaluated: int
    waiting: int
    bound: FloatArray


def exact_front(problem: FabricProblem, known: FloatArray | None = None, watch: Watch = never) -> ExactFront:
    """Return the exact front of time and cost, over all plans of a problem.

    An `InputError` says that the problem has other objectives, or that the proof ended before it had all sides; then
    it has no bound.

    Parameters
    ----------
    problem : of fabrics.
    known : (2, n) objectives of known designs, in the problem's order; bounds are compared with them.
    watch : ends the proof.
    """
    if set(problem.objectives) != {TIME, COST}:
        names = ", ".join(one.name for one in problem.objectives)
        raise InputError(f"fabrics are proven for time and cost; the problem has {names}")
    rows = [problem.objectives.index(one) for one in (TIME, COST)]
    start = Archive.empty(GENES + 1, 2)
    if known is not None:
        start = start.add(np.zeros((GENES + 1, known.shape[1])), known[rows], np.zeros(known.shape[1]))
    search = _Search(problem, rows, start, watch, known=start.objectives)
    plans, counts = range(len(problem.times)), range(1, LAYERS)
    try:
        left = [one for plan in plans for count in counts for one in search.examine(plan, count)]
    except _OverError:
        raise InputError(
            f"nothing is proven: {search.counts['sides']:,} ways to join NPUs to switches were examined, and more are "
            "left; --seconds gives the proof more time"
        ) from None
    for place, one in enumerate(left):
        search.join(one, left[place + 1 :])
    return search.found


@dataclass(frozen=True)
class _Sides:
    """n sides under a plan: (k, n) kinds, USD alone and at least with links between switches, and least seconds."""

    plan: int
    bound: TimeBound
    side: IntArray
    cost: FloatArray
    joined_cost: FloatArray
    time: FloatArray

    def select(self, which: IntArray) -> _Sides:
        """Return some of them."""
        cost, joined_cost, time = (one[which] for one in (self.cost, self.joined_cost, self.time))
        return _Sides(self.plan, self.bound, side=self.side[:, which], cost=cost, joined_cost=joined_cost, time=time)


@dataclass
class _Search:
    """The state of a proof: its archive, and what it has counted.

    `open` are sides that links between switches may improve, once all sides are known.
    """

    problem: FabricProblem
    rows: list[int]
    archive: Archive
    watch: Watch
    known: FloatArray
    open: Sequence[_Sides] | None = None
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("sides", "evaluated", "waiting"), 0))
    bounds: list[FloatArray] = field(default_factory=list)
    tried: int = 0
    times: dict[tuple[str, tuple[tuple[int, int, int], ...]], FloatArray] = field(default_factory=dict)

    @cached_property
    def kinds(self) -> LayerKinds:
        """All kinds of layers that are joined to NPUs."""
        return layer_kinds(self.problem.space)

    @cached_property
    def cores(self) -> Cores:
        """All links between switches."""
        return Cores(self.problem.space, self.kinds)

    @property
    def found(self) -> ExactFront:
        """The front that has been found, with bounds of the rest."""
        bound = np.concatenate([np.empty((2, 0)), *self.bounds], axis=1)
        genes, objectives = self.archive.genes, self.archive.objectives
        kept = ~_beaten(objectives)
        return ExactFront(genes=genes[:, kept], objectives=objectives[:, kept], bound=bound, **self.counts)

    def budget(self, time: FloatArray) -> FloatArray:
        """Return (n,) USD that a fabric must undercut to be new, whose time is at least the given one."""
        times, costs = self.archive.objectives
        place = np.searchsorted(times, time * (1.0 + SAME), side="right") - 1
        below = np.append(costs, np.inf)[place] * (1.0 - SAME)
        return np.where(np.isfinite(time), below, 0.0)

    def examine(self, plan: int, count: int) -> Iterator[_Sides]:
        """Evaluate all sides of `count` layers under a plan; yield those that links between switches may improve."""
        space, time = self.problem.space, self.problem.times[plan]
        bound = TimeBound(time, space.server, self.problem.policy.forwarding != "any")
        members = np.array([one.shape[1] for one in self.kinds.members])
        for chunk in sides(self.kinds, count, space.limits, partial(self._may_grow, bound=bound)):
            self._go_on()
            many, cost = _choices(chunk, members), self._cost(chunk)
            may = self._may_pay(chunk, cost, bound)
            self.counts["sides"] += int(many.sum())
            side, cost, many = chunk[:, may], cost[may], many[may]
            rate, tied = self.kinds.rate[side], self.kinds.tied[side]
            alone = cost < self.budget(bound(rate, tied, np.zeros_like(rate)))
            self._evaluate_sides(side[:, alone], plan)
            joined = bound(rate, tied, self.kinds.onward(side, space.npus))
            found = _Sides(plan, bound, side=side, cost=cost, joined_cost=cost + self.cores.cheapest(side), time=joined)
            yield found.select(np.flatnonzero(self._is_open(found)))

    def _may_grow(self, side: IntArray, bound: TimeBound) -> BoolArray:
        """Return (n,) whether sides cost less than the fastest designs, before any layer more."""
        self._go_on()
        ports = np.full((1, 1), self.problem.space.limits.npu_throughput)
        fastest = bound(ports, np.zeros((1, 1), dtype=np.int64), ports)
        return np.asarray(self._cost(side) < self.budget(fastest))

    def _go_on(self) -> None:
        factor = self._factor if self.open is not None and self.known.size else None
        waiting = self.counts["waiting"] + sum(len(one.time) for one in self.open or ())
        if self.watch(Progress(self.counts["evaluated"], waiting, factor)):
            raise _OverError

    def _factor(self) -> float:
        """Return the largest factor of the known designs against those that were evaluated and the bounds of others."""
        assert self.open is not None, "callers have looked"  # noqa: S101 - internal error
        left = (np.stack([one.time, one.joined_cost]) for one in self.open)
        best = np.concatenate([self.archive.objectives, *self.bounds, *left], axis=1)
        return float(factors(self.known, best[:, non_dominated(best)]).max())

    def _is_open(self, some: _Sides) -> BoolArray:
        """Return (n,) whether links between switches may make a side one of the front."""
        return np.asarray(some.joined_cost < self.budget(some.time))

    def _cost(self, side: IntArray) -> FloatArray:
        """Return (n,) USD of sides."""
        nics = nic_cost(self.kinds.rate[side].sum(axis=0), self.problem.space.prices)
        return np.asarray(self.kinds.cost[side].sum(axis=0) + nics * (1 << self.problem.space.npus))

    def _may_pay(self, side: IntArray, cost: FloatArray, bound: TimeBound) -> BoolArray:
        """Return (n,) whether sides cost less than designs that are as fast as ports allow."""
        rates, place = np.unique(self.kinds.rate[side].sum(axis=0), return_inverse=True)
        fastest = bound(rates[None], np.zeros((1, len(rates)), dtype=np.int64), rates[None])
        return np.asarray(cost < self.budget(fastest)[place.ravel()])

    def _evaluate_sides(self, side: IntArray, plan: int) -> None:
        """Evaluate sides whose switches have no other links."""
        self._evaluate((_genes(members_of(one, self.kinds), range(len(side)), ()) for one in side.T), plan)

    def _evaluate(self, parts: Iterable[FloatArray], plan: int) -> None:
        """Evaluate designs, many at a time, and keep those of the front."""
        batch: list[FloatArray] = []
        for genes in parts:
            batch.append(genes)
            if sum(one.shape[1] for one in batch) > _BATCH:
                self._add(np.concatenate(batch, axis=1), plan)
                batch = []
        if batch:
            self._add(np.concatenate(batch, axis=1), plan)

    def _add(self, genes: FloatArray, plan: int) -> None:
        whole = np.concatenate([genes, np.full((1, genes.shape[1]), float(plan))])
        evaluated = self.problem.evaluate_genes(whole)
        self.counts["evaluated"] += genes.shape[1]
        self.archive = self.archive.add(whole, evaluated.objectives[self.rows], evaluated.violation)

    def join(self, some: _Sides, others: Sequence[_Sides]) -> None:
        """Examine sides whose switches have links to others; `others` come later."""
        left = some.select(np.flatnonzero(self._is_open(some)))
        order = np.argsort(left.joined_cost)
        for place, index in enumerate(order):
            self.open = (left.select(order[place:]), *others)
            side, cost, time = left.side[:, index], float(left.cost[index]), left.time[index : index + 1]
            budget = float(self.budget(time)[0])
            if left.joined_cost[index] >= budget:
                continue
            try:
                self._go_on()
                found = self.cores.of_side(side, cost, budget, partial(self._may_win, bound=left.bound))
                members = members_of(side, self.kinds)
                self._evaluate((genes for one in found for genes in _designs(members, side, one)), left.plan)
            except _OverError:
                self.counts["waiting"] += 1
                self.bounds.append(np.array([time, left.joined_cost[index : index + 1]]))

    def _may_win(self, fabric: Fabric, bound: TimeBound) -> bool:
        """Return whether a fabric is not excluded by the links of its switches."""
        self.tried += 1
        if self.tried % _UNWATCHED == 0:
            self._go_on()
        own = tuple((layer.kind, round(layer.used), layer.bits) for layer in fabric.layers if layer.kind >= 0)
        if (bound.time.plan, own) not in self.times:
            self.times[bound.time.plan, own] = self._time_of(own, bound)
        return bool(fabric.cost < self.budget(self.times[bound.time.plan, own])[0])

    def _time_of(self, own: tuple[tuple[int, int, int], ...], bound: TimeBound) -> FloatArray:
        """Return (1,) least seconds of layers that are joined to NPUs: kind, B/s of a switch in use, and bits."""
        kind = np.array([[one] for one, _, _ in own])
        limit, npus = self.problem.space.limits.switch_throughput, self.problem.space.npus
        onward = [(used - limit + self.kinds.spare[one]) * 2.0 ** (bits - npus) for one, used, bits in own]
        return bound(self.kinds.rate[kind], self.kinds.tied[kind], np.maximum(onward, 0.0)[:, None])


def _beaten(objectives: FloatArray) -> BoolArray:
    """Return (n,) whether one of (2, n) designs is the same in one objective and better in the other one.

    Known designs come from files, whose times differ from computed ones in the last bit.
    """
    same, less = ((objectives[:, :, None] <= objectives[:, None, :] * (1.0 + by)) for by in (SAME, -SAME))
    return np.asarray(((same[0] & less[1]) | (less[0] & same[1])).any(axis=0))


def _choices(side: IntArray, members: IntArray) -> IntArray:
    """Return (n,) how many wirings (k, n) kinds of layers have, layers of one kind in any order."""
    many: IntArray = members[side]
    if len(side) == 1:
        first: IntArray = many[0]
        return first
    found: IntArray = np.prod(many, axis=0)
    same = side[1:] == side[:-1]
    one, two = many[0], many[-1]
    if len(side) == 2:  # noqa: PLR2004 - a pair
        return np.asarray(np.where(same[0], one * (one + 1) // 2, found))
    found = np.where(same[0] & ~same[1], one * (one + 1) // 2 * two, found)
    found = np.where(~same[0] & same[1], two * (two + 1) // 2 * one, found)
    return np.asarray(np.where(same.all(axis=0), one * (one + 1) * (one + 2) // 6, found))


def _genes(side: IntArray, places: Sequence[int], links: tuple[tuple[int, IntArray], ...]) -> FloatArray:
    """Return genes of layers that are joined to NPUs, at their places, and of links between switches."""
    count = side.shape[2]
    pairs = {name: np.zeros((PAIRS, count), dtype=np.int64) for name in Fields.__dataclass_fields__ if name != "layers"}
    layers = np.ones((LAYERS - 1, count), dtype=np.int64)
    rows = [(place, layer[0], layer[1:]) for place, layer in zip(places, side, strict=True)]
    for place, bits, genes in rows:
        layers[place] = bits
        _set(pairs, place, genes)
    for pair, genes in links:
        _set(pairs, pair, genes[:, None])
    return Fields(layers=layers, **pairs).genes()


def _set(pairs: dict[str, IntArray], pair: int, genes: IntArray) -> None:
    pairs["joined"][pair] = 1
    for name, row in zip(("lower_blocks", "upper_blocks", "links", "rate", "parallel"), genes, strict=True):
        pairs[name][pair] = row


def _designs(side: IntArray, kinds: IntArray, fabric: Fabric) -> Iterator[FloatArray]:
    """Yield genes of fabrics of a side, for each choice of links between switches."""
    left = {kind: [place for place, layer in enumerate(fabric.layers) if layer.kind == kind] for kind in set(kinds)}
    places = [left[kind].pop(0) for kind in kinds]
    for links in fabric.members():
        genes = _genes(side, places, links)
        fields = Fields.of(genes)
        layers = fields.layers.copy()
        for place, layer in enumerate(fabric.layers):
            if layer.kind < 0:
                layers[place] = layer.bits
        yield replace(fields, layers=layers).genes()
