"""Traces written here byte by byte, in every schema; none of the program's own descriptions are used for that."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import pytest

from evo_libra.chakra.read import read_metadata, read_nodes, read_trace
from evo_libra.chakra.schema import Schema, schema_of
from evo_libra.chakra.trace import Attribute, CollectiveType, Kind, Metadata, Node, Tensors
from evo_libra.chakra.write import encode_node, write_trace
from evo_libra.errors import InputError


def varint(value: int) -> bytes:
    value %= 2**64
    digits = []
    while True:
        digits.append(value % 128 + (128 if value >= 128 else 0))
        value //= 128
        if not value:
            return bytes(digits)


def field(number: int, value: int | str | bytes, wire: int | None = None) -> bytes:
    """Return a field: a number as a varint, text and bytes with their length, or raw bytes of a given wire type."""
    if isinstance(value, int):
        return varint(number * 8) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return (
        varint(number * 8 + (2 if wire is None else wire)) + (varint(len(content)) if wire is None else b"") + content
    )


def narrow(value: float) -> bytes:
    return struct.pack("<f", value)


def write(path: Path, *messages: bytes) -> Path:
    path.write_bytes(b"".join(varint(len(message)) + message for message in messages))
    return path


def node_of(path: Path) -> Node:
    (node,) = read_nodes(path)
    return node


METADATA = field(1, "0.0.4")

# Of each type of an attribute: number of its field, how it travels, a value, and how it reads.
NARROW, WIDE = 5, 1
TYPES: dict[str, tuple[int, int | None, Any, Any]] = {
    "double": (3, WIDE, struct.pack("<d", -0.1), -0.1),
    "double_list": (4, None, field(1, struct.pack("<2d", 0.5, 0.1)), (0.5, 0.1)),
    "float": (5, NARROW, narrow(0.25), 0.25),
    "float_list": (6, None, field(1, narrow(0.25) + narrow(-2)), (0.25, -2.0)),
    "int32": (7, None, -5, -5),
    "int32_list": (8, None, field(1, varint(-5) + varint(7)), (-5, 7)),
    "int64": (9, None, -(2**63), -(2**63)),
    "int64_list": (10, None, field(1, varint(300) + varint(-1)), (300, -1)),
    "uint32": (11, None, 2**32 - 1, 2**32 - 1),
    "uint32_list": (12, None, field(1, varint(2**32 - 1)), (2**32 - 1,)),
    "uint64": (13, None, 2**64 - 1, 2**64 - 1),
    "uint64_list": (14, None, field(1, varint(2**64 - 1) + varint(0)), (2**64 - 1, 0)),
    "sint32": (15, None, 9, -5),
    "sint32_list": (16, None, field(1, varint(9) + varint(8)), (-5, 4)),
    "sint64": (17, None, 2**64 - 1, -(2**63)),
    "sint64_list": (18, None, field(1, varint(1) + varint(2)), (-1, 1)),
    "fixed32": (19, NARROW, struct.pack("<I", 7), 7),
    "fixed32_list": (20, None, field(1, struct.pack("<2I", 7, 8)), (7, 8)),
    "fixed64": (21, WIDE, struct.pack("<Q", 2**64 - 1), 2**64 - 1),
    "fixed64_list": (22, None, field(1, struct.pack("<Q", 7)), (7,)),
    "sfixed32": (23, NARROW, struct.pack("<i", -7), -7),
    "sfixed32_list": (24, None, field(1, struct.pack("<2i", -7, 8)), (-7, 8)),
    "sfixed64": (25, WIDE, struct.pack("<q", -7), -7),
    "sfixed64_list": (26, None, field(1, struct.pack("<q", -7)), (-7,)),
    "bool": (27, None, 0, False),
    "bool_list": (28, None, field(1, b"\x01\x00\x01"), (True, False, True)),
    "string": (29, None, "dp", "dp"),
    "string_list": (30, None, field(1, "a") + field(1, ""), ("a", "")),
    "bytes": (31, None, b"\xff\x00", b"\xff\x00"),
    "bytes_list": (32, None, field(1, b"\xff"), (b"\xff",)),
}


@pytest.mark.parametrize("name", TYPES)
def test_attribute_of_every_type_has_its_field(name: str) -> None:
    number, wire, travels, value = TYPES[name]
    attribute = field(1, "x") + field(2, "about") + field(number, travels, wire)
    node = Node(7, "n", Kind.COMP, attributes={"x": Attribute(name, value, "about")})
    assert encode_node(node) == field(1, 7) + field(2, "n") + field(3, 4) + field(10, attribute)


@pytest.mark.parametrize("name", TYPES)
def test_attribute_of_every_type_reads(name: str, tmp_path: Path) -> None:
    number, wire, travels, value = TYPES[name]
    attribute = field(number, travels, wire) + field(1, "x")
    node = node_of(write(tmp_path / "t.et", METADATA, field(1, 7) + field(3, 4) + field(10, attribute)))
    found = node.attributes["x"]
    assert found == Attribute(name, value)
    assert type(found.value) is type(value)


def test_node_of_today_with_everything_it_can_have(tmp_path: Path) -> None:
    inputs = field(1, "[1]") + field(2, "[[2]]") + field(3, "['Tensor']")
    message = field(1, 2**64 - 1) + field(2, "näme") + field(3, 5) + field(4, varint(1) + varint(300))
    message += field(5, varint(2)) + field(6, 12345) + field(7, 678) + field(8, inputs) + field(9, b"")
    message += field(10, field(1, "unset"))
    path = write(tmp_path / "t.et", METADATA + field(2, field(1, "model") + field(29, "x")), message)
    expected = Node(
        2**64 - 1, "näme", Kind.COMM_SEND, (1, 300), (2,), 12345, 678, Tensors("[1]", "[[2]]", "['Tensor']"), Tensors(),
        {"unset": Attribute("", "")},
    )  # fmt: skip
    assert node_of(path) == expected
    metadata = read_metadata(path)
    assert metadata == Metadata("0.0.4", {"model": Attribute("string", "x")})
    write_trace(tmp_path / "again.et", metadata, [expected])
    assert (tmp_path / "again.et").read_bytes() == path.read_bytes()


def test_dependencies_need_not_be_packed_and_unknown_fields_are_skipped(tmp_path: Path) -> None:
    message = field(1, 3) + field(3, 4) + field(4, 1) + field(4, 2) + field(5, 1) + field(7, 9)
    message += field(99, "new") + field(98, 5)
    node = node_of(write(tmp_path / "t.et", METADATA, message))
    assert (node.control, node.data, node.duration) == ((1, 2), (1,), 9)


def test_empty_metadata_and_attributes_without_values_are_of_today(tmp_path: Path) -> None:
    """As the symbolic tensor graph generator writes them."""
    attributes = field(10, field(1, "inputs")) + field(10, field(1, "outputs") + field(30, b""))
    path = write(tmp_path / "t.et", b"", field(1, 1) + field(2, "n") + field(3, 4) + attributes)
    assert read_metadata(path) == Metadata("")
    assert node_of(path).attributes == {"inputs": Attribute("", ""), "outputs": Attribute("string_list", ())}


OLDER = {  # of the schema: (number of the type, number of the field, wire type, content, as it reads)
    "0.0.2": {
        "float": (0, 4, NARROW, narrow(1.5), 1.5),
        "int64": (1, 5, None, -3, -3),
        "string": (2, 6, None, "x", "x"),
        "float_list": (3, 7, NARROW, narrow(0.5), (0.5,)),
        "int64_list": (4, 8, None, 4, (4,)),
        "string_list": (5, 9, None, "a", ("a",)),
    },
    "0.0.3": {
        "bool": (0, 4, None, 1, True),
        "float": (1, 5, NARROW, narrow(1.5), 1.5),
        "uint64": (2, 6, None, 2**64 - 1, 2**64 - 1),
        "int64": (3, 7, None, -3, -3),
        "string": (4, 8, None, "x", "x"),
        "bool_list": (5, 9, None, 1, (True,)),
        "float_list": (6, 10, NARROW, narrow(0.5), (0.5,)),
        "uint64_list": (7, 11, None, 5, (5,)),
        "int64_list": (8, 12, None, 4, (4,)),
        "string_list": (9, 13, None, "a", ("a",)),
    },
}


def older_attribute(version: str, name: str, kind: str, value: int | str | None = None) -> bytes:
    number, at, wire, content, _ = OLDER[version][kind]
    head = field(1, name) + field(2, number) + field(3, "about")
    return field(11, head + field(at, content if value is None else value, wire))


@pytest.mark.parametrize(
    ("version", "kind", "with_metadata"),
    [("0.0.2", kind, False) for kind in OLDER["0.0.2"]]
    + [("0.0.3", kind, with_metadata) for kind in OLDER["0.0.3"] for with_metadata in (False, True)],
)
def test_older_attribute_of_every_type(version: str, kind: str, with_metadata: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """Schema 0.0.3 begins with metadata, though there are traces without; 0.0.2 knows none."""
    node = field(1, 0) + field(2, "n") + field(3, 1) + older_attribute(version, "x", kind)
    metadata = field(1, field(1, "ranks") + field(2, 3) + field(7, 8))
    path = write(tmp_path / "t.et", *([metadata] if with_metadata else []), node)
    assert schema_of(path) == Schema(version, with_metadata)
    assert node_of(path).attributes == {"x": Attribute(kind, OLDER[version][kind][4], "about")}
    ranks = {"ranks": Attribute("int64", 8)} if with_metadata else {}
    assert read_metadata(path) == Metadata(version, ranks)


@pytest.mark.parametrize("number", range(1, 7))
def test_kinds_of_the_oldest_schema_skip_metadata(number: int, tmp_path: Path) -> None:
    names = ("INVALID", "MEM_LOAD", "MEM_STORE", "COMP", "COMM_SEND", "COMM_RECV", "COMM_COLL")
    node = field(1, 0) + field(2, "n") + field(3, number)
    assert node_of(write(tmp_path / "t.et", node)).kind is Kind[names[number]]


@pytest.mark.parametrize("metadata", [[], [b""], [METADATA]])
def test_the_kind_invalid_is_refused_in_every_schema(metadata: list[bytes], tmp_path: Path) -> None:
    write(tmp_path / "t.et", *metadata, field(1, 5) + field(2, "n") + field(3, 0))
    with pytest.raises(InputError, match="node 5: is of type INVALID, which is no operation"):
        node_of(tmp_path / "t.et")


@pytest.mark.parametrize("number", range(1, 8))
def test_kinds_of_0_0_3_are_those_of_today(number: int, tmp_path: Path) -> None:
    node = field(1, 0) + field(2, "n") + field(3, number) + older_attribute("0.0.3", "x", "int64")
    assert node_of(write(tmp_path / "t.et", b"", node)).kind is Kind(number)


@pytest.mark.parametrize(("version", "number", "name"), [
    ("0.0.2", 0, "ALL_REDUCE"), ("0.0.2", 1, "ALL_TO_ALL"), ("0.0.2", 2, "ALL_GATHER"), ("0.0.2", 3, "REDUCE_SCATTER"),
    ("0.0.3", 0, "ALL_REDUCE"), ("0.0.3", 1, "ALL_TO_ALL"), ("0.0.3", 2, "ALL_GATHER"), ("0.0.3", 3, "REDUCE_SCATTER"),
    ("0.0.3", 4, "BROADCAST"),
])  # fmt: skip
def test_collectives_of_older_schemas(version: str, number: int, name: str, tmp_path: Path) -> None:
    kind = 6 if version == "0.0.2" else 7
    attributes = older_attribute(version, "comm_type", "int64", number) + older_attribute(
        version, "comm_size", "int64", 8
    )
    node = field(1, 5) + field(2, "n") + field(3, kind) + attributes
    _, (found,) = read_trace(write(tmp_path / "t.et", *([b""] if version == "0.0.3" else []), node))
    assert found.kind is Kind.COMM_COLL
    assert CollectiveType(found.attributes["comm_type"].value) is CollectiveType[name]
    assert found.attributes["comm_size"].value == 8


def test_older_graph_becomes_one_of_today(tmp_path: Path) -> None:
    """Parents, one by one or packed, texts of tensors, the old names of duration and CPU; written, it is of today."""
    first = field(1, 1) + field(2, "a") + field(3, 4) + older_attribute("0.0.3", "runtime", "int64", 250)
    texts = b"".join(field(number, text) for number, text in enumerate("vstVST", 5))
    second = field(1, 2) + field(2, "b") + field(3, 4) + field(4, 1) + texts
    second += older_attribute("0.0.3", "is_host_op", "bool", 1)
    third = field(1, 3) + field(2, "c") + field(3, 4) + field(4, varint(1) + varint(2))
    third += field(11, field(1, "no_value") + field(2, 3))
    metadata, nodes = read_trace(write(tmp_path / "t.et", b"", first, second, third))
    assert metadata == Metadata("0.0.3")
    assert [node.data for node in nodes] == [(), (1,), (1, 2)]
    assert [node.duration for node in nodes] == [250, 0, 0]
    assert (nodes[1].inputs, nodes[1].outputs) == (Tensors("v", "s", "t"), Tensors("V", "S", "T"))
    assert nodes[1].attributes == {"is_cpu_op": Attribute("bool", value=True, doc="about")}
    assert nodes[2].attributes == {"no_value": Attribute("", "")}
    write_trace(tmp_path / "today.et", metadata, nodes)
    assert schema_of(tmp_path / "today.et") == Schema("0.0.4")
    assert read_trace(tmp_path / "today.et") == (Metadata("0.0.4"), nodes)


def test_older_text_that_looks_like_nothing_does_not_mislead(tmp_path: Path) -> None:
    """Texts in the fields where today's schema has its times and attributes."""
    texts = field(5, "[1]") + field(8, "[2]") + field(10, "['Tensor(float)']")
    node = field(1, 1) + field(2, "a") + field(3, 4) + texts + older_attribute("0.0.3", "x", "int64")
    assert schema_of(write(tmp_path / "t.et", b"", node)) == Schema("0.0.3")


