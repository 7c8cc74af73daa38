"""Failures of small networks, piece by piece: each kind of part fails once in a thousand seconds for ten seconds."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.arrays import FloatArray
from evo_libra.network.blocks import ITEMS, Kit, Part, Range
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.catalog.failures import HOUR, YEAR, Failures
from evo_libra.network.faults import FIGURES, fault_figures, sparing

RATE, REPAIR = 1e-3, 10.0
KINDS = ("link", "transceiver", "nic", "switch", "ocs")
FAILING = Failures(dict.fromkeys(KINDS, RATE * YEAR), dict.fromkeys(KINDS, REPAIR / HOUR))


def part(kind: str, ports: int | None = None) -> Part:
    return Part(f"some {kind}", kind, Range(1.0, 1.0, 1.0), 1.0, ports, 0.0, "by hand", 2026)


def kit(block: str, radix: int = 4) -> Kit:
    """Return a kit of two ports, with a NIC for each, and transceivers."""
    return Kit(
        "some", BLOCK_NAMES.index(block), 0, 1e9, 2, None, 0.0, 0.0, links=part("link"), uplink=part("link"),
        transceiver=part("transceiver"), nic=part("nic", 1), switch=part("switch", radix),
    )  # fmt: skip


def figures(kits: list[Kit], npus: list[int], *, whole: bool = True, ports: int = 2) -> dict[str, FloatArray]:
    """Return (item, d) of each figure of one network, whose dimensions are built of one kit each."""
    sizes = np.array(npus)[:, None]
    found = fault_figures(
        kits, np.arange(len(npus))[:, None], sizes, np.full(sizes.shape, float(ports)), FAILING, whole=whole
    )
    return dict(zip(FIGURES, found[..., 0], strict=True))


def pieces(of: FloatArray, times: float, d: int = 0) -> dict[str, float]:
    """Return the pieces that a figure stands for, by item."""
    return {item: round(float(of[i, d]) / times, 9) for i, item in enumerate(ITEMS) if of[i, d]}


def test_a_switch_stops_the_job_and_waits_for_its_repair() -> None:
    # 4 NPUs on one switch for each of 2 ports: 8 links with a transceiver at each end, 8 NICs, 2 switches.
    found = figures([kit("switch")], [4])
    assert pieces(found["stops"], RATE) == {"link": 8, "transceiver": 16, "nic": 8, "switch": 2}
    # A spare NPU takes the place behind a link or a NIC, but not that of a whole switch.
    assert pieces(found["spared"], RATE * REPAIR) == {"link": 8, "transceiver": 16, "nic": 8}
    assert pieces(found["waits"], RATE * REPAIR) == {"switch": 2}
    assert pieces(found["slows"], 1.0) == {}


def test_a_ring_goes_on_without_a_link_and_has_no_place_for_spares() -> None:
    # 4 links, one for every two ports; both transceivers of each; 8 NICs, each of which cuts its NPU off.
    found = figures([kit("ring")], [4])
    assert pieces(found["stops"], RATE) == {"nic": 8}
    assert pieces(found["spared"], 1.0) == {}
    assert pieces(found["waits"], RATE * REPAIR) == {"nic": 8}
    # A link takes one of two ports: 4 links, each with half of the bandwidth gone, are 2.
    assert pieces(found["slows"], RATE * REPAIR) == {"link": 2, "transceiver": 4}


def test_two_tiers_share_what_switches_and_uplinks_carry() -> None:
    # 8 NPUs on switches of 4 ports: per port 4 leaves, 2 spines and 8 uplinks. 4 of 6 switches stop the job.
    found = figures([kit("switch")], [8])
    assert pieces(found["stops"], RATE) == {"link": 16, "transceiver": 16 * 2, "nic": 16, "switch": 8}
    # Transceivers: 2 of every 4 are at uplinks. An uplink has 4/8 of a port's network, a spine half of it: of 8 uplinks
    # 4, of 16 transceivers at these 8, of 2 spines 1.
    assert pieces(found["slows"], RATE * REPAIR) == {"uplink": 4, "transceiver": 8, "switch": 1}


def test_what_is_inside_the_outermost_dimension_has_spares_too() -> None:
    # Rings of 4 inside a switch of 2: a unit of 4 NPUs takes the place of a ring that a NIC has cut.
    found = figures([kit("ring"), kit("switch")], [4, 2])
    assert pieces(found["spared"], RATE * REPAIR) == {"nic": 16}
    assert pieces(found["spared"], RATE * REPAIR, d=1) == {"link": 16, "transceiver": 32, "nic": 16}
    # Four planes of the outer dimension hold two ports each: switches of 4 ports with 2 NPUs.
    assert pieces(found["waits"], RATE * REPAIR, d=1) == {"switch": 4}


def test_parts_in_any_fraction() -> None:
    # One port of an NPU on switches that hold two planes: half of a switch.
    assert pieces(figures([kit("switch")], [2], ports=1, whole=False)["stops"], RATE)["switch"] == 0.5
    assert pieces(figures([kit("switch")], [2], ports=1)["stops"], RATE)["switch"] == 1
    # Four ports: two switches, 8 links.
    found = pieces(figures([kit("switch")], [2], ports=4, whole=False)["stops"], RATE)
    assert (found["switch"], found["link"]) == (2, 8)


def test_units_of_spares() -> None:
    kits, npus = [kit("ring"), kit("switch")], np.array([[4, 4, 1], [2, 1, 8]])
    found = sparing(kits, np.array([[0, 0, 0], [1, 1, 1]]), npus, 1)
    # The unit is what is inside the outermost dimension; a ring has no place for it.
    assert found.level.tolist() == [1, -1, 1]
    assert found.unit.tolist() == [4, 1, 1]
    assert found.units(np.array([11, 11, 11])).tolist() == [2.0, 0.0, 11.0]
    assert sparing(kits, np.array([[0], [1]]), npus[:, 2:], 8).unit.tolist() == [8]  # a host at least


@pytest.mark.parametrize("block", ["fully-connected", "hypercube"])
def test_other_direct_links_take_a_port(block: str) -> None:
    # 2 ports of 2 NPUs: 2 links, of which each takes a port of two.
    assert pieces(figures([kit(block)], [2])["slows"], RATE * REPAIR)["link"] == 1
