"""Every formula of a phase on one small case by hand: 4 NPUs, links of 1 B/ns and 10 ns, 5 ns before each message.

The local memory has 2 B/ns, so that reducing a message of m bytes takes 3 floor(m / 2) ns. The formulas are those of
ASTRA-sim 2.0's analytical congestion-unaware backend (Won et al., ISPASS 2023), with tx(m, h) = floor(10 h + m) ns.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.timing.collectives.block_phase import block_phase_time
from evo_libra.timing.collectives.phase import (
    FULLY_CONNECTED,
    LINE,
    RING,
    SWITCH,
    Implementation,
    Link,
    Overheads,
    phase_time,
)

AR, RS, AG, A2A = (
    Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_TO_ALL,
)  # fmt: skip
OVERHEADS = Overheads(5.0, 2.0)


def link(block: int, npus: int = 4, *, rate: float = 1e9, latency: float = 10.0, shared: bool = False) -> Link:
    return Link(np.array([block]), np.array([npus]), np.array([rate]), np.array([latency]), shared=shared)


def ns(name: str, collective: Collective, size: float, where: Link, overheads: Overheads = OVERHEADS) -> float:
    return float(phase_time(Implementation.read(name), collective, np.array([size]), where, overheads).item())


@pytest.mark.parametrize(("collective", "size", "expected"), [
    (RS, 400.0, 5 + 3 * (110 + 5 + 150)),  # e + (n - 1) (tx(D / n) + e + red)
    (AG, 400.0, 5 + 3 * (410 + 5)),  # of the whole shard, without reductions
    (AR, 400.0, 5 + 6 * (110 + 5) + 3 * 150),  # 2 (n - 1) messages, n - 1 reductions
    (A2A, 400.0, 5 + 6 * (110 + 5)),  # n (n - 1) / 2 messages
])  # fmt: skip
@pytest.mark.parametrize("block", [RING, FULLY_CONNECTED])
def test_ring(block: int, collective: Collective, size: float, expected: int) -> None:
    assert ns("ring", collective, size, link(block)) == expected


def test_a_message_passes_two_links_of_a_switch() -> None:
    assert ns("ring", RS, 400.0, link(SWITCH)) == 5 + 3 * (120 + 5 + 150) == 830


@pytest.mark.parametrize(("collective", "expected"), [
    (RS, 2 * 5 + 110 + 150), (AG, 2 * 5 + 410), (AR, 3 * 5 + 2 * 110 + 150), (A2A, 2 * 5 + 110),
])  # fmt: skip
def test_direct(collective: Collective, expected: int) -> None:
    assert ns("direct", collective, 400.0, link(FULLY_CONNECTED)) == expected


def test_direct_waits_for_the_farthest_member() -> None:
    # Two links on a ring of 4, floor(5 / 2) of 5, two of a switch.
    assert ns("direct", A2A, 400.0, link(RING)) == 10 + 120
    assert ns("direct", A2A, 500.0, link(RING, 5)) == 10 + 120
    assert ns("direct", A2A, 600.0, link(RING, 6)) == 10 + 130
    assert ns("direct", A2A, 400.0, link(SWITCH)) == 10 + 120


def test_direct_of_listed_members_reduces_what_it_gathers_too() -> None:
    listed = replace(OVERHEADS, listed=True)
    assert ns("direct", AR, 400.0, link(FULLY_CONNECTED), listed) == 15 + 2 * 110 + 2 * 150
    assert ns("direct", RS, 400.0, link(FULLY_CONNECTED), listed) == 10 + 110 + 150
    assert ns("direct", AG, 400.0, link(FULLY_CONNECTED), listed) == 10 + 410
    assert ns("direct", AR, 200.0, link(FULLY_CONNECTED, 2), listed) == 15 + 2 * 110 + 150


@pytest.mark.parametrize(("block", "collective", "size", "expected"), [
    # e + [tx(D / 2) + e] + [tx(D / 4) + e + red(D / 4)]: the first message is not reduced.
    (FULLY_CONNECTED, RS, 400.0, 5 + (210 + 5) + (110 + 5 + 150)),
    (RING, RS, 400.0, 5 + (210 + 5) + (120 + 5 + 150)),  # distances 1 and 2
    # e + [tx(D) + e] + [tx(2 D) + e]: distances n / 2 and n / 4.
    (FULLY_CONNECTED, AG, 100.0, 5 + (110 + 5) + (210 + 5)),
    (RING, AG, 100.0, 5 + (120 + 5) + (210 + 5)),
    (SWITCH, AG, 100.0, 5 + (120 + 5) + (220 + 5)),
    (FULLY_CONNECTED, AR, 400.0, 5 + 215 + 265 + 115 + 215),
    # floor(403 / 2) = 201, floor(403 / 4) = 100; gathered from 2 floor(403 / 8) = 100.
    (FULLY_CONNECTED, AR, 403.0, 5 + 216 + 265 + 115 + 215),
    (FULLY_CONNECTED, AR, 407.0, 5 + 218 + (111 + 5 + 150) + 115 + 215),
])  # fmt: skip
def test_halving_doubling(block: int, collective: Collective, size: float, expected: int) -> None:
    assert ns("halvingDoubling", collective, size, link(block)) == expected


def test_double_binary_tree_goes_over_one_tree() -> None:
    # e + (2 log2(n) - 1) (tx(D) + e + red(D)) + tx(D) + e.
    assert ns("doubleBinaryTree", AR, 400.0, link(FULLY_CONNECTED)) == 5 + 3 * (410 + 5 + 600) + 410 + 5
    assert ns("doubleBinaryTree", AR, 400.0, link(SWITCH)) == 5 + 3 * (420 + 5 + 600) + 420 + 5


def test_times_are_rounded_down_once_a_message() -> None:
    # 2 x 0.4 + 100 / 3 = 34.13 ns.
    uneven = link(SWITCH, rate=3e9, latency=0.4)
    assert uneven.transfer(np.array([100.0]), 2.0).tolist() == [34.0]
    assert ns("ring", AG, 100.0, uneven) == 5 + 3 * (34 + 5)
    assert Overheads(0.0, 3.0).reduction(np.array([100.0])).tolist() == [99.0]  # 3 floor(33.3)
    assert ns("ring", RS, 403.0, link(RING)) == 800  # floor(403 / 4) = 100 B


def test_messages_go_the_shorter_way_around_a_ring() -> None:
    offsets = np.array([1.0, 2.0, 4.0])
    several = Link(np.full(3, RING), np.full(3, 5), np.ones(3), np.ones(3))
    assert several.hops(offsets).tolist() == [1.0, 2.0, 1.0]
    assert replace(several, block=np.full(3, LINE)).hops(offsets).tolist() == [1.0, 2.0, 4.0]
    assert replace(several, block=np.full(3, SWITCH)).hops(offsets).tolist() == [2.0, 2.0, 2.0]
    assert replace(several, block=np.full(3, FULLY_CONNECTED)).hops(offsets).tolist() == [1.0, 1.0, 1.0]


def test_levels_of_a_fat_tree_have_their_part_of_the_bandwidth() -> None:
    # Two NPUs under a leaf, four in a pod: 1/2 of the bandwidth between leaves, 1/4 between pods.
    tree = replace(
        link(SWITCH, 8), leaf=np.array([2]), pod=np.array([4]), upper=np.array([0.5]), top=np.array([0.25]),
    )  # fmt: skip
    apart = [tree.step(np.array([100.0]), np.array([float(distance)])).item() for distance in (1, 2, 3, 4)]
    assert apart == [120.0, 220.0, 220.0, 420.0]
    # Shrinking messages: 7/8 of a message over the links of NPUs, 3/8 leave leaves, 1/8 pods: min(1, 7/6, 7/4).
    assert tree.planned_bandwidth.tolist() == [1e9]
    narrow = replace(tree, upper=np.array([0.25]))
    assert narrow.planned_bandwidth.tolist() == pytest.approx([7 / 12 * 1e9])
    assert link(SWITCH).planned_bandwidth.tolist() == [1e9]


def test_messages_that_share_links_wait_for_each_other() -> None:
    # Congestion-aware backend, one dimension: a switch sends on what it has whole, 2 floor(lat + m / B).
    shared = link(SWITCH, shared=True)
    assert shared.transfer(np.array([100.0]), 2.0).tolist() == [220.0]
    # Direct: ring ser (1 + 2) + 2 lat, switch (n - 2) ser + 2 full, fully connected full.
    assert link(RING, shared=True).exchange(np.array([100.0])).tolist() == [320.0]
    assert link(RING, 6, shared=True).exchange(np.array([100.0])).tolist() == [100 * 6 + 20]
    assert shared.exchange(np.array([100.0])).tolist() == [420.0]
    assert link(FULLY_CONNECTED, shared=True).exchange(np.array([100.0])).tolist() == [110.0]


def test_a_window_takes_the_messages_in_rounds() -> None:
    # direct2 among 5: two rounds of two, of which the first is reduced: e + (110 + 5 + 150) + (110 + 5).
    assert ns("direct2", RS, 500.0, link(FULLY_CONNECTED, 5)) == 385
    assert ns("direct2", AG, 100.0, link(FULLY_CONNECTED, 5)) == 5 + 115 + 115
    # A window of all messages is none.
    assert ns("direct4", RS, 500.0, link(FULLY_CONNECTED, 5)) == 10 + 110 + 150
    assert ns("direct1", RS, 200.0, link(FULLY_CONNECTED, 2)) == 10 + 110 + 150
    # All-reduce of direct on a ring of 4: messages 1 to 3 are there at 115, 125 and 115 and reduced until 270, 280 and
    # 270; then those of the second half, of 110, 120 and 110 ns, go one by one: there at 380, 390 and 390.
    assert ns("direct", AR, 400.0, link(RING)) == 395


@pytest.mark.parametrize(("name", "collective", "where", "words"), [
    ("halvingDoubling", A2A, link(SWITCH), "halvingDoubling has no"),
    ("halvingDoubling", RS, link(SWITCH, 6), "power of two"),
    ("doubleBinaryTree", AR, link(SWITCH, 6), "power of two"),
    ("doubleBinaryTree", AR, link(RING), "on a ring"),
    ("halvingDoubling", RS, link(RING, shared=True), "on a ring"),
    ("direct2", RS, link(SWITCH, shared=True), "direct2"),
])  # fmt: skip
def test_what_the_simulator_cannot_run_or_time_is_refused(
    name: str, collective: Collective, where: Link, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        ns(name, collective, 400.0, where)


def test_names_of_implementations() -> None:
    assert Implementation.read("direct12").window == 12
    for wrong in ("direct0", "direct-1", "rings"):
        with pytest.raises(InputError, match=wrong):
            Implementation.read(wrong)


# A line as a folded ring: of 4, 0-2-3-1-0 with 2, 1, 2 and 1 links; tx(100 B) = 110 and 120 ns. The last NPU to end
# has as few short ways behind it as can be.


@pytest.mark.parametrize(("collective", "npus", "size", "expected"), [
    (RS, 4, 400.0, 4 * 5 + (120 + 110 + 120) + 3 * 150),
    (AG, 4, 100.0, 4 * 5 + (120 + 110 + 120)),
    (AR, 4, 400.0, 7 * 5 + 3 * (120 + 110) + 3 * 150),
    (A2A, 4, 400.0, 7 * 5 + 3 * (120 + 110)),
    # Of 6, 0-2-4-5-3-1-0 with 2, 2, 1, 2, 2 and 1 links: of 5 successive ones, one is short; of 10, three are.
    (AG, 6, 100.0, 6 * 5 + 4 * 120 + 110),
    (AR, 6, 600.0, 11 * 5 + 7 * 120 + 3 * 110 + 5 * 150),
    # Of 5, 0-2-4-3-1-0 with 2, 2, 1, 2 and 1 links.
    (AG, 5, 100.0, 5 * 5 + 3 * 120 + 110),
    # Of 2, both ways are short; of 3, 0-2-1-0 has 2, 1 and 1 links.
    (AG, 2, 100.0, 2 * 5 + 110),
    (AG, 3, 100.0, 3 * 5 + 120 + 110),
])  # fmt: skip
def test_lines(collective: Collective, npus: int, size: float, expected: int) -> None:
    ring = Implementation.read("ring")
    time = block_phase_time(ring, collective, np.array([size]), link(LINE, npus), OVERHEADS)
    assert time.tolist() == [expected]


def test_designs_of_several_blocks_are_timed_as_each() -> None:
    both = Link(np.array([LINE, RING]), np.array([4, 4]), np.full(2, 1e9), np.full(2, 10.0))
    time = block_phase_time(Implementation.read("ring"), RS, np.array([400.0, 400.0]), both, OVERHEADS)
    assert time.tolist() == [820.0, 800.0]
