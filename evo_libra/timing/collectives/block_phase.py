"""Time of one phase in any block: those of ASTRA-sim, FRED's trees (arXiv 2406.19580), and those of this package.

On a tree of two levels where NPUs reduce, a chunk runs within the first-level switches and then between them, in turns,
as both levels share the links of the NPUs: each level is a switch that runs the algorithm. If switches reduce, an
NPU sends one stream: all that the others need of it goes up, and all that it needs comes down, at the same time. Times
are whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.collective import Collective
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.timing.collectives.phase import LINE, SWITCH, UPPER, Implementation, Link, Overheads, phase_time
from evo_libra.timing.names import CollectiveAlgorithm

IN_NETWORK = np.array([block.in_network for block in BLOCKS])
"""(b,) whether the switches of a tree reduce."""

_RS, _AG, _AR = Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_REDUCE
_A2A = Collective.ALL_TO_ALL


def tree_time(
    implementation: Implementation, collective: Collective, size: FloatArray, link: Link, overheads: Overheads
) -> FloatArray:
    """Return (n,) ns of a phase on trees that (n,) bytes enter."""
    reduces = IN_NETWORK[link.block]
    time = np.zeros(len(size))
    for mine in (np.flatnonzero(reduces), np.flatnonzero(~reduces)):
        if not len(mine):
            continue
        own = link.select(mine)
        if reduces[mine[0]]:
            time[mine] = _streamed(collective, size[mine], own, overheads)
            continue
        for level, kind, bytes_ in _levels(collective, size[mine], own):
            time[mine] += _level_time(implementation, kind, bytes_, level, overheads)
    return time


def _levels(collective: Collective, size: FloatArray, link: Link) -> Iterator[tuple[Link, Collective, FloatArray]]:
    """Give the levels that a chunk goes through: as switches, what runs there, and the (n,) bytes that enter."""
    near, far = link.leaf, link.npus // _leaf(link)
    assert near is not None  # noqa: S101 - `_leaf` has looked
    # A message passes two links of a switch, so half of its latency is that of one.
    below = Link(np.full(len(near), SWITCH), near, link.bandwidth, _leaf_latency(link) / 2)
    above = Link(np.full(len(near), SWITCH), far, link.bandwidth * UPPER[link.block], link.latency / 2)
    if collective is _AG:
        yield from ((above, _AG, size), (below, _AG, size * far))
        return
    if collective is _A2A:
        yield from ((below, _A2A, size), (above, _A2A, size))
        return
    scattered = np.floor(size / near)
    yield from ((below, _RS, size), (above, collective, scattered))
    if collective is _AR:
        yield below, _AG, scattered


def _level_time(
    implementation: Implementation, collective: Collective, size: FloatArray, link: Link, overheads: Overheads
) -> FloatArray:
    """Return (n,) ns of a level, 0 where a group has one NPU there; rings and direct run where halving cannot."""
    halving, direct = implementation.algorithm is CollectiveAlgorithm.HALVING_DOUBLING, CollectiveAlgorithm.DIRECT
    time, uneven = np.zeros(len(size)), (link.npus & (link.npus - 1)) != 0
    replaced = halving & (np.full(len(size), fill_value=True) if collective is _A2A else uneven)
    other = Implementation(direct if collective is _A2A else CollectiveAlgorithm.RING)
    for run, mine in ((implementation, ~replaced), (other, replaced)):
        places = np.flatnonzero(mine & (link.npus > 1))
        if len(places):
            some = link.select(places)
            if run.algorithm is direct:
                some = replace(some, bandwidth=some.bandwidth / (some.npus - 1))
            time[places] = phase_time(run, collective, size[places], some, overheads)
    return time


def _streamed(collective: Collective, size: FloatArray, link: Link, overheads: Overheads) -> FloatArray:
    """Return (n,) ns where switches reduce and copy; what an NPU keeps of a reduce-scatter it reduces itself."""
    near = _leaf(link)
    far, part, others = link.npus // near, np.floor(size / link.npus), link.npus - 1.0
    # One flow goes up for all NPUs of a switch, but of an all-to-all those of each of them.
    relief = others / np.maximum(link.npus - near, 1) if collective is _A2A else near.astype(np.float64)
    share = np.where(far > 1, np.minimum(UPPER[link.block] * relief, 1.0), 1.0)
    bytes_ = {_AR: size, _AG: others * size}.get(collective, others * part)
    latency = np.where(far > 1, link.latency, _leaf_latency(link))
    above = Link(link.block, link.npus, link.bandwidth * share, latency)
    stream = above.transfer(np.asarray(bytes_), 1.0)
    return np.asarray(2.0 * overheads.endpoint + stream + (overheads.reduction(part) if collective is _RS else 0.0))


def _leaf(link: Link) -> IntArray:
    assert link.leaf is not None, "trees have leaves"  # noqa: S101 - internal error
    return link.leaf


def _leaf_latency(link: Link) -> FloatArray:
    assert link.leaf_latency is not None, "trees have leaves"  # noqa: S101 - internal error
    return link.leaf_latency


_OTHERS = (UPPER > 0) | (np.arange(len(UPPER)) == LINE)
"""(b,) whether ASTRA-sim does not have the phases of a block."""


def block_phase_time(
    implementation: Implementation, collective: Collective, size: FloatArray, link: Link, overheads: Overheads
) -> FloatArray:
    """Return (n,) ns of a phase that (n,) bytes enter; bytes and errors are those of `phase_time`."""
    if not _OTHERS[link.block].any():
        return phase_time(implementation, collective, size, link, overheads)
    line, tree = link.block == LINE, UPPER[link.block] > 0
    size, time = np.broadcast_to(size, line.shape), np.empty(len(line))
    for kind, run in ((line, line_time), (tree, tree_time), (~(line | tree), phase_time)):
        mine = np.flatnonzero(kind)
        if len(mine):
            time[mine] = run(implementation, collective, size[mine], link.select(mine), overheads)
    return time


def line_time(
    implementation: Implementation,  # noqa: ARG001 - lines run one algorithm
    collective: Collective,
    size: FloatArray,
    link: Link,
    overheads: Overheads,
) -> FloatArray:
    """Return (n,) ns of the ring algorithm on lines, until the last NPU is done.

    The ring is folded: it goes to every second NPU, and back over those between. So each link carries the messages of
    one NPU in each direction. Messages pass two links, but one at both ends of the line. An NPU waits for the message
    of the one before it; the last to end is that with the most long ways behind it: of successive messages, as few as
    can be are at an end.
    """
    n = link.npus.astype(np.float64)
    gathers = collective is Collective.ALL_GATHER
    message = size if gathers else np.floor(size / n)
    steps = n - 1.0
    if collective is Collective.ALL_REDUCE:
        steps = 2.0 * (n - 1.0)
    elif collective is Collective.ALL_TO_ALL:
        steps = n * (n - 1.0) / 2.0
    around, rest = np.divmod(steps, n)
    short = 2.0 * around + (rest > np.ceil(n / 2.0) - 1.0)
    reductions = n - 1.0 if collective in {Collective.REDUCE_SCATTER, Collective.ALL_REDUCE} else 0.0
    sent = short * link.transfer(message, 1.0) + (steps - short) * link.transfer(message, 2.0)
    return np.asarray((steps + 1.0) * overheads.endpoint + sent + reductions * overheads.reduction(message))
