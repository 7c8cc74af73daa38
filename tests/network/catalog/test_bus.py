"""Times of collectives in a server, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.collective import Collective
from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.network.catalog.bus import BusConstants, SmallCollectives

SMALL = SmallCollectives(
    share=0.25, all_gather_us=4, all_gather_npu_us=1, all_reduce_us=3, all_reduce_npu_us=2, all_to_all_us=8,
    all_to_all_npu_us=0.5,
)  # fmt: skip
BUS = BusConstants(efficiency=0.8, half_message_MB=20, all_reduce=0.9, small=SMALL)
WIRE = 400e9


@pytest.mark.parametrize(("collective", "npus", "us"), [
    # 1 MB: the ports carry 3/4 and 7/8 of it, at 100 GB/s: 7.5 and 8.75 us after the latency.
    (Collective.ALL_GATHER, 4, 4 + 4 * 1 + 7.5), (Collective.REDUCE_SCATTER, 8, 4 + 8 * 1 + 8.75),
    (Collective.ALL_REDUCE, 8, 3 + 8 * 2 + 2 * 8.75), (Collective.ALL_TO_ALL, 8, 8 + 8 * 0.5 + 8.75),
])  # fmt: skip
def test_small_collectives_take_their_latency_and_their_bytes(collective: Collective, npus: int, us: float) -> None:
    assert BUS.seconds(collective, 1e6, float(npus), WIRE) == pytest.approx(us * 1e-6)


def test_large_collectives_reach_the_rate_of_large_ones() -> None:
    # (600 + 20) MB at 0.8 x 400 GB/s among 8, whose ports carry 7/8: 1,937.5 us; of 4, 3/4 over 7/8 of that.
    times = BUS.seconds(Collective.REDUCE_SCATTER, np.array([600e6, 600e6]), np.array([8.0, 4.0]), WIRE)
    assert times.tolist() == pytest.approx([1937.5e-6, 1937.5e-6 * (3 / 4) / (7 / 8)])
    assert BUS.seconds(Collective.ALL_REDUCE, 600e6, 8.0, WIRE) == pytest.approx(2 * 0.9 * 1937.5e-6)


def test_one_npu_sends_nothing_but_latency_at_most() -> None:
    assert BUS.seconds(Collective.ALL_GATHER, 600e6, 1.0, WIRE) == 0.0


def test_a_larger_collective_never_takes_less() -> None:
    sizes = np.geomspace(1e3, 16e9, 200)
    for npu in load_accelerators().values():
        for link, bus in npu.bus.items():
            for collective in Collective:
                times = bus.seconds(collective, sizes, np.full(200, 8.0), npu.wire_rate(link))
                assert (np.diff(times) > 0).all()


def test_a_small_collective_counts_for_the_bytes_that_take_as_long() -> None:
    # Ports carry 0.8 x 7/8 x 400 = 280 GB/s of large ones. 1 MB among 8 takes 20.75 us, in which 5.81 MB move; of a
    # collective of 6.64 MB, 7/8 move. 600 MB count as 620.
    sizes = BUS.counted(np.array([1e6, 600e6]), np.array([8.0, 8.0]), WIRE)
    assert sizes.tolist() == pytest.approx([20.75e-6 * 280e9 * 8 / 7, 620e6])
