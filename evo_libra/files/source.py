"""Files as people write them: YAML with the place of every key, changed from the command line, checked by a model.

Models are pydantic models that forbid extra keys and are strict. They are checked in pydantic's JSON mode, in which a
list of the file is good for a ``tuple[X, ...]``, a ``frozenset`` and an enumeration's value for its member, ``1`` is
good for a float, and neither ``4096.0`` nor ``true`` is good for an int. Unions of models are best discriminated, by
the name of a field.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, TypeVar, cast

from pydantic import BaseModel, ValidationError

from evo_libra.errors import InputError, Mistake, counted, printable, unusable
from evo_libra.files.fields import STRICT
from evo_libra.files.integrity import opened
from evo_libra.files.kinds import USE, refusal_of_bytes, refusal_of_data, refusal_of_folder
from evo_libra.files.mistakes import Data, KeyPath, mistakes_of, short, shown
from evo_libra.files.yaml_reader import (
    MAX_BYTES,
    MAX_DEPTH,
    UNREADABLE,
    Position,
    format_key,
    read_packaged_yaml,
    read_yaml,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

M = TypeVar("M", bound=BaseModel)

MAX_MISTAKES = 50
_SHORT = 20_000

_PART = re.compile(r"\[([0-9]{1,9})\]|([^.\[\]]+)")
_KEY = re.compile(r"([^.\[\]]+|\[[0-9]{1,9}\])(\.[^.\[\]]+|\[[0-9]{1,9}\])*")


class StrictModel(BaseModel):
    """A model that forbids keys which it does not have, and converts nothing."""

    model_config = STRICT


@dataclass(frozen=True)
class Source:
    """Contents of a file as plain data, and the position of every key and item by its path; ``()`` is the whole."""

    file: str
    data: Data
    places: Mapping[KeyPath, Position] = field(repr=False)

    def mistake(self, path: KeyPath, message: str) -> Mistake:
        """Return the mistake at ``path``, placed where the nearest known part of the path is."""
        prefixes = (path[:length] for length in range(len(path), -1, -1))
        place = next((self.places[prefix] for prefix in prefixes if prefix in self.places), Position(self.file))
        return Mistake(message, place.file, place.line, place.column, format_key(path))


def named_by(source: Source, path: KeyPath, error: InputError) -> InputError:
    """Return the error of a file that another one names: where it is named, unless it says which line is wrong."""
    known = any(mistake.line is not None for mistake in error.mistakes)
    return error if known else InputError(source.mistake(path, str(error)))


def read_text(path: Path, max_bytes: int) -> str:
    """Read a file of UTF-8 text. Raises `InputError` if it cannot be read, is larger, or is no such text."""
    try:
        with opened(path) as stream:
            raw = stream.read(max_bytes + 1)
        _refuse_large(len(raw), str(path), max_bytes)
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        other = refusal_of_bytes(path, raw) or f"is not UTF-8 text (byte {error.start + 1})"
        raise InputError(Mistake(other, str(path))) from error
    except IsADirectoryError:
        raise InputError(Mistake(refusal_of_folder(path), str(path))) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise unusable(path, "read", error) from error


def read_source(path: Path) -> Source:
    """Read a file of YAML or JSON; raises `InputError` as `read_text` and `parse_source` do."""
    text = read_text(path, MAX_BYTES)
    try:
        return parse_source(text, str(path))
    except InputError:
        if UNREADABLE.search(text) and (other := refusal_of_bytes(path, text.encode())):
            raise InputError(Mistake(other, str(path))) from None
        raise


def read_packaged(path: Path) -> Source:
    """Read a data file of the package; errors as of `read_source`."""
    return Source(str(path), *read_packaged_yaml(read_text(path, MAX_BYTES), str(path)))


@cache
def _packaged(model: type[BaseModel], path: Path) -> BaseModel:
    return validate(model, read_packaged(path))


def packaged(model: type[M], path: Path) -> M:
    """Return a data file of the package as a model; a process reads it once, as it does not change meanwhile."""
    return cast("M", _packaged(model, path))


def parse_source(text: str, file: str) -> Source:
    """Read one document of YAML 1.2, which includes JSON; ``file`` is the name to show in errors.

    Raises `InputError` if the text is not YAML, is empty or too large, has several documents, duplicate keys, keys that
    are not text or exceed YAML's 1024 characters, merge keys, tags beyond the core schema, or numbers that are not
    finite.
    """
    _refuse_large(len(text), file, MAX_BYTES)
    if len(text) > _SHORT:
        return _parsed.__wrapped__(text, file)
    # Whoever reads it may change it.
    known = _parsed(text, file)
    return replace(known, data=deepcopy(known.data), places=dict(known.places))


def refusal_of_file(path: Path, wanted: str = "") -> str:
    """Return the sentence that refuses a file by what it is; empty where that is not known, or what is wanted."""
    try:
        return refusal_of_data(read_source(path).data, ())
    except InputError as error:
        message = error.mistakes[0].message
        known = message.startswith("this is") and not (wanted and message == f"this is {USE[wanted]}")
        return message if known else ""


@lru_cache(maxsize=256)
def _parsed(text: str, file: str) -> Source:
    """Parse a text; short ones are kept, since the runs of an experiment read the same few files and values."""
    return Source(file, *read_yaml(text, file))


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file. Raises `InputError` if it cannot be read."""
    try:
        with opened(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # it has `readinto`
    except OSError as error:
        raise unusable(path, "read", error) from None


def files_digest(paths: Sequence[Path]) -> str:
    """Return the SHA-256 of a file; of several, one that depends on each of them and on their order.

    Raises `InputError` if one of them cannot be read.
    """
    digests = [file_digest(path) for path in paths]
    return digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()


def set_value(source: Source, assignment: str, label: str | None = None) -> Source:
    """Return the source with one value replaced or added, as ``--set KEY=VALUE`` asks.

    The value of an assignment such as ``search.evaluations=2000`` or ``workloads[0].weight=2`` is YAML, none is null;
    missing mappings on the way are created. Errors name `label` instead of a file and a line. Raises `InputError` if
    the key is no path, leads past a list's end or into a value that has no keys, or the value is no YAML.
    """
    label = label or short(printable(f"--set {assignment}"))
    key, equals, text = assignment.partition("=")
    if not (equals and _KEY.fullmatch(key)) or len(path := key_path(key)) > MAX_DEPTH:
        message = "KEY=VALUE is needed, such as search.evaluations=2000 or workloads[0].weight=2"
        raise InputError(Mistake(message, label))
    try:
        value = parse_source(text if text.strip() else "null", label)
    except InputError as error:
        raise InputError(replace(mistake, line=None, column=None, key=key) for mistake in error.mistakes) from error
    data = _replaced(source.data, path, 0, value.data, label)
    kept = {known: place for known, place in source.places.items() if known[: len(path)] != path}
    ways = {path[:length]: Position(label) for length in range(1, len(path) + 1)}
    values = {path + inner: Position(label) for inner in value.places}
    return replace(source, data=data, places=ways | kept | values)


def validate(model: type[M], source: Source) -> M:
    """Return the source's data as a model.

    Raises `InputError` with every mistake in the data, in the order of the file.
    """
    try:
        return model.model_validate_json(json.dumps(source.data))
    except ValidationError as error:
        found = error
    fields = [field.alias or name for name, field in model.model_fields.items()]
    if other := refusal_of_data(source.data, fields):
        raise InputError(Mistake(other, source.file))
    mistakes = [source.mistake(path, message) for path, message in mistakes_of(found, model, source.data, MAX_MISTAKES)]
    mistakes.sort(key=lambda mistake: (mistake.line or math.inf, mistake.column or math.inf))
    if (more := found.error_count() - MAX_MISTAKES) > 0:
        mistakes.append(Mistake(f"and {counted(more, 'mistake')} more", source.file))
    raise InputError(mistakes)


def _refuse_large(size: int, file: str, max_bytes: int) -> None:
    if size > max_bytes:
        raise InputError(Mistake(f"is larger than {max_bytes // 10**6} MB", file))


def key_path(key: str) -> KeyPath:
    """Return the path that `format_key` has written, of names that are short and plain."""
    return tuple(int(index) if index else name for index, name in _PART.findall(key))


def _replaced(data: Data, path: KeyPath, depth: int, value: Data, label: str) -> Data:
    if depth == len(path):
        return value
    part, place = path[depth], format_key(path[:depth])
    if isinstance(part, int):
        if not isinstance(data, list):
            raise InputError(Mistake(f"found {shown(data)}, a list is needed for [{part}]", label, key=place))
        if part >= len(data):
            raise InputError(Mistake(f"there is no item [{part}], the list has {len(data)}", label, key=place))
        return [*data[:part], _replaced(data[part], path, depth + 1, value, label), *data[part + 1 :]]
    items = {} if data is None else data
    if not isinstance(items, dict):
        hint = f"; write {place}[{part}]" if isinstance(data, list) and part.isdigit() else ""
        raise InputError(
            Mistake(f"found {shown(data)}, a mapping is needed for '{short(part)}'{hint}", label, key=place)
        )
    return items | {part: _replaced(items.get(part), path, depth + 1, value, label)}
