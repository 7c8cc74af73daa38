"""Ports, prices and watts of one switch and one ring by hand: ports of 2 B/s, a link of 3 USD and 1 W."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evo_libra.network.blocks import Kit, Part, Range
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.problem.pricing.hardware import Hardware, buildable, hardware_of
from evo_libra.problem.pricing.parts import within_ports


def part(kind: str, price: float, power: float, ports: int | None = None) -> Part:
    return Part(f"some {kind}", kind, Range(price, price, price), power, ports, 0.0, "by hand", 2026)


def kit(block: str, *, ports: int = 4, technology: str = "some", energy: float = 0.0) -> Kit:
    return Kit(
        technology, BLOCK_NAMES.index(block), 0, 2.0, ports, None, 0.0, energy, links=part("link", 3.0, 1.0),
        uplink=part("link", 3.0, 1.0), transceiver=None, nic=part("nic", 10.0, 5.0, 2),
        switch=part("switch", 100.0, 50.0, 4),
    )  # fmt: skip


def of(kits: list[Kit], *npus: int) -> Hardware:
    """Return the hardware of one network, whose dimensions are built of one kit each."""
    return hardware_of(kits, np.array(npus)[:, None], np.arange(len(npus))[:, None])


def test_ports_of_a_switch() -> None:
    # 4 NPUs on a switch of 4 ports for each of 1 to 4 ports of an NPU.
    found = of([kit("switch")], 4)
    assert [found.rate.item(), found.quantum.item(), found.min_ports.item(), found.max_ports.item()] == [2, 1, 1, 4]
    assert [found.low.item(), found.high.item()] == [2.0, 8.0]
    ports = found.ports(np.array([[4.9]]))
    assert [ports.item(), found.ports(np.array([[5.1]])).item()] == [2, 3]
    assert [found.ports(np.array([[5.9]]), np.floor).item(), found.ports(np.array([[4.1]]), np.ceil).item()] == [2, 3]
    assert [found.ports(np.array([[0.1]])).item(), found.ports(np.array([[99.0]])).item()] == [1, 4]
    # Rounding is no port: 6 B/s are 3 ports, whatever the last digit.
    assert found.ports(np.array([[6.0 * (1 - 1e-12)]]), np.floor).item() == 3
    assert found.ports(np.array([[6.0 * (1 + 1e-12)]]), np.ceil).item() == 3


def test_whole_parts() -> None:
    # 3 ports: 12 links, 2 NICs of two ports for each of 4 NPUs, 3 switches: 36 + 80 + 300 USD, 12 + 40 + 150 W.
    found = of([kit("switch")], 4)
    usd, watts = found.totals(np.array([[3.0]]))
    assert [usd.item(), watts.item()] == [416.0, 202.0]
    assert found.totals(np.array([[3.0]]), power=False)[1].item() == 0.0
    # Of parts in any fraction, a port is 4 x 3 + 4 / 2 x 10 + 100 USD and 4 + 10 + 50 W, for 2 B/s.
    assert [found.relaxed_price.item(), found.relaxed_watts.item()] == [66.0, 32.0]


def test_energy_is_power_of_links() -> None:
    # 0.5 J a bit at 8 bits of 2 B/s, both ways: 16 W more for each of 4 links.
    assert of([kit("switch", energy=0.5)], 4).totals(np.array([[1.0]]))[1].item() == 4 * 17 + 4 * 5 + 50


def test_ports_of_a_ring_come_in_pairs() -> None:
    found = of([kit("ring", ports=5)], 4)
    assert [found.quantum.item(), found.max_ports.item(), found.whole.item()] == [2, 4, 4.0]
    assert found.ports(np.array([[5.9]])).item() == 2
    assert found.ports(np.array([[6.1]])).item() == 4
    # 4 links for every two ports; 1 NIC of two ports at each NPU.
    assert found.totals(np.array([[2.0]]))[0].item() == 4 * 3 + 4 * 10


def test_unused_dimensions_have_nothing() -> None:
    found = of([kit("switch"), kit("switch", technology="other")], 4, 1)
    assert found.rate.tolist() == [[2.0], [0.0]]
    assert found.whole.tolist() == [[2.0], [1.0]]
    assert found.ports(np.array([[4.0], [0.0]])).tolist() == [[2.0], [0.0]]
    assert found.totals(np.array([[3.0], [0.0]]))[0].item() == 416.0


def test_limits_of_a_problem() -> None:
    found = of([kit("switch")], 4).within(np.array([[3.0]]), np.array([[7.0]]))
    assert [found.min_ports.item(), found.max_ports.item()] == [2, 3]
    # At least the fewest that can be built.
    few = of([kit("switch")], 4).within(np.array([[0.0]]), np.array([[1.0]]))
    assert [few.min_ports.item(), few.max_ports.item()] == [1, 1]
    assert of([kit("switch")], 4).within(np.array([[4.0 * (1 + 1e-12)]]), np.array([[6.0]])).min_ports.item() == 2


def test_dimensions_of_a_technology_share_its_ports() -> None:
    # Two dimensions of 4 NPUs and one technology with 4 ports of 2 B/s: each B/s takes an eighth of them.
    found = of([kit("switch"), kit("switch")], 4, 4)
    assert found.shared.tolist() == [[[0.125], [0.125]]]
    assert found.excess(np.array([[6.0], [4.0]])).tolist() == [pytest.approx(0.25)]
    assert found.excess(np.array([[4.0], [4.0]])).tolist() == [0.0]
    assert not of([kit("switch"), kit("switch", technology="other")], 4, 4).shared.size
    # What is beyond a port each is scaled alike: 2 + 4 part + 2 + 2 part = 8 with a part of 2/3.
    moved = within_ports(found, np.array([[6.0], [4.0]]))
    assert moved[:, 0].tolist() == pytest.approx([2 + 4 * 2 / 3, 2 + 2 * 2 / 3])
    assert within_ports(found, np.array([[1.0], [4.0]])).tolist() == [[2.0], [4.0]]


def test_networks_that_have_too_few_ports_cannot_be_built() -> None:
    # Each ring takes two ports: one of 3 ports in two dimensions is too few.
    rings = [kit("ring", ports=3), kit("ring", ports=3)]
    which = np.array([[0], [1]])
    assert buildable(rings, np.array([[4], [4]]), which).tolist() == [False]
    assert buildable([kit("ring", ports=4)] * 2, np.array([[4], [4]]), which).tolist() == [True]
    assert buildable(rings, np.array([[4], [1]]), which).tolist() == [True]


def test_spares_take_their_part_of_all_prices() -> None:
    found = of([kit("switch")], 4).times(np.array([1.5]))
    usd, watts = found.totals(np.array([[3.0]]))
    assert [usd.item(), watts.item()] == [624.0, 303.0]
    assert found.relaxed_price.item() == 99.0
    assert replace(found, rate=found.rate).low.item() == 2.0
