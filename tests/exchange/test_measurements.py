"""Measurements of every collective, and servers as they are sold, on files that people have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from evo_libra.errors import InputError
from evo_libra.exchange.nccl import read_nccl_tests
from evo_libra.exchange.problem_text import Made, made_of, problem_text
from evo_libra.exchange.registry import read_text_as, readers
from evo_libra.files.source import parse_source
from evo_libra.problem.file.load import problem_of

CASES = Path(__file__).parent / "cases"
MODEL = readers()["hugging-face"].samples[0]


def made(*names: str, nodes: int = 4, npu: str | None = None, **texts: str) -> Made:
    """Return the problem of some cases and texts with a model."""
    given = {name: (CASES / name).read_text() for name in names} | texts | {"config.json": MODEL}
    drafts = {name: read_text_as(text, name)[1] for name, text in given.items()}
    return made_of(drafts, "own", nodes=nodes, npu=npu)


def efficiency(of: Made) -> dict[str, Any]:
    found: dict[str, Any] = of.data["time"]["efficiency"]
    return found


def test_an_all_to_all_is_no_ring() -> None:
    """8 of the 15 parts that a rank sends leave its server at 50 GB/s: a bus of 93.75; 73.22 GB/s is the median."""
    assert efficiency(made("h200.xml", "alltoall_16.log"))["optics-400g"] == pytest.approx(73.22 / 93.75)


def test_a_test_between_neighbours_has_one_interface() -> None:
    text = (CASES / "alltoall_16.log").read_text().replace("alltoall_perf", "sendrecv_perf")
    with pytest.raises(
        InputError, match=r"sendrecv of 16 ranks has a bus of 73\.2 GB/s; the wires of optics-400g give"
    ):
        made("h200.xml", **{"t.log": text})
    slow = text.replace("72.63", "40.00").replace("73.81", "42.00")
    assert efficiency(made("h200.xml", **{"t.log": slow}))["optics-400g"] == pytest.approx(41.0 / 50.0)


def test_a_collective_whose_wires_are_not_known_is_refused() -> None:
    text = (CASES / "alltoall_16.log").read_text().replace("alltoall_perf", "gather_perf")
    with pytest.raises(InputError, match=r"t\.log: found gather between servers; allowed: all_reduce"):
        made("h200.xml", **{"t.log": text})


def test_ranks_of_one_server_measure_nvlink() -> None:
    found = made("h200.xml", "h100_8.log")
    assert efficiency(found) == {"optics-400g": 0.85, "nvlink4": 1.0}
    assert found.data["npu"] == "h100-80gb"


def test_trays_are_joined_to_their_rack() -> None:
    """72 ranks on 18 trays are one domain; 757.78 GB/s of 900 is the median."""
    found = made("gb200.xml", "gb200_72.log", nodes=36)
    assert found.data["npu"] == "gb200"
    assert found.data["fabric"]["domains"] == {"nvlink5": [72]}
    assert efficiency(found)["nvlink5"] == pytest.approx(757.78 / 900.0)
    assert "that NVLink joins trays of 4 GPUs to racks of 72, as gb200 is sold" in found.assumed


def test_a_measurement_of_another_network_is_a_contradiction() -> None:
    """72 ranks of trays that are no rack: 4 interfaces of 50 GB/s give rings 200 GB/s."""
    message = r"gb200_72\.log.*busbw: all_reduce of 72 ranks has a bus of 757\.8 GB/s; .* optics-400g give it 200\.0"
    with pytest.raises(InputError, match=message):
        made("gb200.xml", "gb200_72.log", nodes=36, npu="b200")


@pytest.mark.parametrize(("name", "npu"), [("h200.xml", "h200-141gb"), ("a100x8.txt", "a100-80gb")])
def test_servers_are_called_by_name(name: str, npu: str) -> None:
    assert made(name).data["npu"] == npu


def test_interfaces_are_shared_among_gpus() -> None:
    """8 GPUs over 4 interfaces of 400 Gb/s have 25 GB/s each."""
    found = made("h20_4nic.xml", npu="h20-96gb")
    assert found.data["fabric"]["technologies"] == ["nvlink4", "optics-200g"]
    assert "optics-200g for interfaces of 400 Gb/s, 4 for 8 GPUs, 25 GB/s each" in found.assumed


def test_a_server_without_nvlink_needs_a_name() -> None:
    with pytest.raises(InputError, match=r"l40s_x8\.txt: no GPU has NVLink, so the links name no accelerator"):
        made("l40s_x8.txt")
    found = made("l40s_x8.txt", npu="l40s-48gb")
    assert found.data["fabric"]["pin"][0] == {
        "dimension": 0, "npus": 8, "block": "switch", "technology": "pcie4", "bandwidth_GBps": 31.0,
    }  # fmt: skip
    assert problem_of(parse_source(problem_text(found.data), "own"), Path()).npus == 32


def test_servers_that_are_bridged_in_pairs_are_refused() -> None:
    with pytest.raises(InputError, match="2 pairs of 4 GPUs have NVLink"):
        made("a100pcie_bridge.txt", npu="a100-80gb")


def test_a_file_that_nccl_reads_has_no_gpus() -> None:
    with pytest.raises(InputError, match=re.escape("the dump of `NCCL_TOPO_DUMP_FILE` has them")):
        read_text_as('<system version="1"><cpu numaid="0"></cpu></system>', "azure.xml", "nccl-topology")


@pytest.mark.parametrize("prefix", ["[0] ", "[1,0]<stdout>: ", "node0: "])
def test_prefixes_of_launchers_are_passed_over(prefix: str) -> None:
    text = (CASES / "alltoall_16.log").read_text()
    lines = "\n".join(prefix + line for line in text.splitlines())
    assert read_nccl_tests(lines, "t") == read_nccl_tests(text, "t")
    assert read_nccl_tests(text, "t").hosts == 2
