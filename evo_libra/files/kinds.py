"""Kinds of files, and advice for a user who gave one to the wrong command."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

VARINT, WIDE, BYTES, NARROW = 0, 1, 2, 5
"""Wire types: a number of any length, eight bytes, a length and its bytes, four bytes."""

Field = tuple[int, int, bytes]
"""Number and wire type of a field, and its content where that is bytes."""

ENDINGS = (".yaml", ".yml", ".json")
"""Of names that are paths of files."""

_MAX_BITS = 70


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place and where it ends; a number that is cut off ends behind the data."""
    value = shift = 0
    while at < len(data) and shift < _MAX_BITS:
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


USE = {
    "problem": "a problem file; use `evo-libra search`",
    "experiment": "an experiment file; use `evo-libra run`",
    "manifest": "the manifest of a run; use its folder",
    "catalogue": "a catalogue; use it as `fabric.catalog` of a problem file",
    "network": "a network file of ASTRA-sim; use `evo-libra import --network`",
    "system": "a system file of ASTRA-sim; use `evo-libra import --system`",
    "trace": "an execution trace; use it as `trace` of a workload, or `evo-libra workload show`",
}
"""Description of each kind of file, and the command for it."""
_BEGINNINGS = {
    b"PAR1": "a Parquet file; use the folder of the run that it belongs to",
    b"SQLite format 3": "a database; use the folder of the run that it belongs to",
    b"PK\x03\x04": "an archive, such as the checkpoint of a run; use the folder of the run",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF document",
    b"\x1f\x8b": "a compressed file; decompress it first",
}
_FIRST_FIELDS = (1, 2)
"""Numbers of the fields with which the first message of a trace begins: a version, attributes, an id, a name."""
_PROBLEM = {"npus", "fabric", "workloads"}
_PRODUCTS = {"extends", "systems", "nics", "switches", "cables", "modules"}
_EXPERIMENT = {"problem", "runs", "include", "grid", "engines", "seeds"}


def kind_of_data(data: Any) -> str | None:  # noqa: ANN401 - data of a file
    """Return the name of a kind of file, by the keys at its top; None where they are those of no kind.

    >>> kind_of_data({"problem": "gpt3-4k", "seeds": [1, 2]})
    'experiment'
    """
    keys = set(data) if isinstance(data, dict) else set()
    if {"hash", "program", "engine"} <= keys:
        return "manifest"
    if len(_PROBLEM & keys) > 1 and not {"problem", "runs"} & keys:
        return "problem"
    if ("technologies" in keys or ("kind" in keys and _PRODUCTS & keys)) and not _PROBLEM & keys:
        return "catalogue"
    if {"topology", "npus_count"} <= keys:
        return "network"
    if any("-implementation" in key for key in keys):
        return "system"
    return "experiment" if _EXPERIMENT & keys and not _PROBLEM & keys else None


def refusal_of_data(data: Any, fields: Collection[str]) -> str:  # noqa: ANN401 - data of a file
    """Return the sentence that refuses a file as another kind than one of certain top keys; empty where it is not."""
    kind = kind_of_data(data)
    return "" if kind in (None, kind_of_data(dict.fromkeys(fields))) else f"this is {USE[str(kind)]}"


def refusal_of_bytes(path: Path, content: bytes) -> str:
    """Return the sentence that refuses a file which is no text, by how it begins; empty for any other file."""
    known = next((words for beginning, words in _BEGINNINGS.items() if content.startswith(beginning)), None)
    if known is None and (path.suffix == ".et" or _begins_with_message(content)):
        known = USE["trace"]
    return "" if known is None else f"this is {known}"


def refusal_of_folder(path: Path) -> str:
    """Return the sentence that refuses a folder where a file is needed."""
    run = (path / "manifest.json").is_file()
    return "this is the folder of a run; use `evo-libra show`" if run else "this is a folder; a file is needed"


def _begins_with_message(content: bytes) -> bool:
    """Return whether a file begins as traces do: with the length of a message of protobuf, and that message."""
    content = content.removeprefix(b"\0")  # metadata that say nothing
    length, start = varint(content, 0)
    fields = fields_of(content[start : start + length])
    return start + length <= len(content) and bool(fields and fields[0][0] in _FIRST_FIELDS)
