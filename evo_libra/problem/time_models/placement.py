"""Where the process groups of a kind lie on networks, and figures of groups in the blocks of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.collective import Collective, Dispatch, NextStage, Pattern, PushPull, pattern_of
from evo_libra.network.bill import inner_npus
from evo_libra.network.blocks import Kit, PricedBlock
from evo_libra.network.blocks.block import Block
from evo_libra.network.blocks.registry import BLOCKS

Operation = Collective | Dispatch | NextStage | PushPull
"""What process groups run: a collective, or a step's other traffic."""


@dataclass(frozen=True)
class Placement:
    """Where the process groups of a kind lie: (d, n) NPUs of a dimension in a group, and how far apart they are."""

    extent: IntArray
    stride: IntArray


Figure = Callable[[Block, IntArray, IntArray, IntArray], FloatArray]
"""A figure of groups in a block: from their (k,) sizes and strides, and those of the dimensions."""


def kin_of(kits: Sequence[Kit | PricedBlock]) -> IntArray:
    """Return (t,) the first kit that gives groups the same: that has the block, and what of a kit this depends on."""
    first: dict[tuple[int, object], int] = {}
    keys = ((kit.block, BLOCKS[kit.block].kin(kit) if isinstance(kit, Kit) else None) for kit in kits)
    return np.array([first.setdefault(key, place) for place, key in enumerate(keys)], dtype=np.int64)


def by_block(
    kits: Sequence[Kit | PricedBlock],
    kin: IntArray,
    kit_index: IntArray,
    placed: Placement,
    npus: IntArray,
    of: Figure,
) -> FloatArray:
    """Return (d, n) a figure of groups in the blocks of dimensions; 1 where they have no part in a dimension.

    `kin` is that of the kits, by `kin_of`.
    """
    alike, inside = kin[kit_index].ravel(), None
    found = np.ones(kit_index.size)
    counted = ((placed.extent > 1) & (kit_index >= 0)).ravel()
    for k in np.unique(alike[counted]).tolist():
        kit = kits[k]
        mine, block = np.flatnonzero(counted & (alike == k)), BLOCKS[kit.block]
        extent, stride, size = (array.ravel()[mine] for array in (placed.extent, placed.stride, npus))
        if block.sited and isinstance(kit, Kit):
            inside = inner_npus(npus).ravel() if inside is None else inside
            block = block.at(kit, inside[mine])
        found[mine] = of(block, extent, stride, size)
    return found.reshape(kit_index.shape)


def relative_figure(load: Pattern | Operation) -> Figure:
    """Return the figure of groups that is the time of their bytes, over that with all the bandwidth of their NPUs."""

    def relative(block: Block, extent: IntArray, stride: IntArray, size: IntArray) -> FloatArray:
        pattern = _pattern(load)
        factor = _factor(block, load, pattern, extent)
        if isinstance(load, NextStage):
            return np.asarray(factor / block.next_share(extent, stride, size))
        return np.asarray(factor / block.share(pattern, extent, stride, size))

    return relative


def _pattern(load: Pattern | Operation) -> Pattern:
    if isinstance(load, Pattern):
        return load
    if isinstance(load, Collective):
        return pattern_of(load)
    return Pattern.ALL_TO_ALL if isinstance(load, Dispatch) else Pattern.SHRINKING


def _factor(block: Block, load: Pattern | Operation, pattern: Pattern, extent: IntArray) -> FloatArray:
    """Return the bytes of a group over those where only NPUs reduce; other traffic than collectives reduces nothing."""
    if isinstance(load, NextStage | Dispatch | PushPull):
        return np.ones(np.shape(extent))
    return block.traffic_factor(pattern, extent, load if isinstance(load, Collective) else Collective.ALL_REDUCE)
