"""Time of a collective over several dimensions: chunks, phases, and how chunks follow each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, lcm

import numpy as np

from evo_libra.model.arrays import FloatArray, IntArray
from evo_libra.model.astra.phase import Implementation, Link, Overheads, phase_time
from evo_libra.model.astra.queues import ANY, GATHERS, SCATTERS, Joining, Policy, finish
from evo_libra.model.astra.themis import Chunk, Network, Scheduler, plan
from evo_libra.model.collective import Collective

_THERE_AND_BACK = 3
_RS, _AG, _AR = Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_REDUCE


@dataclass(frozen=True)
class System:
    """What ASTRA-sim's system file says of collectives.

    Attributes
    ----------
    implementations : of each collective, one a dimension.
    splits : chunks that a collective is cut into (``preferred-dataset-splits``).
    active : chunks that a dimension runs at a time (``active-chunks-per-dimension``).
    shrinking : whether an all-reduce scatters inwards and gathers back (``localBWAware``) or runs whole in each
        dimension (``baseline``).
    overheads : of the NPUs.
    queues : of each dimension; the chunks at a time are spread over them.
    scheduler : which dimensions a chunk takes first; `policy` : which chunk a dimension takes first. ASTRA-sim has
        both, though no released version reads them from its files.
    """

    implementations: Mapping[Collective, Sequence[Implementation]]
    splits: int
    active: int
    shrinking: bool
    overheads: Overheads
    queues: int = 1
    scheduler: Scheduler = Scheduler.BASELINE
    policy: Policy = Policy.FIFO


def collective_time(
    collective: Collective, size: int, links: Sequence[Link], system: System, involved: Sequence[bool] | None = None
) -> FloatArray:
    """Return (n,) ns of one collective that all NPUs begin at once.

    A closed form where it is exact, the queue model elsewhere; both are exact to the nanosecond.

    Parameters
    ----------
    collective : what runs.
    size : bytes: the whole message, for an all-gather the shard.
    links : one for each dimension, the innermost first, of n designs each.
    system : how it runs.
    involved : dimensions that take part; all when left out.

    Raises
    ------
    ValueError : an algorithm cannot run it, or chunks would be empty: ASTRA-sim would hang.
    """
    if system.scheduler is not Scheduler.BASELINE or system.policy is not Policy.FIFO:
        return _scheduled(collective, size, links, system, involved)
    npus = np.array([link.npus for link in links])
    taking = np.array([involved is None or involved[d] for d in range(len(links))])
    used = (npus > 1) & taking[:, None]
    used[len(system.implementations[collective]) :] = False
    time = np.zeros(npus.shape[1])
    # Designs whose chunks are cut alike and that use the same dimensions go through the queues together.
    key = npus.prod(axis=0) << len(links) | (used << np.arange(len(links))[:, None]).sum(axis=0)
    for kind in np.unique(key).tolist():
        designs = np.flatnonzero(key == kind)
        dims = np.flatnonzero(used[:, designs[0]]).tolist()
        chunk, chunks = _chunks(collective, size, kind >> len(links), system.splits)
        part = list(links) if len(designs) == len(key) else [link.select(designs) for link in links]
        phases = _phases(collective, chunk, dims, part, shrinking=system.shrinking)
        times = np.array([
            phase_time(system.implementations[collective][d], kind_, bytes_, part[d], system.overheads)
            for d, kind_, bytes_ in phases
        ]).reshape(len(phases), len(designs))  # fmt: skip
        time[designs] = _pipelined([(d, kind_) for d, kind_, _ in phases], times, chunks, len(links), system)
    return time


def _chunks(collective: Collective, size: int, npus: int, splits: int) -> tuple[int, int]:
    """Return the bytes of a chunk and how many there are; a remainder is one more whole chunk."""
    chunk = size // splits
    if collective is not _AG and npus > chunk:
        chunk, size = npus, splits * npus
    if not chunk:
        raise ValueError(f"an all-gather of {size} bytes cannot be cut into {splits} chunks")
    return chunk, ceil(size / chunk)


_Phases = list[tuple[int, Collective, FloatArray]]


def _phases(
    collective: Collective, chunk: int, dims: Sequence[int], links: Sequence[Link], *, shrinking: bool
) -> _Phases:
    """Return dimension, collective and (n,) bytes of each phase of a chunk."""
    count = len(links[0].npus)
    size = np.full(count, float(chunk))
    if not dims:
        return []
    if collective is Collective.ALL_TO_ALL or (collective is _AR and not shrinking):
        return [(d, collective, size) for d in dims]
    inwards: _Phases = []
    if collective is not _AG:
        for d in dims if collective is _RS else dims[:-1]:
            inwards.append((d, _RS, size))
            size = np.floor(size / links[d].npus)
        if collective is _RS:
            return inwards
        inwards.append((dims[-1], _AR, size))
    outwards: _Phases = []
    for d in reversed(dims if collective is _AG else dims[:-1]):
        outwards.append((d, _AG, size))
        size = size * links[d].npus
    return inwards + outwards


def _pipelined(
    phases: Sequence[tuple[int, Collective]], times: FloatArray, chunks: int, dimensions: int, system: System
) -> FloatArray:
    rounds = ceil(chunks / system.active)
    once = len({d for d, _ in phases}) == len(phases)
    if system.queues == 1 and once:
        return np.asarray(times.sum(axis=0) + (rounds - 1) * times.max(axis=0, initial=0.0))
    even = chunks % system.active == 0 or chunks <= system.active
    if system.queues == 1 and len(phases) == _THERE_AND_BACK and even:
        first, middle, last = times
        return np.asarray(np.maximum.reduce([
            first + middle + (rounds - 1) * np.maximum(first, middle) + last,
            first + middle + rounds * last,
            rounds * (first + last),
        ]))  # fmt: skip
    split = system.shrinking and any(kind is _AR for _, kind in phases)
    server = _servers(phases, system.queues, split=split)
    width = server.shape[1]
    server = server[:, np.arange(chunks) % width]
    slots = np.full(dimensions * system.queues, ceil(system.active / system.queues))
    return finish(server[:, :, None], times[:, None, :], slots)


def _servers(phases: Sequence[tuple[int, Collective]], queues: int, *, split: bool) -> IntArray:
    """Return (p, r) queues: chunks take those of a dimension in turn, an all-reduce half of them on either way."""
    half = max(queues // 2, 1)
    server = np.zeros((len(phases), lcm(queues, half, max(queues - half, 1))), dtype=np.int64)
    turn = np.arange(server.shape[1])
    for p, (d, kind) in enumerate(phases):
        if not split or queues == 1:
            place = turn % queues
        elif kind is _AG:
            place = half + turn % (queues - half)
        else:
            place = turn % half
        server[p] = d * queues + place
    return server


@dataclass(frozen=True)
class _Planned:
    """Dimension, kind and bytes of every phase of every chunk of one design: (p, k) each."""

    dimension: IntArray
    kind: tuple[Collective, ...]
    size: FloatArray


def _scheduled(
    collective: Collective, size: int, links: Sequence[Link], system: System, involved: Sequence[bool] | None
) -> FloatArray:
    """Return (n,) ns under a scheduler: chunks take the dimensions in different orders, in each design in its own."""
    plans = [
        _planned(collective, size, [link.select(np.array([n])) for link in links], system, involved)
        for n in range(len(links[0].npus))
    ]
    time = np.zeros(len(plans))
    shapes = [(plan_.size.shape, plan_.kind) for plan_ in plans]
    for shape in dict.fromkeys(shapes):
        designs = np.array([n for n, other in enumerate(shapes) if other == shape])
        time[designs] = _queued([plans[n] for n in designs], [link.select(designs) for link in links], system)
    return time


def _queued(plans: Sequence[_Planned], links: Sequence[Link], system: System) -> FloatArray:
    kinds = plans[0].kind
    dimension = np.stack([plan_.dimension for plan_ in plans], axis=2)
    size = np.stack([plan_.size for plan_ in plans], axis=2)
    time, largest = np.zeros(size.shape), size.copy()
    for p, kind in enumerate(kinds):
        for d, link in enumerate(links):
            chunk, design = np.nonzero(dimension[p] == d)
            if not len(chunk):
                continue
            part, bytes_ = link.select(design), size[p, chunk, design]
            implementation = system.implementations[_whole(system, kind)][d]
            time[p, chunk, design] = phase_time(implementation, kind, bytes_, part, system.overheads)
            if kind is _AG:
                largest[p, chunk, design] = bytes_ * part.npus
    codes = np.array([{_RS: SCATTERS, _AG: GATHERS}.get(kind, ANY) for kind in kinds])
    joining = Joining(system.policy, np.repeat(codes[:, None], size.shape[1], axis=1), largest)
    slots = np.full(len(links) * system.queues, ceil(system.active / system.queues))
    return finish(dimension * system.queues, time, slots, joining)


def _whole(system: System, kind: Collective) -> Collective:
    """Return the collective whose implementations a phase has: an all-reduce's, where it is part of one."""
    return kind if kind in system.implementations else _AR


