"""Prices per bandwidth of 4 NPUs by hand: LIBRA's cost model, C = N sum of u_i b_i (ISPASS 2024)."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.arrays import Population, no_plans
from evo_libra.errors import ConflictError
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.network.catalog.technologies import (
    PARTS,
    Catalog,
    Technology,
    again,
    cost_by_part,
    network_cost,
    part_prices,
)
from evo_libra.problem.constraint_parser import parse_constraint
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.pricing.per_bandwidth import PerBandwidth
from evo_libra.problem.pricing.pricing import DimensionChoice, choice_tables
from evo_libra.problem.space import Structures

RING, SWITCH = BLOCK_NAMES.index("ring"), BLOCK_NAMES.index("switch")

NODE = Technology("node", 2.0, None, None, None, None, ("ring",))
POD = Technology("pod", 3.0, 10.0, 7.0, None, None, ("ring", "switch"))
CATALOG = Catalog("by-hand", "by hand", (NODE, POD))


def pricing() -> PerBandwidth:
    """Return 4 NPUs in one or two dimensions: of node from 1 to 5, of pod from 2 to 6 B/s."""
    choice = DimensionChoice(((RING,), (RING, SWITCH)), np.array([1.0, 2.0]), np.array([5.0, 6.0]))
    space = Structures(np.array([[4, 2, 4], [1, 2, 1]]), np.array([[0, 0, 1], [0, 1, 0]]))
    return PerBandwidth(space, 4, *choice_tables((choice, choice)), part_prices(CATALOG))


def test_an_npu_pays_once_for_each_part_of_a_block() -> None:
    # A ring has links; a switch links, the switch and NICs: 3 + 10 + 7 USD per B/s.
    prices = part_prices(CATALOG)
    assert prices.shape == (len(PARTS), len(BLOCKS), 2)
    assert prices.sum(axis=0)[[RING, SWITCH]].tolist() == [[2.0, 3.0], [0.0, 20.0]]
    one = Population(np.array([[2], [2]]), np.array([[RING], [SWITCH]]), np.array([[0], [1]]), np.array([[5.0], [2.0]]),
                     None, no_plans(1))  # fmt: skip
    by_part = dict(zip(PARTS, cost_by_part(one, prices)[:, :, 0].tolist(), strict=True))
    assert by_part == {"link": [40.0, 24.0], "switch": [0.0, 80.0], "nic": [0.0, 56.0]}
    assert network_cost(4, np.array([[2.0], [20.0]]), one.bandwidth).tolist() == [200.0]


@pytest.mark.parametrize("structures", ["table", "given"])
def test_topologies_have_prices_and_boxes(structures: str) -> None:
    of, structure, gene = pricing(), np.array([0, 1, 1]), np.array([[0, 0, 0], [0, 0, 1]])
    if structures == "table":
        found = of.topologies(structure, gene)
    else:
        found = of.topologies_of(*of.space.look_up(structure), gene)
    assert found.npus.tolist() == [[4, 2, 2], [1, 2, 2]]
    # 4 NPUs at 2, 3 and 20 USD; nothing in the unused dimension.
    assert found.price.tolist() == [[8.0, 8.0, 8.0], [0.0, 12.0, 80.0]]
    assert found.block[1, 1:].tolist() == [RING, SWITCH]
    assert found.low.tolist() == [[1.0, 1.0, 1.0], [0.0, 2.0, 2.0]]
    assert found.high.tolist() == [[5.0, 5.0, 5.0], [0.0, 6.0, 6.0]]
    usd, watts = found.totals(np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 2.0]]), power=True)
    assert (usd.tolist(), watts.tolist()) == ([8.0, 32.0, 168.0], [0.0, 0.0, 0.0])


def test_cheapest_and_most_expensive() -> None:
    of = pricing()
    assert of.cheapest(np.array([[0], [1]])).tolist() == [[0], [0]]
    assert of.min_price.tolist() == [[2.0, 3.0], [2.0, 3.0]]
    assert of.lowest_price == 2.0
    # Both dimensions at 6 B/s and 20 USD for 4 NPUs.
    assert of.max_cost() == 2 * 6 * 20 * 4
    assert of.max_prices(of.topologies(np.array([1]), np.array([[0], [0]]))).tolist() == [[8.0], [80.0]]
    assert not of.whole


def test_how_far_bandwidths_are_outside() -> None:
    def outside(*bandwidth: float) -> float:
        one = Population(np.array([[2], [2]]), np.zeros((2, 1), np.int64), np.array([[0], [1]]),
                         np.array(bandwidth)[:, None], None, no_plans(1))  # fmt: skip
        return float(pricing().outside(one).item())

    assert outside(5.0, 2.0) == 0.0
    assert outside(6.0, 2.0) == pytest.approx(0.2)
    assert outside(0.5, 1.0) == pytest.approx(0.5 + 0.5)
    assert outside(0.0, 2.0) == 1.0


def limits(*texts: str) -> list[Constraint]:
    return [one for text in texts for one in parse_constraint(text, 2, ("node", "pod"))]


@pytest.mark.parametrize(("texts", "left"), [
    (["bw[0] >= 0.000005 MB/s"], [0, 1, 2]),  # 5 B/s
    (["bw[0] >= 0.0000055 MB/s"], [2]),
    (["bw[1] >= 0.000001 MB/s"], [1]),
    (["sum(bw) <= 0.000002 MB/s"], [0, 2]),
    # 4 NPUs at 2 USD and 1 B/s cost 8 USD, at 3 USD and 2 B/s 24 USD.
    (["cost <= 8 USD"], [0]), (["cost <= 24 USD"], [0, 2]), (["cost <= 32 USD"], [0, 1, 2]),
    (["cost <= 32 USD", "bw[0] >= 0.000002 MB/s"], [0, 2]),
    (["cost == 33 USD"], [0, 1, 2]),
])  # fmt: skip
def test_structures_that_some_bandwidths_serve(texts: list[str], left: list[int]) -> None:
    of = pricing()
    assert isinstance(of.space, Structures)
    found = of.feasible(of.space, limits(*texts))
    assert found.npus.T.tolist() == of.space.npus.T[left].tolist()


def test_constraints_that_conflict_are_named() -> None:
    of = pricing()
    assert isinstance(of.space, Structures)
    with pytest.raises(ConflictError, match=r"can meet 'cost <= 4 USD'$"):
        of.feasible(of.space, limits("cost <= 4 USD"))
    with pytest.raises(ConflictError, match=r"'bw\[0\] >= 0.00001 MB/s'$"):
        of.feasible(of.space, limits("cost <= 40 USD", "bw[0] >= 0.00001 MB/s"))


def test_a_domain_that_is_sold_as_one_is_one_dimension() -> None:
    none = np.zeros((2, 1), np.int64)
    one = Population(np.array([[2], [2]]), none, none, np.ones((2, 1)), None, no_plans(1))
    assert not again(CATALOG, one).any()
