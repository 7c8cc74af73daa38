"""ASTRA-sim's time of one layer on 4 x 2 NPUs by hand: links of 1 B/ns and 10 ns, rings, no endpoint delay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evo_libra.arrays import Population, no_plans
from evo_libra.collective import Collective, NextStage
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.problem.time_models.astra import AstraTime
from evo_libra.problem.time_models.libra import LibraTime
from evo_libra.problem.time_models.loops import WeightedLoop, weighted_loop
from evo_libra.problem.time_models.time_model import Placement
from evo_libra.timing.collectives.phase import Overheads
from evo_libra.timing.fidelity import Fidelity
from evo_libra.workload.layers.iteration_time import Merging
from evo_libra.workload.layers.workload import Layer, Phase, Workload

AR = Collective.ALL_REDUCE
SIZES = np.array([[4], [2]])


def loop(weight: float, degrees: dict[str, int], overlap: str, merging: Merging = Merging.NONE) -> WeightedLoop:
    """Return a layer of 7 us with all-reduces of 400 B among tp and of 100 B among dp."""
    layer = Layer("a", Phase(1e-6, AR, 400.0, "tp"), Phase(2e-6), Phase(4e-6, AR, 100.0, "dp"))
    return weighted_loop(Workload("w", (layer,)), degrees, weight, overlap, 8, merging=merging)


def time(weight: float = 1.0, efficiency: float | None = None, degrees: dict[str, int] | None = None,
         overlap: str = "none", **given: Any) -> AstraTime:  # fmt: skip
    usual = {
        "chunks": (1,), "schedulers": (0,), "algorithms": np.zeros((len(BLOCK_NAMES), 1), np.int64),
        "latency": np.array([10.0]), "overheads": Overheads(0.0, np.inf), "active": 1, "shrinking": True,
        "policy": None,
    }  # fmt: skip
    fidelity, groups = Fidelity(**usual | given), degrees or {"tp": 4, "dp": 2}
    reached = None if efficiency is None else np.array([efficiency])
    return AstraTime(
        (loop(weight, groups, overlap),), efficiency=reached, collectives=fidelity,
        libra=LibraTime((loop(weight, groups, overlap, Merging.PATTERN),), efficiency=reached),
    )  # fmt: skip


def design(of: AstraTime, *names: str) -> Population:
    """Return a design whose NPUs have 1 B/ns in both dimensions."""
    block = np.array([[BLOCK_NAMES.index(name)] for name in names or ("ring", "ring")])
    genes = np.zeros((0, 1), dtype=np.int64)
    return Population(
        SIZES, block, np.zeros((2, 1), np.int64), np.full((2, 1), 1e9), of.collectives.schedule(genes, block),
        no_plans(1),
    )  # fmt: skip


def test_collectives_of_a_layer() -> None:
    # tp: 6 (100 + 10) ns; dp: 2 (50 + 10) ns; 7 us of compute.
    of = time()
    assert of(design(of)).tolist() == pytest.approx([7e-6 + 660e-9 + 120e-9])
    assert time(2.0)(design(of)).tolist() == pytest.approx([2 * 7.78e-6])
    # With half of the bandwidth: 6 (200 + 10) and 2 (100 + 10).
    assert time(efficiency=0.5)(design(of)).tolist() == pytest.approx([7e-6 + 1260e-9 + 220e-9])
    # Forward 1.66 us, then the longer of 2 us, and of 6 us and 120 ns.
    assert time(overlap="tp-dp")(design(of)).tolist() == pytest.approx([1.66e-6 + 6.12e-6])


def test_figures_that_bandwidths_do_not_change() -> None:
    of = time()
    found = of.traffic(SIZES, np.zeros_like(SIZES))
    # NPUs, strides, shares, ns of a link and of a leaf switch, and shares of bytes, of tp and dp.
    assert found[0, :, :, 0].tolist() == [[4.0, 1.0], [1.0, 2.0]]
    assert found[1, :, :, 0].tolist() == [[1.0, 4.0], [1.0, 1.0]]
    assert found[2:, 0, 0, 0].tolist() == [1.0, 10.0, 10.0, 1.0]
    assert of.channel_times(design(of), found).keys() == of.channel_times(design(of)).keys()


def test_seconds_of_one_collective_and_of_a_message() -> None:
    of = time()
    placed = Placement(np.array([[4], [1]]), np.ones((2, 1), dtype=np.int64))
    # Bytes are whole: 400.4 are 400.
    assert of.seconds(AR, 400.4, placed, design(of)).tolist() == pytest.approx([660e-9])
    assert of.seconds(NextStage(), 100.0, placed, design(of)).tolist() == pytest.approx([110e-9])


def test_circuits_are_set_where_groups_of_several_kinds_share_a_dimension() -> None:
    # tp 2 and dp 4 both need circuits of the first dimension: 1 us for each operation there.
    set_ = {"ocs_setting": 1e-6}
    shared = time(degrees={"tp": 2, "dp": 4}, **set_)
    plain = time(degrees={"tp": 2, "dp": 4})
    optical = design(shared, "ocs-rail", "ring")
    assert (shared(optical) - plain(optical)).tolist() == pytest.approx([2e-6])
    # Alone in its dimension, a group has its circuits; rings of links need none.
    alone = time(**set_)
    assert alone(design(alone, "ocs-rail", "ring")).tolist() == pytest.approx([7.78e-6])
    assert (shared(design(shared)) - plain(design(plain))).tolist() == [0.0]


def test_libras_time_is_below_where_it_is_a_bound() -> None:
    bounded = time(overheads=Overheads(2.0, np.inf))
    assert bounded.lower_bound is bounded.libra
    assert time().lower_bound is None
    # tp 800 B x 3/4, dp 200 B x 1/2 at 1 B/ns.
    assert bounded.libra(design(bounded)).tolist() == pytest.approx([7e-6 + 600e-9 + 100e-9])
    assert not bounded.exact
    assert replace(bounded, collectives=time().collectives).lower_bound is None
