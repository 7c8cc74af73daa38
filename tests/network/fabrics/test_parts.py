"""Parts by hand, and limits that are broken."""

from __future__ import annotations

import pytest

from evo_libra.errors import InputError
from evo_libra.network.fabrics.named import parse_named
from evo_libra.network.fabrics.parts import Limits, check_limits, parts_of


def test_cables_of_a_dragonfly() -> None:
    """1,056 NPUs, 33 groups of 8 switches: 33 * 28 cables inside groups, 33 * 32 / 2 between groups, all of 50 m."""
    found = parts_of(parse_named("dragonfly(4)"))
    assert [(one.count, one.length) for one in found.cables] == [(1056, 15.0), (33 * 28 + 33 * 16, 50.0)]
    assert [(one.count, one.ports) for one in found.switches] == [(264, 4 + 7 + 4)]
    assert (found.copper_cables, found.fibre_cables, found.modules) == (0, 2508, 5016)


def test_cables_of_zcube() -> None:
    """Servers of eight are on one switch of 16 NPUs in layer 1 (copper), and on eight switches of layer 2."""
    found = parts_of(parse_named("zcube(16, 2)"))
    assert [(one.count, one.length) for one in found.cables] == [(256, 3.0), (256, 15.0), (256, 30.0)]
    assert [(one.ports, one.throughput) for one in found.switches] == [(32, 32 * 25e9)] * 2
    assert (found.nic_ports, found.npu_throughput, found.switch_count) == (2, 50e9, 32)


def test_cables_of_layers_that_are_no_neighbours_are_longer() -> None:
    """ZCube(4, 3) joins neighbouring layers, and of the partial one layer 2 is joined to the core."""
    assert [one.length for one in parts_of(parse_named("zcube-partial(16)")).cables] == [3.0, 15.0, 30.0, 30.0]


def test_parallel_links_are_cables_and_ports() -> None:
    """Of rail-only(4096, 64), 16 leaves of a rail have 4 links to each of 8 spines."""
    found = parts_of(parse_named("rail-only(4096, 64)"))
    assert [one.count for one in found.cables] == [4096, 4096]
    assert [(one.count, one.ports) for one in found.switches] == [(128, 64), (64, 64)]


def test_limits() -> None:
    """A switch of ZCube(128, 2) has 256 ports of 200 Gb/s."""
    fabric = parse_named("zcube(128, 2)")
    check_limits(fabric, Limits(switch_throughput=6.4e12))
    with pytest.raises(InputError) as error:
        check_limits(fabric, Limits(switch_throughput=3.2e12, nic_ports=1, npu_throughput=25e9))
    assert str(error.value).split("\n") == [
        "a switch of layer 1: its 256 ports carry 51.2 Tb/s; allowed: 25.6 Tb/s at most",
        "a switch of layer 2: its 256 ports carry 51.2 Tb/s; allowed: 25.6 Tb/s at most",
        "an NPU has 2 NIC ports; allowed: 1 at most",
        "the NIC ports of an NPU carry 0.4 Tb/s; allowed: 0.2 Tb/s at most",
    ]
