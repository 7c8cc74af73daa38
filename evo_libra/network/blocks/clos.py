"""Folded Clos networks of one to three tiers of equal switches, one network (a plane) for each port of an NPU.

With radix k: up to k NPUs, a single switch. Up to k^2/2, leaves with half of their ports down and half up, and half as
many spines. Up to k^3/4, leaves, as many aggregation switches and half as many cores: the fat tree of Al-Fares et al.
(SIGCOMM 2008). Every tier has as many uplinks as there are NPUs, so no tier is narrower than the NPUs. Leaves that are
not full are rounded up to whole switches; where the leaves do not divide the radix, bundles between leaves and spines
are uneven, and the counts are those of the ports that are needed.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.blocks.block import Counts, Hops, assemble, radix_of
from evo_libra.network.blocks.kit import Kit


def tiers(npus: IntArray, radix: int) -> IntArray:
    """Return how many tiers of switches some NPUs need; 0 where three are not enough.

    >>> tiers(np.array([64, 65, 2048, 65536, 65537]), 64)
    array([1, 2, 2, 3, 0])
    """
    npus, half = np.asarray(npus), radix // 2
    found = np.select([npus <= radix, npus <= half * radix, npus <= half * half * radix], [1, 2, 3], 0)
    return np.asarray(found, dtype=np.int64)


def switches(npus: IntArray, radix: int) -> FloatArray:
    """Return the switches of one plane of two or three tiers.

    >>> switches(np.array([128, 1024, 4096]), 64)
    array([  6.,  48., 320.])
    """
    npus, half = np.asarray(npus, dtype=np.float64), radix // 2
    leaves = np.ceil(npus / max(half, 1))
    top = np.ceil(leaves * half / radix)
    return np.asarray(leaves * (tiers(npus.astype(np.int64), radix) - 1) + top)


def clos_counts(npus: IntArray, planes_share: FloatArray, kit: Kit, reached: IntArray) -> Counts:
    """Return the counts of one instance of a dimension on folded Clos networks.

    Parameters
    ----------
    npus : of the dimension.
    planes_share : which part of a network belongs to one instance.
    kit : what it is built of.
    reached : NPUs of one network.
    """
    radix = radix_of(None if kit.switch is None else kit.switch.ports)
    depth = tiers(reached, radix)
    planes = np.maximum(radix // np.asarray(reached), 1)
    count = np.where(depth > 1, switches(reached, radix), 1.0)
    ends = np.asarray(npus, dtype=np.float64)
    return assemble(
        npus,
        kit,
        links=ends,
        uplinks=ends * np.maximum(depth - 1, 0),
        switch_step=count * planes_share,
        switch_slope=1 / planes,
    )


def clos_hops(reached: IntArray, kit: Kit) -> Hops:
    """Return links and switches on the way up to the highest tier and down."""
    depth = tiers(reached, radix_of(None if kit.switch is None else kit.switch.ports)).astype(np.float64)
    return 2 * depth, 2 * depth - 1
