"""Whole ports under limits, and bills of a design, by hand: switches of 4 ports, ports of 2 B/s."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evo_libra.arrays import Population, no_plans
from evo_libra.errors import ConflictError
from evo_libra.network.blocks import Kit, Part, Range
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.catalog.failures import HOUR, YEAR
from evo_libra.problem.constraint_parser import parse_constraint
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.faults import Faults
from evo_libra.problem.network_faults import NetworkFaults, summed
from evo_libra.problem.pricing.parts import BillOfMaterials, whole_ports
from evo_libra.problem.pricing.pricing import DimensionChoice, choice_tables
from evo_libra.problem.space import Structures

SWITCH = BLOCK_NAMES.index("switch")


def part(kind: str, price: float, power: float, ports: int | None = None) -> Part:
    return Part(f"some {kind}", kind, Range(price, price, price), power, ports, 0.0, "by hand", 2026)


KIT = Kit(
    "some", SWITCH, 0, 2.0, 4, None, 0.0, 0.0, links=part("link", 3.0, 1.0), uplink=part("link", 3.0, 1.0),
    transceiver=None, nic=part("nic", 10.0, 5.0, 2), switch=part("switch", 100.0, 50.0, 4),
)  # fmt: skip
OTHER = Kit(
    "other", SWITCH, 1, 4.0, 4, None, 0.0, 0.0, links=part("link", 3.0, 1.0), uplink=None, transceiver=None, nic=None,
    switch=part("switch", 100.0, 50.0, 4),
)  # fmt: skip


def pricing(*, fractional: bool = False) -> BillOfMaterials:
    """Return 4 NPUs as 4, or as 2 x 2 of both kits."""
    choice = DimensionChoice(((SWITCH,), (SWITCH,)), np.array([2.0, 4.0]), np.array([8.0, 16.0]))
    space = Structures(np.array([[4, 2], [1, 2]]), np.array([[0, 0], [0, 1]]))
    return BillOfMaterials(space, 4, *choice_tables((choice, choice)), (KIT, OTHER), fractional)


def design(first: float, second: float = 0.0) -> Population:
    npus = np.array([[4], [1]]) if not second else np.array([[2], [2]])
    technology = np.array([[0], [1 if second else 0]])
    return Population(npus, np.full((2, 1), SWITCH), technology, np.array([[first], [second]]), None, no_plans(1))


def limit(text: str) -> Constraint:
    (found,) = parse_constraint(text, 2, ("some", "other"))
    return found


def test_a_bill_of_one_design() -> None:
    # 3 ports of 4 NPUs: 12 links, 8 NICs, 3 switches.
    rows = {row["item"]: row for row in pricing().bill(design(6.0))}
    assert {item: (row["pieces"], row["cost_usd"], row["power_W"]) for item, row in rows.items()} == {
        "link": (12, 36.0, 12.0), "nic": (8, 80.0, 40.0), "switch": (3, 300.0, 150.0),
    }  # fmt: skip
    (dimension,) = pricing().breakdown(design(6.0))
    assert dimension == {"ports": 3, "cost_usd": 416.0, "power_W": 202.0}
    # In any fraction a port is 132 USD and 64 W for 2 B/s.
    (part_,) = pricing(fractional=True).breakdown(design(5.0))
    assert part_ == {"ports": 2.5, "cost_usd": 330.0, "power_W": 160.0}
    assert pricing(fractional=True).bill(design(5.0)) == []


def test_pieces_of_parts() -> None:
    of, one = pricing(), design(6.0, 8.0)
    # 2 x 2 NPUs: 3 ports of the inner pairs on switches of 4 ports, two planes each: 2 x (6 links, 4 NICs, 2 switches);
    # 2 ports of the outer ones: 2 x (4 links, 1 switch).
    found = of.pieces(of.built(one), one.bandwidth, ["some link", "some nic", "some switch", "none"])
    assert found[:, 0].tolist() == [20.0, 8.0, 6.0, 0.0]
    assert of.ports_of(of.built(one), one.bandwidth)[:, 0].tolist() == [3.0, 2.0]


def test_bandwidths_that_are_no_ports() -> None:
    nearest, wrong = pricing().misfits(design(5.5))
    assert (nearest[:, 0].tolist(), wrong[:, 0].tolist()) == ([6.0, 0.0], [True, False])
    assert not pricing().misfits(design(6.0))[1].any()
    assert not pricing(fractional=True).misfits(design(5.5))[1].any()


@pytest.mark.parametrize(("text", "start", "expected"), [
    ("bw[0] <= 0.000005 MB/s", 5.5, 4.0),  # 6 B/s break it, fewer ports do not
    ("bw[0] >= 0.000005 MB/s", 4.5, 6.0),  # 4 B/s break it, more ports do not
    ("bw[0] <= 0.000007 MB/s", 5.5, 6.0),
    ("cost <= 300 USD", 5.5, 4.0),  # 2 ports: 24 + 40 + 200 USD
    ("bw[0] == 0.000005 MB/s", 5.5, 6.0),  # both break it alike: the nearest stays
])  # fmt: skip
def test_fewer_or_more_ports_where_that_breaks_less(text: str, start: float, expected: float) -> None:
    topologies: Any = pricing().built(design(start))
    one = limit(text)
    found = whole_ports(topologies.hardware, np.array([[start], [0.0]]), [(one, row) for row in one.rows(topologies)])
    assert found[:, 0].tolist() == [expected, 0.0]


def test_equal_bandwidths_are_whole_ports_everywhere() -> None:
    both = pricing().built(design(6.0, 8.0))
    assert both.equal_bandwidths(2.0, 8.0, largest=True).tolist() == [4.0, 8.0]
    assert both.equal_bandwidths(4.1, 7.9, largest=True).tolist() == []
    assert pricing().built(design(6.0)).equal_bandwidths(3.0, 8.0, largest=True).tolist() == [4.0, 6.0, 8.0]
    assert pricing(fractional=True).built(design(6.0)).equal_bandwidths(3.0, 7.0, largest=True).tolist() == [7.0]
    assert pricing(fractional=True).built(design(6.0)).equal_bandwidths(3.0, 7.0, largest=False).tolist() == [3.0]


def test_structures_that_parts_can_serve() -> None:
    of = pricing()
    assert isinstance(of.space, Structures)
    # A port of 4 NPUs is 132 USD in fractions. 2 x 2: 2 x (2 x 3 + 2 / 2 x 10 + 100 / 2) and 2 x (2 x 3 + 100 / 2).
    assert of.feasible(of.space, [limit("cost <= 132 USD")]).npus.T.tolist() == [[4, 1]]
    assert of.feasible(of.space, [limit("cost <= 244 USD")]).npus.T.tolist() == [[4, 1], [2, 2]]
    # 10 B/s outside, which has 4 to 16; inside there are 8 at most.
    assert of.feasible(of.space, [limit("bw[1] == 0.00001 MB/s")]).npus.T.tolist() == [[2, 2]]
    assert of.feasible(of.space, [limit("bw[0] == 0.000005 MB/s")]).npus.T.tolist() == [[4, 1], [2, 2]]
    with pytest.raises(ConflictError):
        of.feasible(of.space, [limit("bw[0] == 0.000009 MB/s")])
    assert of.min_price[0].tolist() == pytest.approx([min(132, 2 * 66) / 2 / 4, 112 / 4 / 4])


def test_the_useful_share_of_a_network() -> None:
    # Each piece fails once in 1e6 s for 10 s: 12 links and 8 NICs are units that spares take the place of, 3 switches
    # stop the job and are waited for; 4 NPUs fail alike.
    kinds = ("link", "nic", "switch", "npu", "host", "software")
    faults = Faults(
        per_year=dict.fromkeys(kinds, 1e-6 * YEAR), repair_h=dict.fromkeys(kinds, 10 / HOUR), checkpoint_s=20.0,
        interval_s=1000.0, restart_s=300.0, host_npus=4, spares=(0, 4),
    )  # fmt: skip
    network = NetworkFaults(pricing(), faults)
    one = design(6.0)
    found = summed(network.by_item(pricing().built(one), one.bandwidth)).sum(axis=1)[:, 0]
    assert found.tolist() == pytest.approx([23e-6, 20e-5, 3e-5])
    # With 4 NPUs, a host and 4 pieces of software: 32 stops in 1e6 s, 29 units for 10 s. Work 0.032 / (e^0.03264 - 1).
    share = float(network.useful(pricing().built(one), one.bandwidth, None).item())
    assert share == pytest.approx(np.exp(-32e-6 * 300 - 29e-5 - 3e-5) * 0.032 / np.expm1(0.03264))
    # A spare unit of a host of 4 NPUs: the job goes on while up to one is in repair.
    spared = float(network.useful(pricing().built(one), one.bandwidth, np.array([4])).item())
    enough = np.exp(-29e-5) * (1 + 29e-5)
    assert spared == pytest.approx(np.exp(-32e-6 * 300 - 3e-5) * enough * 0.032 / np.expm1(0.03264))
    table = network.useful(pricing().topologies(np.array([0]), np.zeros((2, 1), np.int64)), one.bandwidth, None)
    assert table.tolist() == pytest.approx([share])
