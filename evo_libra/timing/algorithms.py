"""Which algorithm runs in a dimension where one was asked for, and what a link of it has."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.collective import Collective
from evo_libra.network.blocks.block import Levels
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, LINE, RING, UPPER

RING_ALGORITHM, DIRECT, HALVING_DOUBLING = range(3)
"""Indices into `ALGORITHMS`."""


def runnable(algorithm: IntArray, collective: Collective, block: IntArray, extent: IntArray) -> IntArray:
    """Return the (d, n) algorithms that run where others were asked for.

    On rings and lines, ring always: what sends farther than to a neighbour shares links there, which this model does
    not see. Halving-doubling has no all-to-all: direct runs it; and it needs a power of two of NPUs: on others, ring
    runs.
    """
    halving = algorithm == HALVING_DOUBLING
    if collective is Collective.ALL_TO_ALL:
        found = np.where(halving, DIRECT, algorithm)
    else:
        found = np.where(halving & ((extent & (extent - 1)) != 0), RING_ALGORITHM, algorithm)
    found = np.where((block == RING) | (block == LINE), RING_ALGORITHM, found)
    tree = UPPER[block] > 0
    # Each level of a tree has its own number of NPUs.
    return np.where(tree, algorithm, found) if tree.any() else found


def link_bandwidth(bandwidth: FloatArray, algorithm: IntArray, block: IntArray, extent: IntArray) -> FloatArray:
    """Return the (d, n) bandwidth of a link from that of an NPU, in the same unit.

    An NPU's bandwidth is all it sends in a dimension. Direct algorithms send to all other NPUs at a time, and a fully
    connected dimension has a link to each of them; elsewhere a message has all of it. Of a tree it is all of an NPU.
    """
    spread = ((algorithm == DIRECT) & (UPPER[block] == 0)) | (block == FULLY_CONNECTED)
    return np.asarray(np.where(spread, bandwidth / np.maximum(extent - 1, 1), bandwidth))


def leaving(levels: Levels, algorithm: IntArray, extent: IntArray) -> FloatArray:
    """Return the (d, n) share of an NPU's bandwidth that messages have on fat trees while all groups send.

    Direct algorithms send to all members at a time, and rings to the next one. Halving and doubling sends to one
    member after the other, near ones and far ones: see `evo_libra.timing.collectives.phase.Link.step`.
    """
    near = np.where(algorithm == RING_ALGORITHM, levels.ring_share(extent), 1.0)
    return np.where(algorithm == DIRECT, levels.exchange_share(extent), near)
