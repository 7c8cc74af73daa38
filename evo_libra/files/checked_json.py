"""JSON files whose keys and types of values are declared, and the check that a file is as declared."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from evo_libra.files.integrity import DamagedError, parse_json

Check = Callable[[Any], str]
"""Returns what is wrong with a value, beginning with the key path below it; empty when nothing is."""


@dataclass(frozen=True, eq=False)
class Fields:
    """The keys of a JSON object: the kind of each (a type of JSON, a dataclass or `Fields`), and those it may lack."""

    kinds: Mapping[str, Any]
    optional: Collection[str] = ()


def parse_file(path: Path | str, raw: bytes, kind: Any, *, alone: bool = False) -> dict[str, Any]:  # noqa: ANN401 - a type
    """Return the content of a JSON file with a checksum.

    Parameters
    ----------
    kind : its `Fields`, or a dataclass.
    alone : leave out all other keys, for `Fields`.

    Raises
    ------
    DamagedError : the program did not write the file, or another version did.
    """
    data = parse_json(path, raw, kind.kinds if alone else None)
    if wrong := checker(kind)(data):
        raise DamagedError(f"{path}: {wrong.removeprefix('.').removeprefix(': ')}; another version has written it")
    return data


@cache
def checker(kind: Any) -> Check:  # noqa: ANN401 - a type
    """Return the check of a type of JSON: `Fields`, dataclass, list, dict, union, literal or plain type.

    >>> checker(list[int])([1, "2"])
    "[1]: found '2', a whole number is needed"
    """
    if isinstance(kind, Fields):
        return _record(kind.kinds, kind.kinds.keys() - set(kind.optional))
    if is_dataclass(kind):
        return _record(get_type_hints(kind), {one.name for one in fields(kind) if one.default is MISSING})
    make = _GENERIC.get(get_origin(kind))
    if make is not None:
        return make(*get_args(kind))
    return _exact(kind, _EXACT[kind]) if kind in _EXACT else _plain(*_PLAIN[kind])


_PLAIN: dict[Any, tuple[Callable[[Any], bool], str]] = {
    bool: (lambda value: isinstance(value, bool), "true or false"),
    float: (lambda value: type(value) in (int, float) and math.isfinite(value), "a finite number"),
    type(None): (lambda value: value is None, "null"),
    Any: (lambda _: True, "anything"),
}
_EXACT = {str: "text", int: "a whole number"}


def _exact(kind: type, words: str) -> Check:
    # Most fields are of these; one call each is what listing thousands of runs has time for.
    return lambda value: "" if type(value) is kind else _found(value, words)


def _literal(*allowed: Any) -> Check:  # noqa: ANN401 - values of a literal
    return _plain(lambda value: value in allowed, f"one of {', '.join(map(str, allowed))}")


def _plain(accepts: Callable[[Any], bool], words: str) -> Check:
    return lambda value: "" if accepts(value) else _found(value, words)


def _found(value: Any, words: str) -> str:  # noqa: ANN401 - JSON
    return f": found {value!r:.60}, {words} is needed"


def _union(*kinds: Any) -> Check:  # noqa: ANN401 - types
    checks = [checker(one) for one in kinds]

    def check(value: Any) -> str:  # noqa: ANN401 - JSON
        wrong = [one(value) for one in checks]
        return wrong[0] if all(wrong) else ""

    return check


def _several(kind: Any) -> Check:  # noqa: ANN401 - a type
    check_one = checker(kind)

    def check(value: Any) -> str:  # noqa: ANN401 - JSON
        if not isinstance(value, list):
            return _found(value, "a list")
        wrong = ((place, check_one(one)) for place, one in enumerate(value))
        return next((f"[{place}]{words}" for place, words in wrong if words), "")

    return check


def _mapping(_key: Any, kind: Any) -> Check:  # noqa: ANN401 - types
    check_one = checker(kind)

    def check(value: Any) -> str:  # noqa: ANN401 - JSON
        if not isinstance(value, dict):
            return _found(value, "a mapping")
        wrong = ((key, check_one(one)) for key, one in value.items())
        return next((f".{key}{words}" for key, words in wrong if words), "")

    return check


def _record(kinds: Mapping[str, Any], required: Collection[str]) -> Check:
    checks = {key: checker(one) for key, one in kinds.items()}

    def check(value: Any) -> str:  # noqa: ANN401 - JSON
        if not isinstance(value, dict):
            return _found(value, "a mapping")
        for key, check_one in checks.items():
            if key in value:
                if words := check_one(value[key]):
                    return f".{key}{words}"
            elif key in required:
                return f": '{key}' is missing"
        return ""

    return check


_GENERIC: Mapping[Any, Callable[..., Check]] = {
    Union: _union, types.UnionType: _union, list: _several, dict: _mapping, Literal: _literal,
}  # fmt: skip
