"""Traces that are written and read again, damaged on the way, or wrong in themselves."""

from __future__ import annotations

import gzip
import re
import struct
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from effort import costly, little_work
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from evo_libra.chakra import framing
from evo_libra.chakra import read as reading
from evo_libra.chakra.check import check_nodes
from evo_libra.chakra.read import read_nodes, read_trace, read_traces
from evo_libra.chakra.schema import SCALARS
from evo_libra.chakra.summary import summarise
from evo_libra.chakra.trace import Attribute, CollectiveType, Kind, Metadata, Node, Tensors
from evo_libra.chakra.write import (
    collective_node,
    compute_node,
    load_node,
    receive_node,
    send_node,
    store_node,
    write_trace,
)
from evo_libra.errors import InputError, Mistake

GOLDEN = Path(__file__).parents[1] / "golden" / "chakra"
SAMPLES = [path.read_bytes() for path in sorted(GOLDEN.glob("*/trace.*.et")) if path.stat().st_size < 2000]

UINT64 = st.integers(0, 2**64 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
SINGLE = st.floats(allow_nan=False, width=32)
BITS = {"32": 32, "64": 64}


def mistakes_in(nodes: Iterable[Node], file: str) -> list[Mistake]:
    try:
        check_nodes(nodes, file)
    except InputError as error:
        return list(error.mistakes)
    return []


def values_of(scalar: str) -> st.SearchStrategy[Any]:
    known = {"double": st.floats(allow_nan=False), "float": SINGLE, "bool": st.booleans(), "string": TEXTS}
    known["bytes"] = st.binary(max_size=5)
    if scalar in known:
        return known[scalar]
    bits = int(scalar[-2:])
    signed = not scalar.startswith(("uint", "fixed"))
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


def attributes_of(scalar: str) -> st.SearchStrategy[Attribute]:
    lists = st.lists(values_of(scalar), max_size=3).map(tuple)
    one = st.builds(Attribute, st.just(scalar), values_of(scalar), TEXTS)
    return one | st.builds(Attribute, st.just(f"{scalar}_list"), lists, TEXTS)


ATTRIBUTES = st.dictionaries(
    TEXTS,
    st.sampled_from(SCALARS).flatmap(attributes_of) | st.builds(Attribute, st.just(""), st.just(""), TEXTS),
    max_size=4,
)
IDS = st.lists(UINT64, max_size=3).map(tuple)
TENSORS = st.none() | st.builds(Tensors, TEXTS, TEXTS, TEXTS)
KINDS = [kind for kind in Kind if kind is not Kind.INVALID]
NODES = st.builds(
    Node, UINT64, TEXTS, st.sampled_from(KINDS), IDS, IDS, UINT64, UINT64, TENSORS, TENSORS, ATTRIBUTES
)  # fmt: skip
VERSIONS = st.just("0.0.4") | st.text(st.characters(categories=["L", "N"]), max_size=5)


@pytest.mark.slow
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(metadata=st.builds(Metadata, VERSIONS, ATTRIBUTES), nodes=st.lists(NODES, max_size=4), packed=st.booleans())
def test_what_is_written_is_read(tmp_path: Path, metadata: Metadata, nodes: list[Node], packed: bool) -> None:  # noqa: FBT001
    # Without anything that tells it from older ones a trace may only be recognised by its version.
    assume(metadata.version or nodes == [])
    path = tmp_path / ("t.et.gz" if packed else "t.et")
    write_trace(path, metadata, nodes)
    assert list(read_nodes(path)) == nodes
    before = path.read_bytes()
    write_trace(path, metadata, read_nodes(path))
    assert path.read_bytes() == before


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    data = bytearray(draw(st.sampled_from(SAMPLES)))
    if draw(st.booleans()):
        data = data[: draw(st.integers(0, len(data)))]
    for _ in range(draw(st.integers(0, 4))):
        at, length = draw(st.integers(0, len(data))), draw(st.integers(0, 20))
        odd = st.sampled_from([b"\xff" * 10, b"\x08", b"\x80\x80\x80\x01", bytes(data[at : at + length])])
        data[at : at + draw(st.sampled_from([0, 1, length]))] = draw(st.binary(max_size=4) | odd)
    return gzip.compress(bytes(data), 1) if draw(st.integers(0, 9)) == 0 else bytes(data)


@pytest.mark.slow
@costly(400, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=damaged())
def test_damage_is_an_input_error_or_another_trace(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "t.et"
    path.write_bytes(data)
    try:
        with little_work():
            metadata, nodes = read_trace(path)
    except InputError as error:
        assert all(mistake.file == str(path) and mistake.message for mistake in error.mistakes)
        assert len(error.mistakes) <= 21
        with pytest.raises(InputError):
            summarise(path)
        return
    assert sum(summarise(path).kinds.values()) == len(nodes)
    write_trace(tmp_path / "again.et", metadata, nodes)
    # Compared by their text, as a damaged number may be NaN, which equals nothing.
    assert repr(read_trace(tmp_path / "again.et")[1]) == repr(nodes)


@costly(200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.binary(max_size=60) | st.binary(max_size=30).map(lambda data: struct.pack("<H", 0x8B1F) + data))
def test_anything_else_is_an_input_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "t.et"
    path.write_bytes(data)
    try:
        with little_work():
            read_trace(path)
    except InputError as error:
        assert str(error).startswith(str(path))


def test_a_trace_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "t.et"
    write_trace(path, Metadata(), [compute_node(0, "a", duration=1)])
    before = path.read_bytes()

    def nodes() -> Any:
        yield compute_node(0, "a", duration=1)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_trace(path, Metadata(), nodes())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match="cannot be written: no such file"):
        write_trace(tmp_path / "nowhere" / "t.et", Metadata(), [])


def test_gzipped_traces_have_neither_name_nor_time(tmp_path: Path) -> None:
    nodes = [compute_node(0, "a", duration=1)]
    for name in ("a.et", "a.et.gz", "b.et.gz"):
        write_trace(tmp_path / name, Metadata(), nodes)
    packed = (tmp_path / "a.et.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "a.et").read_bytes()
    assert packed[3:8] == bytes(5)  # no flags, no time
    assert packed == (tmp_path / "b.et.gz").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t.et", "t.et.gz"])
def test_reading_takes_the_memory_of_one_node(name: str, tmp_path: Path) -> None:
    path, count = tmp_path / name, 2000

    def nodes() -> Iterator[Node]:
        for number in range(count):
            waits_for = [number - 1] if number else []
            yield compute_node(number, f"{number:04}" * 250, operations=1, size=1, data=waits_for)

    write_trace(path, Metadata(), nodes())
    summarise(path)  # what is imported at the first time is not of the trace
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_nodes(path)) == count
        streamed = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        summary = summarise(path)
        summarised = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert summary.longest.nodes == count
    assert path.suffix == ".gz" or path.stat().st_size > 2_000_000
    assert streamed < 300_000
    assert summarised < 500_000


def test_a_length_takes_no_memory_before_the_bytes_are_there(tmp_path: Path) -> None:
    path = tmp_path / "t.et"
    path.write_bytes(gzip.compress(b"\x07\x0a\x050.0.4" + b"\x80\x80\x80\x1f" + bytes(1000)))

    def refused() -> None:
        with pytest.raises(InputError, match="the file has 1000 left"):
            list(read_nodes(path))

    refused()  # what is imported at the first time is not of the message
    tracemalloc.start()
    try:
        refused()
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_gzipped_message_beyond_the_limit_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "MAX_MESSAGE_BYTES", 1000)
    path = tmp_path / "t.et"
    path.write_bytes(gzip.compress(b"\x07\x0a\x050.0.4" + b"\xe9\x07" + bytes(1001)))
    with pytest.raises(InputError, match="its length is 1001 bytes, at most 1000 are read"):
        list(read_nodes(path))


