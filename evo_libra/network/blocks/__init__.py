"""Building blocks: how the NPUs of a dimension are connected, what a process group gets of it, what it is built of."""

from evo_libra.network.blocks.blast import Blast
from evo_libra.network.blocks.block import ITEMS, Block, Counts, Hops
from evo_libra.network.blocks.kit import KINDS, Kit, Part, PricedBlock, Range

__all__ = ["ITEMS", "KINDS", "Blast", "Block", "Counts", "Hops", "Kit", "Part", "PricedBlock", "Range"]
