"""What kind of file something is, and what to do with it, for whoever gave it to the wrong command."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from evo_libra.errors import InputError

_USE = {
    "problem": "a problem file; use `evo-libra search`",
    "experiment": "an experiment file; use `evo-libra run`",
    "manifest": "the manifest of a run; use its folder",
    "catalogue": "a catalogue; use it as `fabric.catalog` of a problem file",
    "network": "a network file of ASTRA-sim; use `evo-libra import --network`",
    "system": "a system file of ASTRA-sim; use `evo-libra import --system`",
    "trace": "an execution trace; use it as `trace` of a workload, or `evo-libra workload show`",
}
_BEGINNINGS = {
    b"PAR1": "a Parquet file; use the folder of the run that it belongs to",
    b"SQLite format 3": "a database; use the folder of the run that it belongs to",
    b"PK\x03\x04": "an archive, such as the checkpoint of a run; use the folder of the run",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF document",
    b"\x1f\x8b": "a compressed file; decompress it first",
}
_PROBLEM = {"npus", "fabric", "workloads"}
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
    if "technologies" in keys and not _PROBLEM & keys:
        return "catalogue"
    if {"topology", "npus_count"} <= keys:
        return "network"
    if any("-implementation" in key for key in keys):
        return "system"
    return "experiment" if _EXPERIMENT & keys and not _PROBLEM & keys else None


def refusal_of_data(data: Any, fields: Collection[str]) -> str:  # noqa: ANN401 - data of a file
    """Return the sentence that refuses a file as another kind than one of certain top keys; empty where it is not.

    Parameters
    ----------
    data : of the file.
    fields : the keys that the right kind of file may have.
    """
    kind = kind_of_data(data)
    return "" if kind in (None, kind_of_data(dict.fromkeys(fields))) else f"this is {_USE[str(kind)]}"


def refusal_of_bytes(path: Path, content: bytes) -> str:
    """Return the sentence that refuses a file which is no text, by how it begins; empty for any other file."""
    known = next((words for beginning, words in _BEGINNINGS.items() if content.startswith(beginning)), None)
    if known is None and (path.suffix == ".et" or _is_trace(path)):
        known = _USE["trace"]
    return "" if known is None else f"this is {known}"


def refusal_of_folder(path: Path) -> str:
    """Return the sentence that refuses a folder where a file is needed."""
    run = (path / "manifest.json").is_file()
    return "this is the folder of a run; use `evo-libra show`" if run else "this is a folder; a file is needed"


def refusal_of_file(path: Path, wanted: str = "") -> str:
    """Return the sentence that refuses a file by what it is; empty where that is not known, or what is wanted."""
    from evo_libra.files.source import read_source  # noqa: PLC0415 - which imports this module

    try:
        return refusal_of_data(read_source(path).data, ())
    except InputError as error:
        message = error.mistakes[0].message
        known = message.startswith("this is") and not (wanted and message == f"this is {_USE[wanted]}")
        return message if known else ""


def _is_trace(path: Path) -> bool:
    from evo_libra.chakra.recognise import schema_of  # noqa: PLC0415 - only files that are no text need it

    try:
        schema_of(path)
    except InputError:
        return False
    return True
