"""A job on a network whose pieces fail one by one, event by event, with none of the package's formulas.

Every piece is listed with what its failure does: NPUs that it cuts off, or the part of the bandwidth that is lost. A
failure of pieces that cuts off NPUs stops the job. NPUs of one unit are replaced by a spare unit of their group, if one
is left; NPUs of several units are waited for.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, product

import numpy as np

YEAR = 365.25 * 86400.0


@dataclass(frozen=True)
class Piece:
    """Something that fails: failures per second, seconds of repair, NPUs cut off, and bandwidth lost."""

    rate: float
    repair: float
    cut: frozenset[int] = frozenset()
    lost: float = 0.0


@dataclass(frozen=True)
class Net:
    """A network: (block, size, ports) of each dimension, and per kind of part (rate, repair) of a piece."""

    dimensions: Sequence[tuple[str, int, int]]
    failing: dict[str, tuple[float, float]]
    radix: int
    ocs: int
    host: int = 1

    @property
    def npus(self) -> int:
        return int(np.prod([size for _, size, _ in self.dimensions]))

    @property
    def spare_level(self) -> int:
        """The outermost dimension where it has switches, -1 else."""
        return len(self.dimensions) - 1 if self.dimensions[-1][0] in ("SW", "CL", "OC") else -1


def members(net: Net, dimension: int) -> list[list[frozenset[int]]]:
    """Return the places of each instance of a dimension, each with its NPU in that instance and all inside it."""
    inside = int(np.prod([size for _, size, _ in net.dimensions[:dimension]], dtype=int))
    size = net.dimensions[dimension][1]
    outside = net.npus // (inside * size)
    found = []
    for out, rank in product(range(outside), range(inside)):
        found.append([frozenset([rank + inside * (place + size * out)]) for place in range(size)])
    return found


def pieces(net: Net) -> list[Piece]:
    found = [Piece(*net.failing["npu"], frozenset([npu])) for npu in range(net.npus)]
    hosts = range(0, net.npus, net.host)
    found += [Piece(*net.failing["host"], frozenset(range(n, n + net.host))) for n in hosts]
    found += [Piece(*net.failing["software"], frozenset([npu])) for npu in range(net.npus)]
    for d, (block, _, ports) in enumerate(net.dimensions):
        places = members(net, d)
        if block == "CL":
            # One network of all NPUs of the dimension and inside it, those of different places on one leaf.
            inside = int(np.prod([s for _, s, _ in net.dimensions[:d]], dtype=int))
            places = [list(chain(*places[start : start + inside])) for start in range(0, len(places), inside)]
        for instance in places:
            maker = {"RI": _ring, "FC": _mesh_of_all, "OC": _optical}.get(block, _switched)
            found += maker(net, instance, ports)
    return found


def _ends(net: Net, cut: frozenset[int], lost: float, *, ends: int) -> list[Piece]:
    """Return a link with its transceivers."""
    return [Piece(*net.failing["link"], cut, lost)] + [Piece(*net.failing["transceiver"], cut, lost)] * ends


def _cards(net: Net, instance: list[frozenset[int]], ports: int) -> list[Piece]:
    return [Piece(*net.failing["nic"], place) for place in instance for _ in range(ports)]


def _ring(net: Net, instance: list[frozenset[int]], ports: int) -> list[Piece]:
    """Return links to the next NPU; a ring that lost one of them runs there and back, at half of its bandwidth."""
    rings = ports / 2 if len(instance) > 2 else ports
    beside = len(instance) if len(instance) > 2 else 1
    lost = 0.5 / rings if len(instance) > 2 else 1.0 / rings
    links = [_ends(net, frozenset(), lost, ends=2) for _ in range(beside) for _ in range(int(rings))]
    return list(chain(*links)) + _cards(net, instance, ports)


def _mesh_of_all(net: Net, instance: list[frozenset[int]], ports: int) -> list[Piece]:
    pairs = len(instance) * (len(instance) - 1) // 2
    each = ports // (len(instance) - 1)
    links = [_ends(net, frozenset(), 1.0 / ports, ends=2) for _ in range(pairs * each)]
    return list(chain(*links)) + _cards(net, instance, ports)


def _optical(net: Net, instance: list[frozenset[int]], ports: int) -> list[Piece]:
    held = net.ocs // (2 * len(instance))
    left, found = ports, _cards(net, instance, ports)
    while left > 0:
        found.append(Piece(*net.failing["ocs"], lost=min(held, left) / ports))
        left -= held
    return found + list(chain(*(_ends(net, place, 0.0, ends=1) for place in instance for _ in range(ports))))


def _switched(net: Net, instance: list[frozenset[int]], ports: int) -> list[Piece]:
    """Return single switches, or leaves and spines; each port of the NPUs has a network of its own."""
    radix, half, found = net.radix, net.radix // 2, _cards(net, instance, ports)
    found += list(chain(*(_ends(net, place, 0.0, ends=2) for place in instance for _ in range(ports))))
    everybody = frozenset().union(*instance)
    if len(instance) <= radix:
        switches = -(-ports // (radix // len(instance)))
        return found + [Piece(*net.failing["switch"], everybody)] * switches
    leaves = [instance[start : start + half] for start in range(0, len(instance), half)]
    spines = -(-len(leaves) * half // radix)
    assert len(leaves) <= radix, "two tiers are enough"
    for _ in range(ports):
        found += [Piece(*net.failing["switch"], frozenset().union(*leaf)) for leaf in leaves]
        found += [Piece(*net.failing["switch"], lost=1.0 / spines / ports)] * spines
        found += list(chain(*(_ends(net, frozenset(), 1 / half / ports, ends=2) for _ in instance)))
    return found


@dataclass(frozen=True)
class Policy:
    """Seconds of work between checkpoints, of writing one, and of a restart; spare units, and NPUs of a unit."""

    work: float
    write: float
    restart: float
    spares: int
    unit: int


@dataclass
class _Job:
    """A job: what checkpoints keep, work since the last one, and its phase with the seconds left of it."""

    policy: Policy
    useful: float = 0.0
    fresh: float = 0.0
    phase: str = "restart"
    left: float = 0.0

    def stop(self) -> None:
        self.fresh, self.phase, self.left = 0.0, "restart", self.policy.restart

    def run(self, seconds: float, speed: float) -> None:
        while seconds > 0:
            step = min(seconds, self.left)
            self.fresh += step * speed * (self.phase == "work")
            seconds -= step
            self.left -= step
            if self.left <= 0:
                self._next()

    def _next(self) -> None:
        if self.phase == "work":
            self.phase, self.left = "write", self.policy.write
            return
        self.useful += self.fresh * (self.phase == "write")
        self.fresh, self.phase, self.left = 0.0, "work", self.policy.work


@dataclass
class _Cluster:
    """A cluster in time: the job, and what is in repair."""

    net: Net
    policy: Policy
    job: _Job
    now: float = 0.0
    waiting: int = 0
    short: int = 0
    slow: list[float] = field(default_factory=list)
    repairs: list[tuple[float, int, str, float]] = field(default_factory=list)

    @property
    def running(self) -> bool:
        return not self.waiting and self.short <= self.policy.spares

    def pass_time(self, until: float) -> None:
        """Let repairs end and the job run until some second."""
        while self.repairs and self.repairs[0][0] <= until:
            at, _, what, amount = heapq.heappop(self.repairs)
            self._run(at)
            if what == "slow":
                self.slow.remove(amount)
            else:
                self.waiting -= what == "wait"
                self.short -= what == "unit"
        self._run(until)

    def _run(self, until: float) -> None:
        if self.running:
            self.job.run(until - self.now, float(np.prod([1.0 - lost for lost in self.slow])) if self.slow else 1.0)
        self.now = until

    def fail(self, piece: Piece, done: float, number: int) -> None:
        """Let a piece fail, whose repair ends at some second."""
        if piece.cut and self.running:
            self.job.stop()
        if piece.repair <= 0 or not (piece.cut or piece.lost):
            return
        what = "slow"
        if piece.cut:
            units = {npu // self.policy.unit for npu in piece.cut}
            what = "unit" if len(units) == 1 and self.net.spare_level >= 0 else "wait"
        else:
            self.slow.append(piece.lost)
        self.waiting += what == "wait"
        self.short += what == "unit"
        heapq.heappush(self.repairs, (done, number, what, piece.lost))


def simulate(net: Net, policy: Policy, *, events: int, seed: int, batches: int = 40) -> tuple[float, float]:
    """Return the useful share of a long time, and its standard error from batches."""
    random = np.random.default_rng(seed)
    listed = pieces(net)
    rates = np.array([piece.rate for piece in listed])
    order = random.choice(len(listed), size=events, p=rates / rates.sum()).tolist()
    gaps = random.exponential(1.0 / rates.sum(), size=events).tolist()
    # Half of the repairs take a fixed time, and half an exponential one.
    stretch = np.where(random.random(events) < 0.5, 1.0, random.exponential(size=events)).tolist()
    cluster = _Cluster(net, policy, _Job(policy))
    cluster.job.stop()
    marks = []
    for number, (index, gap, factor) in enumerate(zip(order, gaps, stretch, strict=True)):
        cluster.pass_time(cluster.now + gap)
        cluster.fail(listed[index], cluster.now + listed[index].repair * factor, number)
        if (number + 1) % (events // batches) == 0:
            marks.append((cluster.now, cluster.job.useful))
    time, useful = np.diff(np.array(marks), axis=0).T
    shares = useful / time
    return float(useful.sum() / time.sum()), float(shares.std(ddof=1) / np.sqrt(len(shares)))