def test_storage_nodes_of_later_schemas_do_not_pass_for_old_ones(tmp_path: Path) -> None:
    storage = field(1, 1) + field(2, "read") + field(3, 8) + field(11, field(1, 1))
    path = write(tmp_path / "t.et", b"", field(1, 0) + field(3, 4) + field(7, 1), storage)
    assert schema_of(path) == Schema("0.0.4")
    with pytest.raises(InputError, match=r"message 3 \(byte \d+\): node 1: unknown node type 8; .* 7 COMM_COLL"):
        list(read_nodes(path))


A_NODE = field(1, 1) + field(2, "a") + field(3, 4)


@pytest.mark.parametrize(("messages", "part"), [
    ([], "is empty"),
    ([A_NODE + field(7, 5)], "begins with metadata"),
    ([A_NODE + field(10, field(1, "num_ops") + field(9, 5))], "begins with metadata"),
    ([A_NODE + field(5, 1) + field(7, 2)], "begins with metadata"),
    ([b"\xff\xff"], "no message of protobuf"),
    ([b"\x0a\x02\xff\xfe", A_NODE], "message 1"),
    ([field(1, "\x00\x01"), A_NODE], "version of its schema"),
    ([METADATA, b"\x08"], "message 2 (byte 8): is no message"),
    ([METADATA, field(1, 1) + field(2, b"\xff")], "UTF-8"),
    ([METADATA, field(1, 1) + field(3, 11)], "node 1: unknown node type 11"),
    ([METADATA, field(1, 1) + field(3, -1)], "node 1: unknown node type -1"),
    ([METADATA, A_NODE + b"".join(field(10, field(1, "x") + field(9, n)) for n in (1, 2))], "'x' is there twice"),
    ([A_NODE.replace(b"a", b"\xff")], "UTF-8"),
    ([field(1, 1) + field(2, "a")], "node 1: its type is missing"),
    ([field(1, 1) + field(2, "a") + field(3, 7)], "unknown node type 7; schema 0.0.2"),
    ([A_NODE + field(11, field(1, "x") + field(2, 6))], "'x' has unknown type 6"),
    ([b"", field(1, 1) + field(3, 7) + older_attribute("0.0.3", "comm_type", "int64", 5)], "comm_type 5; schema 0.0.3"),
    ([b"", A_NODE + older_attribute("0.0.3", "runtime", "int64", -5)], "its runtime is -5"),
])  # fmt: skip
def test_what_no_schema_has_is_refused(messages: list[bytes], part: str, tmp_path: Path) -> None:
    path = write(tmp_path / "t.et", *messages)
    with pytest.raises(InputError) as caught:
        list(read_nodes(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert part in str(caught.value)


def test_an_attribute_twice_with_one_value_is_one(tmp_path: Path) -> None:
    attribute = field(10, field(1, "x") + field(9, 1))
    assert node_of(write(tmp_path / "t.et", METADATA, A_NODE + attribute * 2)).attributes == {
        "x": Attribute("int64", 1)
    }


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("content", "part"), [
    (b"\x85", "ends inside the length"),
    (b"\x05abc", "its length is 5 bytes, the file has 3 left"),
    (varint(2**40), f"its length is {2**40} bytes"),
    (b"\xff" * 10, "more than 10 bytes"),
])  # fmt: skip
def test_lengths_that_cannot_be(packed: bool, content: bytes, part: str, tmp_path: Path) -> None:  # noqa: FBT001
    path = tmp_path / "t.et"
    whole = varint(len(METADATA)) + METADATA + varint(len(A_NODE) + 2) + A_NODE + field(7, 1) + content
    path.write_bytes(gzip.compress(whole) if packed else whole)
    nodes = read_nodes(path)
    assert next(nodes).duration == 1
    with pytest.raises(InputError, match=r"t\.et: message 3 \(byte \d+\): ") as caught:
        next(nodes)
    assert part in str(caught.value)


@pytest.mark.parametrize("cut", [3, 12, 40, -9, -3])
def test_a_gzipped_trace_that_ends_early(cut: int, tmp_path: Path) -> None:
    path = write(tmp_path / "t.et", METADATA, *(A_NODE + field(7, number) for number in range(1, 100)))
    packed = gzip.compress(path.read_bytes())
    path.write_bytes(packed[:cut])
    with pytest.raises(InputError, match=r"message \d+ \(byte \d+\): the gzipped file ends here"):
        list(read_nodes(path))


def test_damaged_gzip(tmp_path: Path) -> None:
    path = write(tmp_path / "t.et", METADATA, *(A_NODE + field(7, number) for number in range(1, 100)))
    packed = bytearray(gzip.compress(path.read_bytes()))
    packed[-6] ^= 1
    path.write_bytes(packed)
    with pytest.raises(InputError, match="cannot be read on: crc check failed"):
        list(read_nodes(path))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: no such file"):
        read_trace(tmp_path / "none.et")
    with pytest.raises(InputError, match="cannot be read: is a directory"):
        read_trace(tmp_path)
    with pytest.raises(InputError, match=r"cannot be read: .*null"):
        read_trace(Path("a\0b"))
