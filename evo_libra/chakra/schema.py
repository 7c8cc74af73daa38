"""The messages of execution traces, described field by field; protobuf itself is imported when they are first used.

Enumerations travel as plain integers, and so they are described here: a number without a name then reaches the reader,
who can say what is wrong, in every version.

Sources: the fields and numbers of the Chakra schemas 0.0.2, 0.0.3 (both proto2) and 0.0.4 (proto3), MLCommons.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto


from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from evo_libra.chakra.framing import FramedMessage, read_messages
from evo_libra.errors import InputError, Mistake
from evo_libra.files.kinds import BYTES, NARROW, VARINT, Field, fields_of

TODAY = "0.0.4"
SCALARS = (
    *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
    *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
)
# An attribute of an older schema names its type by number: the position here, first the values, then lists of them.
OLDER_SCALARS = {"0.0.3": ("bool", "float", "uint64", "int64", "string"), "0.0.2": ("float", "int64", "string")}
FIRST_VALUE = {TODAY: 3, "0.0.3": 4, "0.0.2": 4}
"""Number of the field of an attribute that holds a value of the first type."""

_PACKAGE = "ChakraProtoMsg"


@dataclass(frozen=True)
class Messages:
    """The classes of the messages of one schema: of the metadata, which 0.0.2 does not have, and of the nodes."""

    metadata: Any
    node: Any


def attribute_types(version: str) -> tuple[str, ...]:
    """Return the names of the types that an attribute of a schema can have, in the order of their fields.

    >>> attribute_types("0.0.2")
    ('float', 'int64', 'string', 'float_list', 'int64_list', 'string_list')
    """
    if version == TODAY:
        return tuple(name for scalar in SCALARS for name in (scalar, f"{scalar}_list"))
    scalars = OLDER_SCALARS[version]
    return (*scalars, *(f"{scalar}_list" for scalar in scalars))


@cache
def messages(version: str) -> Messages:
    """Return the message classes of schema 0.0.4, 0.0.3 or 0.0.2."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # noqa: PLC0415 - see the top

    file = descriptor_pb2.FileDescriptorProto(name="trace.proto", package=_PACKAGE)
    _describe_today(file) if version == TODAY else _describe_older(file, version)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)

    def made(name: str) -> Any:  # noqa: ANN401 - a class that protobuf makes
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))

    return Messages(None if version == "0.0.2" else made("GlobalMetadata"), made("Node"))


def _describe_today(file: FileDescriptorProto) -> None:
    file.syntax = "proto3"
    for scalar in SCALARS:
        _add(_message(file, f"{scalar}_list"), 1, "values", scalar, repeated=True)
    attribute = _message(file, "AttributeProto")
    _add_all(attribute, name="string", doc_string="string")
    attribute.oneof_decl.add(name="value")
    for number, name in enumerate(attribute_types(TODAY), FIRST_VALUE[TODAY]):
        _add(attribute, number, name, name).oneof_index = 0
    _add_all(_message(file, "IOInfo"), values="string", shapes="string", types="string")
    metadata = _message(file, "GlobalMetadata")
    _add(metadata, 1, "version", "string")
    _add(metadata, 2, "attr", "AttributeProto", repeated=True)
    node = _message(file, "Node")
    _add_all(node, id="uint64", name="string", type="int32")
    _add(node, 4, "ctrl_deps", "uint64", repeated=True)
    _add(node, 5, "data_deps", "uint64", repeated=True)
    _add(node, 6, "start_time_micros", "uint64")
    _add(node, 7, "duration_micros", "uint64")
    _add(node, 8, "inputs", "IOInfo")
    _add(node, 9, "outputs", "IOInfo")
    _add(node, 10, "attr", "AttributeProto", repeated=True)


def _describe_older(file: FileDescriptorProto, version: str) -> None:
    file.syntax = "proto2"
    attribute = _message(file, "AttributeProto")
    _add_all(attribute, name="string", type="int32", doc_string="string")
    for number, name in enumerate(attribute_types(version), FIRST_VALUE[version]):
        _add(attribute, number, name, name.removesuffix("_list"), repeated=name.endswith("_list"))
    _add(_message(file, "GlobalMetadata"), 1, "attribute", "AttributeProto", repeated=True)
    node = _message(file, "Node")
    _add_all(node, id="uint64", name="string", type="int32")
    _add(node, 4, "parent", "uint64", repeated=True)
    texts = ("inputs", "input_shapes", "input_types", "outputs", "output_shapes", "output_types")
    for number, name in enumerate(texts, 5):
        _add(node, number, name, "string")
    _add(node, 11, "attribute", "AttributeProto", repeated=True)


def _message(file: FileDescriptorProto, name: str) -> DescriptorProto:
    return file.message_type.add(name=name)


