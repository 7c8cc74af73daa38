"""From pydantic's errors to one sentence each: what was found, what is allowed, the nearest valid name."""

from __future__ import annotations

import difflib
import json
import re
from collections import defaultdict
from itertools import chain
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, ValidationError

from evo_libra.errors import new_name, printable, suggestion, unknown
from evo_libra.files.fields import Late

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pydantic_core import ErrorDetails

    # An error of pydantic with what is left of its loc.
    _Rest = tuple["KeyPath", ErrorDetails]

KeyPath = tuple[str | int, ...]
Data = Any  # nested mappings, lists and scalars; a type that says so could not be indexed

_KINDS = {dict: "mapping", list: "list", str: "text", int: "number", float: "number", bool: "boolean"}
# By the type of pydantic's error: the kind of value that was needed, where another kind is the error, and the words.
_NEEDED = {
    "int_type": ("number", "a whole number"),
    "int_from_float": ("number", "a whole number"),
    "float_type": ("number", "a number"),
    "string_type": ("text", "text"),
    "bool_type": ("boolean", "true or false"),
    "none_required": ("empty", "null"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), ("list", "a list")),
    **dict.fromkeys(("dict_type", "model_type"), ("mapping", "a mapping")),
    "greater_than": ("", "a number above {gt}"),
    "greater_than_equal": ("", "a number of at least {ge}"),
    "less_than": ("", "a number below {lt}"),
    "less_than_equal": ("", "a number of at most {le}"),
    "multiple_of": ("", "a multiple of {multiple_of}"),
    "finite_number": ("", "a finite number"),
    "string_pattern_mismatch": ("", "{words}"),
    **dict.fromkeys(("too_short", "string_too_short"), ("", "a length of at least {min_length}")),
    **dict.fromkeys(("too_long", "string_too_long"), ("", "a length of at most {max_length}")),
}
_PATTERNS = {
    r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$": "a name of at most 64 letters, digits, dots, dashes and underscores that "
    "begins with a letter or a digit",
    r"^20[0-9]{2}(-(0[1-9]|1[0-2]))?$": "a month or a year, such as 2026-11",
    r"^[A-Za-z][A-Za-z0-9.-]*$": "a name of letters, digits, dots and dashes that begins with a letter",
}
"""Descriptions of the regular expressions of schemas."""
_LISTED = ("literal_error", "enum")
_OWN_WORDS = ("value_error", "assertion_error")


def mistakes_of(
    error: ValidationError, model: type[BaseModel], data: Data, limit: int | None = None
) -> list[tuple[KeyPath, str]]:
    """Return the path and the sentence of each mistake that pydantic found.

    An unknown key that resembles a missing one of the same mapping is one mistake. Of a union, only the errors of the
    member that was most likely meant are listed. Of more errors than `limit`, unknown keys, since a file may have
    thousands, are left out first.
    """
    found = error.errors(include_url=False)
    if limit is not None and len(found) > limit:
        extra = [details for details in found if details["type"] == "extra_forbidden"]
        left_out = {id(details) for details in extra[max(limit - len(found) + len(extra), 0) :]}
        found = [details for details in found if id(details) not in left_out][:limit]
    errors = [(tuple(details["loc"]), details) for details in found]
    return list(_located(model, data, (), errors))


def shown(value: object) -> str:
    """Return a value and its kind as a sentence tells them, on one line."""
    text = repr(short(value)) if isinstance(value, str) else short(json.dumps(value, ensure_ascii=False))
    return f"{printable(text)} ({_kind(value)})"


def short(text: str, limit: int = 60) -> str:
    """Return at most ``limit`` characters of a text."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _located(annotation: object, found: Data, path: KeyPath, errors: list[_Rest]) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path and the sentence of each error in ``found``, which should have been an ``annotation``."""
    members = _members(annotation)
    inside: dict[str | int, list[_Rest]] = defaultdict(list)
    for loc, error in errors:
        if loc:
            inside[loc[0]].append((loc[1:], error))
    for loc, error in errors:
        if not loc and not (inside and _is_echo(error, found)):
            yield from _at(members, found, path, error)
    if len(members) > 1 and inside:
        yield from _in_union(members, found, path, inside)
        return
    missing = [part for part, rest in inside.items() if _is_about_key(rest, "missing")]
    extra = [part for part, rest in inside.items() if _is_about_key(rest, "extra_forbidden")]
    yield from _of_keys(_fields(members[0]), found, path, missing, extra)
    for part in (part for part in inside if part not in (*missing, *extra)):
        if _is_in(part, found):
            deeper = found[part], (*path, part)
        else:  # no key but pydantic's name for a key itself, or for a part of a type that is not known here
            deeper = path[-1] if part == "[key]" and path else found, path
        yield from _located(_child(members[0], part), *deeper, inside[part])


def _is_in(part: str | int, found: object) -> bool:
    return part in found if isinstance(found, dict) else isinstance(found, list) and part in range(len(found))


def _is_echo(error: ErrorDetails, found: Data) -> bool:
    """Tell whether a list is called too short only because pydantic does not count the items that have errors."""
    return error["type"] == "too_short" and len(found) >= error["ctx"]["min_length"]


def _is_about_key(rest: list[_Rest], kind: str) -> bool:
    return any(not loc and error["type"] == kind for loc, error in rest)