GOOD = [
    compute_node(4, "c", operations=10, size=20, duration=3),
    load_node(5, "l", 100, data=[4]),
    store_node(6, "s", 200, control=[4]),
    collective_node(7, "a", CollectiveType.ALL_REDUCE, 64, group="2", data=[5, 6]),
    collective_node(8, "b", CollectiveType.ALL_GATHER, 64, involved=[True, False], data=[7], control=[7]),
    send_node(9, "s", source=0, destination=3, size=8, tag=1, data=[8]),
    receive_node(10, "r", source=3, destination=0, size=8, tag=1, data=[8]),
]


def test_nodes_that_are_made_here_are_good_and_have_the_types_that_readers_take(tmp_path: Path) -> None:
    assert mistakes_in(GOOD, "t") == []
    types = {name: found.type for node in GOOD for name, found in node.attributes.items()}
    assert types == {
        "is_cpu_op": "bool", "num_ops": "int64", "tensor_size": "uint64", "comm_type": "int64", "comm_size": "int64",
        "pg_name": "string", "involved_dim": "bool_list", "comm_src": "int32", "comm_dst": "int32", "comm_tag": "int32",
    }  # fmt: skip
    write_trace(tmp_path / "t.et", Metadata(), GOOD)
    assert read_trace(tmp_path / "t.et") == (Metadata(), tuple(GOOD))
    assert "num_ops" not in compute_node(1, "recorded", duration=5).attributes


