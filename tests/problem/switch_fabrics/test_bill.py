from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.network.fabrics.named import parse_named
from evo_libra.network.fabrics.parts import Limits, parts_of
from evo_libra.network.fabrics.population import fabrics_of
from evo_libra.problem.switch_fabrics.bill import FabricPrices, cost_of, excess, fabric_parts
from evo_libra.problem.switch_fabrics.genes import decoded, genome
from evo_libra.problem.switch_fabrics.seeds import named_fabrics


def test_cost_of_zcube_by_hand() -> None:
    """ZCube(16, 2): 32 switches of 6.4 Tb/s, sold with 8, 256 NICs, 256 copper cables and 512 fibres of 200 Gb/s.

    Port 0 of a server goes to switches of eight NPUs each: a layer has one end within a server's reach.
    """
    fabrics = fabrics_of([parse_named("zcube(16, 2)")])
    parts = fabric_parts(fabrics)
    assert (parts.switches[:, 0].tolist(), parts.ports[:, 0].tolist()) == ([16, 16, 0], [2, 32, 32, 0])
    assert (parts.copper_cables[0], parts.fibre_cables[0]) == (256, 512)
    switches, nics = 32 * 8 * 1750, 256 * 1499
    cables = 256 * 250 + 512 * (100 + 2 * 200 * 1.5)
    assert cost_of(parts, fabrics, FabricPrices())[0] == pytest.approx(switches + nics + cables)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**9), st.integers(4, 14))
def test_parts_of_many_are_those_of_each(seed: int, npus: int) -> None:
    fabrics = decoded(genome(npus).sample(np.random.default_rng(seed), 8), npus, 3)
    found = fabric_parts(fabrics)
    for design in np.flatnonzero(fabrics.joined.any(axis=0)).tolist():
        parts = parts_of(fabrics.fabric(design))
        used = found.switches[:, design] > 0
        assert found.switches[used, design].tolist() == [one.count for one in parts.switches]
        assert found.ports[1:][used, design].tolist() == [one.ports for one in parts.switches]
        assert found.throughput[1:][used, design] == pytest.approx([one.throughput for one in parts.switches])
        assert (found.copper_cables[design], found.fibre_cables[design]) == (parts.copper_cables, parts.fibre_cables)
        assert (found.ports[0, design], found.throughput[0, design]) == (parts.nic_ports, parts.npu_throughput)


def test_excess_is_relative() -> None:
    """Switches of ZCube(16, 2) have 32 ports of 200 Gb/s, 0.8e12 B/s: twice what is allowed here, in two layers."""
    parts = fabric_parts(fabrics_of([parse_named("zcube(16, 2)")]))
    assert excess(parts, Limits(switch_throughput=0.4e12))[0] == pytest.approx(2.0)
    assert excess(parts, Limits(switch_throughput=0.8e12, nic_ports=1))[0] == pytest.approx(1.0)
    assert excess(parts, Limits(switch_throughput=0.8e12))[0] == 0.0


def test_published_parts() -> None:
    """Table 7 of ATOP: switches and cables at 16,384 NPUs."""
    named = named_fabrics(16384, 8)
    names = ("zcube(128, 2)", "hpn(16384, 256)", "rail-only(16384, 128)", "roft(16384, 128)", "bcube(128, 2)")
    parts = fabric_parts(fabrics_of([named[name] for name in names]))
    assert parts.switches.sum(axis=0).tolist() == [256, 384, 384, 640, 256]
    assert parts.copper_cables.tolist() == [16384, 0, 0, 0, 16384]
    assert parts.fibre_cables.tolist() == [32768, 49152, 32768, 49152, 16384]
