"""Units of NCCL's topology and of nccl-tests, on the smallest files."""

from __future__ import annotations

import pytest

from evo_libra.errors import InputError
from evo_libra.exchange.gpu_node import GpuNode
from evo_libra.exchange.nccl import NcclRow, large_messages, read_nccl_tests, read_nccl_topology
from evo_libra.exchange.nodes import read_gpu_matrix
from evo_libra.exchange.registry import read_text_as

SWITCH = '<nvlink target="s" count="{}" tclass="0x068000"/>'


def topology(*gpus: str, nics: str = "") -> GpuNode:
    """Return a server from the links of each GPU."""
    devices = "".join(
        f'<pci busid="{at}:0"><gpu sm="90">{links}</gpu></pci>' for at, links in enumerate(gpus)
    )  # fmt: skip
    return read_nccl_topology(f"<system>{devices}{nics}</system>", "node.xml")


def to(gpu: int, count: int) -> str:
    return f'<nvlink target="{gpu}:0" count="{count}" tclass="0x030200"/>'


def test_speeds_are_megabits_per_second() -> None:
    # NCCL's `speed` is in Mb/s: 400 Gb/s are 50 GB/s.
    found = topology(SWITCH.format(4), nics='<pci busid="n"><nic><net speed="400000"/></nic></pci>')
    assert found == GpuNode(1, {}, 4, 90, (50e9,))


def test_links_to_several_switches_are_added_up() -> None:
    assert topology(*[SWITCH.format(4) + SWITCH.format(5)] * 2) == GpuNode(2, {}, 9, 90, ())


def test_links_to_a_gpu_are_added_up() -> None:
    assert topology(to(1, 2) + to(1, 1), to(0, 3)) == GpuNode(2, {(0, 1): 3, (1, 0): 3}, 0, 90, ())


