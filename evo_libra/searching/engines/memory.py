"""Designs that a search has had, by their hashes, in a table of fixed size that a state can hold."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray
from evo_libra.searching.engines.variation import HashArray

_GENERATIONS, _MAX_SLOTS = 256, 1 << 17
"""Generations whose designs have a slot, and the most slots: a megabyte."""
_BITS, _OTHER = 64, 24
"""Bits of a hash; where the bits of its second slot end."""


def empty_memory(population: int) -> HashArray:
    """Return the (2^k,) table that knows no design."""
    slots = 1 << (_GENERATIONS * population - 1).bit_length()
    return np.zeros(min(slots, _MAX_SLOTS), dtype=np.uint64)


def remembers(memory: HashArray, hashes: HashArray) -> BoolArray:
    """Return (n,) which designs the table knows; each has two slots, and gives way to those that come later."""
    first, second = _slots(memory, hashes)
    return np.asarray((memory[first] == hashes) | (memory[second] == hashes))


def remember(memory: HashArray, hashes: HashArray) -> HashArray:
    """Return the table that knows (n,) more designs."""
    first, second = _slots(memory, hashes)
    memory, there = memory.copy(), memory[first]
    memory[np.where((there == 0) | (there == hashes), first, second)] = hashes
    return memory


def _slots(memory: HashArray, hashes: HashArray) -> tuple[HashArray, HashArray]:
    # High bits: the low ones of a product hang on the low ones of its factors alone.
    bits = (len(memory) - 1).bit_length()
    return hashes >> np.uint64(_BITS - bits), (hashes >> np.uint64(_OTHER)) & np.uint64(len(memory) - 1)
