"""Time of one phase in any block: those of ASTRA-sim, and those that it does not have."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective
from evo_libra.timing.collectives.phase import LINE, UPPER, Implementation, Link, Overheads, phase_time
from evo_libra.timing.collectives.tree_phase import tree_time

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