@pytest.mark.parametrize(("gpus", "words"), [
    ((SWITCH.format(4), SWITCH.format(5)), "different numbers of links to switches"),
    ((SWITCH.format(4) + to(1, 1), SWITCH.format(4) + to(0, 1)), "links to switches and to GPUs"),
    ((to(1, 2), to(0, 3)), "GPUs 0 and 1 do not agree"),
    ((to(0, 2),), "GPUs 0 and 0 do not agree"),
    ((to(7, 2),), "neither a GPU of the file nor a switch"),
    ((SWITCH.format(37),), r"node.xml:1:39: nvlink.count: found '37'; a whole number up to 36"),
    ((), "no GPU was found"),
])  # fmt: skip
def test_servers_that_are_not_read(gpus: tuple[str, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        topology(*gpus)


def matrix(cell: str, gpus: int) -> GpuNode:
    names = [f"GPU{at}" for at in range(gpus)]
    rows = [" ".join([name, *("X" if name == other else cell for other in names)]) for name in names]
    return read_gpu_matrix("\n".join([" ".join(names), *rows]), "topo.txt")


def test_more_links_than_a_gpu_has_are_those_of_switches() -> None:
    # 6 x 3 = 18 links of an H100 may go to peers; 9 x 3 = 27 may not, so that all 9 go to switches.
    assert matrix("NV6", 4) == GpuNode(4, {(a, b): 6 for a in range(4) for b in range(4) if a != b}, 0, None, ())
    assert matrix("NV9", 4) == GpuNode(4, {}, 9, None, ())
    assert matrix("NV18", 2) == GpuNode(2, {(0, 1): 18, (1, 0): 18}, 0, None, ())


@pytest.mark.parametrize(("lines", "words"), [
    (["a", "GPU0 GPU1", "GPU0 X NV4"], "topo.txt:2: GPU1: the row of GPU1 is missing"),
    (["GPU0 GPU0", "GPU0 X NV4"], "topo.txt:1: a name comes twice in the header"),
    (["GPU0 GPU1", "GPU0 X NV4", "GPU0 X NV4"], "topo.txt:3: GPU0: this row comes twice"),
    (["GPU0 GPU1", "", "GPU0 X"], "topo.txt:3: GPU0: found 1 cells; 2 are needed"),
    (["GPU0 GPU1", "GPU0 X NV4", "GPU1 NV5 X"], "topo.txt:2: GPU0.GPU1: found NV4; the other direction"),
    (["GPU0 GPU1", "GPU0 X NV0", "GPU1 NV0 X"], "GPU0.GPU1: found NV0; the other direction has to say the same"),
    (["GPU0 GPU1", "GPU0 X X", "GPU1 NV4 X"], "topo.txt:2: GPU0.GPU1: found 'X'"),
    (["nothing"], "no header with GPU0 was found"),
])  # fmt: skip
def test_matrices_that_are_not_read(lines: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_gpu_matrix("\n".join(lines), "topo.txt")


def test_a_matrix_has_interfaces_and_columns_of_affinity() -> None:
    text = "GPU0 GPU1 mlx5_0 CPU Affinity\nGPU0 X NV4 PIX 0-47 0\nGPU1 NV4 X SYS 0-47 0\nmlx5_0 PIX SYS X\nLegend: GPU0"
    assert read_gpu_matrix(text, "topo.txt") == GpuNode(2, {(0, 1): 4, (1, 0): 4}, 0, None, (None,))


ROW = "{} 1 float sum -1 {} 2.0 {} 0 9.0 9.0 9.0 0"


def test_times_are_microseconds_and_buses_gigabytes_per_second() -> None:
    # size count type redop root, out of place: time (us), algbw, busbw (GB/s), #wrong; in place: the same again.
    head = "#  Rank  0 Group  0\n#  Rank  1 Group  0\n"
    found = read_nccl_tests(f"{head}{ROW.format(2000, 125.0, 3.5)}\n{ROW.format(1000, 62.5, 3)}\n", "t")
    assert (found.ranks, found.rows) == (2, (NcclRow(1000, 6.25e-5, 3e9), NcclRow(2000, 1.25e-4, 3.5e9)))


def test_a_size_has_up_to_18_digits() -> None:
    assert read_nccl_tests(ROW.format("1" * 18, 1, 1), "t").rows[0].size == int("1" * 18)


def test_lines_of_words_are_no_rows() -> None:
    row = ROW.format(1000, 1, 1)
    text = (
        f"{row.replace('1000', 'Avg')}\n{row}\nsize count type redop root time algbw busbw wrong time algbw busbw wrong"
    )
    assert [one.size for one in read_nccl_tests(text, "t").rows] == [1000]
    with pytest.raises(InputError, match="t:1: size: found '1x'; bytes are needed"):
        read_nccl_tests(row.replace("1000 1", "1x a"), "t")


def test_large_messages_have_30_mb_and_more() -> None:
    text = "\n".join(ROW.format(size, 1.0, 1.0) for size in (29_999_999, 30_000_000))
    assert [row.size for row in large_messages(read_nccl_tests(text, "t"))] == [30_000_000]


def test_the_bus_of_a_file_is_the_median_of_large_messages() -> None:
    buses = ((1, 9.0), (30_000_000, 1.0), (40_000_000, 5.0), (50_000_000, 2.0))
    rows = "\n".join(ROW.format(size, 1.0, bus) for size, bus in buses)
    text = f"#  Rank  0 Group  0\n# busbw\n{rows}"
    assert read_text_as(text, "t", "nccl-tests")[1].bus == (1, 2e9)


@pytest.mark.parametrize(("row", "words"), [
    (ROW.format(1000, 0, 1.0), "t:1: time: found 0; a time above 0"),
    (ROW.format(1000, "x", 1.0), "time: found 'x'"),
    (ROW.format("1" * 19, 1, 1), "found 13 columns"),  # a size has up to 18 digits
    (f"{ROW.format(1000, 1, 1)}\n{ROW.format(1000, 1, 1)}", "a size comes twice"),
    ("1000 1 float", "found 3 columns"),
    ("# nothing", "no row of nccl-tests was found"),
])  # fmt: skip
def test_tables_that_are_not_read(row: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_nccl_tests(row, "t")
