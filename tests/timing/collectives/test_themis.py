"""Orders of chunks by hand, load by load: Themis (Rashidi et al., ISCA 2022) as ASTRA-sim has it, and as its paper."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.collective import Collective
from evo_libra.timing.collectives import themis
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, LINE, RING, SWITCH
from evo_libra.timing.collectives.themis import Network, Plan, plan, products
from evo_libra.timing.collectives.themis_paper import Fabrics, paper_time
from evo_libra.timing.names import Policy, Scheduler

AR, AG, RS, A2A = (
    Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.ALL_TO_ALL,
)  # fmt: skip
MIB = 2**20


def orders(found: Plan) -> list[list[int]]:
    return [list(map(int, order)) for order in found.order[:, :, 0].T]


def planned(
    scheduler: Scheduler, collective: Collective, size: float, chunk: float, npus: list[int], bandwidth: list[float]
) -> Plan:
    network = Network(np.array(npus)[:, None], np.array(bandwidth)[:, None], [True] * len(npus))
    return plan(scheduler, collective, np.array([int(size)]), np.array([int(chunk)]), network)


@pytest.fixture(autouse=True, params=["plain", "numpy"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan with the function that numba compiles, run as it is, and with that of NumPy."""
    run = themis._run if request.param == "plain" else None  # noqa: SLF001 - what is compiled is tested without waiting
    monkeypatch.setattr(themis, "compiled_greedy", lambda: run)


def test_a_scattered_chunk_begins_where_the_load_is_least() -> None:
    # 2 x 2 NPUs alike, chunks of 1 MiB: a chunk adds 1/2 to the dimension that it takes first and 1/4 to the other.
    # Chunk 0 loads (1/2, 1/4). The difference of 1/4 is 1/2 MiB of chunk, more than 1/16: chunk 1 begins with dimension
    # 1, and both have 3/4; and so on.
    found = planned(Scheduler.OFFLINE_GREEDY, AR, 4 * MIB, MIB, [2, 2], [1.0, 1.0])
    assert orders(found) == [[0, 1], [1, 0], [0, 1], [1, 0]]
    assert (found.count.tolist(), found.size[:, 0].tolist()) == ([4], [MIB] * 4)


def test_three_dimensions() -> None:
    # 2 x 2 x 2 NPUs: (1/2, 1/4, 1/8); then 2, 1, 0: (5/8, 1/2, 5/8); 1 first, and 2 stays before 0: (3/4, 1, 7/8); then
    # 0, 2, 1: (5/4, 9/8, 9/8); 2 stays before 1.
    found = planned(Scheduler.OFFLINE_GREEDY, RS, 5 * MIB, MIB, [2, 2, 2], [1.0, 1.0, 1.0])
    assert orders(found) == [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 1, 0]]


def test_a_dimension_that_takes_no_part_is_passed_over() -> None:
    # Of 2 x 3 x 2 NPUs only the first and the last one: as 2 x 2.
    network = Network(np.array([[2], [3], [2]]), np.ones((3, 1)), [True, False, True])
    size, chunk = np.array([4 * MIB]), np.array([MIB])
    assert orders(plan(Scheduler.OFFLINE_GREEDY, RS, size, chunk, network)) == [[0, 2], [2, 0], [0, 2], [2, 0]]
    assert orders(plan(Scheduler.ROUND_ROBIN, RS, size, chunk, network)) == [[0, 2], [2, 0], [2, 0], [0, 2]]


def test_loads_count_the_bandwidth() -> None:
    # Dimension 1 has half of the bandwidth of dimension 0: each chunk loads both with 1/2, which stay even.
    found = planned(Scheduler.OFFLINE_GREEDY, RS, 3 * MIB, MIB, [2, 2], [2.0, 1.0])
    assert orders(found) == [[0, 1]] * 3


def test_loads_that_differ_by_less_than_a_sixteenth_of_a_chunk_are_even() -> None:
    # Chunk 0 loads (1/2, 1/4 over r). In bytes of dimension 1 the difference is r (1/2 - 1/4 / r) / (1/2) = r - 1/2 of
    # a chunk, which is a sixteenth at r = 0.5625.
    for bandwidth, second in ((0.57, [1, 0]), (0.56, [0, 1])):
        assert orders(planned(Scheduler.OFFLINE_GREEDY, RS, 2 * MIB, MIB, [2, 2], [1.0, bandwidth]))[1] == second


