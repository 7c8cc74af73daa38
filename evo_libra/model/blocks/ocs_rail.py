"""An optical rail: NPUs on optical circuit switches (OCS), which are set to a ring for each process group.

After Opus (arXiv 2602.12521), which replaces the packet switches of rails in that way. An OCS passes light, so a link
has a transceiver at its NPU only.
"""

from __future__ import annotations

import numpy as np

from evo_libra.model.arrays import BoolArray, FloatArray, IntArray
from evo_libra.model.blocks.kit import Kit
from evo_libra.model.blocks.lines import mean_distance
from evo_libra.model.blocks.physics import Counts, Hops, Physics, assemble, ports, ring_steps
from evo_libra.model.collective import Collective, Pattern

_ENDS = 2
"""Lanes of an NPU in one ring, and its ports of the OCS that closes it."""


class OcsRail(Physics):
    """An optical rail: any group has rings of its own, with all its lanes.

    In shrinking patterns a ring has all bandwidth; in an all-to-all a byte passes the mean distance on the ring. The
    circuits are taken to be there when a group needs them: the time in which an OCS is set (ms for mirrors) is not
    counted, which holds where it is hidden behind computation, and makes the times lower bounds where it is not.
    """

    code = "OC"
    name = "ocs-rail"
    algorithm = "ring"
    switch_kind = "ocs"

    def quantum(self, npus: IntArray, kit: Kit) -> IntArray:
        """Return 2: a ring has two ends at every NPU."""
        return np.full(np.shape(npus), _ENDS)

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether one OCS has ports for a ring of all NPUs."""
        radix = ports(None if kit.switch is None else kit.switch.ports)
        return (_ENDS * np.asarray(npus) <= radix) & (kit.lanes >= _ENDS)

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        """Return the share of groups that are rings of their own."""
        extent, *_ = np.broadcast_arrays(extent, stride, npus)
        share = 1 / mean_distance(extent) if pattern is Pattern.ALL_TO_ALL else np.ones(extent.shape)
        return np.where(extent > 1, share, 1.0)

    def hops(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Hops:
        """Return the links before and behind the OCS, and the OCS."""
        return np.full(np.shape(npus), 2.0), np.ones(np.shape(npus))

    def steps(self, collective: Collective, extent: IntArray) -> FloatArray:
        """Return the steps of the ring algorithm."""
        return ring_steps(collective, extent)

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        """Return a link and a transceiver for every lane; an OCS holds as many rings as its ports allow."""
        npus = np.asarray(npus, dtype=np.int64)
        radix = ports(None if kit.switch is None else kit.switch.ports)
        rings = np.maximum(radix // (_ENDS * npus), 1)
        return assemble(
            npus,
            kit,
            links=npus.astype(np.float64),
            transceivers_per_link=1,
            switch_step=np.ones(npus.shape),
            switch_slope=1 / (_ENDS * rings),
        )


BLOCKS = (OcsRail(),)
