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
    """The classes of the messages of one schema.

    Attributes
    ----------
    metadata : of the first message of a trace; schema 0.0.2 has none, and there it is None.
    node : of every other message.
    """

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
