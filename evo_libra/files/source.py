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
from functools import lru_cache
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml import events as yaml_events
from ruamel.yaml.error import MarkedYAMLError, StreamMark, YAMLError
from ruamel.yaml.reader import Reader

from evo_libra.errors import InputError, Mistake, counted, printable
from evo_libra.files.integrity import opened
from evo_libra.files.kinds import USE, refusal_of_bytes, refusal_of_data, refusal_of_folder
from evo_libra.files.mistakes import Data, mistakes_of, short, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

KeyPath = tuple[str | int, ...]
Scalar = str | int | float | bool | None
M = TypeVar("M", bound=BaseModel)

MAX_BYTES = 10_000_000
MAX_VALUES = 100_000
MAX_DEPTH = 64
MAX_DIGITS = 1000
MAX_MISTAKES = 50
_SHORT = 20_000

# C0 and C1 controls, and the line breaks of YAML 1.1, which ruamel would fold although YAML 1.2 keeps them.
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7f\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONSTANTS: dict[str, bool | None] = (
    dict.fromkeys(("", "~", "null", "Null", "NULL"))
    | dict.fromkeys(("true", "True", "TRUE"), True)
    | dict.fromkeys(("false", "False", "FALSE"), False)
)
_INTEGER = re.compile("[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_CORE = "tag:yaml.org,2002:"
_TAGGED: dict[str, set[type]] = {"null": {NoneType}, "bool": {bool}, "int": {int}, "float": {int, float}}
_PART = re.compile(r"\[([0-9]{1,9})\]|([^.\[\]]+)")
_KEY = re.compile(r"([^.\[\]]+|\[[0-9]{1,9}\])(\.[^.\[\]]+|\[[0-9]{1,9}\])*")


class StrictModel(BaseModel):
    """A model that forbids keys which it does not have, and converts nothing."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Position:
    """Where something was written; lines and columns count from 1 and are None on the command line."""

    file: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class Source:
    """What a file says, as plain data, and the place of every key and item by its path; ``()`` is the whole."""

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


def format_key(path: KeyPath) -> str:
    """Return a key path as people write it.

    >>> format_key(("workloads", 0, "parallelism", "tp"))
    'workloads[0].parallelism.tp'
    """
    parts = (f"[{part}]" if isinstance(part, int) else f".{short(printable(part))}" for part in path)
    return "".join(parts).removeprefix(".")


def read_source(path: Path) -> Source:
    """Read a file of YAML or JSON.

    Raises `InputError` if the file cannot be read, is not UTF-8, or is refused by `parse_source`.
    """
    try:
        with opened(path) as stream:
            raw = stream.read(MAX_BYTES + 1)
        _refuse_large(len(raw), str(path))
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        other = refusal_of_bytes(path, raw) or f"is not UTF-8 text (byte {error.start + 1})"
        raise InputError(Mistake(other, str(path))) from error
    except IsADirectoryError:
        raise InputError(Mistake(refusal_of_folder(path), str(path))) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(Mistake(f"cannot be read: {reason}", str(path))) from error
    try:
        return parse_source(text, str(path))
    except InputError:
        if _UNREADABLE.search(text) and (other := refusal_of_bytes(path, raw)):
            raise InputError(Mistake(other, str(path))) from None
        raise


def parse_source(text: str, file: str) -> Source:
    """Read one document of YAML 1.2, of which JSON is a part; ``file`` is the name to show in errors.

    Raises `InputError` if the text is not YAML, is empty or too large, has several documents, duplicate keys, keys that
    are not text or exceed YAML's 1024 characters, merge keys, tags beyond the core schema, or numbers that are not
    finite.
    """
    _refuse_large(len(text), file)
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
    if bad := _UNREADABLE.search(text):
        line, column = text.count("\n", 0, bad.start()) + 1, bad.start() - text.rfind("\n", 0, bad.start())
        message = f"the character U+{ord(bad[0]):04X} is not allowed; write it as an escape in double quotes"
        raise InputError(Mistake(message, file, line, column))
    yaml = YAML(typ="safe", pure=True)
    yaml.Reader = _CheckedReader
    try:
        return _Builder(_without_aliases(yaml.parse(text), file), file).source()
    except MarkedYAMLError as error:
        raise InputError(_syntax_mistake(error, file)) from error
    except (YAMLError, ValueError, OverflowError, AssertionError) as error:  # ruamel on "\UFFFFFFFF" and %YAML 1.9
        raise InputError(Mistake("is not YAML: a number in an escape or a directive is out of range", file)) from error


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file. Raises `InputError` if it cannot be read."""
    try:
        with opened(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # it has `readinto`
    except OSError as error:
        raise InputError(Mistake(f"cannot be read: {(error.strerror or str(error)).lower()}", str(path))) from None


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


class _CheckedReader(Reader):
    def check_printable(self, data: str) -> None:
        """Accept DEL, which JSON allows; the text has been searched already."""


def _refuse_large(size: int, file: str) -> None:
    if size > MAX_BYTES:
        raise InputError(Mistake(f"is larger than {MAX_BYTES // 10**6} MB", file))


def _syntax_mistake(error: MarkedYAMLError, file: str) -> Mistake:
    message = str(error.problem or error.context)
    if error.problem and error.context and error.context_mark:
        message += f", {error.context} that begins at line {error.context_mark.line + 1}"
    mark = error.problem_mark or error.context_mark
    place = (mark.line + 1, mark.column + 1) if mark else ()
    return Mistake(f"is not YAML: {short(printable(message), 200)}", file, *place)


class _Builder:
    """Turns events without aliases into data, and notes where each value begins."""

    def __init__(self, events: Iterator[tuple[Any, StreamMark]], file: str) -> None:
        self._events = events
        self._file = file
        self._places: dict[KeyPath, Position] = {}
        self._characters = 0
        self._event, self._mark = next(events)

    def source(self) -> Source:
        self._advance()
        if isinstance(self._event, yaml_events.StreamEndEvent):
            raise self._error("is empty", ())
        self._advance()
        if isinstance(self._event, yaml_events.ScalarEvent) and self._event.value == "" and self._event.implicit[0]:
            raise self._error("is empty", ())
        data = self._value(())
        self._advance()
        if not isinstance(self._event, yaml_events.StreamEndEvent):
            raise self._error("a second document begins here, one is allowed", ())
        return Source(self._file, data, self._places)

    def _advance(self) -> None:
        self._event, self._mark = next(self._events)

    def _place(self) -> Position:
        return _place(self._file, self._mark)

    def _error(self, message: str, path: KeyPath) -> InputError:
        place = self._place()
        return InputError(Mistake(message, place.file, place.line, place.column, format_key(path)))

    def _value(self, path: KeyPath) -> Data:
        self._places.setdefault(path, self._place())
        if len(self._places) > MAX_VALUES:
            raise self._error(f"has more than {MAX_VALUES} values, those that aliases repeat included", ())
        if isinstance(self._event, yaml_events.ScalarEvent):
            value: object = self._scalar(path)
        elif len(path) >= MAX_DEPTH:
            raise self._error(f"is nested more than {MAX_DEPTH} deep", ())
        elif isinstance(self._event, yaml_events.SequenceStartEvent):
            value = self._sequence(path)
        else:
            value = self._mapping(path)
        self._advance()
        return value

    def _sequence(self, path: KeyPath) -> list[Any]:
        self._check_tag("seq", path)
        self._advance()
        items: list[Any] = []
        while not isinstance(self._event, yaml_events.SequenceEndEvent):
            items.append(self._value((*path, len(items))))
        return items

    def _mapping(self, path: KeyPath) -> dict[str, Any]:
        self._check_tag("map", path)
        self._advance()
        items: dict[str, Any] = {}
        while not isinstance(self._event, yaml_events.MappingEndEvent):
            key = self._key(path)
            here = (*path, key)
            if key in items:
                first = self._places[here]
                raise self._error(f"duplicate key, first given at line {first.line}, column {first.column}", here)
            self._places[here] = self._place()
            self._advance()
            items[key] = self._value(here)
        return items

    def _key(self, path: KeyPath) -> str:
        if not isinstance(self._event, yaml_events.ScalarEvent):
            raise self._error("a list or mapping cannot be a key, keys are text", path)
        if self._event.value == "<<" and self._event.implicit[0]:
            raise self._error("merge keys ('<<') are not supported", path)
        key = self._scalar(path)
        if not isinstance(key, str):
            raise self._error(f"found the key {shown(key)}, keys are text; put it in quotes", path)
        return key

    def _check_tag(self, kind: str, path: KeyPath) -> None:
        if self._event.tag not in (None, "!", _CORE + kind):
            raise self._error(f"the tag {short(printable(self._event.tag))} is not supported here", path)

    def _scalar(self, path: KeyPath) -> Scalar:
        self._characters += len(self._event.value)
        if self._characters > MAX_BYTES:
            raise self._error(f"has more than {MAX_BYTES // 10**6} MB of text, that which aliases repeat included", ())
        tag = str(self._event.tag or "").removeprefix(_CORE)
        try:
            if tag not in _TAGGED and not (self._event.implicit[0] and tag == ""):
                self._check_tag("str", path)
                return _text(self._event.value)
            value = _resolved(self._event.value)
        except ValueError as error:
            raise self._error(str(error), path) from error
        if tag and type(value) not in _TAGGED[tag]:
            raise self._error(f"found {shown(value)}, which is not what its tag !!{tag} says", path)
        return value


def _without_aliases(events: Iterable[Any], file: str) -> Iterator[tuple[Any, StreamMark]]:
    """Yield each event with its mark, and in place of an alias what its anchor marks."""
    log: list[Any] = []
    opened: list[tuple[str | None, int]] = []
    anchors: dict[str | None, slice | None] = {}
    for event in events:
        if isinstance(event, yaml_events.AliasEvent):
            repeated = log[_anchored(event, anchors, file)]
            log += repeated
            yield from zip(repeated, [event.start_mark, *(other.start_mark for other in repeated[1:])], strict=True)
            continue
        log.append(event)
        if isinstance(event, yaml_events.CollectionStartEvent):
            opened.append((event.anchor, len(log) - 1))
            anchors[event.anchor] = None
        elif isinstance(event, yaml_events.CollectionEndEvent):
            name, start = opened.pop()
            anchors[name] = slice(start, len(log))
        elif isinstance(event, yaml_events.ScalarEvent):
            anchors[event.anchor] = slice(len(log) - 1, len(log))
        yield event, event.start_mark


def _anchored(alias: yaml_events.AliasEvent, anchors: Mapping[str | None, slice | None], file: str) -> slice:
    span = anchors.get(alias.anchor)
    if span is None:
        why = "stands inside what it repeats" if alias.anchor in anchors else "has no anchor before it"
        place = _place(file, alias.start_mark)
        raise InputError(Mistake(f"the alias *{short(alias.anchor)} {why}", file, place.line, place.column))
    return span


def _place(file: str, mark: StreamMark) -> Position:
    return Position(file, mark.line + 1, mark.column + 1)


def _text(text: str) -> str:
    """Join the surrogate pairs that JSON writes for what lies beyond U+FFFF."""
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError as error:
        raise ValueError("the text has half of a surrogate pair") from error


def _resolved(text: str) -> Scalar:
    """Return the value of a plain scalar by the core schema of YAML 1.2.

    >>> _resolved("5e11"), _resolved("no"), _resolved("010"), _resolved("2024-01-01")
    (500000000000.0, 'no', 10, '2024-01-01')
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise ValueError(f"a number of more than {MAX_DIGITS} digits is not supported")
        return int(text, {"0x": 16, "0o": 8}.get(text[:2], 10))
    if _NOT_FINITE.fullmatch(text) or (_FLOAT.fullmatch(text) and math.isinf(float(text))):
        raise ValueError(f"found {short(text)}, a finite number is needed")
    return float(text) if _FLOAT.fullmatch(text) else text


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
        raise InputError(Mistake(f"found {shown(data)}, a mapping is needed for '{short(part)}'", label, key=place))
    return items | {part: _replaced(items.get(part), path, depth + 1, value, label)}
