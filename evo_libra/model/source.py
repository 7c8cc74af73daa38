"""YAML files with the place of every key, and their validation with one sentence for every mistake.

JSON is accepted too, being a subset of YAML 1.2.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML, YAMLError
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from evo_libra.errors import InputError, Mistake
from evo_libra.model.mistakes import mistakes_of

_LARGEST_FILE = 10_000_000
_MOST_NODES = 100_000
_CORE = "tag:yaml.org,2002:"

KeyPath = tuple[str | int, ...]
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Place:
    """Where something was written; lines and columns count from 1."""

    file: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class Source:
    """Plain data with the place of each part.

    Attributes
    ----------
    file : what errors call it.
    data : dictionaries, lists, texts, numbers, truth values and None.
    places : place of each key and item by its path; the empty path is the whole.
    """

    file: str
    data: Any
    places: Mapping[KeyPath, Place]

    def mistake(self, path: KeyPath, message: str) -> Mistake:
        """Return a mistake at the nearest known place of a path."""
        known = next(path[:end] for end in range(len(path), -1, -1) if path[:end] in self.places)
        place = self.places[known]
        return Mistake(message, place.file, place.line, place.column, format_key(path))


def format_key(path: KeyPath) -> str:
    """Return a key path as people write it.

    >>> format_key(("workloads", 0, "parallelism", "tp"))
    'workloads[0].parallelism.tp'
    """
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def read_source(path: Path) -> Source:
    """Read a YAML or JSON file.

    Raises
    ------
    InputError : the file is missing, unreadable, too large, no text, or no valid YAML.
    """
    file = str(path)
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise InputError(Mistake(f"the file is larger than {_LARGEST_FILE // 10**6} MB", file))
        return parse_source(path.read_text(encoding="utf-8"), file)
    except UnicodeDecodeError:
        raise InputError(Mistake("the file is not text in UTF-8", file)) from None
    except OSError as error:
        raise InputError(Mistake(f"the file cannot be read: {error.strerror}", file)) from None


def parse_source(text: str, file: str) -> Source:
    """Read YAML or JSON from text; `file` is what errors call it.

    Raises
    ------
    InputError : the text is no single valid document of plain data.

    >>> parse_source("npus: 64", "example.yaml").data
    {'npus': 64}
    """
    try:
        node = YAML(typ="safe", pure=True).compose(text)
        if node is None:
            raise InputError(Mistake("the file is empty", file))
        return _Builder(file).build(node)
    except RecursionError:
        raise InputError(Mistake("the file is nested too deeply, or refers to itself", file)) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (None, None)
        reason = " ".join(str(error.problem or error.context).split())
        raise InputError(Mistake(f"no valid YAML: {reason}", file, *place)) from None
    except (YAMLError, ValueError) as error:
        reason = " ".join(str(error).split())[:120]
        raise InputError(Mistake(f"no valid YAML: {reason}", file)) from None


class _Builder:
    """Turns YAML nodes into plain data and remembers where each part was."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.places: dict[KeyPath, Place] = {}
        self.nodes = 0

    def build(self, node: Node) -> Source:
        return Source(self.file, self._value(node, ()), self.places)

    def _place(self, node: Node) -> Place:
        return Place(self.file, node.start_mark.line + 1, node.start_mark.column + 1)

    def _refuse(self, node: Node, path: KeyPath, message: str) -> InputError:
        place = self._place(node)
        return InputError(Mistake(message, place.file, place.line, place.column, format_key(path)))

    def _value(self, node: Node, path: KeyPath) -> Any:  # noqa: ANN401 - plain data of any kind
        self.nodes += 1
        if self.nodes > _MOST_NODES:
            raise self._refuse(node, (), f"the file has more than {_MOST_NODES} values once its aliases are filled in")
        self.places.setdefault(path, self._place(node))
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if not isinstance(key_node, ScalarNode) or not str(key_node.tag).endswith(":str"):
                shown = str(key)[:60] if isinstance(key_node, ScalarNode) else "a list or mapping"
                raise self._refuse(key_node, path, f"the key {shown} is not text; put it in quotes")
            if key in data:
                first = self.places[(*path, key)]
                message = f"the key '{key[:60]}' is given twice, first in line {first.line}"
                raise self._refuse(key_node, (*path, key), message)
            self.places[(*path, key)] = self._place(key_node)
            data[key] = self._value(value_node, (*path, key))
        return data

    def _scalar(self, node: Node, path: KeyPath) -> Any:  # noqa: ANN401 - plain data of any kind
        tag, text = str(node.tag), str(node.value)
        kind = tag.removeprefix(_CORE)
        if tag.startswith(_CORE) and kind in _SCALARS:
            value = _SCALARS[kind](text)
            if isinstance(value, float) and not math.isfinite(value):
                raise self._refuse(node, path, f"found {text}; a finite number is needed")
            return value
        raise self._refuse(node, path, f"the tag {tag[:60]} is not supported; plain values only")


