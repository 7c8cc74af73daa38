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

from evo_libra.chakra.framing import FramedMessage, read_messages
from evo_libra.chakra.schema import FIRST_VALUE, TODAY, attribute_types
from evo_libra.errors import InputError, Mistake
from evo_libra.files.wire import BYTES, NARROW, VARINT, Field, fields_of

_TYPE = 3
_WIRE_TYPES = {"float": NARROW, "string": BYTES}


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
        if _is_of_today(fields) or _has_numbers_for_texts(fields):
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


def _has_numbers_for_texts(fields: Iterable[Field]) -> bool:
    return any(5 <= number <= 10 and wire != BYTES for number, wire, _ in fields)  # noqa: PLR2004 - see the top


def _is_older_attribute(content: bytes) -> bool:
    present = {(number, wire) for number, wire, _ in fields_of(content) or []}
    return present >= {(1, BYTES), (2, VARINT)}


def _is_attribute_of_today(content: bytes) -> bool:
    fields = fields_of(content) or []
    named = any(number == 1 and wire == BYTES and text for number, wire, text in fields)
    return named and (2, VARINT) not in {(number, wire) for number, wire, _ in fields}


def _may_be(version: str, fields: Iterable[Field]) -> bool:
    """Tell whether the values of an older node's attributes are in the fields that an older schema has for them.

    Lists of numbers count only one by one, which is how proto2 writes them; packed, they could be of both.
    """
    scalars = (name.removesuffix("_list") for name in attribute_types(version))
    allowed = {(number, _WIRE_TYPES.get(name, VARINT)) for number, name in enumerate(scalars, FIRST_VALUE[version])}
    attributes = [content for number, wire, content in fields if (number, wire) == (11, BYTES)]
    present = {(number, wire) for content in attributes for number, wire, _ in fields_of(content) or []}
    return {(number, wire) for number, wire in present if number >= FIRST_VALUE[version]} <= allowed