def node(number: int, kind: Kind, *waits_for: int, **attributes: Attribute) -> Node:
    return Node(number, "n", kind, data=waits_for, attributes=attributes)


INT = Attribute("int64", 1)


@pytest.mark.parametrize(("nodes", "expected"), [
    ([], ["t: has no nodes"]),
    ([GOOD[0], GOOD[0]], ["t: node 4: 2 nodes have this id; ids are unique in a trace"]),
    ([node(1, Kind.COMP), node(2, Kind.COMP, 1, 9)], ["t: node 2: waits for node 9, which is not there"]),
    ([node(1, Kind.COMP), node(2, Kind.COMP, 2)], ["t: node 2: waits for itself"]),
    ([node(2, Kind.COMP, 2)], ["t: node 2: waits for itself; no node of the trace can start"]),
    ([node(1, Kind.COMP), *(node(n, Kind.COMP, other, 1) for n, other in ((2, 3), (3, 4), (4, 2), (5, 4)))],
     ["t: node 2: waits for itself, over 2 others: 2 -> 3 -> 4 -> 2"]),
    ([node(1, Kind.COMP, 2), node(2, Kind.COMP, 1)],
     ["t: node 1: waits for itself, over 1 other: 1 -> 2 -> 1; no node of the trace can start"]),
    ([node(n, Kind.COMP, (n + 1) % 20) for n in range(20)],
     [("t: node 0: waits for itself, over 19 others: 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> ... -> 0; "
       "no node of the trace can start")]),
    ([node(1, Kind.COMM_COLL)],
     ["t: node 1: 'n' has no comm_type; a COMM_COLL node needs comm_type, comm_size",
      "t: node 1: 'n' has no comm_size; a COMM_COLL node needs comm_type, comm_size"]),
    ([node(1, Kind.COMM_SEND, comm_dst=INT, comm_size=INT)],
     ["t: node 1: 'n' has no comm_tag; a COMM_SEND node needs comm_dst, comm_tag, comm_size"]),
    ([node(1, Kind.COMM_RECV, comm_tag=INT, comm_size=INT, comm_src=Attribute("", ""))],
     ["t: node 1: 'n' has no comm_src; a COMM_RECV node needs comm_src, comm_tag, comm_size"]),
    ([node(1, Kind.COMM_COLL, comm_type=Attribute("int64", 10), comm_size=INT)],
     [("t: node 1: 'n': unknown comm_type 10; known: 0 ALL_REDUCE, 1 REDUCE, 2 ALL_GATHER, 3 GATHER, 4 SCATTER, "
       "5 BROADCAST, 6 ALL_TO_ALL, 7 REDUCE_SCATTER, 8 REDUCE_SCATTER_BLOCK, 9 BARRIER")]),
    ([node(1, Kind.COMP, tensor_size=Attribute("int64", -1))],
     ["t: node 1: 'n': tensor_size is -1; it cannot be negative"]),
    ([node(1, Kind.COMP, num_ops=Attribute("double", 1.0))],
     ["t: node 1: 'n': num_ops is of type double; an integer is needed"]),
    ([node(1, Kind.COMP, num_ops=Attribute("bool", value=True))],
     ["t: node 1: 'n': num_ops is of type bool; an integer is needed"]),
    ([node(1, Kind.COMP, is_cpu_op=Attribute("string", "no"))],
     ["t: node 1: 'n': is_cpu_op is of type string; a boolean is needed"]),
    ([node(1, Kind.COMP, pg_name=INT)], ["t: node 1: 'n': pg_name is of type int64; text is needed"]),
    ([node(1, Kind.COMP, involved_dim=Attribute("int32_list", (1, 0)))],
     ["t: node 1: 'n': involved_dim is of type int32_list; a list of booleans is needed"]),
    ([Node(1, "two\nlines", Kind.COMP, attributes={"num_ops": Attribute("float", 1.0)})],
     [r"t: node 1: 'two\nlines': num_ops is of type float; an integer is needed"]),
])  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence(nodes: list[Node], expected: list[str]) -> None:
    assert [str(mistake) for mistake in mistakes_in(nodes, "t")] == expected