def _add_all(message: DescriptorProto, **kinds: str) -> None:
    for number, (name, kind) in enumerate(kinds.items(), 1):
        _add(message, number, name, kind)


def _add(message: DescriptorProto, number: int, name: str, kind: str, *, repeated: bool = False) -> Any:  # noqa: ANN401
    field = message.field.add(name=name, number=number)
    field.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
    if kind in SCALARS:
        field.type = getattr(field, f"TYPE_{kind.upper()}")
    else:
        field.type, field.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
    return field


_TYPE = 3
_WIRE_TYPES = {"float": NARROW, "string": BYTES}


@dataclass(frozen=True)
class Schema:
    """The version of a trace, and whether its first message is metadata; some tools begin with a node in 0.0.3, too."""

    version: str
    has_metadata: bool = True


def schema_of(path: Path) -> Schema:
    """Return the schema of a trace.

    A trace without anything that differs is of 0.0.4 if it begins with metadata and of 0.0.2 if not. Raises
    `InputError` if the file cannot be read or is empty, its first message is neither metadata nor a node, or a node
    that could be of every schema has no type.
    """
    messages = read_messages(path)
    first = next(messages, None)
    if first is None:
        raise InputError(Mistake("is empty; a trace has metadata and nodes", str(path)))
    fields = fields_of(first.data)
    if fields is None:
        raise InputError(
            Mistake("is no message of protobuf; this is no trace, or it is damaged", str(path), key=first.place)
        )
    if any(number == 1 and wire == VARINT for number, wire, _ in fields):
        return Schema(_without_metadata(first, messages, path), has_metadata=False)
    texts = [content for number, wire, content in fields if number == 1 and wire == BYTES]
    if any(_is_older_attribute(text) for text in texts):
        return Schema("0.0.3")
    if any(texts) or any(number == 2 for number, _, _ in fields):  # noqa: PLR2004 - attributes of the metadata
        return Schema(TODAY)
    for message in messages:
        fields = fields_of(message.data) or []
        verdict = _is_of_today(fields)
        if verdict is not None:
            return Schema(TODAY if verdict else "0.0.3")
        if (_TYPE, VARINT) not in {(number, wire) for number, wire, _ in fields}:
            raise InputError(Mistake("is a node without a type, which no schema has", str(path), key=message.place))
    return Schema(TODAY)


def _without_metadata(first: FramedMessage, rest: Iterable[FramedMessage], path: Path) -> str:
    left = ["0.0.2", "0.0.3"]
    for message in chain((first,), rest):
        fields = fields_of(message.data) or []
        numbers_for_texts = any(5 <= number <= 10 and wire != BYTES for number, wire, _ in fields)  # noqa: PLR2004 - see the top
        if _is_of_today(fields) or numbers_for_texts:
            reason = (
                "is a node; a trace of schema 0.0.4 or 0.0.3 begins with metadata, and one of 0.0.2 has other nodes"
            )
            raise InputError(Mistake(reason, str(path), key=first.place))
        left = [version for version in left if _may_be(version, fields)] or left
        if len(left) == 1:
            break
    return left[0]


def _is_of_today(fields: Iterable[Field]) -> bool | None:
    """Tell whether a node is of schema 0.0.4 or of an older one; None if it could be of either."""
    present = {(number, wire): content for number, wire, content in fields}
    if present.keys() & {(6, VARINT), (7, VARINT)}:
        return True
    if present.keys() & {(6, BYTES), (7, BYTES)}:
        return False
    if _is_older_attribute(present.get((11, BYTES), b"")):
        return False
    if _is_attribute_of_today(present.get((10, BYTES), b"")):
        return True
    if (4, VARINT) in present:
        return False
    return True if (4, BYTES) in present or (5, VARINT) in present else None


def _is_older_attribute(content: bytes) -> bool:
    present = {(number, wire) for number, wire, _ in fields_of(content) or []}
    return present >= {(1, BYTES), (2, VARINT)}


def _is_attribute_of_today(content: bytes) -> bool:
    fields = fields_of(content) or []
    named = any(number == 1 and wire == BYTES and text for number, wire, text in fields)
    return named and (2, VARINT) not in {(number, wire) for number, wire, _ in fields}


def _may_be(version: str, fields: Iterable[Field]) -> bool:
    """Tell whether the values of an older node's attributes are in the fields that an older schema has for them."""
    scalars = (name.removesuffix("_list") for name in attribute_types(version))
    allowed = {(number, _WIRE_TYPES.get(name, VARINT)) for number, name in enumerate(scalars, FIRST_VALUE[version])}
    attributes = [content for number, wire, content in fields if (number, wire) == (11, BYTES)]
    present = {(number, wire) for content in attributes for number, wire, _ in fields_of(content) or []}
    return {(number, wire) for number, wire in present if number >= FIRST_VALUE[version]} <= allowed
