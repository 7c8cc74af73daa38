"""Networks around a server, by hand: 8 H100 of 450 GB/s inside, with interfaces of 400 Gb/s."""

from __future__ import annotations

import pytest

from evo_libra.errors import InputError
from evo_libra.exchange.gpu_node import GpuNode
from evo_libra.exchange.node_fabric import fabric_of, npu_of

SERVER = GpuNode(8, {}, 18, 90, (50e9,) * 8)


def around(node: GpuNode = SERVER, *buses: tuple[str, int, float]) -> tuple[str, dict[str, float], tuple[str, ...]]:
    found = fabric_of(node, "node", "h100-80gb", [(*bus, "all_reduce") for bus in buses])
    return found.fabric["technologies"][1], dict(found.efficiency), found.assumed


def test_a_server_is_the_first_dimension() -> None:
    found = fabric_of(SERVER, "node", "h100-80gb", ())
    assert found.fabric["pin"] == [
        {"dimension": 0, "npus": 8, "block": "switch", "technology": "nvlink4", "bandwidth_GBps": 450.0}
    ]
    assert found.fabric["domains"] == {"nvlink4": [8]}
    assert found.fabric["blocks"] == ["switch", "fat-tree"]
    assert found.fabric["max_dimensions"] == 3


def test_accelerators_with_the_nvlink_of_a_server() -> None:
    assert npu_of(SERVER) == "h100-80gb"
    assert npu_of(GpuNode(8, {}, 12, 80, ())) == "a100-80gb"  # not that of 40 GB
    assert npu_of(GpuNode(8, {}, 12, None, ())) == "a100-80gb"  # as 12 links are those of an A100
    assert npu_of(GpuNode(8, {}, 6, None, ())) is None
    assert npu_of(GpuNode(8, {}, 18, 90, (), "0x2335")) == "h200-141gb"
    assert npu_of(GpuNode(4, {}, 18, 100, (), "0x2335")) == "b200"  # a device of another generation


def test_optics_have_the_rate_of_the_fastest_interface_or_the_next_one() -> None:
    assert around() == ("optics-400g", {}, ())
    assert around(GpuNode(8, {}, 18, 90, (*(50e9,) * 8, 3e9)))[0] == "optics-400g"
    slower, _, said = around(GpuNode(8, {}, 18, 90, (30e9,) * 8))
    assert (slower, said) == ("optics-400g", ("optics-400g for interfaces of 240 Gb/s",))
    assert around(GpuNode(8, {}, 18, 90, (25e9,) * 8))[0] == "optics-200g"
    shared, _, said = around(GpuNode(8, {}, 18, 90, (50e9,) * 2))
    assert (shared, said) == ("optics-100g", ("optics-100g for interfaces of 400 Gb/s, 2 for 8 GPUs, 12.5 GB/s each",))
    fastest, _, said = around(GpuNode(8, {}, 18, 90, (1e12,) * 8))
    assert said == (f"{fastest} for interfaces of 8000 Gb/s",)
    unknown, _, said = around(GpuNode(8, {}, 18, 90, ()))
    assert (unknown, len(said)) == ("optics-400g", 1)


def test_efficiencies_are_over_the_wires_of_a_bus() -> None:
    # Inside: 360 of 450 GB/s. Between servers, rings pass all 8 interfaces of 50 GB/s: 300 of 400 GB/s.
    assert around(SERVER, ("t", 8, 360e9))[1] == {"nvlink4": 0.8}
    _, between, said = around(SERVER, ("t", 16, 300e9))
    assert between == {"optics-400g": 0.75}
    assert said == ("t: NCCL's rings use each NIC of a server once",)


def test_a_bus_between_servers_has_no_more_than_inside() -> None:
    # 16 interfaces of 50 GB/s are 800 GB/s; a GPU sends 450 GB/s at most.
    assert around(GpuNode(8, {}, 18, 90, (50e9,) * 16), ("t", 16, 225e9))[1] == {"optics-400g": 0.5}


def test_nothing_is_more_than_its_wires() -> None:
    _, found, said = around(SERVER, ("t", 8, 495e9))
    assert found == {"nvlink4": 1.0}
    assert said == ("t: measured 110.0 % of the rate of nvlink4; capped at 100 %",)


@pytest.mark.parametrize("ranks", [4, 12])
def test_ranks_are_whole_servers(ranks: int) -> None:
    with pytest.raises(InputError, match=f"found {ranks} ranks; servers of 8 GPUs are needed, all of each"):
        around(SERVER, ("t", ranks, 1e9))


def test_several_servers_need_interfaces() -> None:
    with pytest.raises(InputError, match="whose interfaces no file has"):
        around(GpuNode(8, {}, 18, 90, ()), ("t", 16, 1e9))
