"""Process groups on the dimensions of networks, and the share of the bandwidth that each group gets there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective, Pattern
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.block import Block
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.timing.trace_time import MEMBER, Layout
from evo_libra.workload.parallelism import ALL, lay_groups, parts_of


@dataclass(frozen=True)
class Placement:
    """Where the process groups of a kind lie.

    Attributes
    ----------
    extent : (d, n) NPUs of each dimension in a group.
    stride : (d, n) how far apart they are there.
    """

    extent: IntArray
    stride: IntArray


def placed_groups(groups: Iterable[tuple[Layout, str]], npus: IntArray) -> dict[tuple[Layout, str], Placement]:
    """Return where process groups lie on (d, n) dimensions, and all NPUs together."""
    found: dict[tuple[Layout, str], Placement] = {((), ALL): Placement(npus, np.ones_like(npus))}
    laid = dict[Layout, IntArray]()
    for layout, group in groups:
        if group == ALL:
            continue
        if layout not in laid:
            laid[layout] = lay_groups(npus, np.array([degree for _, degree in layout]))[0]
        # The members of a trace's group may lie in several parts, and so do those of groups joined by +.
        mine = [g for g, (name, _) in enumerate(layout) if name in (*parts_of(group), MEMBER)]
        extent = laid[layout][mine[0]] if len(mine) == 1 else laid[layout][mine].prod(axis=0)
        # Groups of several parts lie as far apart as the innermost one.
        found[layout, group] = Placement(extent, laid[layout][: mine[0]].prod(axis=0))
    return found


def relative_bytes(
    kits: Sequence[Kit],
    pattern: Pattern,
    collective: Collective,
    placed: Placement,
    npus: IntArray,
    kit_index: IntArray,
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


def bandwidth_share(kits: Sequence[Kit], placed: Placement, npus: IntArray, kit_index: IntArray) -> FloatArray:
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
