"""Building blocks: how the NPUs of a dimension are connected, what a process group gets of it, what it is built of."""

from evo_libra.network.blocks.block import ITEMS, KINDS, Block, Counts, Hops, Kit, Part, Range

__all__ = ["ITEMS", "KINDS", "Block", "Counts", "Hops", "Kit", "Part", "Range"]
