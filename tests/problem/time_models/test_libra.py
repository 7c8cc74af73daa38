"""LIBRA's time (ISPASS 2024) of two layers on 4 x 2 NPUs by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evo_libra.arrays import Population, no_plans
from evo_libra.collective import Collective, NextStage, Pattern
from evo_libra.network.blocks import PricedBlock
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.problem.time_models.libra import LibraTime
from evo_libra.problem.time_models.loops import WeightedLoop, weighted_loop
from evo_libra.problem.time_models.time_model import Placement
from evo_libra.workload.layers.workload import Layer, Phase, Workload

AR, AG = Collective.ALL_REDUCE, Collective.ALL_GATHER
SIZES = np.array([[4], [2]])


def loop(weight: float = 1.0, overlap: str = "none") -> WeightedLoop:
    """Return two layers, with all-reduces of 8 B among TP 4 and of 6 B among DP 2, 7 s of compute each."""
    layer = Layer("a", Phase(1.0, AR, 8.0, "tp"), Phase(2.0), Phase(4.0, AR, 6.0, "dp"))
    return weighted_loop(Workload("w", (layer, layer)), {"tp": 4, "dp": 2}, weight, overlap, 8)


def design(*bandwidth: float) -> Population:
    none = np.zeros((2, 1), dtype=np.int64)
    return Population(SIZES, none, none, np.array(bandwidth)[:, None], None, no_plans(1))


def test_bytes_over_bandwidths() -> None:
    # tp: 2 x 8 B x 2 layers of its pattern, 3/4 of them in dimension 0; dp: 24 B, half of them in dimension 1.
    time = LibraTime((loop(),))
    assert time.traffic(SIZES, np.zeros_like(SIZES))[:, :, 0].tolist() == [[0.75, 0.0], [0.0, 0.5]]
    # 14 s, 24 B at 2 B/s and 12 B at 3 B/s.
    assert time(design(2.0, 3.0)).tolist() == [14 + 12 + 4]
    assert LibraTime((loop(), loop(0.5)))(design(2.0, 3.0)).tolist() == [45.0]
    assert time.exact
    assert time.lower_bound is time


def test_the_slowest_dimension_counts() -> None:
    # TP 8 on 4 x 2: 16 B a layer, 3/4 in dimension 0 and 1/8 in dimension 1.
    layer = Layer("a", Phase(0.0, AR, 8.0, "tp"), Phase(0.0), Phase(0.0))
    time = LibraTime((weighted_loop(Workload("w", (layer,)), {"tp": 8, "dp": 1}, 1.0, "none", 8),))
    assert time.traffic(SIZES, np.zeros_like(SIZES))[:, :, 0].tolist() == [[0.75, 0.125]]
    assert time(design(2.0, 3.0)).tolist() == [6.0]
    assert time(design(12.0, 0.5)).tolist() == [4.0]


def test_traffic_reaches_a_part_of_the_bandwidth() -> None:
    time = LibraTime((loop(),), efficiency=np.array([0.5]))
    assert time(design(2.0, 3.0)).tolist() == [14 + 24 + 8]
    assert time.reaching(design(2.0, 3.0)).bandwidth.tolist() == [[1.0], [1.5]]


def test_groups_have_what_links_carry() -> None:
    # TP 2 of 4 on a ring has half of the bandwidth; two of a fully connected four a third.
    layer = Layer("a", Phase(0.0, AR, 8.0, "tp"), Phase(0.0), Phase(0.0))
    half = weighted_loop(Workload("w", (layer,)), {"tp": 2, "dp": 4}, 1.0, "none", 8)
    for block, expected in (("ring", 2 * 4.0), ("fully-connected", 3 * 4.0), ("switch", 4.0)):
        kits = (PricedBlock(BLOCK_NAMES.index(block)),)
        assert LibraTime((half,), kits)(design(2.0, 3.0)).tolist() == pytest.approx([expected])
    assert LibraTime((half,))(design(2.0, 3.0)).tolist() == [4.0]


def test_seconds_of_one_collective() -> None:
    placed = Placement(np.array([[4], [2]]), np.ones((2, 1), dtype=np.int64))
    time = LibraTime((loop(),))
    # An all-gather of a shard of 8 B among 8: 64 B of the pattern, 3/4 and 1/8 of them.
    assert time.seconds(AG, 8.0, placed, design(2.0, 3.0)).tolist() == [24.0]
    assert time.seconds(NextStage(), 8.0, placed, design(2.0, 3.0)).tolist() == [4.0]
    assert time.seconds(NextStage(), 8.0, placed, design(4.0, 1.0)).tolist() == [8.0]


def test_the_program_of_the_best_bandwidths() -> None:
    time = LibraTime((loop(2.0),))
    box = np.ones((2, 1))
    found = time.program(time.traffic(SIZES, np.zeros_like(SIZES)), box, 9.0 * box)
    assert (found.base.tolist(), found.size[:, 0].tolist()) == ([28.0], [64.0, 48.0])
    assert found.time(np.array([[2.0], [3.0]])).tolist() == [60.0]
    # With overlap: 1 s forward and 16 B twice; races of 2 s and 6 s with 12 B.
    raced = LibraTime((loop(2.0, "tp-dp"),))
    program = raced.program(raced.traffic(SIZES, np.zeros_like(SIZES)), box, 9.0 * box)
    assert program.time(np.array([[2.0], [3.0]])).tolist() == pytest.approx(raced(design(2.0, 3.0)).tolist())
    assert raced(design(2.0, 3.0)).tolist() == [2 * (2 + 12 + 2 * (6 + 2))]


def test_groups_lie_on_dimensions_from_the_inside_out() -> None:
    time = LibraTime((loop(),))
    placed = {group: at for (_, group), at in time.placed(SIZES).items()}
    assert (placed["tp"].extent[:, 0].tolist(), placed["tp"].stride[:, 0].tolist()) == ([4, 1], [1, 1])
    assert (placed["dp"].extent[:, 0].tolist(), placed["dp"].stride[:, 0].tolist()) == ([1, 2], [4, 1])
    assert time.fits(np.array([[4, 2, 3], [2, 4, 2]])).tolist() == [True, True, False]
    assert [load for _, _, load in time.channels] == [Pattern.SHRINKING, Pattern.SHRINKING]
    assert replace(time, loops=(loop(), loop())).channels == time.channels