def _integer(text: str) -> int:
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    digits = digits.replace("_", "")
    for prefix, base in (("0x", 16), ("0o", 8), ("0b", 2)):
        if digits.lower().startswith(prefix):
            return sign * int(digits[2:], base)
    return sign * int(digits, 10)


def _float(text: str) -> float:
    plain = text.replace("_", "").lower()
    return float({".inf": "inf", "+.inf": "inf", "-.inf": "-inf", ".nan": "nan"}.get(plain, plain))


_SCALARS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "timestamp": str,
    "int": _integer,
    "float": _float,
    "bool": lambda text: text.lower() == "true",
    "null": lambda _: None,
}


def set_value(source: Source, assignment: str) -> Source:
    """Return the source with one value replaced or added, as ``--set KEY=VALUE`` asks.

    Parameters
    ----------
    source : the file.
    assignment : such as ``search.evaluations=2000`` or ``workloads[0].weight=2``; the value is YAML.

    Raises
    ------
    InputError : no such place can be set.
    """
    file = f"--set {assignment}"
    key, equals, text = assignment.partition("=")
    path = _parse_key(key.strip())
    if not equals or path is None:
        raise InputError(Mistake("KEY=VALUE is needed, such as search.evaluations=2000 or workloads[0].weight=2", file))
    value = parse_source(text if text.strip() else "null", file)
    data = json.loads(json.dumps(source.data))
    _assign(data, path, value.data, file)
    places = {known: place for known, place in source.places.items() if known[: len(path)] != path}
    return Source(source.file, data, {**places, **{path + known: Place(file) for known in value.places}})


def _parse_key(key: str) -> KeyPath | None:
    path: list[str | int] = []
    for part in key.split("."):
        name, *indices = part.replace("]", "").split("[")
        if not name or not all(index.isascii() and index.isdigit() for index in indices):
            return None
        path += [name, *map(int, indices)]
    return tuple(path)


def _assign(data: Any, path: KeyPath, value: Any, file: str) -> None:  # noqa: ANN401 - plain data of any kind
    for depth, part in enumerate(path):
        here = format_key(path[:depth]) or "the file"
        if isinstance(part, str) and not isinstance(data, dict):
            raise InputError(Mistake(f"{here} is no mapping, it has no key '{part}'", file))
        if isinstance(part, int) and not (isinstance(data, list) and part < len(data)):
            length = len(data) if isinstance(data, list) else "no list of"
            raise InputError(Mistake(f"{here} has {length} items, there is no item [{part}]", file))
        if depth == len(path) - 1:
            data[part] = value
        elif isinstance(part, str):
            data = data.setdefault(part, {})
        else:
            data = data[part]


def validate(model: type[M], source: Source) -> M:
    """Return the data as a record.

    Validation is that of JSON, so that a list is accepted for a tuple and 1 for 1.0, but not 1.0 for 1.

    Raises
    ------
    InputError : with every mistake of the source, in the order of the file.
    """
    try:
        return model.model_validate_json(json.dumps(source.data))
    except ValidationError as error:
        found = mistakes_of(error, model, source.data)
        placed = [source.mistake(path, message) for path, message in found]
        raise InputError(sorted(placed, key=lambda mistake: (mistake.line or 0, mistake.column or 0))) from None
