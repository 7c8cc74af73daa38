"""Whether plain data are what a record says: types of fields, checked when a file is read."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

Check = Callable[[Any], str]
"""Returns what is wrong with a value, beginning with the key path below it; empty when nothing is."""


@cache
def checker(kind: Any) -> Check:  # noqa: ANN401 - a type
    """Return what checks values of a type of JSON: a `TypedDict`, dataclass, list, dict, union, literal or plain type.

    >>> checker(list[int])([1, "2"])
    "[1]: found '2', a whole number is needed"
    """
    if is_typeddict(kind):
        return _record(kind, kind.__required_keys__)
    if is_dataclass(kind):
        return _record(kind, frozenset(one.name for one in fields(kind) if one.default is MISSING))
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
    return lambda value: "" if type(value) is kind else f": found {value!r:.60}, {words} is needed"


def _literal(*allowed: Any) -> Check:  # noqa: ANN401 - of a literal
    return _plain(lambda value: value in allowed, f"one of {', '.join(map(str, allowed))}")


def _plain(accepts: Callable[[Any], bool], words: str) -> Check:
    return lambda value: "" if accepts(value) else f": found {value!r:.60}, {words} is needed"


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
            return f": found {value!r:.60}, a list is needed"
        wrong = ((place, check_one(one)) for place, one in enumerate(value))
        return next((f"[{place}]{words}" for place, words in wrong if words), "")

    return check


def _mapping(_key: Any, kind: Any) -> Check:  # noqa: ANN401 - types
    check_one = checker(kind)

    def check(value: Any) -> str:  # noqa: ANN401 - JSON
        if not isinstance(value, dict):
            return f": found {value!r:.60}, a mapping is needed"
        wrong = ((key, check_one(one)) for key, one in value.items())
        return next((f".{key}{words}" for key, words in wrong if words), "")

    return check


def _record(kind: Any, required: frozenset[str]) -> Check:  # noqa: ANN401 - a type
    checks = {key: checker(one) for key, one in get_type_hints(kind, include_extras=True).items()}

    def check(value: Any) -> str:  # noqa: ANN401 - JSON
        if not isinstance(value, dict):
            return f": found {value!r:.60}, a mapping is needed"
        for key, check_one in checks.items():
            if key in value:
                if words := check_one(value[key]):
                    return f".{key}{words}"
            elif key in required:
                return f": '{key}' is missing"
        return ""

    return check


_GENERIC: Mapping[Any, Callable[..., Check]] = {
    Required: checker, NotRequired: checker, Union: _union, types.UnionType: _union, list: _several, dict: _mapping,
    Literal: _literal,
}  # fmt: skip
