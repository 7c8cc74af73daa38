"""Servers and collectives that other programs have written down."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from effort import little_work
from node_samples import matrix, survives, table, topology

from evo_libra.errors import InputError
from evo_libra.exchange.gpu_node import node_design
from evo_libra.exchange.nccl import read_nccl_tests, read_nccl_topology
from evo_libra.exchange.nodes import read_gpu_matrix

MUTANTS = 2000
QUICK = 100


def test_a_topology_is_a_switch_of_eight_and_its_interfaces() -> None:
    node = read_nccl_topology(topology(), "node.xml")
    assert node_design(node, "node.xml") == "SW(8)@nvlink4:450"
    assert node.scale_out == 50e9


@pytest.mark.slow
def test_a_matrix_of_many_ends_takes_time_in_proportion_to_its_cells() -> None:
    """A thousand GPUs have a million cells; a header of 16,000 NICs is looked at once, and not for each line."""
    gpus, nics = [f"GPU{n}" for n in range(1000)], [f"mlx5_{n}" for n in range(16_000)]
    rows = [" ".join([name, *("X" if name == other else "SYS" for other in gpus)]) for name in gpus]
    with little_work():
        assert read_gpu_matrix("\n".join([" ".join(gpus), *rows]), "f").gpus == 1000
    with little_work(), pytest.raises(InputError, match="the row of GPU0 is missing"):
        read_gpu_matrix("\n".join([" ".join(["GPU0", *nics]), *(f"zz{n}\t1" for n in range(128_000))]), "f")


def test_links_between_two_gpus_are_counted_once_each_way() -> None:
    gpu = '<pci busid="{}"><gpu dev="0" sm="80"><nvlink target="{}" count="12" tclass="0x030200"/></gpu></pci>'
    text = f'<system version="1">{gpu.format("1:0", "2:0")}{gpu.format("2:0", "1:0")}</system>'
    assert node_design(read_nccl_topology(text, "pair.xml"), "pair.xml") == "FC(2)@nvlink3:300"


def test_entities_are_refused_with_their_line() -> None:
    text = '<?xml version="1.0"?>\n<!DOCTYPE system [<!ENTITY a "b">]>\n<system>&a;</system>'
    with pytest.raises(InputError, match=r"node\.xml:2:.*DOCTYPE"):
        read_nccl_topology(text, "node.xml")


def test_a_wrong_speed_is_refused_with_line_and_key() -> None:
    text = topology().replace('speed="400000"', 'speed="fast"', 1)
    line = text[: text.index('"fast"')].count("\n") + 1
    with pytest.raises(InputError, match=rf"node\.xml:{line}:.*net\.speed: found 'fast'"):
        read_nccl_topology(text, "node.xml")


@pytest.mark.parametrize("escapes", [False, True])
@pytest.mark.parametrize("nics", [("NIC0", "NIC1"), ("mlx5_0", "mlx5_bond_1"), ()])
def test_a_matrix_of_switched_gpus(nics: tuple[str, ...], *, escapes: bool) -> None:
    node = read_gpu_matrix(matrix("NV18", 8, escapes=escapes, nics=nics), "topo.txt")
    assert node_design(node, "topo.txt", 90) == "SW(8)@nvlink4:450"
    assert len(node.nics) == len(nics)
    assert node.scale_out is None


def test_a_matrix_of_gpus_joined_by_links() -> None:
    assert node_design(read_gpu_matrix(matrix("NV4", 4), "topo.txt"), "topo.txt", 80) == "FC(4)@nvlink3:300"


def test_a_matrix_without_nvlink_is_no_block() -> None:
    with pytest.raises(InputError, match="0 pairs of 4 GPUs have NVLink"):
        node_design(read_gpu_matrix(matrix("PHB", 4), "topo.txt"), "topo.txt", 80)


def test_a_wrong_cell_is_refused_with_its_ends() -> None:
    with pytest.raises(InputError, match=r"topo\.txt:2: GPU0\.GPU1: found 'NVX'"):
        read_gpu_matrix(matrix("NVX", 4), "topo.txt")


def test_output_of_mpi_with_tags_is_the_same() -> None:
    tagged = "\n".join(f"[1,0]<stdout>:{line}" for line in table().splitlines())
    assert read_nccl_tests(tagged, "a") == read_nccl_tests(table(), "a")


READS: dict[str, tuple[Callable[[str], object], str]] = {
    "topology": (lambda text: node_design(read_nccl_topology(text, "f"), "f"), topology()),
    "matrix": (lambda text: node_design(read_gpu_matrix(text, "f"), "f", 90), matrix("NV18", 8)),
    "escaped matrix": (lambda text: node_design(read_gpu_matrix(text, "f"), "f", 80), matrix("NV4", 4, escapes=True)),
    "nccl-tests": (lambda text: read_nccl_tests(text, "f"), table()),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("count", [QUICK, pytest.param(MUTANTS, marks=pytest.mark.slow)])
def test_mutants_are_read_or_refused(name: str, count: int) -> None:
    read, refused = survives(*READS[name], count)
    assert read + refused == count
    assert refused > 0
