"""Which schema a trace is of: its metadata, or the first node on which the schemas differ, tells.

Schema 0.0.4 begins with metadata that has its version as text, or nothing. A node's times are numbers in the fields 6
and 7, its attributes in field 10, its dependencies packed. Schema 0.0.3 begins with metadata that has attributes in
field 1; a node has texts in the fields 5 to 10, attributes in field 11 and its dependencies one by one. Schema 0.0.2 is
like 0.0.3 but begins with a node, and numbers the types of attributes in another way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from evo_libra.chakra.framing import Message, read_messages
from evo_libra.chakra.schema import FIRST_VALUE, TODAY, attribute_types
from evo_libra.errors import InputError, Mistake

_TYPE = 3
_VARINT, _WIDE, _BYTES, _NARROW = 0, 1, 2, 5
_OF_SCALAR = {"float": _NARROW, "string": _BYTES}

# A field of a message as it travels: its number, its wire type, and its content if that is bytes.
_Field = tuple[int, int, bytes]


@dataclass(frozen=True)
class Schema:
    """What a trace is written in.

    Attributes
    ----------
    version : 0.0.4, 0.0.3 or 0.0.2.
    has_metadata : whether the first message is metadata; if not it is a node, which some tools wrote in 0.0.3, too.
    """

    version: str
    has_metadata: bool = True


def schema_of(path: Path) -> Schema:
    """Return the schema of a trace.

    A trace without anything that differs is of 0.0.4 if it begins with metadata and of 0.0.2 if not.

    Raises
    ------
    InputError : the file cannot be read or is empty; its first message is neither metadata nor a node; a node
        that could be of every schema has no type.
    """
    messages = read_messages(path)
    first = next(messages, None)
    if first is None:
        raise InputError(Mistake("is empty; a trace has metadata and nodes", str(path)))
    fields = _fields(first.data)
    if fields is None:
        raise InputError(
            Mistake("is no message of protobuf; this is no trace, or it is damaged", str(path), key=first.place)
        )
    if any(number == 1 and wire == _VARINT for number, wire, _ in fields):
        return Schema(_without_metadata(first, messages, path), has_metadata=False)
    texts = [content for number, wire, content in fields if number == 1 and wire == _BYTES]
    if any(_is_older_attribute(text) for text in texts):
        return Schema("0.0.3")
    if any(texts) or any(number == 2 for number, _, _ in fields):  # noqa: PLR2004 - attributes of the metadata
        return Schema(TODAY)
    for message in messages:
        fields = _fields(message.data) or []
        verdict = _is_of_today(fields)
        if verdict is not None:
            return Schema(TODAY if verdict else "0.0.3")
        if (_TYPE, _VARINT) not in {(number, wire) for number, wire, _ in fields}:
            raise InputError(Mistake("is a node without a type, which no schema has", str(path), key=message.place))
    return Schema(TODAY)


def _without_metadata(first: Message, rest: Iterable[Message], path: Path) -> str:
    left = ["0.0.2", "0.0.3"]
    for message in chain((first,), rest):
        fields = _fields(message.data) or []
        if _is_of_today(fields) or _has_numbers_for_texts(fields):
            reason = (
                "is a node; a trace of schema 0.0.4 or 0.0.3 begins with metadata, and one of 0.0.2 has other nodes"
            )
            raise InputError(Mistake(reason, str(path), key=first.place))
        left = [version for version in left if _may_be(version, fields)] or left
        if len(left) == 1:
            break
    return left[0]


def _is_of_today(fields: Iterable[_Field]) -> bool | None:
    """Tell whether a node is of schema 0.0.4 or of an older one; None if it could be of either."""
    present = {(number, wire): content for number, wire, content in fields}
    if present.keys() & {(6, _VARINT), (7, _VARINT)}:
        return True
    if present.keys() & {(6, _BYTES), (7, _BYTES)}:
        return False
    if _is_older_attribute(present.get((11, _BYTES), b"")):
        return False
    if _is_attribute_of_today(present.get((10, _BYTES), b"")):
        return True
    if (4, _VARINT) in present:
        return False
    return True if (4, _BYTES) in present or (5, _VARINT) in present else None


def _has_numbers_for_texts(fields: Iterable[_Field]) -> bool:
    return any(5 <= number <= 10 and wire != _BYTES for number, wire, _ in fields)  # noqa: PLR2004 - see the top


def _is_older_attribute(content: bytes) -> bool:
    present = {(number, wire) for number, wire, _ in _fields(content) or []}
    return present >= {(1, _BYTES), (2, _VARINT)}


def _is_attribute_of_today(content: bytes) -> bool:
    fields = _fields(content) or []
    named = any(number == 1 and wire == _BYTES and text for number, wire, text in fields)
    return named and (2, _VARINT) not in {(number, wire) for number, wire, _ in fields}


def _may_be(version: str, fields: Iterable[_Field]) -> bool:
    """Tell whether the values of an older node's attributes are in the fields that an older schema has for them.

    Lists of numbers count only one by one, which is how proto2 writes them; packed, they could be of both.
    """
    scalars = (name.removesuffix("_list") for name in attribute_types(version))
    allowed = {(number, _OF_SCALAR.get(name, _VARINT)) for number, name in enumerate(scalars, FIRST_VALUE[version])}
    attributes = [content for number, wire, content in fields if (number, wire) == (11, _BYTES)]
    present = {(number, wire) for content in attributes for number, wire, _ in _fields(content) or []}
    return {(number, wire) for number, wire in present if number >= FIRST_VALUE[version]} <= allowed


def _fields(data: bytes) -> list[_Field] | None:
    """Return the fields of a message as they travel, or None if it is none."""
    fields: list[_Field] = []
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        content = b""
        if wire == _VARINT:
            _, at = _varint(data, at)
        elif wire == _BYTES:
            length, at = _varint(data, at)
            content = data[at : at + length]
            at += length
        elif wire in (_WIDE, _NARROW):
            at += 8 if wire == _WIDE else 4
        else:
            return None
        if number == 0 or at > len(data):
            return None
        fields.append((number, wire, content))
    return fields


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a varint and where it ends; one that is cut off ends behind the data."""
    value = shift = 0
    while at < len(data) and shift < 70:  # noqa: PLR2004 - ten bytes of seven bits
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the bit that says more bytes follow
            return value, at
        shift += 7
    return 0, len(data) + 1
