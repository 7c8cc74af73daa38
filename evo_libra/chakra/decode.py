"""Messages of protobuf as the records of `trace`, whatever their schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from evo_libra.chakra.schema import TODAY, attribute_types, messages
from evo_libra.chakra.trace import NO_OPERATION, Attribute, CollectiveType, Kind, Metadata, Node, Tensors
from evo_libra.errors import printable
from evo_libra.files.mistakes import short

# Number of a kind or a collective in an older schema: what it is today.
_KINDS: Mapping[str, Mapping[int, Kind]] = {
    TODAY: {kind.value: kind for kind in Kind},
    "0.0.3": {kind.value: kind for kind in Kind},
    "0.0.2": dict(enumerate(kind for kind in Kind if kind is not Kind.METADATA)),
}
_COLLECTIVES = dict(
    enumerate(
        (
            *(CollectiveType.ALL_REDUCE, CollectiveType.ALL_TO_ALL, CollectiveType.ALL_GATHER),
            *(CollectiveType.REDUCE_SCATTER, CollectiveType.BROADCAST),
        )
    )
)
_OLDER_CPU, _CPU, _DURATION = "is_host_op", "is_cpu_op", "runtime"
_MAX_DURATION = 2**64
_NOTHING: Mapping[str, Attribute] = MappingProxyType({})


class DecodeError(ValueError):
    """A message that is none of its schema, in words."""


def decode_metadata(data: bytes, version: str) -> Metadata:
    """Return what the first message of a trace of schema 0.0.4 or 0.0.3 says.

    Raises `DecodeError` if it is damaged, or says something that nothing here knows.
    """
    message = _parsed(messages(version).metadata, data)
    if version != TODAY:
        return Metadata(version, _attributes(message.attribute, _older_attribute(version)))
    if not message.version.isprintable():
        raise DecodeError("the version of its schema is no text; this is no trace, or of a schema that is not known")
    return Metadata(message.version, _attributes(message.attr, _attribute))


def decode_node(data: bytes, version: str) -> Node:
    """Return the node that a message of a schema says, as it would be in schema 0.0.4.

    Raises `DecodeError` if it is damaged, or says something that nothing here knows.
    """
    message = _parsed(messages(version).node, data)
    try:
        return _node(message) if version == TODAY else _older_node(message, version)
    except DecodeError as error:
        raise DecodeError(f"node {message.id}: {error}") from None


def _parsed(kind: Any, data: bytes) -> Any:  # noqa: ANN401 - protobuf makes these classes
    from google.protobuf.message import DecodeError as WireError  # noqa: PLC0415 - imported late everywhere

    try:
        return kind.FromString(data)
    except (WireError, UnicodeDecodeError):  # the latter from protobuf without its compiled part
        raise DecodeError("is no message of its schema, or has text that is not UTF-8; it is damaged") from None


def _node(message: Any) -> Node:  # noqa: ANN401 - the same
    return Node(
        id=message.id, name=message.name, kind=_kind(message.type, TODAY), control=tuple(message.ctrl_deps),
        data=tuple(message.data_deps), start=message.start_time_micros, duration=message.duration_micros,
        inputs=_tensors(message.inputs) if message.HasField("inputs") else None,
        outputs=_tensors(message.outputs) if message.HasField("outputs") else None,
        attributes=_attributes(message.attr, _attribute),
    )  # fmt: skip


def _tensors(message: Any) -> Tensors:  # noqa: ANN401 - the same
    return Tensors(message.values, message.shapes, message.types)


def _kind(number: int, version: str) -> Kind:
    kinds = _KINDS[version]
    if kinds.get(number) is Kind.INVALID:
        raise DecodeError(NO_OPERATION)
    if number not in kinds:
        known = ", ".join(f"{value} {kind.name}" for value, kind in kinds.items() if kind is not Kind.INVALID)
        raise DecodeError(f"unknown node type {number}; schema {version} has {known}")
    return kinds[number]


def _attributes(found: Iterable[Any], decode: Callable[[Any], Attribute]) -> Mapping[str, Attribute]:
    attributes: dict[str, Attribute] = {}
    for message in found:
        name, attribute = _text(message.name), decode(message)
        if name in attributes and attributes[name] != attribute:
            raise DecodeError(f"the attribute '{short(printable(name))}' is there twice, with different values")
        attributes[name] = attribute
    return MappingProxyType(attributes) if attributes else _NOTHING


def _attribute(message: Any) -> Attribute:  # noqa: ANN401 - the same
    kind = message.WhichOneof("value")
    if kind is None:
        return Attribute("", "", message.doc_string)
    value = getattr(message, kind)
    return Attribute(kind, tuple(value.values) if kind.endswith("_list") else value, message.doc_string)


def _older_node(message: Any, version: str) -> Node:  # noqa: ANN401 - the same
    for name in ("id", "type"):
        if not message.HasField(name):
            raise DecodeError(f"its {name} is missing, which schema {version} requires")
    kind = _kind(message.type, version)
    attributes = _attributes(message.attribute, _older_attribute(version))
    if _OLDER_CPU in attributes and _CPU not in attributes:
        attributes = {_CPU if name == _OLDER_CPU else name: found for name, found in attributes.items()}
    else:
        attributes = dict(attributes)
    if kind is Kind.COMM_COLL and "comm_type" in attributes:
        attributes["comm_type"] = _today(attributes["comm_type"], version)
    return Node(
        message.id,
        _text(message.name),
        kind,
        data=tuple(message.parent),
        duration=_duration(attributes.get(_DURATION)),
        inputs=_older_tensors(message, "input"),
        outputs=_older_tensors(message, "output"),
        attributes=MappingProxyType(attributes),
    )


def _older_attribute(version: str) -> Callable[[Any], Attribute]:
    types = attribute_types(version)

    def decode(message: Any) -> Attribute:  # noqa: ANN401 - the same
        if not 0 <= message.type < len(types):
            raise DecodeError(
                f"the attribute '{short(printable(_text(message.name)))}' has unknown type {message.type}"
            )
        kind = types[message.type]
        doc = _text(message.doc_string)
        if kind.endswith("_list"):
            values = tuple(getattr(message, kind))
            return Attribute(kind, tuple(map(_text, values)) if kind == "string_list" else values, doc)
        if not message.HasField(kind):
            return Attribute("", "", doc)
        value = getattr(message, kind)
        return Attribute(kind, _text(value) if kind == "string" else value, doc)

    return decode


def _today(found: Attribute, version: str) -> Attribute:
    """Return the attribute ``comm_type`` with the number that a collective has today."""
    if not isinstance(found.value, int) or isinstance(found.value, bool):
        return found
    if found.value not in _COLLECTIVES:
        known = ", ".join(f"{number} {collective.name}" for number, collective in _COLLECTIVES.items())
        raise DecodeError(f"unknown comm_type {found.value}; schema {version} has {known}")
    return Attribute(found.type, _COLLECTIVES[found.value].value, found.doc)


def _duration(runtime: Attribute | None) -> int:
    if runtime is None or isinstance(runtime.value, bool) or not isinstance(runtime.value, int):
        return 0
    if not 0 <= runtime.value < _MAX_DURATION:
        raise DecodeError(f"its runtime is {runtime.value}; a number of microseconds from 0 on is needed")
    return runtime.value


def _older_tensors(message: Any, side: str) -> Tensors | None:  # noqa: ANN401 - the same
    names = (f"{side}s", f"{side}_shapes", f"{side}_types")
    return Tensors(*(_text(getattr(message, name)) for name in names)) if any(map(message.HasField, names)) else None


def _text(found: str | bytes) -> str:
    """Return a text; where proto2 let through one that is not UTF-8, protobuf gives bytes."""
    if isinstance(found, bytes):
        raise DecodeError("has text that is not UTF-8; it is damaged")
    return found