def test_a_gathered_chunk_ends_where_the_load_is_least() -> None:
    # Chunk 0, even, adds its loads (1, 2) by place, reversed: (2, 1). The difference of 1 MiB, over NPUs of what comes
    # before, is 1/2 MiB: chunk 1 goes from dimension 0 to 1 and loads both up to 3. Chunk 2 is even: (5, 4).
    found = planned(Scheduler.OFFLINE_GREEDY, AG, 4 * MIB, MIB, [2, 2], [1.0, 1.0])
    assert orders(found) == [[0, 1]] * 4
    # With 4 NPUs in dimension 0, loads of a chunk are 3 and 4: reversed (4, 3), then (4 + 3, 3 + 4).
    wide = planned(Scheduler.OFFLINE_GREEDY, AG, 2 * MIB, MIB, [4, 2], [1.0, 1.0])
    assert orders(wide) == [[0, 1], [0, 1]]


def test_a_gathered_chunk_counts_what_it_gathers_before_the_last_dimension() -> None:
    # Dimension 1 has r times the bandwidth: chunk 0 adds 1 to it and 2 / r to dimension 0, by place. The difference of
    # 1 - 2 / r, over the 2 NPUs of dimension 1, is a sixteenth of a chunk at r = 2.286.
    for ratio, second in ((2.3, [1, 0]), (2.28, [0, 1])):
        assert orders(planned(Scheduler.OFFLINE_GREEDY, AG, 2 * MIB, MIB, [2, 2], [1.0, ratio]))[1] == second


def test_the_last_chunk_of_a_greedy_scheduler_has_what_is_left() -> None:
    assert planned(Scheduler.OFFLINE_GREEDY, AR, 2.5 * MIB, MIB, [2, 2], [1.0, 1.0]).size[:, 0].tolist() == [
        MIB, MIB, MIB / 2,
    ]  # fmt: skip
    # Others round it up to a whole one.
    assert planned(Scheduler.BASELINE, AR, 2.5 * MIB, MIB, [2, 2], [1.0, 1.0]).size[:, 0].tolist() == [MIB] * 3
    # An all-to-all takes the dimensions in order, and what is left at the end.
    last = planned(Scheduler.OFFLINE_GREEDY, A2A, 1.5 * MIB, MIB, [2, 2], [1.0, 1.0])
    assert (last.size[:, 0].tolist(), orders(last)) == ([MIB, MIB / 2], [[0, 1]] * 2)


def test_chunks_may_be_as_large_as_the_loads_differ() -> None:
    # Differences below a whole chunk are even: (1/2, 1/4), (1, 1/2); then 1/2 over 1/2 is a whole chunk of 1 MiB.
    found = planned(Scheduler.OFFLINE_GREEDY_FLEX, RS, 4 * MIB, MIB, [2, 2], [1.0, 1.0])
    assert orders(found)[:3] == [[0, 1], [0, 1], [1, 0]]
    # With dimension 1 twice as wide: (1/2, 1/8); 3/8 over 1/2 at twice the bandwidth is 1.5 MiB, the size of chunk 1.
    wide = planned(Scheduler.OFFLINE_GREEDY_FLEX, RS, 4 * MIB, MIB, [2, 2], [1.0, 2.0])
    assert (orders(wide)[:2], wide.size[:2, 0].tolist()) == ([[0, 1], [1, 0]], [MIB, 1.5 * MIB])


def test_a_round_robin_begins_one_dimension_further_out() -> None:
    found = planned(Scheduler.ROUND_ROBIN, RS, 4 * MIB, MIB, [2, 2, 2], [1.0, 1.0, 1.0])
    assert orders(found) == [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]
    assert orders(planned(Scheduler.BASELINE, RS, 2 * MIB, MIB, [2, 2, 2], [1.0] * 3)) == [[0, 1, 2]] * 2


def test_products_of_sets_of_dimensions() -> None:
    assert products(np.array([[2], [3], [5]]))[:, 0].tolist() == [1, 2, 3, 6, 5, 10, 15, 30]


# The paper: loads are times and begin at the fixed latency; chunks are equal; latency keeps no dimension busy.


