"""Time of a collective whose chunks take the dimensions in an order of their own, or wait by a policy.

A phase's time depends on its dimension and on which dimensions the chunk has passed before, not on their order. So
chunks of equal size share a table of the times of all dimensions behind all sets of others; only a chunk with a size of
its own, such as the rest of a message, is timed by itself.
"""

from __future__ import annotations

import numpy as np

from evo_libra.model.arrays import FloatArray, IntArray
from evo_libra.model.astra.queues import ANY, GATHERS, SCATTERS, Joining, finish, tiles
from evo_libra.model.astra.system import Chunks, Part, System
from evo_libra.model.astra.themis import Network, plan
from evo_libra.model.collective import Collective

_RS, _AG, _AR = Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_REDUCE


def scheduled_time(collective: Collective, chunks: Chunks, part: Part, system: System) -> FloatArray:
    """Return (n,) ns of collectives whose chunks a scheduler orders, each design's in its own way.

    Raises
    ------
    ValueError : dimensions have several queues, or an implementation cannot run it.
    """
    if system.queues > 1:
        raise ValueError("schedulers and policies are known with one queue a dimension only")
    time = np.zeros(len(part.designs))
    for group in part.packed(np.array([link.npus > 1 for link in part.links])):
        if not group.used.any():
            continue
        for tile in tiles(chunks.count[group.designs], 2 * len(group.links)):
            some = group.select(tile)
            time[some.designs] = _time(collective, chunks.select(some.designs), some, system)
    return time


def _time(collective: Collective, chunks: Chunks, part: Part, system: System) -> FloatArray:
    """Return (n,) ns of designs that use the same dimensions."""
    network = Network(
        np.array([link.npus for link in part.links]),
        np.array([link.bandwidth for link in part.links]),
        part.used[:, 0].tolist(),
    )
    planned = plan(system.scheduler, collective, chunks.whole, chunks.size, network)
    kinds, server = _way(collective, planned.order, system)
    time, largest = _phases(kinds, server, planned.size, chunks.size.astype(np.float64), part)
    codes = np.array([{_RS: SCATTERS, _AG: GATHERS}.get(kind, ANY) for kind in kinds])
    joining = Joining(system.policy, np.repeat(codes[:, None], time.shape[1], axis=1), largest)
    return finish(server, time, np.full(len(part.links), system.slots), joining, count=planned.count)


def _way(collective: Collective, order: IntArray, system: System) -> tuple[list[Collective], IntArray]:
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


def _phases(
    kinds: list[Collective], dims: IntArray, size: FloatArray, chunk: FloatArray, part: Part
) -> tuple[FloatArray, FloatArray]:
    """Return the (p, k, n) ns of phases, and the larger one of the bytes that enter and that leave them.

    Parameters
    ----------
    kinds : (p,) what runs.
    dims : (p, k, n) where; (p, k, 1) where designs do not differ.
    size : (k, n) bytes of each chunk, most of them those of (n,) `chunk`.
    part : the designs.
    """
    time, largest = _shared(kinds, dims, chunk, part) if dims.shape[2] == 1 else _tabled(kinds, dims, chunk, part)
    place, design = np.nonzero((size != chunk) & (size > 0))
    if len(place):
        ways = np.broadcast_to(dims, time.shape)[:, place, design]
        own = _each(kinds, ways, size[place, design], part.select(design))
        time[:, place, design], largest[:, place, design] = own
    return time, largest


def _each(kinds: list[Collective], ways: IntArray, size: FloatArray, part: Part) -> tuple[FloatArray, FloatArray]:
    """Return what `_phases` does of one chunk of each design, (p, n)."""
    time, largest = np.zeros(ways.shape), np.zeros(ways.shape)
    for p, kind in enumerate(kinds):
        npus = np.zeros(len(size))
        for d in np.unique(ways[p]).tolist():
            designs = np.flatnonzero(ways[p] == d)
            some = part.select(designs)
            time[p, designs] = some.time(d, kind, size[designs])
            npus[designs] = some.links[d].npus
        largest[p] = size * npus if kind is _AG else size
        if kind is _RS:
            size = np.floor(size / npus)
        elif kind is _AG:
            size = largest[p]
    return time, largest


def _shared(kinds: list[Collective], dims: IntArray, chunk: FloatArray, part: Part) -> tuple[FloatArray, FloatArray]:
    """Return what `_phases` does of equal chunks whose ways are those of all designs."""
    ways, which = np.unique(dims[:, :, 0], axis=1, return_inverse=True)
    each = [_each(kinds, np.repeat(way[:, None], len(chunk), axis=1), chunk, part) for way in ways.T]
    time, largest = (np.stack(found, axis=1)[:, which.ravel()] for found in zip(*each, strict=True))
    return time, largest


def _tabled(kinds: list[Collective], dims: IntArray, chunk: FloatArray, part: Part) -> tuple[FloatArray, FloatArray]:
    """Return what `_phases` does of equal chunks that scatter over all dimensions, gather over all, or both."""
    depth, every = len(part.links), np.arange(len(chunk))
    together = np.ones((1 << depth, len(chunk)))
    for mask in range(1, 1 << depth):
        highest = mask.bit_length() - 1
        together[mask] = together[mask ^ (1 << highest)] * part.links[highest].npus
    time, largest = np.empty(dims.shape), np.empty(dims.shape)
    for kind in dict.fromkeys(kinds):
        scattered = together[sum(1 << d for d in range(depth) if part.used[d].any())] if _RS in kinds else 1.0
        resident = np.floor(chunk / together) if kind is _RS else np.floor(chunk / scattered) * together
        phases = [p for p, other in enumerate(kinds) if other is kind]
        bit = 1 << dims[phases]
        passed = np.cumsum(bit, axis=0) - bit
        code = passed * depth + dims[phases]
        table = np.zeros((depth << depth, len(chunk)))
        seen = np.zeros(len(table), dtype=np.bool_)
        seen[code] = True
        for entry in np.flatnonzero(seen).tolist():
            table[entry] = part.time(entry % depth, kind, resident[entry // depth])
        time[phases] = table[code, every]
        largest[phases] = resident[passed if kind is _RS else passed + bit, every]
    return time, largest
