"""An optical rail: NPUs on optical circuit switches (OCS), which are set to a ring for each process group.

After Opus (arXiv 2602.12521), which replaces the packet switches of rails in that way: a port ends in a transceiver at
its NPU, each of whose fibres takes a port of the OCS. Half of them come from the NPU before, and half lead to the NPU
behind. An OCS passes light and has no transceivers.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective, Pattern
from evo_libra.network.blocks.blast import Blast, switched_blast
from evo_libra.network.blocks.block import Block, Counts, Hops, assemble, ring_steps, switched_cut, whole
from evo_libra.network.blocks.kit import Kit, OrderKit


class OcsRail(Block):
    """An optical rail: any group has rings of its own, with all its ports.

    In shrinking patterns a ring has all its bandwidth, in one direction, too. In an all-to-all a byte passes the mean
    distance along the ring, half of the group: share 2 / e. LIBRA's time has the circuits there when a group needs
    them: the time in which an OCS is set (ms for mirrors) is not counted, which holds where it is hidden behind
    computation, and makes times lower bounds where it is not. ASTRA-sim's time counts it where a problem gives it.
    """

    code = "OC"
    name = "ocs-rail"
    algorithm = "ring"
    switch_kind = "ocs"
    timed_as = "ring"

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether one OCS has ports for a ring of all NPUs; an order builds what it says."""
        if isinstance(kit, OrderKit):
            return np.ones(np.shape(npus), dtype=np.bool_)
        return np.asarray(kit.fibres * np.asarray(npus) <= kit.radix)

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        extent, *_ = np.broadcast_arrays(extent, stride, npus)
        return 2 / np.maximum(extent, 2) if pattern is Pattern.ALL_TO_ALL else np.ones(extent.shape)

    def cut(self, npus: IntArray) -> FloatArray:
        """Return that of half of the NPUs: circuits can lead from each of them to the other half."""
        return switched_cut(npus)

    def hops(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Hops:
        return np.full(np.shape(npus), 2.0), np.ones(np.shape(npus))

    def steps(self, collective: Collective, extent: IntArray) -> FloatArray:
        """Return the steps of the ring algorithm; an all-to-all goes all around."""
        return ring_steps(Collective.ALL_GATHER if collective is Collective.ALL_TO_ALL else collective, extent)

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        """Return a link and a transceiver for every port; an OCS holds as many ports as it has ports for.

        The circuit switches of an order are one part.
        """
        if isinstance(kit, OrderKit):
            return whole(npus, kit, inside)
        npus = np.asarray(npus, dtype=np.int64)
        switches = np.ones(npus.shape), 1 / self._ports_held(npus, kit)
        return assemble(npus, kit, links=npus.astype(np.float64), transceivers_per_link=1, switches=switches)

    def near(self, npus: IntArray, kit: Kit, inside: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return none: what an OCS switches is light."""
        return np.zeros(np.shape(npus)), np.zeros(np.shape(npus))

    def blast(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Blast:
        """Return that an OCS takes the ports that it holds, as the others go on with the rings that they are set to."""
        held = self._ports_held(np.asarray(npus, dtype=np.int64), kit)
        return switched_blast(npus, leaves=0.0, uplink=0.0, upper=held)

    @staticmethod
    def _ports_held(npus: IntArray, kit: Kit) -> FloatArray:
        """Return how many ports of every NPU one OCS holds."""
        return np.maximum(kit.radix // (kit.fibres * npus), 1).astype(np.float64)


BLOCKS = (OcsRail(),)
