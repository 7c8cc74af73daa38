"""Time of a collective whose chunks take the dimensions in an order of their own, or wait by a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.model.arrays import FloatArray, IntArray
from evo_libra.model.astra.queues import ANY, GATHERS, SCATTERS, Joining, finish
from evo_libra.model.astra.system import Chunks, Part, System
from evo_libra.model.astra.themis import Chunk, Network, Scheduler, plan
from evo_libra.model.collective import Collective

_RS, _AG, _AR = Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_REDUCE


@dataclass(frozen=True)
class _Planned:
    """Dimension, kind and bytes of every phase of every chunk of one design: (p, k) each."""

    dimension: IntArray
    kind: tuple[Collective, ...]
    size: FloatArray


def scheduled_time(collective: Collective, chunks: Chunks, part: Part, system: System) -> FloatArray:
    """Return (n,) ns of collectives whose chunks a scheduler orders, each design's in its own way.

    Raises
    ------
    ValueError : dimensions have several queues, or an implementation cannot run it.
    """
    if system.queues > 1:
        raise ValueError("schedulers and policies are known with one queue a dimension only")
    time = np.zeros(len(part.designs))
    for group in part.squeezed():
        if group.used.any():
            time[group.designs] = _group_time(collective, chunks.select(group.designs), group, system)
    return time


def _group_time(collective: Collective, chunks: Chunks, part: Part, system: System) -> FloatArray:
    each = [np.array([n]) for n in range(len(part.designs))]
    plans = [_planned(collective, chunks.select(n), part.select(n), system) for n in each]
    time = np.zeros(len(plans))
    shapes = [(plan_.size.shape, plan_.kind) for plan_ in plans]
    for shape in dict.fromkeys(shapes):
        designs = np.array([n for n, other in enumerate(shapes) if other == shape])
        time[designs] = _queued([plans[n] for n in designs], part.select(designs), system)
    return time


def _queued(plans: Sequence[_Planned], part: Part, system: System) -> FloatArray:
    kinds = plans[0].kind
    dimension = np.stack([plan_.dimension for plan_ in plans], axis=2)
    size = np.stack([plan_.size for plan_ in plans], axis=2)
    time, largest = np.zeros(size.shape), size.copy()
    for p, kind in enumerate(kinds):
        for d in range(len(part.links)):
            chunk, design = np.nonzero(dimension[p] == d)
            if not len(chunk):
                continue
            some, bytes_ = part.select(design), size[p, chunk, design]
            time[p, chunk, design] = some.time(d, kind, bytes_)
            if kind is _AG:
                largest[p, chunk, design] = bytes_ * some.links[d].npus
    codes = np.array([{_RS: SCATTERS, _AG: GATHERS}.get(kind, ANY) for kind in kinds])
    joining = Joining(system.policy, np.repeat(codes[:, None], size.shape[1], axis=1), largest)
    return finish(dimension, time, np.full(len(part.links), system.slots), joining)


def _planned(collective: Collective, chunks: Chunks, part: Part, system: System) -> _Planned:
    npus = [int(link.npus[0]) for link in part.links]
    network = Network(npus, [float(link.bandwidth[0]) for link in part.links], part.used[:, 0].tolist())
    rows = []
    for chunk in plan(system.scheduler, collective, int(chunks.whole[0]), int(chunks.size[0]), network):
        greedy = system.scheduler in (Scheduler.OFFLINE_GREEDY, Scheduler.OFFLINE_GREEDY_FLEX)
        rows.append(_way(collective, chunk, npus, greedy=greedy, shrinking=system.shrinking))
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
