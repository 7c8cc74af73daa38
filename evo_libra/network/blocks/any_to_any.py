"""Any-to-any: one folded Clos over all NPUs of a dimension and of those inside it, as in a classic GPU data centre."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.network.blocks.block import Block, Counts, Hops, radix_of, switched_cut
from evo_libra.network.blocks.clos import clos_counts, clos_hops, tiers
from evo_libra.network.blocks.kit import Kit


class AnyToAny(Block):
    """A folded Clos over all NPUs. Collectives run along the dimension, as on rails; the bill is that of all NPUs."""

    code = "CL"
    name = "any-to-any"
    algorithm = "halving-doubling"
    switch_kind = "switch"
    timed_as = "switch"

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether three tiers are enough for all NPUs."""
        radix = radix_of(None if kit.switch is None else kit.switch.ports)
        return np.asarray(tiers(np.asarray(npus) * _inner(inside), radix) > 0)

    def cut(self, npus: IntArray) -> FloatArray:
        """Return that of half of the NPUs."""
        return switched_cut(npus)

    def hops(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Hops:
        """Return the way to the highest tier and back."""
        return clos_hops(np.asarray(npus) * _inner(inside), kit)

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        """Return the part of the common network that belongs to one of the instances that share it."""
        return clos_counts(npus, np.ones(np.shape(npus)) / _inner(inside), kit, np.asarray(npus) * _inner(inside))


def _inner(inside: IntArray | None) -> IntArray:
    return np.asarray(1 if inside is None else inside, dtype=np.int64)


BLOCKS = (AnyToAny(),)
