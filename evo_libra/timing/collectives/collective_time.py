"""Time of a collective over several dimensions: chunks, phases, and how chunks follow each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import lcm

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective
from evo_libra.timing.collectives.closed_form import UNCLEAR, closed_form
from evo_libra.timing.collectives.phase import Link
from evo_libra.timing.collectives.queues import check_chunks, finish
from evo_libra.timing.collectives.scheduled import scheduled_time
from evo_libra.timing.collectives.system import DesignGroup, System, cut, refuse_untimed
from evo_libra.timing.names import Policy, Scheduler

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
            way = _way(collective, int(part.used[:, designs[0]].sum()), shrinking=system.shrinking)
            time[designs] = _queued(way, own, chunks.count[designs], system)
    return time


_Way = tuple[tuple[int, Collective], ...]
"""Dimension and collective of each phase of a chunk."""


def _way(collective: Collective, depth: int, *, shrinking: bool) -> _Way:
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


def _queued(way: _Way, times: FloatArray, count: IntArray, system: System) -> FloatArray:
    split = system.shrinking and any(kind is _AR for _, kind in way)
    server = _servers(way, system.queues, split=split)
    server = server[:, np.arange(count.max()) % server.shape[1]]
    slots = np.full((int(server.max()) // system.queues + 1) * system.queues, system.slots)
    return finish(server[:, :, None], times[:, None, :], slots, count=count)


def _servers(way: _Way, queues: int, *, split: bool) -> IntArray:
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