def test_mistakes_are_listed_up_to_a_number(tmp_path: Path) -> None:
    path = tmp_path / "t.et"
    write_trace(path, Metadata(), [node(number, Kind.COMP, 1000, 2000) for number in range(30)])
    with pytest.raises(InputError) as caught:
        read_trace(path)
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[0] == f"{path}: node 0: waits for node 1000, which is not there"
    assert lines[-1] == f"{path}: 40 more mistakes like these"


@pytest.mark.parametrize("is_cpu_op", [Attribute("bool", value=True), Attribute("int32", 0)])
def test_other_attributes_may_be_anything(is_cpu_op: Attribute) -> None:
    free = node(1, Kind.COMP, is_cpu_op=is_cpu_op, op_type=Attribute("string", "x"), comm_size=Attribute("", ""), y=INT)
    assert mistakes_in([free, Node(3, "", Kind.METADATA)], "t") == []


NO_OPERATION = "is of type INVALID, which is no operation; the trace is damaged, or was not finished"


def test_nodes_that_are_no_operation_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.et"
    invalid = Node(2, "n", Kind.INVALID)
    assert [str(mistake) for mistake in mistakes_in([GOOD[0], invalid], "t")] == [f"t: node 2: {NO_OPERATION}"]
    write_trace(path, Metadata(), [GOOD[0], invalid])
    for read in (read_trace, summarise, lambda path: list(read_nodes(path))):
        with pytest.raises(InputError, match=rf"{path}: message 3 \(byte \d+\): node 2: {NO_OPERATION}"):
            read(path)


@pytest.mark.parametrize("head", [b"", b"\x07\x0a\x050.0.4"])
@pytest.mark.parametrize("packed", [False, True])
def test_empty_nodes_end_the_reading_at_once(head: bytes, packed: bool, tmp_path: Path) -> None:  # noqa: FBT001
    path, zeros = tmp_path / "t.et", head + bytes(50_000_000)
    path.write_bytes(gzip.compress(zeros, 1) if packed else zeros)
    place = f"message 2 (byte {max(len(head), 1)})"
    for read in (read_trace, summarise, lambda path: list(read_nodes(path))):
        with pytest.raises(InputError, match=re.escape(f"{path}: {place}: is empty; every node has a type")):
            read(path)


def test_nodes_without_a_type_end_the_search_for_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "t.et"
    path.write_bytes(gzip.compress(b"\x00" + b"\x02\x08\x01" * 10_000_000, 1))
    with pytest.raises(InputError, match=re.escape(f"{path}: message 2 (byte 1): is a node without a type")):
        read_trace(path)


@pytest.mark.slow
@pytest.mark.parametrize("distinct", [1, 10, 30])
def test_equal_ids_end_the_reading_soon(distinct: int, tmp_path: Path) -> None:
    path, taken = tmp_path / "t.et", 0

    def nodes() -> Iterator[Node]:
        nonlocal taken
        for taken in range(20_000):
            yield compute_node(taken % distinct, "", duration=1)

    found = mistakes_in(nodes(), "t")
    assert taken < 10_000
    assert len(found) == min(distinct, 20) + 1
    assert "nodes have this id; ids are unique in a trace" in found[0].message
    assert str(found[-1]).startswith("t: the reading ended at node ")
    write_trace(path, Metadata(), nodes())
    for read in (read_trace, summarise):
        with pytest.raises(InputError) as caught:
            read(path)
        assert [mistake.message for mistake in caught.value.mistakes] == [mistake.message for mistake in found]