def fabrics(*dimensions: tuple[int, int, float, float]) -> Fabrics:
    """Return one network of blocks, NPUs, bytes per ns of an NPU and ns of a step."""
    block, npus, bandwidth, latency = (np.array(row)[:, None] for row in zip(*dimensions, strict=True))
    return Fabrics(block, npus, bandwidth.astype(np.float64), latency.astype(np.float64))


def test_fixed_latencies_are_steps_of_a_reduce_scatter() -> None:
    found = fabrics((RING, 5, 1, 7), (FULLY_CONNECTED, 5, 1, 7), (SWITCH, 5, 1, 7), (LINE, 5, 1, 7), (LINE, 2, 1, 7))
    # n - 1; one; log2 n rounded up; n - 1 messages over two links, of a pair over one.
    assert found.fixed_latency()[:, 0].tolist() == [28.0, 7.0, 21.0, 56.0, 7.0]


@pytest.mark.parametrize(("collective", "size", "expected"), [
    # 4 NPUs on a ring with 10 B/ns: 3/4 of 800 B in 60 ns and 21 ns of latency.
    (RS, 800.0, 81.0), (AG, 200.0, 81.0), (AR, 800.0, 162.0), (A2A, 800.0, 81.0),
])  # fmt: skip
def test_one_chunk_on_a_ring(collective: Collective, size: float, expected: float) -> None:
    time = paper_time(collective, size, fabrics((RING, 4, 10, 7)), chunks=1)
    assert time.tolist() == pytest.approx([expected], rel=1e-6)


def test_chunks_wait_for_the_dimension_and_not_for_the_latency() -> None:
    # Two chunks of 400 B follow each other after 30 ns each, and only the last one's 21 ns count.
    assert paper_time(RS, 800.0, fabrics((RING, 4, 10, 7)), chunks=2).tolist() == pytest.approx([81.0], rel=1e-6)


def test_two_dimensions() -> None:
    # 2 x 2 NPUs, 1 B/ns, one chunk of 800 B: 400 and 200 ns there; an all-reduce as much back.
    pair = fabrics((RING, 2, 1, 0), (RING, 2, 1, 0))
    assert paper_time(RS, 800.0, pair, chunks=1).tolist() == pytest.approx([600.0], rel=1e-6)
    assert paper_time(AR, 800.0, pair, chunks=1).tolist() == pytest.approx([1200.0], rel=1e-6)
    # Two chunks of 400 B the same way: dimension 0 is busy for 400 ns, and the second chunk for 100 ns after that.
    assert paper_time(RS, 800.0, pair, chunks=2, greedy=False).tolist() == pytest.approx([500.0], rel=1e-6)
    # Greedy, chunk 1 begins with dimension 1: both begin at once, and each is in the other one's after 200 ns.
    assert paper_time(RS, 800.0, pair, chunks=2).tolist() == pytest.approx([300.0], rel=1e-6)
    # A dimension that takes no part.
    assert paper_time(RS, 800.0, pair, [True, False], chunks=1).tolist() == pytest.approx([400.0], rel=1e-6)


def test_loads_begin_at_the_latency() -> None:
    # Dimension 0 takes 1000 ns of latency: chunks begin with dimension 1, 400 ns, then 200 ns and the latency.
    far = fabrics((RING, 2, 1, 1000), (RING, 2, 1, 0))
    assert paper_time(RS, 800.0, far, chunks=1).tolist() == pytest.approx([1600.0], rel=1e-6)
    # Loads that differ by less than a sixteenth of a chunk of dimension 1, 25 ns, are even: dimension 0 is first.
    near = paper_time(RS, 800.0, fabrics((RING, 2, 0.5, 24), (RING, 2, 1, 0)), chunks=1)
    assert near.tolist() == pytest.approx([800 + 24 + 200], rel=1e-6)
    apart = paper_time(RS, 800.0, fabrics((RING, 2, 0.5, 26), (RING, 2, 1, 0)), chunks=1)
    assert apart.tolist() == pytest.approx([400 + 400 + 26], rel=1e-6)


def test_other_policies_are_refused() -> None:
    with pytest.raises(ValueError, match="no policy RG"):
        paper_time(RS, 1.0, fabrics((RING, 2, 1, 0)), policy=Policy.ALTERNATING)
