"""YAML and JSON as plain data, with the place of every key and item."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml import events as yaml_events
from ruamel.yaml.error import MarkedYAMLError, StreamMark, YAMLError
from ruamel.yaml.reader import Reader

from evo_libra.errors import InputError, Mistake, printable
from evo_libra.files.mistakes import Data, KeyPath, short, shown

Scalar = str | int | float | bool | None

MAX_BYTES = 2_000_000
"""Of a file; the reader takes up to 3 s of them. Files of people are shorter than a tenth of it."""
MAX_VALUES = 50_000
MAX_DEPTH = 64
MAX_DIGITS = 1000

# C0 and C1 controls, and the line breaks of YAML 1.1, which ruamel would fold although YAML 1.2 keeps them.
UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x80-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
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


@dataclass(frozen=True)
class Position:
    """Position in a file; lines and columns count from 1 and are None on the command line."""

    file: str
    line: int | None = None
    column: int | None = None


def format_key(path: KeyPath) -> str:
    """Return a key path as people write it.

    >>> format_key(("workloads", 0, "parallelism", "tp"))
    'workloads[0].parallelism.tp'
    """
    parts = (f"[{part}]" if isinstance(part, int) else f".{short(printable(part))}" for part in path)
    return "".join(parts).removeprefix(".")


def read_packaged_yaml(text: str, file: str) -> tuple[Data, dict[KeyPath, Position]]:
    """Return what `read_yaml` does of a file of the package, by libyaml, which takes a twentieth of the time.

    Messages of its mistakes are other ones, and a few texts of YAML 1.2 are refused, so that files of users are not
    read by it. Without libyaml the other reader reads it.
    """
    import yaml  # noqa: PLC0415 - files of users need the other one

    if not yaml.__with_libyaml__:
        return read_yaml(text, file)
    events = yaml.parse(text, Loader=yaml.CSafeLoader)
    return _Builder(_without_aliases(events, file, yaml.events), file, yaml.events).document()


def read_yaml(text: str, file: str) -> tuple[Data, dict[KeyPath, Position]]:
    """Return the data of one document by YAML 1.2's core schema, and the place of every key and item by its path."""
    if bad := UNREADABLE.search(text):
        line, column = text.count("\n", 0, bad.start()) + 1, bad.start() - text.rfind("\n", 0, bad.start())
        message = f"the character U+{ord(bad[0]):04X} is not allowed; write it as an escape in double quotes"
        raise InputError(Mistake(message, file, line, column))
    yaml = YAML(typ="safe", pure=True)
    yaml.Reader = _CheckedReader
    try:
        return _Builder(_without_aliases(yaml.parse(text), file), file).document()
    except MarkedYAMLError as error:
        raise InputError(_syntax_mistake(error, file)) from error
    except (YAMLError, ValueError, OverflowError, AssertionError) as error:  # ruamel on "\UFFFFFFFF" and %YAML 1.9
        raise InputError(Mistake("is not YAML: a number in an escape or a directive is out of range", file)) from error


class _CheckedReader(Reader):
    def check_printable(self, data: str) -> None:
        """Accept DEL, which JSON allows; the text has been searched already."""


def _syntax_mistake(error: MarkedYAMLError, file: str) -> Mistake:
    message = str(error.problem or error.context)
    if error.problem and error.context and error.context_mark:
        message += f", {error.context} that begins at line {error.context_mark.line + 1}"
    mark = error.problem_mark or error.context_mark
    place = (mark.line + 1, mark.column + 1) if mark else ()
    return Mistake(f"is not YAML: {short(printable(message), 200)}", file, *place)


class _Builder:
    """Turns events without aliases into data, and notes where each value begins; the kinds are those of its parser."""

    def __init__(self, events: Iterator[tuple[Any, StreamMark]], file: str, kinds: Any = yaml_events) -> None:  # noqa: ANN401 - a module
        self._events = events
        self._kinds = kinds
        self._file = file
        self._places: dict[KeyPath, Position] = {}
        self._characters = 0
        self._event, self._mark = next(events)

    def document(self) -> tuple[Data, dict[KeyPath, Position]]:
        self._advance()
        if isinstance(self._event, self._kinds.StreamEndEvent):
            raise self._error("is empty", ())
        self._advance()
        if isinstance(self._event, self._kinds.ScalarEvent) and self._event.value == "" and self._event.implicit[0]:
            raise self._error("is empty", ())
        data = self._value(())
        self._advance()
        if not isinstance(self._event, self._kinds.StreamEndEvent):
            raise self._error("a second document begins here, one is allowed", ())
        return data, self._places

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
        if isinstance(self._event, self._kinds.ScalarEvent):
            value: object = self._scalar(path)
        elif len(path) >= MAX_DEPTH:
            raise self._error(f"is nested more than {MAX_DEPTH} deep", ())
        elif isinstance(self._event, self._kinds.SequenceStartEvent):
            value = self._sequence(path)
        else:
            value = self._mapping(path)
        self._advance()
        return value

    def _sequence(self, path: KeyPath) -> list[Any]:
        self._check_tag("seq", path)
        self._advance()
        items: list[Any] = []
        while not isinstance(self._event, self._kinds.SequenceEndEvent):
            items.append(self._value((*path, len(items))))
        return items

    def _mapping(self, path: KeyPath) -> dict[str, Any]:
        self._check_tag("map", path)
        self._advance()
        items: dict[str, Any] = {}
        while not isinstance(self._event, self._kinds.MappingEndEvent):
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
        if not isinstance(self._event, self._kinds.ScalarEvent):
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


def _without_aliases(
    events: Iterable[Any],
    file: str,
    kinds: Any = yaml_events,  # noqa: ANN401 - a module
) -> Iterator[tuple[Any, StreamMark]]:
    """Yield each event with its mark, and in place of an alias what its anchor marks."""
    log: list[Any] = []
    opened: list[tuple[str | None, int]] = []
    anchors: dict[str | None, slice | None] = {}
    for event in events:
        if isinstance(event, kinds.AliasEvent):
            repeated = log[_anchored(event, anchors, file)]
            log += repeated
            yield from zip(repeated, [event.start_mark, *(other.start_mark for other in repeated[1:])], strict=True)
            continue
        log.append(event)
        if isinstance(event, kinds.CollectionStartEvent):
            opened.append((event.anchor, len(log) - 1))
            anchors[event.anchor] = None
        elif isinstance(event, kinds.CollectionEndEvent):
            name, start = opened.pop()
            anchors[name] = slice(start, len(log))
        elif isinstance(event, kinds.ScalarEvent):
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
