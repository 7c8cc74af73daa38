"""Places of racks in rows, and the lengths of cables between them, by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.arrays import IntArray
from evo_libra.network.orders.floor import Block, Floor, Stock, leaf_cells, lengths_to_leaves, system_cells, upper_cells
from evo_libra.network.orders.lengths import Rows, sold

_ROWS = Rows(racks=20, width=0.6, pitch=3.0, slack=5.0)
_NONE = Stock(0, 1)


def unit(systems: int = 32, held: int = 4, leaves: int = 8, in_rack: int = 40) -> Block:
    """Return a group of systems with its leaves."""
    return Block(Stock(systems, held), 1, Stock(leaves, in_rack))


def floor(blocks: int, block: Block, spines: Stock = _NONE, cores: Stock = _NONE, last: Block | None = None) -> Floor:
    return Floor(rows=_ROWS, block=block, blocks=blocks, last=last, spines=spines, cores=cores)


def racks_apart(racks: IntArray, others: IntArray) -> dict[int, int]:
    """Return how many pairs of racks are as many metres of cable apart."""
    down, along = np.abs(racks[:, None] - others[None]).reshape(-1, 2).T
    return dict(Counter(sold(_ROWS.metres(down, along)).tolist()))


def test_cables_are_sold_in_whole_metres_and_above_ten_in_steps_of_five() -> None:
    ways = np.array([2.0, 5.6, 7.0000000001, 10.0, 10.1, 48.2, 50.1])
    assert sold(ways).tolist() == [2, 6, 7, 10, 15, 50, 55]


def test_rows_are_three_metres_apart() -> None:
    # 5 m for both ends, 10 racks of 0.6 m, one row.
    assert _ROWS.metres(np.array([1]), np.array([10])).tolist() == [14.0]


def test_leaves_of_32_nodes_in_8_racks_are_up_to_7_4_m_away() -> None:
    # A DGX SuperPOD's unit (docs.nvidia.com): 4 racks on each side of the leaves', 1, 2, 3, 4 away: 5.6, 6.2, 6.8 and
    # 7.4 m. In each are 4 nodes with a link to each of 8 leaves.
    assert _ROWS.metres(np.zeros(4, dtype=int), np.arange(1, 5)).tolist() == pytest.approx([5.6, 6.2, 6.8, 7.4])
    assert lengths_to_leaves(floor(1, unit())) == ((6, 64), (7, 128), (8, 64))


def test_five_nodes_in_a_rack_leave_the_last_one_half_full() -> None:
    # 32 nodes in 7 racks, and the leaves' is the fourth of 8: 3 on its left, 4 on its right, the last with 2 nodes.
    assert lengths_to_leaves(floor(1, unit(held=5))) == ((6, 80), (7, 80 + 80), (8, 16))


def test_each_block_has_the_lengths_of_one_wherever_it_stands() -> None:
    # 20 places of a row: two blocks of 8 and 4 empty places.
    many = lengths_to_leaves(floor(32, unit(held=5)))
    assert many == tuple((metres, 32 * links) for metres, links in lengths_to_leaves(floor(1, unit(held=5))))


def test_cores_are_a_row_away_from_spines() -> None:
    # Blocks of 9 racks, 2 in each of 16 rows of 18: middle 9. Six racks of spines are at 6 to 11, three of cores at 8
    # to 10 of the next row. Of 18 pairs, 3 are 0 racks apart (8 m), 6 are 1 (8.6 m), 5 are 2 (9.2 m), 3 are 3 (9.8 m)
    # and 1 is 4 (10.4 m).
    found = floor(32, unit(), Stock(6, 1), Stock(3, 1))
    assert racks_apart(*upper_cells(found)) == {8: 3, 9: 6, 10: 5 + 3, 15: 1}


def test_spines_are_between_the_rows_of_blocks() -> None:
    # Ten blocks of 9 in five rows: three rows, that of the spine, and two. Its column is 9, leaves are at 4 and 13: 5
    # and 4 racks. Those of the first row are 9 + 3 + 5 and 9 + 2.4 + 5 m away, those of a row or two 10.4 to 14 m.
    found = floor(10, unit(), Stock(1, 1))
    assert racks_apart(leaf_cells(found), upper_cells(found)[0]) == {15: 8, 20: 2}


@pytest.mark.parametrize(("blocks", "spines", "cores", "racks"), [
    # 8 leaves and 3 or 4 spines of a single block, where a rack takes 12 or 11 switches.
    (1, Stock(4, 12), _NONE, ((12, 1),)), (1, Stock(3, 11), _NONE, ((11, 1),)),
    (1, Stock(4, 11), _NONE, ((4, 1), (8, 1))), (2, Stock(4, 12), _NONE, ((4, 1), (8, 2))),
    (1, Stock(2, 12), Stock(1, 12), ((1, 1), (2, 1), (8, 1))),
])  # fmt: skip
def test_spines_of_a_single_block_are_with_its_leaves_where_a_rack_takes_both(
    blocks: int, spines: Stock, cores: Stock, racks: tuple[tuple[int, int], ...]
) -> None:
    own = replace(unit(), leaves=Stock(8, spines.per_rack))
    many = floor(blocks, own, spines, cores)
    assert many.switch_racks() == racks
    assert many.together == (len(racks) == 1)
    leaves, (above, _) = leaf_cells(many), upper_cells(many)
    assert (leaves.tolist() == above.tolist()) == many.together


def test_one_row_has_spines_between_two_blocks() -> None:
    # Racks 0 to 8, the spines' 9, and 10 to 18; leaves at 4 and 14: 5 racks, 3 m, on each side.
    found = floor(2, unit(), Stock(3, 4))
    assert racks_apart(leaf_cells(found), upper_cells(found)[0]) == {8: 2}


def test_a_block_that_is_longer_than_a_row_has_its_leaves_in_the_middle_of_one() -> None:
    # 144 nodes in 36 racks, and the leaves' at place 9 of the first row of 20. In it, racks 1 to 8 away are within 9.8
    # m, 9 on the left and 9 and 10 on the right are not. Of the 17 in the second row 7 are: 3 + 0 to 1.8 m.
    found = dict(lengths_to_leaves(floor(1, unit(systems=144, leaves=8))))
    assert (min(found), max(found)) == (6, 15)
    assert sum(found.values()) == 36 * 4 * 8
    assert found[15] == (3 + 10) * 4 * 8


def test_many_leaves_have_several_racks() -> None:
    # 4 racks of systems on each side of two of leaves, with 40 and 24 of 64. From the first of them 1, 2, 3, 4 racks on
    # the left and 2, 3, 4, 5 on the right; from the second the other way round.
    found = lengths_to_leaves(floor(1, unit(leaves=64)))
    assert found == ((6, 4 * 64), (7, 2 * 4 * 64 * 2), (8, 4 * 64 * 3))


def test_a_smaller_last_block_has_links_by_its_systems() -> None:
    # Groups of 8 systems with 4 leaves: two in 4 racks, 1 and 2 racks from the leaves' (6 and 7 m), and one in 2 racks,
    # 1 from theirs. A system has a link to each of 4 leaves.
    two, one = Block(Stock(16, 4), 2, Stock(8, 40)), Block(Stock(8, 4), 1, Stock(4, 40))
    assert lengths_to_leaves(floor(1, two, last=one)) == ((6, (8 + 8) * 4), (7, 8 * 4))


@st.composite
def floors(draw: st.DrawFn) -> Floor:
    held, leaves, in_rack = draw(st.integers(1, 6)), draw(st.integers(1, 16)), draw(st.integers(1, 48))
    block = unit(draw(st.integers(1, 160)), held, leaves, in_rack)
    last = draw(st.none() | st.just(unit(draw(st.integers(1, block.systems.pieces)), held, leaves, in_rack)))
    spines, cores = Stock(draw(st.integers(1, 99)), in_rack), Stock(draw(st.integers(0, 50)), in_rack)
    return floor(draw(st.integers(1, 12)), block, spines, cores, last)


@given(floors())
def test_every_link_has_a_length_and_no_two_racks_are_in_one_place(many: Floor) -> None:
    systems = sum(block.systems.pieces * block.leaves.pieces * times for block, _, times in many.kinds)
    assert sum(links for _, links in lengths_to_leaves(many)) == systems
    # A way from a rack to another one is a rack's width at least.
    assert min(metres for metres, _ in lengths_to_leaves(many)) >= 6
    spines, cores = upper_cells(many)
    cells = np.concatenate((system_cells(many), leaf_cells(many), spines[: many.spine_racks], cores))
    assert len({*map(tuple, cells.tolist())}) == len(cells)
