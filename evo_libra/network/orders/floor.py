"""Places of racks: blocks of systems with their leaves in rows, and the switches above leaves in the middle.

A block is some groups of systems that share leaves, with the racks of those leaves in its middle. A builder cables a
block along one row: it starts a new row where it would not end in its row, and a longer one has rows of its own. Places
that stay empty are not paid for. Spines have rows of their own in the middle of the room, and cores have rows next to
those. Rows are too far apart for copper, so that all above leaves is optical, as in reference architectures. If one
row has places for all racks, spines and cores stand in it between two blocks. Spines of a single block are in the rack
of its leaves, if that takes both, and copper joins them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.network.orders.lengths import Rows, half_row, sold
from evo_libra.network.orders.ways import Counts


@dataclass(frozen=True)
class Stock:
    """Products of one kind, and how many of them a rack takes."""

    pieces: int
    per_rack: int

    @property
    def racks(self) -> int:
        """Racks that they fill."""
        return -(-self.pieces // self.per_rack)

    def sizes(self) -> IntArray:
        """Return the pieces of each rack."""
        return np.minimum(self.pieces - np.arange(self.racks) * self.per_rack, self.per_rack)


def groups_of_block(group: int, leaves: int, *, held: int, in_rack: int, row: int) -> int:
    """Return the groups of a block: a rack of leaves and up to half a row, or one group if that has more.

    Parameters
    ----------
    group, leaves : systems of a group, and its leaves.
    held, in_rack : systems and leaves that a rack takes.
    row : racks of a row.
    """
    return max(min(in_rack // leaves, half_row(row) * held // group), 1)


@dataclass(frozen=True)
class Block:
    """Groups of systems with the leaves that join them; inside: whether leaves stand in the rack of their systems."""

    systems: Stock
    groups: int
    leaves: Stock
    inside: bool = False

    @property
    def leaf_racks(self) -> int:
        """Racks with leaves alone."""
        return 0 if self.inside else self.leaves.racks

    @property
    def racks(self) -> int:
        """All racks."""
        return self.systems.racks + self.leaf_racks

    def leaf_places(self, row: int) -> IntArray:
        """Return the places of leaves: the middle of the block, and of its middle row where it has several."""
        rows = -(-self.racks // row)
        width = self.racks if rows == 1 else row
        first = (rows - 1) // 2 * row + (width - self.leaf_racks) // 2
        return np.arange(first, first + max(self.leaf_racks, 1))

    def system_places(self, row: int) -> IntArray:
        """Return the places of systems, which leave out those of leaves."""
        places = np.arange(self.systems.racks)
        return np.asarray(places + self.leaf_racks * (places >= self.leaf_places(row)[0]))


@dataclass(frozen=True)
class Floor:
    """The racks of an order: blocks that are alike, the last one where it is smaller, and switches above leaves."""

    rows: Rows
    block: Block
    blocks: int
    last: Block | None
    spines: Stock
    cores: Stock

    @property
    def kinds(self) -> tuple[tuple[Block, int, int], ...]:
        """Each kind of block, the number of the first, and how many there are."""
        return ((self.block, 0, self.blocks), *(((self.last, self.blocks, 1),) if self.last else ()))

    @property
    def system_racks(self) -> int:
        """Racks with systems."""
        return sum(block.systems.racks * times for block, _, times in self.kinds)

    @property
    def together(self) -> bool:
        """Whether spines are in the rack of the leaves: those of a single block, where one rack takes both."""
        alone = self.blocks == 1 and self.last is None and not (self.block.inside or self.cores.pieces)
        return alone and 0 < self.spines.pieces <= self.spines.per_rack - self.block.leaves.pieces

    @property
    def spine_racks(self) -> int:
        """Racks with spines alone."""
        return 0 if self.together else self.spines.racks

    def switch_racks(self) -> tuple[tuple[int, int], ...]:
        """Return how many racks have how many switches alone, by switches."""
        found: Counter[int] = Counter()
        if self.together:
            return ((self.block.leaves.pieces + self.spines.pieces, 1),)
        leaves = ((block.leaves, times) for block, _, times in self.kinds if not block.inside)
        for stock, times in (*leaves, (self.spines, 1), (self.cores, 1)):
            full, rest = divmod(stock.pieces, stock.per_rack)
            found[stock.per_rack] += full * times
            found[rest] += times if rest else 0
        return tuple(sorted((+found).items()))


@lru_cache(maxsize=65536)
def lengths_to_leaves(floor: Floor) -> Counts:
    """Return the lengths between systems and the leaves of their groups, over which links are spread evenly."""
    row, found = floor.rows.racks, Counter[float]()
    for block, _, times in floor.kinds:
        systems, leaves = block.system_places(row), block.leaf_places(row)
        weights = block.systems.sizes(), block.leaves.sizes() // block.groups
        for metres, links in _ways(floor.rows, _cells(systems, row), weights[0], _cells(leaves, row), weights[1]):
            found[metres] += times * links
    return tuple(sorted(found.items()))


def system_cells(floor: Floor) -> IntArray:
    """Return the (k, 2) row and column of each rack with systems, block by block."""
    row = floor.rows.racks
    return np.concatenate(list(_of_blocks(floor, lambda block: block.system_places(row))))


def leaf_cells(floor: Floor) -> IntArray:
    """Return the (k, 2) row and column of each rack with leaves, block by block."""
    row = floor.rows.racks
    return np.concatenate(list(_of_blocks(floor, lambda block: block.leaf_places(row))))


def _of_blocks(floor: Floor, places: Callable[[Block], IntArray]) -> Iterator[IntArray]:
    row, per_row, (first, upper) = floor.rows.racks, _blocks_of_row(floor), _middle(floor)
    for block, number, times in floor.kinds:
        index, within = number + np.arange(times), _cells(places(block), row)
        begin = np.column_stack((index // per_row * _depth(floor), index % per_row * floor.block.racks))
        begin += upper * (begin >= first)
        yield (begin[:, None] + within[None]).reshape(-1, 2)


def upper_cells(floor: Floor) -> tuple[IntArray, IntArray]:
    """Return the (k, 2) row and column of each rack of spines, and of each rack of cores."""
    row, spines, cores = floor.rows.racks, floor.spine_racks, floor.cores.racks
    first, _ = _middle(floor)
    if floor.together:
        return leaf_cells(floor), _cells(np.arange(cores), row)
    if _in_one_row(floor):
        places = first + _cells(np.arange(spines + cores), row)
        return places[:spines], places[spines:]
    width = min(_racks(floor), _blocks_of_row(floor) * floor.block.racks, row)
    middle = first + np.array([0, width // 2])
    return _centred(middle, spines, row), _centred(middle + np.array([-(-spines // row), 0]), cores, row)


def _centred(middle: IntArray, racks: int, row: int) -> IntArray:
    """Return the row and column of racks around a place, in as many rows as they need."""
    return np.asarray(middle - np.array([0, min(racks, row) // 2]) + _cells(np.arange(racks), row))


def _middle(floor: Floor) -> tuple[IntArray, IntArray]:
    """Return row and column of the first place for switches in the middle, and the rows and columns that they take.

    Blocks from there on stand after them.
    """
    count, row = sum(times for _, _, times in floor.kinds), floor.rows.racks
    spines, cores = floor.spine_racks, floor.cores.racks
    if _in_one_row(floor):
        return np.array([0, -(-count // 2) * floor.block.racks]), np.array([0, spines + cores])
    bands = -(-count // _blocks_of_row(floor))
    return np.array([-(-bands // 2) * _depth(floor), 0]), np.array([-(-spines // row) - (-cores // row), 0])


def _racks(floor: Floor) -> int:
    """Return the racks of all blocks."""
    return sum(block.racks * times for block, _, times in floor.kinds)


def _in_one_row(floor: Floor) -> bool:
    return _racks(floor) + floor.spine_racks + floor.cores.racks <= floor.rows.racks


def _blocks_of_row(floor: Floor) -> int:
    """Return the blocks of a row: all of them where they fit, as the last one may be smaller than the others."""
    if _in_one_row(floor):
        return sum(times for _, _, times in floor.kinds)
    return max(floor.rows.racks // floor.block.racks, 1)


def _depth(floor: Floor) -> int:
    """Return the rows that a block takes."""
    return -(-floor.block.racks // floor.rows.racks)


def _cells(places: IntArray, row: int) -> IntArray:
    """Return the (k, 2) row and column of places that are counted row by row."""
    return np.column_stack(np.divmod(places, row))


def _ways(rows: Rows, lower: IntArray, below: IntArray, upper: IntArray, above: IntArray) -> Counts:
    """Return the lengths between (k, 2) racks and others, each with the links of all pairs of products in them."""
    down, along = np.abs(lower[:, None, :] - upper[None, :, :]).transpose(2, 0, 1)
    links = np.bincount(sold(rows.metres(down, along)).ravel(), weights=np.outer(below, above).ravel())
    return tuple((int(metres), int(links[metres])) for metres in np.flatnonzero(links))
