"""Whole collectives by hand: 4 NPUs fully connected, pairs of them on a switch; 1 B/ns, 10 ns and 5 ns a message."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evo_libra.collective import Collective
from evo_libra.timing.collectives.closed_form import UNCLEAR, closed_form
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, SWITCH, Implementation, Link, Overheads
from evo_libra.timing.collectives.system import System, cut

AR, RS, AG, A2A = (
    Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_TO_ALL,
)  # fmt: skip
RINGS = {kind: [Implementation.read("ring")] * 2 for kind in (AR, RS, AG, A2A)}
SYSTEM = System(RINGS, 1, 1, shrinking=True, overheads=Overheads(5.0, np.inf))
LINKS = [
    Link(np.array([block]), np.array([npus]), np.array([1e9]), np.array([10.0]))
    for block, npus in ((FULLY_CONNECTED, 4), (SWITCH, 2))
]


def ns(collective: Collective, size: int, system: System = SYSTEM, involved: list[bool] | None = None) -> float:
    return float(collective_time(collective, size, LINKS, system, involved).item())


def test_an_all_reduce_scatters_inwards_and_gathers_back() -> None:
    # Scatter 800 B: 5 + 3 (210 + 5); all-reduce of 200 B on the switch: 5 + 2 (120 + 5); gather 200 B like scatter.
    assert ns(AR, 800) == 650 + 255 + 650
    # Without shrinking, all of it on both: 5 + 6 x 215, 5 + 2 (420 + 5).
    assert ns(AR, 800, replace(SYSTEM, shrinking=False)) == 1295 + 855


def test_other_collectives_take_each_dimension_once() -> None:
    assert ns(RS, 800) == 650 + (5 + 125)
    # The outermost first: 100 B, then 200 B.
    assert ns(AG, 100) == (5 + 125) + 650
    # All of it on both: 5 + 6 x 215, 5 + 425.
    assert ns(A2A, 800) == 1295 + 430


def test_trees_take_one_chunk() -> None:
    # 5 + 3 (810 + 5) + 810 + 5 on one dimension, see `evo_libra.timing.collectives.phase`.
    tree = replace(SYSTEM, implementations={AR: [Implementation.read("doubleBinaryTree")]})
    assert collective_time(AR, 800, LINKS[:1], tree).tolist() == [5 + 3 * 815 + 815]
    with pytest.raises(ValueError, match="doubleBinaryTree with several chunks"):
        collective_time(AR, 800, LINKS[:1], replace(tree, splits=2))


def test_dimensions_that_take_no_part_are_passed_over() -> None:
    assert ns(AR, 800, involved=[True, False]) == 5 + 6 * 215
    assert ns(AR, 800, involved=[False, True]) == 5 + 2 * 425
    assert ns(AR, 800, involved=[False, False]) == 0


def test_a_dimension_of_one_npu_takes_no_time() -> None:
    links = [LINKS[0], replace(LINKS[1], npus=np.array([1]))]
    assert collective_time(AR, 800, links, SYSTEM).tolist() == [5 + 6 * 215]
    # What the rows of the system do not name takes no part.
    one = replace(SYSTEM, implementations={AR: RINGS[AR][:1]})
    assert collective_time(AR, 800, LINKS, one).tolist() == [5 + 6 * 215]


def test_chunks_follow_each_other() -> None:
    # Two chunks of 400 B: a = 5 + 3 x 115 = 350, r = 5 + 2 (70 + 5) = 155, b = 350.
    # The longest of a + r + a + b = 1205, a + r + 2 b = 1205 and 2 (a + b) = 1400.
    assert ns(AR, 800, replace(SYSTEM, splits=2)) == 1400
    # Two at a time take as long as one.
    assert ns(AR, 800, replace(SYSTEM, splits=2, active=2)) == 350 + 155 + 350
    # A reduce-scatter: a + r + max(a, r) with r = 5 + (70 + 5).
    assert ns(RS, 800, replace(SYSTEM, splits=2)) == 350 + 80 + 350


def test_several_queues_of_a_dimension_split_the_ways_of_an_all_reduce() -> None:
    # Four queues with one place each: two for scattering and the turn, two for gathering. Four chunks of 200 B:
    # a = 5 + 3 x 65 = 200, r = 5 + 2 (45 + 5) = 105, b = 200; two chunks at a time, and b beside a: 2 a + r + b.
    system = replace(SYSTEM, splits=4, active=4, queues=4)
    assert ns(AR, 800, system) == 400 + 105 + 200
    # A reduce-scatter has all four queues: a + (5 + 45 + 5).
    assert ns(RS, 800, system) == 200 + 55


def test_of_two_queues_one_scatters_and_one_gathers() -> None:
    # Two chunks of 400 B: a at 0 to 350 and 350 to 700, r until 505 and 855, b at 505 to 855 and until 1205.
    assert ns(AR, 800, replace(SYSTEM, splits=2, active=2, queues=2)) == 1205


def test_chunks_of_a_message() -> None:
    def parts(collective: Collective, size: int, splits: int) -> list[int]:
        found = cut(collective, size, np.array([8]), splits)
        return [int(found.size.item()), int(found.count.item()), int(found.whole.item())]

    assert parts(AR, 1000, 4) == [250, 4, 1000]
    assert parts(AR, 1001, 4) == [250, 5, 1001]  # the rest is one more whole chunk
    assert parts(AR, 20, 4) == [8, 4, 32]  # a chunk has as many bytes as there are NPUs
    assert parts(AR, 32, 4) == [8, 4, 32]
    assert parts(AG, 20, 4) == [5, 4, 20]
    with pytest.raises(ValueError, match="an all-gather of 3 bytes cannot be cut into 4 chunks"):
        parts(AG, 3, 4)
    with pytest.raises(ValueError, match="cannot be cut into 0 chunks"):
        parts(AR, 20, 0)


def test_chunks_at_a_time_are_spread_over_queues() -> None:
    assert replace(SYSTEM, active=3, queues=2).slots == 2
    assert replace(SYSTEM, active=4, queues=2).slots == 2


# Closed forms, design by design and of many at a time: G = ceil(k / c) rounds of k chunks, c at a time.


@pytest.mark.parametrize("designs", [1, 40])
@pytest.mark.parametrize(("phases", "count", "active", "turns", "expected"), [
    # Each dimension once: sum + (G - 1) max.
    ([3.0, 7.0, 2.0], 5, 1, False, 12 + 4 * 7),
    ([3.0, 7.0, 2.0], 5, 2, False, 12 + 2 * 7),
    ([0.0, 7.0, 0.0], 5, 1, True, 35),
    # There and back over two: max(a + r + (G - 1) max(a, r) + b, a + r + G b, G (a + b)).
    ([3.0, 7.0, 2.0], 5, 1, True, 3 + 7 + 4 * 7 + 2),
    ([9.0, 7.0, 2.0], 5, 1, True, 5 * 11),
    ([1.0, 7.0, 20.0], 5, 1, True, 1 + 7 + 5 * 20),
    ([3.0, 7.0, 20.0], 5, 1, True, 5 * 23),
    ([3.0, 7.0, 2.0], 6, 2, True, 3 + 7 + 2 * 7 + 2),
    ([3.0, 7.0, 2.0], 2, 3, True, 12),
    ([3.0, 7.0, 2.0], 5, 2, True, UNCLEAR),  # the last round is not full
    # Over three, chunk 0 scatters at 0 to 2 and 2 to 5, turns at 5 to 9, gathers at 9 to 14 and 14 to 20; chunk 1 is
    # at 2 to 4, 5 to 8, 9 to 13, 14 to 19 and 20 to 26.
    ([2.0, 3.0, 4.0, 5.0, 6.0], 2, 1, True, 26),
    # Chunks 0 and 1 come to the middle one at 4, and chunk 1 began its phase first, at 2: it scatters at 4 to 5;
    # chunk 0 gathers until 15. Chunk 2 and then chunk 1 are there since 6: chunk 2 scatters until 16, chunk 1
    # gathers until 26, chunk 2 until 36 and 39.
    ([2.0, 1.0, 1.0, 10.0, 3.0], 3, 1, True, 39),
    ([2.0, 3.0, 4.0, 5.0, 6.0], 2, 2, True, UNCLEAR),
])  # fmt: skip
def test_closed_forms(
    designs: int,
    phases: list[float],
    count: int,
    active: int,
    turns: bool,  # noqa: FBT001 - a case
    expected: float,
) -> None:
    times = np.repeat(np.array(phases)[:, None], designs, axis=1)
    found = closed_form(times, times > 0, np.full(designs, count), active, turns=turns, compiled=False)
    assert found.tolist() == [expected] * designs
