"""Phases on FRED's trees, level by level: 1 B/ns of an NPU, 20 ns within a switch and 40 ns over both levels."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.collective import Collective
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.timing.collectives.block_phase import tree_time
from evo_libra.timing.collectives.phase import Implementation, Link, Overheads

AR, RS, AG, A2A = (
    Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_TO_ALL,
)  # fmt: skip
CODES = [block.code for block in BLOCKS]


def ns(code: str, name: str, collective: Collective, size: float, npus: int, leaf: int) -> float:
    """Return the ns with 5 ns before a message and a local memory of 2 B/ns."""
    tree = Link(
        np.array([CODES.index(code)]), np.array([npus]), np.array([1e9]), np.array([40.0]), leaf=np.array([leaf]),
        leaf_latency=np.array([20.0]),
    )  # fmt: skip
    return float(tree_time(Implementation.read(name), collective, np.array([size]), tree, Overheads(5.0, 2.0)).item())


@pytest.mark.parametrize(("name", "collective", "size", "expected"), [
    # FRED-A, two NPUs under each of two switches: the upper level has 1/8 B/ns.
    # Halving below: 5 + 200 + 20 + 5; all-reduce of 200 B above: 5 + (40 + 800 + 5) twice; doubling below like halving.
    ("halvingDoubling", AR, 400.0, 230 + (5 + 845 + 845) + 230),
    # Rings reduce: 5 + 225 + 300 below, 5 + 2 x 845 + 150 above, 5 + 225 below.
    ("ring", AR, 400.0, 530 + 1845 + 230),
    ("ring", RS, 400.0, 530 + (5 + 845 + 150)),
    # A shard of 100 B: above 5 + 845; below its 200 B: 5 + 225.
    ("ring", AG, 100.0, 850 + 230),
    # All of 400 B on both levels, direct, as halving-doubling has none: 10 + 220, 10 + 40 + 1600.
    ("halvingDoubling", A2A, 400.0, 230 + 1650),
    ("direct", A2A, 400.0, 230 + 1650),
])  # fmt: skip
def test_npus_reduce_within_switches_and_then_between_them(
    name: str, collective: Collective, size: float, expected: int
) -> None:
    assert ns("WA", name, collective, size, npus=4, leaf=2) == expected


def test_rings_run_where_a_level_has_no_power_of_two() -> None:
    # Three switches: halving below as before, a ring above of 200 B in messages of floor(200 / 3) = 66 B:
    # 5 + 2 (40 + 528 + 5 + 99).
    assert ns("WA", "halvingDoubling", RS, 400.0, npus=6, leaf=2) == 230 + 5 + 2 * 672
    # Direct above sends to two at a time, with half of the bandwidth each: 10 + 40 + 133 x 16.
    assert ns("WA", "direct", A2A, 400.0, npus=6, leaf=2) == 230 + 10 + 40 + 133 * 16


def test_a_full_upper_level_has_all_of_the_bandwidth() -> None:
    assert ns("WC", "ring", RS, 400.0, npus=4, leaf=2) == 530 + 5 + (40 + 100 + 5 + 150)


def test_a_level_with_one_npu_takes_no_time() -> None:
    assert ns("WC", "ring", RS, 400.0, npus=2, leaf=2) == 530
    assert ns("WC", "ring", RS, 400.0, npus=2, leaf=1) == 5 + 40 + 200 + 5 + 300


@pytest.mark.parametrize(("code", "collective", "size", "expected"), [
    # Eight NPUs under two switches. FRED-B: one flow goes up for 4 NPUs at 4/8 of the bandwidth.
    ("WB", AR, 400.0, 10 + 40 + 800),
    # 7/8 of 400 B, and what an NPU keeps it reduces itself: 50 B in 75 ns.
    ("WB", RS, 400.0, 10 + 40 + 700 + 75),
    ("WB", AG, 50.0, 10 + 40 + 700),
    # Of 350 B, 4/7 go up: 7/4 of 1/8 of the bandwidth.
    ("WB", A2A, 400.0, 10 + 40 + 1600),
    ("WD", AR, 400.0, 10 + 40 + 400),
])  # fmt: skip
def test_switches_reduce_one_stream(code: str, collective: Collective, size: float, expected: int) -> None:
    assert ns(code, "halvingDoubling", collective, size, npus=8, leaf=4) == expected


def test_within_one_switch_a_stream_has_all_of_the_bandwidth() -> None:
    assert ns("WB", "ring", AR, 400.0, npus=4, leaf=4) == 10 + 20 + 400
