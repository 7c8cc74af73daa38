"""Messages of protobuf as they travel: numbers of seven bits a byte, and fields with their number and wire type."""

from __future__ import annotations

VARINT, WIDE, BYTES, NARROW = 0, 1, 2, 5
"""Wire types: a number of any length, eight bytes, a length and so many bytes, four bytes."""

Field = tuple[int, int, bytes]
"""Number and wire type of a field, and its content where that is bytes."""

_MOST_BITS = 70


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place and where it ends; a number that is cut off ends behind the data."""
    value = shift = 0
    while at < len(data) and shift < _MOST_BITS:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the bit that says more bytes follow
            return value, at
        shift += 7
    return 0, len(data) + 1


def fields_of(data: bytes) -> list[Field] | None:
    """Return the fields of a message, or None where the bytes are no message."""
    fields: list[Field] = []
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        start = at
        if wire == VARINT:
            _, at = varint(data, at)
        elif wire == BYTES:
            length, start = varint(data, at)
            at = start + length
        elif wire in (WIDE, NARROW):
            at += 8 if wire == WIDE else 4
        else:
            return None
        if number == 0 or at > len(data):
            return None
        fields.append((number, wire, data[start:at] if wire == BYTES else b""))
    return fields
