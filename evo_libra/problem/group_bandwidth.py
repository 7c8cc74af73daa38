"""What process groups get of the dimensions that they lie on, where these are built of parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective, Pattern
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.block import Block
from evo_libra.network.blocks.registry import BLOCKS


@dataclass(frozen=True)
class Placed:
    """Where the process groups of a kind lie.

    Attributes
    ----------
    extent : (d, n) NPUs of each dimension in a group.
    stride : (d, n) how far apart they are there.
    """

    extent: IntArray
    stride: IntArray


def relative_bytes(
    kits: Sequence[Kit], pattern: Pattern, collective: Collective, placed: Placed, npus: IntArray, kit_index: IntArray
) -> FloatArray:
    """Return (d, n) the time that the bytes of a group take, over that with all the bandwidth of its NPUs for itself.

    More where a group gets only a share of the bandwidth, less where the network itself reduces.

    Parameters
    ----------
    kits : of the catalogue.
    pattern, collective : what the group runs.
    placed : where it lies.
    npus, kit_index : (d, n) of the dimensions; a kit of -1 is a dimension that is still open, and costs no more.
    """

    def of_block(block: Block, mine: IntArray) -> FloatArray:
        extent, stride, size = (array.ravel()[mine] for array in (placed.extent, placed.stride, npus))
        factor = block.traffic_factor(pattern, extent, collective)
        return np.asarray(factor / block.share(pattern, extent, stride, size))

    return _by_block(kits, kit_index, placed.extent > 1, of_block)


def bandwidth_share(kits: Sequence[Kit], placed: Placed, npus: IntArray, kit_index: IntArray) -> FloatArray:
    """Return (d, n) which part of the bandwidth of its NPUs a group gets whose messages shrink."""

    def of_block(block: Block, mine: IntArray) -> FloatArray:
        extent, stride, size = (array.ravel()[mine] for array in (placed.extent, placed.stride, npus))
        return block.share(Pattern.SHRINKING, extent, stride, size)

    return _by_block(kits, kit_index, placed.extent > 1, of_block)


def _by_block(
    kits: Sequence[Kit], kit_index: IntArray, used: BoolArray, of_block: Callable[[Block, IntArray], FloatArray]
) -> FloatArray:
    block = np.array([kit.block for kit in kits])[kit_index]
    found = np.ones(kit_index.size)
    counted = (used & (kit_index >= 0)).ravel()
    for index in np.unique(block.ravel()[counted]).tolist():
        mine = np.flatnonzero(counted & (block.ravel() == index))
        found[mine] = of_block(BLOCKS[index], mine)
    return found.reshape(kit_index.shape)