def _planned(
    collective: Collective, size: int, links: Sequence[Link], system: System, involved: Sequence[bool] | None
) -> _Planned:
    npus = [int(link.npus[0]) for link in links]
    taking = [npus[d] > 1 and (involved is None or bool(involved[d])) for d in range(len(npus))]
    chunk, count = _chunks(collective, size, int(np.prod(npus)), system.splits)
    whole = max(size, chunk * count) if chunk * system.splits > size else size
    network = Network(npus, [float(link.bandwidth[0]) for link in links], taking)
    rows = []
    for part in plan(system.scheduler, collective, whole, chunk, network):
        greedy = system.scheduler in (Scheduler.OFFLINE_GREEDY, Scheduler.OFFLINE_GREEDY_FLEX)
        rows.append(_way(collective, part, npus, greedy=greedy, shrinking=system.shrinking))
    kind = tuple(kind for _, kind, _ in rows[0])
    return _Planned(
        np.array([[d for d, _, _ in row] for row in rows], dtype=np.int64).T.reshape(len(kind), -1),
        kind,
        np.array([[bytes_ for *_, bytes_ in row] for row in rows], dtype=np.float64).T.reshape(len(kind), -1),
    )


def _way(
    collective: Collective, chunk: Chunk, npus: Sequence[int], *, greedy: bool, shrinking: bool
) -> list[tuple[int, Collective, int]]:
    """Return dimension, collective and bytes of each phase of one chunk.

    A greedily scheduled all-reduce scatters over all its dimensions and gathers back over them; the others run the last
    dimension's part in one.
    """
    order, size = chunk.order, chunk.size
    if collective is Collective.ALL_TO_ALL or (collective is _AR and not shrinking and not greedy):
        return [(d, collective, size) for d in order]
    way: list[tuple[int, Collective, int]] = []
    if collective is not _AG:
        for d in order if collective is _RS or greedy else order[:-1]:
            way.append((d, _RS, size))
            size //= npus[d]
        if collective is _RS:
            return way
        if not greedy:
            way.append((order[-1], _AR, size))
            order = order[:-1]
    for d in order if collective is _AG and greedy else reversed(order):
        way.append((d, _AG, size))
        size *= npus[d]
    return way
