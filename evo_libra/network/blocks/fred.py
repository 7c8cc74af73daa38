"""FRED's wafer-scale trees (arXiv 2406.19580, ISCA 2025): four NPUs to a first-level switch, one level above.

| variant | NPU's part of the upper level, over its own bandwidth | reductions |
| ------- | ----------------------------------------------------: | ---------- |
| A       |                                                   1/8 | in NPUs    |
| B       |                                                   1/8 | in switches|
| C       |                                                     1 | in NPUs    |
| D       |                                                     1 | in switches|

In the paper's wafer of 20 NPUs: 3000 GB/s to the first level, 375 or 3000 GB/s of each NPU to the second.
"""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective, Pattern
from evo_libra.network.blocks.blast import Blast, switched_blast
from evo_libra.network.blocks.block import (
    ITEMS,
    Block,
    Counts,
    Hops,
    Inner,
    assemble,
    halving_doubling_steps,
    switched_cut,
)
from evo_libra.network.blocks.grid import on_axes
from evo_libra.network.blocks.kit import Kit

LEAF = 4
"""NPUs of a first-level switch."""


class FredTree(Block):
    """A tree of two levels.

    A group with e0 NPUs in each of e1 first-level switches, e = e0 e1, and an upper level with the part u for an NPU:

    * NPUs reduce: within the switches first, so that (e1 - 1) / e of the message goes up from each NPU, the least that
      can; the share is ``u (e - 1) / (e1 - 1)``, at most 1.
    * Switches reduce: one flow goes up for e0 NPUs, each of which sends at the rate of all their parts together; the
      share is ``u e0``, at most 1. A group of any other shape is taken with e0 = 1.
    * All-to-all: (e - e0) / e of the message goes up; the share is ``u (e - 1) / (e - e0)``, at most 1.
    """

    algorithm = "halving-doubling"
    switch_kind = "switch"
    timed_as = "tree"

    def __init__(self, code: str, name: str, upper: float, *, in_network: bool) -> None:
        self.code, self.name, self.upper, self.in_network = code, name, upper, in_network

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether the first-level switches are full and the second level has a port for each of them."""
        npus = np.asarray(npus)
        return np.asarray((npus <= LEAF) | ((npus % LEAF == 0) & (npus // LEAF <= kit.radix)))

    def share(self, pattern: Pattern, extent: IntArray, stride: IntArray, npus: IntArray) -> FloatArray:
        extent, stride, npus = np.broadcast_arrays(*(np.asarray(some, np.int64) for some in (extent, stride, npus)))
        near, far = self.inner(extent, stride, npus).extent.astype(np.float64)
        if pattern is Pattern.ALL_TO_ALL:
            relief = (extent - 1) / np.maximum(extent - near, 1)
        elif self.in_network:
            relief = near
        else:
            relief = (extent - 1) / np.maximum(far - 1, 1)
        return np.where(far > 1, np.minimum(self.upper * relief, 1.0), 1.0)

    def inner(self, extent: IntArray, stride: IntArray, npus: IntArray) -> Inner:
        """Return both levels: the NPUs of a group in a switch, and its switches."""
        leaf = np.minimum(npus, LEAF)
        levels = np.stack([leaf, -(-npus // leaf)])
        extents, strides, regular = on_axes(extent, stride, levels)
        apart = np.stack([np.ones_like(extent), extent])
        share = np.stack([np.ones(extent.shape), np.full(extent.shape, self.upper)])
        return Inner(
            np.where(regular, levels, np.maximum(levels, apart)), np.where(regular, extents, apart),
            np.where(regular, strides, 1), share,
        )  # fmt: skip

    def traffic_factor(
        self, pattern: Pattern, extent: IntArray, collective: Collective = Collective.ALL_REDUCE
    ) -> FloatArray:
        """Return what is sent of a message of an all-reduce, over 2 (e - 1) / e of it, if switches reduce.

        Each NPU sends the message once and gets the result once, at the same time. That a reduce-scatter followed by
        an all-gather does as well needs chunks of both under way together; alone, neither sends less.
        """
        extent = np.asarray(extent, dtype=np.float64)
        less = self.in_network and pattern is Pattern.SHRINKING and collective is Collective.ALL_REDUCE
        return np.where(extent > 1, extent / np.maximum(2 * (extent - 1), 1), 1.0) if less else np.ones(extent.shape)

    def cut(self, npus: IntArray) -> FloatArray:
        """Return what half of the NPUs have of the second level, or of the only switch."""
        return switched_cut(npus) * np.where(np.asarray(npus) > LEAF, self.upper, 1.0)

    def hops(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Hops:
        levels = np.where(np.asarray(npus) > LEAF, 2.0, 1.0)
        return 2 * levels, 2 * levels - 1

    def tier_switches(self, npus: int, kit: Kit, inside: int = 1) -> tuple[int, ...]:
        return (-(-npus // LEAF), 1) if npus > LEAF else (1,)

    def steps(self, collective: Collective, extent: IntArray) -> FloatArray:
        """Return one step where switches reduce, and those of halving and doubling where NPUs do."""
        if self.in_network:
            return np.where(np.asarray(extent) > 1, 1.0, 0.0)
        return halving_doubling_steps(collective, extent)

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        """Return switches as the logical tree has them, however many dies each is made of, and whole uplinks."""
        npus = np.asarray(npus, dtype=np.int64)
        leaves = -(-npus // LEAF)
        uplinks = np.where(leaves > 1, leaves, 0.0), np.full(npus.shape, LEAF * self.upper)
        switches = np.where(leaves > 1, leaves + 1.0, 1.0), np.full(npus.shape, 1 / kit.ports)
        return assemble(npus, kit, links=npus.astype(np.float64), whole_uplinks=uplinks, switches=switches)

    def blast(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Blast:
        """Return that a first-level switch cuts its NPUs off, and the second level takes what it carries."""
        counts = self.counts(npus, kit, inside)
        leaves = -(-np.asarray(npus, dtype=np.int64) // LEAF)
        uplinks = counts.relaxed[ITEMS.index("uplink")]
        share = np.divide(leaves, uplinks, out=np.zeros(leaves.shape), where=uplinks > 0)
        first = np.where(leaves > 1, leaves / (leaves + 1.0), 1.0)
        return switched_blast(npus, leaves=first, uplink=np.minimum(share, 1.0), upper=float(kit.ports))


BLOCKS = (
    FredTree("WA", "fred-a", 1 / 8, in_network=False),
    FredTree("WB", "fred-b", 1 / 8, in_network=True),
    FredTree("WC", "fred-c", 1.0, in_network=False),
    FredTree("WD", "fred-d", 1.0, in_network=True),
)
