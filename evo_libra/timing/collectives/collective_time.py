"""Time of a collective over several dimensions: chunks, phases, and how chunks follow each other.

Chunks may take the dimensions in an order of their own, or wait by a policy. A phase's time depends on its dimension
and on which dimensions the chunk has passed before, not on their order. So chunks of equal size share a table of the
times of all dimensions behind all sets of others; only a chunk with a size of its own, such as the rest of a message,
is timed by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import lcm

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective
from evo_libra.timing.collectives.closed_form import UNCLEAR, closed_form
from evo_libra.timing.collectives.phase import Link
from evo_libra.timing.collectives.queues import check_chunks, finish, tiles
from evo_libra.timing.collectives.queues_numpy import ANY, GATHERS, SCATTERS, Joining
from evo_libra.timing.collectives.system import Chunks, DesignGroup, System, cut, left, refuse_untimed
from evo_libra.timing.collectives.themis import Network, SmallArray, plan, products
from evo_libra.timing.names import Policy, Scheduler

_TABLE = 4
"""Times of phases behind sets of dimensions that a tile keeps, for each chunk phase that it runs."""

_PHASES = 2**16
"""Phases whose times are computed at once."""

_RS, _AG, _AR = Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_REDUCE


def scheduled_time(collective: Collective, chunks: Chunks, part: DesignGroup, system: System) -> FloatArray:
    """Return (n,) ns of collectives whose chunks a scheduler orders, each design's in its own way.

    A ValueError says that dimensions have several queues, or an implementation cannot run it.
    """
    if system.queues > 1:
        raise ValueError("schedulers and policies are known with one queue a dimension only")
    time = np.zeros(len(part.designs))
    for group in part.packed(part.link.npus > 1):
        if not group.used.any():
            continue
        count, depth = chunks.count[group.designs], len(group.used)
        for tile in tiles(count, max(2 * depth, (depth << depth) // (_TABLE * int(count.max())))):
            some = group.select(tile)
            time[some.designs] = _time(collective, chunks.select(some.designs), some, system)
    return time


def _time(collective: Collective, chunks: Chunks, part: DesignGroup, system: System) -> FloatArray:
    """Return (n,) ns of designs that use the same dimensions."""
    npus = part.link.npus
    network = Network(npus, part.link.planned_bandwidth, part.used[:, 0].tolist())
    planned = plan(system.scheduler, collective, chunks.whole, chunks.size, network)
    kinds, dims = _scheduled_way(collective, planned.order, system)
    time = _phase_times(kinds, dims, planned.size, chunks.size.astype(np.float64), part)
    codes = np.array([{_RS: SCATTERS, _AG: GATHERS}.get(kind, ANY) for kind in kinds])
    sized = system.policy in {Policy.SMALLEST_FIRST, Policy.SMALLEST_CHUNK_FIRST}
    size = _largest(kinds, dims, planned.size, npus) if sized else np.zeros((1, 1, 1))
    joining = Joining(system.policy, np.repeat(codes[:, None], time.shape[1], axis=1), size)
    return finish(dims, time, np.full(len(part.used), system.slots), joining, count=planned.count)


def _scheduled_way(collective: Collective, order: SmallArray, system: System) -> tuple[list[Collective], SmallArray]:
    """Return the collective of each phase of a chunk and the (p, k, n) dimensions of all of them.

    A greedily scheduled all-reduce scatters over all its dimensions and gathers back over them; the others run the last
    dimension's part in one.
    """
    depth, greedy = len(order), system.scheduler.greedy
    if collective is _AG:
        return [_AG] * depth, order if greedy else order[::-1]
    if collective is _AR and greedy:
        return [_RS] * depth + [_AG] * depth, np.concatenate([order, order[::-1]])
    if collective is _AR and system.shrinking:
        return [_RS] * (depth - 1) + [_AR] + [_AG] * (depth - 1), np.concatenate([order, order[-2::-1]])
    return [collective] * depth, order


def _phase_times(
    kinds: list[Collective], dims: SmallArray, size: FloatArray, chunk: FloatArray, part: DesignGroup
) -> FloatArray:
    """Return the (p, k, n) ns of phases of (p,) kinds in (p, k, n) dimensions; (p, k, 1) where designs do not differ.

    Most of the (k, n) sizes are those of the (n,) chunks.
    """
    if dims.shape[2] == 1:
        ways, which = np.unique(dims[:, :, 0], axis=1, return_inverse=True)
        each = [_each(kinds, np.repeat(way[:, None], len(chunk), axis=1), chunk, part) for way in ways.T]
        time = np.stack(each, axis=1)[:, which.ravel()]
    else:
        time = _phase_table(kinds, dims, chunk, part)
    place, design = np.nonzero((size != chunk) & (size > 0))
    if len(place):
        ways = np.broadcast_to(dims, time.shape)[:, place, design]
        time[:, place, design] = _each(kinds, ways, size[place, design], part.select(design))
    return time


def _each(kinds: list[Collective], ways: SmallArray, size: FloatArray, part: DesignGroup) -> FloatArray:
    """Return the (p, n) ns of the phases of one chunk of each design."""
    return part.chain(ways, kinds, size, part.used[ways, np.arange(len(size))])


def _phase_table(kinds: list[Collective], dims: SmallArray, chunk: FloatArray, part: DesignGroup) -> FloatArray:
    """Return the (p, k, n) ns of phases of equal chunks that scatter over all dimensions, gather over all, or both."""
    depth, designs = len(part.used), len(chunk)
    together = products(part.link.npus)
    everything = sum(1 << d for d in range(depth) if part.used[d].any())
    shard = np.floor(chunk / together[everything]) if _RS in kinds else chunk
    time, most = np.empty(dims.shape), max(_PHASES // designs, 1)
    for kind in dict.fromkeys(kinds):
        resident = np.floor(chunk / together) if kind is _RS else shard * together
        phases = slice(kinds.index(kind), kinds.index(kind) + kinds.count(kind))
        entry = _entries(dims[phases], depth)
        table = np.zeros((depth << depth, designs))
        places = np.flatnonzero(np.bincount(entry.ravel(), minlength=len(table)))
        for some in np.split(places, range(most, len(places), most)):
            d = some % depth
            table[some] = part.time(d[:, None], [kind] * len(some), resident[some // depth], part.used[d])
        entry *= designs
        entry += np.arange(designs)
        # No entry is out of bounds; checking that costs as much as taking.
        table.take(entry, out=time[phases], mode="clip")
    return time


def _entries(dims: SmallArray, depth: int) -> IntArray:
    """Return, of (p, k, n) dimensions in a row, a number for each and the set of those before it."""
    entry, passed = np.empty(dims.shape, dtype=np.int64), np.zeros(dims.shape[1:], dtype=np.int64)
    for p, dimension in enumerate(dims.astype(np.int64)):
        np.multiply(passed, depth, out=entry[p])
        entry[p] += dimension
        passed |= 1 << dimension
    return entry


def _largest(kinds: list[Collective], dims: SmallArray, size: FloatArray, npus: IntArray) -> FloatArray:
    """Return the (p, k, n) larger one of the bytes that enter phases and that leave them."""
    largest, every = [], np.arange(npus.shape[1])
    for kind, dimension in zip(kinds, dims, strict=True):
        after = left(kind, size, npus[dimension, every])
        largest.append(np.maximum(size, after))
        size = after
    return np.array(largest)


_RS, _AG, _AR = Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_REDUCE


def collective_time(
    collective: Collective,
    size: int | IntArray,
    links: Sequence[Link] | Link,
    system: System,
    involved: Sequence[bool] | None = None,
    *,
    world: int | None = None,
) -> FloatArray:
    """Return (n,) ns of one collective that all NPUs begin at once.

    A closed form where it is exact, the queue model elsewhere; both are exact to the nanosecond.

    Parameters
    ----------
    collective : what runs.
    size : bytes, a number or (n,): the whole message, for an all-gather the shard.
    links : one for each dimension, the innermost first, of n designs each, or one with (d, n) arrays; a dimension of
        one NPU is passed over.
    system : how it runs.
    involved : dimensions that take part; all when left out.
    world : NPUs of the whole network: a chunk has at least as many bytes, except an all-gather's; the product of the
        dimensions when left out.

    Raises
    ------
    ValueError : an algorithm cannot run it, or chunks would be empty: ASTRA-sim would hang; or there are more chunks
        than the queue model runs, where that is needed; or no exact time is known of it, as
        `evo_libra.timing.collectives.system.refuse_untimed` and `evo_libra.timing.collectives.phase.phase_time` say.
    """
    part = DesignGroup.of(collective, links, system, involved)
    npus = part.link.npus.prod(axis=0) if world is None else np.full(len(part.designs), world)
    chunks = cut(collective, size, npus, system.splits)
    refuse_untimed(chunks, part, system)
    if system.scheduler is not Scheduler.BASELINE or system.policy is not Policy.FIFO:
        check_chunks(system.splits)
        return scheduled_time(collective, chunks, part, system)
    times, taken = phases(collective, chunks.size, part, shrinking=system.shrinking)
    turns = collective is _AR and system.shrinking
    if system.queues > 1:
        time = np.where(taken.any(axis=0), UNCLEAR, 0.0)
    else:
        time = closed_form(times, taken, chunks.count, system.active, turns=turns, compiled=part.compiled)
    unclear = time == UNCLEAR
    if unclear.any():
        check_chunks(np.broadcast_to(system.splits, len(time))[unclear])
        for designs, own in _packed(times, taken, unclear):
            way = way_of(collective, int(part.used[:, designs[0]].sum()), shrinking=system.shrinking)
            time[designs] = _queued(way, own, chunks.count[designs], system)
    return time


Way = tuple[tuple[int, Collective], ...]
"""Dimension and collective of each phase of a chunk."""


def way_of(collective: Collective, depth: int, *, shrinking: bool) -> Way:
    """Return the way of a chunk that takes some dimensions."""
    if collective is Collective.ALL_TO_ALL or (collective is _AR and not shrinking):
        return tuple((d, collective) for d in range(depth))
    inwards, outwards = [(d, _RS) for d in range(depth)], [(d, _AG) for d in reversed(range(depth))]
    if collective is _AR:
        return (*inwards[:-1], (depth - 1, _AR), *outwards[1:])
    return tuple(inwards if collective is _RS else outwards)


def phases(
    collective: Collective, chunk: IntArray, part: DesignGroup, *, shrinking: bool
) -> tuple[FloatArray, BoolArray]:
    """Return (p, n) ns of the phases of a chunk in their order, and which of them each design has: others take 0 ns.

    An all-reduce that turns scatters in all dimensions but the last one that a design uses, and gathers back.
    """
    depth, designs = part.used.shape
    dims = np.repeat(np.arange(depth)[:, None], designs, axis=1)
    taken, kinds = part.used, [collective] * depth
    if collective is _AG:
        dims, taken = dims[::-1], taken[::-1]
    elif collective is _AR and shrinking:
        last = depth - 1 - taken[::-1].argmax(axis=0)
        before = taken & (dims < last)
        dims, taken = np.vstack([dims, last, dims[::-1]]), np.vstack([before, taken.any(axis=0), before[::-1]])
        kinds = [_RS] * depth + [_AR] + [_AG] * depth
    return part.chain(dims, kinds, chunk.astype(np.float64), taken), taken


def _packed(times: FloatArray, taken: BoolArray, wanted: BoolArray) -> Iterator[tuple[IntArray, FloatArray]]:
    """Give the wanted designs with as many phases as each other, and the (p, m) ns of the phases that they have."""
    many = np.where(wanted, taken.sum(axis=0), 0)
    for count in np.unique(many[many > 0]).tolist():
        designs = np.flatnonzero(many == count)
        phase = np.argsort(~taken[:, designs], axis=0, kind="stable")[:count]
        yield designs, times[phase, designs]


def _queued(way: Way, times: FloatArray, count: IntArray, system: System) -> FloatArray:
    split = system.shrinking and any(kind is _AR for _, kind in way)
    server = servers_of(way, system.queues, split=split)
    server = server[:, np.arange(count.max()) % server.shape[1]]
    slots = np.full((int(server.max()) // system.queues + 1) * system.queues, system.slots)
    return finish(server[:, :, None], times[:, None, :], slots, count=count)


def servers_of(way: Way, queues: int, *, split: bool) -> IntArray:
    """Return (p, r) queues: chunks take those of a dimension in turn, an all-reduce half of them on either way."""
    half = max(queues // 2, 1)
    server = np.zeros((len(way), lcm(queues, half, max(queues - half, 1))), dtype=np.int64)
    turn = np.arange(server.shape[1])
    for p, (d, kind) in enumerate(way):
        if not split or queues == 1:
            queue = turn % queues
        elif kind is _AG:
            queue = half + turn % (queues - half)
        else:
            queue = turn % half
        server[p] = d * queues + queue
    return server