def test_many_mistakes_end_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "t.et"
    write_trace(path, Metadata(), [node(number, Kind.COMM_COLL) for number in range(1000)])
    for read in (read_trace, summarise):
        with pytest.raises(InputError) as caught:
            read(path)
        assert len(caught.value.mistakes) == 21
        assert str(caught.value.mistakes[-1]) == f"{path}: the reading ended at node 9; there may be more mistakes"


def test_traces_beyond_what_is_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.et"
    write_trace(path, Metadata(), [node(number, Kind.COMP, *range(number)) for number in range(10)])
    size = sum(len(message.data) for message in framing.read_messages(path)) - len(b"\x0a\x050.0.4")
    for name, enough, readers, words in (
        ("MAX_NODES", 10, (read_trace, summarise), "10 nodes; at most 9 are read"),
        ("MAX_DEPENDENCIES", 45, (read_trace, summarise), "45 dependencies; at most 44 are read"),
        (
            "MAX_TRACE_BYTES",
            size,
            (read_trace,),
            f"{size} bytes, unpacked; at most {size - 1} are read where all nodes",
        ),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(reading, name, enough)
            assert (len(read_trace(path)[1]), summarise(path).longest.nodes) == (10, 10)
            patch.setattr(reading, name, enough - 1)
            for read in readers:
                with pytest.raises(InputError, match=f"{path}: node 9: brings the trace to {words}"):
                    read(path)
    # What is larger than can be kept can still be summed up.
    monkeypatch.setattr(reading, "MAX_TRACE_BYTES", size - 1)
    assert summarise(path).longest.nodes == 10


@given(edges=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14))
def test_a_cycle_is_found_where_there_is_one(edges: list[tuple[int, int]]) -> None:
    nodes = [node(number, Kind.COMP, *(end for start, end in edges if start == number)) for number in range(8)]
    found = mistakes_in(nodes, "t")
    left = set(range(8))
    while ready := {number for number in left if not any(start == number and end in left for start, end in edges)}:
        left -= ready
    assert len(found) == (1 if left else 0)
    if found:
        way = re.search("others?: ([0-9> -]+)", found[0].message)
        ids = [int(number) for number in way[1].split(" -> ")] if way else [int(found[0].key[5:])] * 2
        assert ids[0] == ids[-1]
        assert all((start, end) in edges for start, end in pairwise(ids))


@pytest.mark.slow
def test_long_chains_and_cycles_need_no_recursion() -> None:
    count = 20_000
    chain = [node(number, Kind.COMP, *([number - 1] if number else [])) for number in range(count)]
    assert mistakes_in(chain, "t") == []
    (mistake,) = mistakes_in([node(0, Kind.COMP, count - 1), *chain[1:]], "t")
    assert "over 19999 others: 0 -> 19999 -> 19998 -> " in mistake.message


def test_traces_of_all_npus(tmp_path: Path) -> None:
    good = [compute_node(0, "a", duration=1)]
    with pytest.raises(InputError, match=r"run: there is neither this file nor run\.0\.et and so on next to it"):
        read_traces(tmp_path / "run")
    with pytest.raises(InputError, match="there is neither"):
        read_traces(tmp_path / "nowhere" / "run")
    for npu in (0, 1, 3, 10):
        write_trace(tmp_path / f"run.{npu}.et", Metadata(), [*good, compute_node(1, f"{npu}", duration=1)])
    for other in ("run.02.et", "run.x.et", "run.2.et.bak", "rerun.2.et", "run.run.2.et"):
        write_trace(tmp_path / other, Metadata(), good)
    with pytest.raises(InputError, match=r"run: 4 traces up to NPU 10, but no run\.2\.et"):
        read_traces(tmp_path / "run")
    (tmp_path / "run.10.et").unlink()
    write_trace(tmp_path / "run.2.et.gz", Metadata(), [*good, compute_node(1, "2", duration=1)])
    assert [nodes[1].name for _, nodes in read_traces(tmp_path / "run")] == ["0", "1", "2", "3"]
    write_trace(tmp_path / "run.2.et", Metadata(), good)
    with pytest.raises(InputError, match=r"NPU 2 has two traces, run\.2\.et and run\.2\.et\.gz"):
        read_traces(tmp_path / "run")
    assert len(read_traces(tmp_path / "run.x.et")) == 1
