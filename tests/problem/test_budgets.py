"""Useful budgets of 4 NPUs by hand, and the traffic of a space that is looked up."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evo_libra.collective import Collective
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.catalog.technologies import Catalog, Technology, part_prices
from evo_libra.problem.allocate import TrafficTable, allocate, program_for, useful_budgets, variants
from evo_libra.problem.constraint_parser import parse_constraint
from evo_libra.problem.pricing.per_bandwidth import PerBandwidth
from evo_libra.problem.pricing.pricing import DimensionChoice, choice_tables
from evo_libra.problem.space import Structures
from evo_libra.problem.time_models.libra import LibraTime
from evo_libra.problem.time_models.loops import weighted_loop
from evo_libra.workload.layers.workload import Layer, Phase, Workload

RING, SWITCH = BLOCK_NAMES.index("ring"), BLOCK_NAMES.index("switch")
CATALOG = Catalog("by-hand", "by hand", (
    Technology("node", 2.0, None, None, None, None, ("ring",)),
    Technology("pod", 3.0, 10.0, 7.0, None, None, ("ring", "switch")),
))  # fmt: skip
SPACE = Structures(np.array([[4, 2, 4], [1, 2, 1]]), np.array([[0, 0, 1], [0, 1, 0]]))


def pricing() -> PerBandwidth:
    """Return 4 NPUs as node 4, node 2 x pod 2, pod 4; 1 to 5 and 2 to 6 B/s at 2, and at 3 or 20 USD per NPU."""
    choice = DimensionChoice(((RING,), (RING, SWITCH)), np.array([1.0, 2.0]), np.array([5.0, 6.0]))
    return PerBandwidth(SPACE, 4, *choice_tables((choice, choice)), part_prices(CATALOG))


def traffic() -> TrafficTable:
    """Return an all-reduce of 8 B among all NPUs after 3 s: 16 B of its pattern."""
    layer = Layer("a", Phase(3.0, Collective.ALL_REDUCE, 8.0, "tp"), Phase(0.0), Phase(0.0))
    loop = weighted_loop(Workload("w", (layer,)), {"tp": 4, "dp": 1}, 1.0, "none", 4)
    return TrafficTable(SPACE, LibraTime((loop,)))


def test_budgets_that_make_a_difference() -> None:
    # At least 4 NPUs with 1 B/s at 2 USD. At most: node 4 at 5 B/s 40 USD; node 2 x pod 2, whose 1/4 byte outside needs
    # 2.5 B/s for the time of 1/2 at 5 B/s, 40 + 2.5 x 80 USD; pod 4 at 6 B/s and 20 USD 480.
    assert useful_budgets(pricing(), traffic(), 4, ()) == pytest.approx((8.0, 480.0))


def test_budgets_of_a_space_without_a_table() -> None:
    # 4 NPUs with 1 B/s at 2 USD, and both dimensions with 6 B/s at 20 USD; four decades where there is no least.
    unknown: Any = SimpleNamespace(space=SimpleNamespace(table=None))
    assert useful_budgets(pricing(), unknown, 4, ()) == pytest.approx((8.0, 960.0))
    assert useful_budgets(replace(pricing(), low=np.zeros((2, 2))), unknown, 4, ()) == pytest.approx((0.096, 960.0))


def test_traffic_of_structures_is_looked_up() -> None:
    of, designs = traffic(), pricing().topologies(np.array([1, 0]), np.zeros((2, 2), np.int64))
    assert of.of(designs).tolist() == [[[0.5, 0.75], [0.25, 0.0]]]
    assert of.listed is not None
    assert of.fits(designs).tolist() == [True, True]
    unknown = pricing().topologies_of(designs.npus, designs.technology, np.zeros((2, 2), np.int64))
    assert of.of(unknown).tolist() == of.of(designs).tolist()


def test_a_budget_is_spent_on_the_slowest_dimension() -> None:
    # Node 2 x pod 2 with rings at 8 and 12 USD: 1/2 and 1/4 byte. Both times are alike at b0 = 2 b1: 70 USD buy
    # 8 x 5 + 12 x 2.5, the cap of node; 56 USD buy 8 x 4 + 12 x 2.
    designs = pricing().topologies(np.array([1, 1]), np.zeros((2, 2), np.int64))
    found = allocate(traffic(), (), designs, np.array([70.0, 56.0]))
    assert found.T.tolist() == [pytest.approx([5.0, 2.5], rel=1e-6), pytest.approx([4.0, 2.0], rel=1e-6)]
    # Less than 8 x 1 + 12 x 2 USD buys the cheapest.
    assert allocate(traffic(), (), designs, np.array([1.0, 1.0])).T.tolist() == [[1.0, 2.0]] * 2


def test_rows_of_a_program() -> None:
    (limit,) = parse_constraint("bw[0] == 0.000003 MB/s", 2, ("node", "pod"))
    designs = pricing().topologies(np.array([1]), np.zeros((2, 1), np.int64))
    found = program_for(traffic(), (limit,), designs, np.array([50.0]))
    assert found.rows[:, :, 0].tolist() == [[1.0, 0.0], [8.0, 12.0]]
    assert found.limit[:, 0].tolist() == [3.0, 50.0]
    assert found.equality.tolist() == [True, False]
    assert program_for(traffic(), (), designs, None).rows.shape == (0, 2, 1)


def test_expensive_blocks_are_of_use_where_cost_or_the_bisection_is_asked_for() -> None:
    def genes(*texts: str) -> list[list[int]]:
        limits = [one for text in texts for one in parse_constraint(text, 2, ("node", "pod"))]
        column, gene = variants(pricing(), limits, np.array([[2], [2]]), np.array([[0], [1]]))
        assert set(column.tolist()) == {0}
        return sorted(gene.T.tolist())

    assert genes() == [[0, 0]]
    assert genes("cost <= 9 USD") == [[0, 0]]
    assert genes("cost >= 9 USD") == [[0, 0], [0, 1]]
    assert genes("bisection >= 1 MB/s") == [[0, 0], [0, 1]]