def _at(members: tuple[object, ...], found: Data, path: KeyPath, error: ErrorDetails) -> Iterator[tuple[KeyPath, str]]:
    discriminator = str(error.get("ctx", {}).get("discriminator", "")).strip("'")
    if not discriminator:
        yield path, _sentence(error, found)
    elif discriminator in found:
        allowed = _names(error["ctx"].get("expected_tags", ""))
        yield (*path, discriminator), _unlisted(found[discriminator], allowed)
    else:
        fields = dict(chain.from_iterable(_fields(member).items() for member in members))
        yield from _of_keys(fields, found, path, [discriminator], [key for key in found if key not in fields])


def _of_keys(
    allowed: Iterable[str], found: Data, path: KeyPath, missing: Iterable[str | int], extra: Iterable[str | int]
) -> Iterator[tuple[KeyPath, str]]:
    """Yield the mistakes of missing and of unknown keys; a key that is misspelt or renamed is one mistake."""
    unclaimed = list(missing)
    for key in extra:
        shown = short(printable(str(key)))
        new = new_name(shown, allowed)
        near = [new] if new else difflib.get_close_matches(shown, [str(other) for other in unclaimed], n=1)
        unclaimed = [other for other in unclaimed if other not in near]
        slip = bool(near) and not new
        meant = f"unknown key '{shown}'; did you mean '{near[0]}'?" if slip else unknown("key", shown, allowed)
        yield (*path, key), meant
    for key in unclaimed:
        if isinstance(key, int):
            yield (*path, key), "a required item is missing"
        else:
            present = short(printable(", ".join(found))) or "no keys"
            yield (*path, key), f"a required key is missing; found: {present}"


def _in_union(
    members: tuple[object, ...], found: object, path: KeyPath, inside: Mapping[str | int, list[_Rest]]
) -> Iterator[tuple[KeyPath, str]]:
    """Yield the errors of the one member that was most likely meant."""
    tagged = len(inside) != len(members)
    meant = [_tagged(members, found, tag) for tag in inside] if tagged else members
    likely = [pair for pair in zip(meant, inside.values(), strict=True) if not _is_of_other_kind(pair[1], found)]
    if likely:
        member, errors = min(likely, key=lambda pair: len(pair[1]))
        yield from _located(member, found, path, errors)
    else:
        needed = [_needed(error)[1] for errors in inside.values() for loc, error in errors if not loc]
        yield path, f"found {shown(found)}, {' or '.join(dict.fromkeys(needed))} is needed"


def _is_of_other_kind(errors: Iterable[_Rest], found: object) -> bool:
    return any(not loc and _needed(error)[0] not in ("", _kind(found)) for loc, error in errors)


def _needed(error: ErrorDetails) -> tuple[str, str]:
    """Return the kind of value that was needed, if another kind was an error, and what was needed in words."""
    context = {
        key: f"{value:.12g}" if isinstance(value, float) else value for key, value in error.get("ctx", {}).items()
    }
    if error["type"] in _LISTED:
        return "text" if "'" in context["expected"] else "number", context["expected"]
    kind, words = _NEEDED.get(error["type"], ("", ""))
    if "pattern" in context:
        context["words"] = _PATTERNS.get(context["pattern"], "text of another form")
    return kind, words.format_map(context)


def _sentence(error: ErrorDetails, found: object) -> str:
    if error["type"] in _OWN_WORDS:
        return str(error["ctx"]["error"])
    if error["type"] in _LISTED:
        return _unlisted(found, _names(error["ctx"]["expected"]))
    words = _needed(error)[1]
    return f"found {shown(found)}, {words} is needed" if words else f"found {shown(found)}: {error['msg']}"


def _unlisted(found: object, allowed: list[str]) -> str:
    if not allowed:
        return f"found {shown(found)}, text is needed"
    if new := new_name(found, allowed):
        return f"'{found}' is now called '{new}'"
    return f"found {shown(found)}; allowed: {', '.join(allowed)}{suggestion(short(str(found)), allowed)}"


def _names(expected: str) -> list[str]:
    """Return the names in pydantic's listing of what it expected, such as ``'ring', 'mesh' or 'switch'``."""
    return [name.strip("'") for name in re.split(", | or ", expected) if name]


def _members(annotation: object) -> tuple[object, ...]:
    """Return the types that a value may have, None not counted."""
    if get_origin(annotation) is Annotated:
        late = next((one for one in get_args(annotation)[1:] if isinstance(one, Late)), None)
        return _members(get_args(annotation)[0] if late is None else late.type)
    if isinstance(annotation, type) and issubclass(annotation, RootModel):
        return _members(annotation.model_fields["root"].annotation)
    if get_origin(annotation) not in (Union, UnionType):
        return (annotation,)
    members = tuple(member for member in get_args(annotation) if member is not NoneType)
    return members if len(members) > 1 else _members(members[0])


def _tagged(members: Iterable[object], found: object, tag: str | int) -> object:
    """Return the member of a discriminated union that has the tag, or None."""
    items = found if isinstance(found, dict) else {}
    for member in members:
        if any(items.get(key) == tag and tag in get_args(inner) for key, inner in _fields(member).items()):
            return member
    return None


def _fields(annotation: object) -> dict[str, object]:
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return {}
    return {field.alias or name: field.annotation for name, field in annotation.model_fields.items()}


def _child(annotation: object, part: str | int) -> object:
    """Return what the value at a key or an index of an annotated value should be, or None when that is not known."""
    arguments = get_args(annotation)
    if isinstance(part, str):
        return _fields(annotation).get(part, arguments[-1] if arguments else None)
    index = part if get_origin(annotation) is tuple and Ellipsis not in arguments else 0
    return arguments[index] if index < len(arguments) else None


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "empty")
