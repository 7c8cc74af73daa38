"""Switches: a single one, or a folded Clos of two or three tiers when the NPUs outnumber its ports.

Outside of a domain of high bandwidth, a dimension of switches is what is called rail-only: there is one instance for
each NPU of the domain, a rail, and no switch joins the rails.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.network.blocks.block import Block, Counts, Hops, radix_of, switched_cut
from evo_libra.network.blocks.clos import clos_counts, clos_hops, tiers
from evo_libra.network.blocks.kit import Kit


class Switch(Block):
    """Non-blocking switches: any group has all its bandwidth.

    A switch with more ports than NPUs holds several planes: with n NPUs and radix k it serves floor(k / n) ports.
    """

    code = "SW"
    name = "switch"
    algorithm = "halving-doubling"
    switch_kind = "switch"
    timed_as = "switch"
    parts = ("link", "switch", "nic")

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether three tiers are enough."""
        return np.asarray(tiers(npus, radix_of(None if kit.switch is None else kit.switch.ports)) > 0)

    def cut(self, npus: IntArray) -> FloatArray:
        """Return that of half of the NPUs."""
        return switched_cut(npus)

    def hops(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Hops:
        """Return the way to the highest tier and back: 1, 3 or 5 switches."""
        return clos_hops(npus, kit)

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        """Return the counts of the instance's own switches."""
        return clos_counts(npus, np.ones(np.shape(npus)), kit, npus)


BLOCKS = (Switch(),)
