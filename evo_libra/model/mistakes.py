"""From pydantic's errors to one sentence each: what was found, what is allowed, the nearest valid name."""

from __future__ import annotations

import json
import types
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from evo_libra.errors import suggestion

KeyPath = tuple[str | int, ...]

_KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "string_type": "a text",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_LIMITS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}


def mistakes_of(error: ValidationError, model: type[BaseModel], data: Any) -> list[tuple[KeyPath, str]]:  # noqa: ANN401
    """Return the path and the sentence of each mistake that pydantic found.

    An unknown key that resembles a missing one of the same mapping is told as one mistake. Of a union, the members
    that do not fit the kind of value that was found are passed over.
    """
    details = _plausible(error.errors(include_url=False, include_context=True), data)
    unknown = {path: detail for path, detail in details if detail["type"] == "extra_forbidden"}
    found = []
    for path, detail in details:
        if detail["type"] == "missing" and _is_misspelt(path, unknown):
            continue
        found.append((path, _sentence(path, detail, model)))
    return list(dict.fromkeys(found))


def _is_misspelt(path: KeyPath, unknown: dict[KeyPath, ErrorDetails]) -> bool:
    return any(other[:-1] == path[:-1] and suggestion(other[-1], [str(path[-1])]) for other in unknown)


def _plausible(details: Sequence[ErrorDetails], data: Any) -> list[tuple[KeyPath, ErrorDetails]]:  # noqa: ANN401
    """Pair each error with its path in the data, without the members of unions that were never meant."""
    placed = [(_real_path(detail["loc"], data, missing=detail["type"] == "missing"), detail) for detail in details]
    deepest = [path for path, detail in placed if detail["type"] not in _KINDS]
    kept = []
    for path, detail in placed:
        others = [other for other, _ in placed if other[: len(path)] == path and other != path]
        if detail["type"] in _KINDS and (others or path in deepest):
            continue
        kept.append((path, detail))
    return kept


def _real_path(loc: Sequence[str | int], data: Any, *, missing: bool) -> KeyPath:  # noqa: ANN401
    """Drop the names of union members and tags from pydantic's location."""
    path: list[str | int] = []
    for position, part in enumerate(loc):
        last = position == len(loc) - 1
        if isinstance(data, dict) and (part in data or (last and missing)):
            path.append(part)
            data = data.get(str(part))
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            path.append(part)
            data = data[part]
    return tuple(path)


def _sentence(path: KeyPath, detail: ErrorDetails, model: type[BaseModel]) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "missing":
        return f"the key '{path[-1]}' is required"
    if kind == "extra_forbidden":
        allowed = _keys_at(model, detail["loc"][:-1])
        return f"unknown key '{path[-1]}'; allowed: {', '.join(allowed)}{suggestion(path[-1], allowed)}"
    if kind == "literal_error":
        return _choice(detail["input"], _literals(model, detail["loc"]) or [str(context["expected"])])
    if kind == "union_tag_invalid":
        return _choice(context["tag"], [tag.strip(" '") for tag in str(context["expected_tags"]).split(",")])
    if kind == "union_tag_not_found":
        return f"the key {context['discriminator']} is required"
    if kind in _KINDS:
        return f"found {_shown(detail['input'])}; {_KINDS[kind]} is needed"
    if kind in _LIMITS:
        key, words = _LIMITS[kind]
        return f"found {_shown(detail['input'])}; it must be {words} {context[key]}"
    if kind in ("too_short", "too_long"):
        words = f"at least {context['min_length']}" if kind == "too_short" else f"at most {context['max_length']}"
        return f"found {context['actual_length']} items; {words} are needed"
    message = detail["msg"].removeprefix("Value error, ")
    return message if kind == "value_error" else f"found {_shown(detail['input'])}; {message[:1].lower()}{message[1:]}"


def _choice(found: Any, allowed: Sequence[str]) -> str:  # noqa: ANN401 - plain data of any kind
    return f"found {_shown(found)}; allowed: {', '.join(allowed)}{suggestion(found, allowed)}"


def _shown(value: Any) -> str:  # noqa: ANN401 - plain data of any kind
    text = f"'{value}'" if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 - a sentence stays on a line


def _models_in(annotation: Any) -> Iterator[Any]:  # noqa: ANN401 - any annotation
    """Yield what an annotation may be, without Optional, Annotated and unions around it."""
    if get_origin(annotation) in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _models_in(member)
    elif hasattr(annotation, "__metadata__"):
        yield from _models_in(get_args(annotation)[0])
    else:
        yield annotation


def _step(annotation: Any, part: str | int) -> Iterator[Any]:  # noqa: ANN401 - any annotation
    """Yield the annotations that one part of a location may lead to; a part that names a union member stays put."""
    for member in _models_in(annotation):
        arguments = get_args(member)
        if isinstance(member, type) and issubclass(member, BaseModel):
            fields = member.model_fields
            if "root" in fields:
                yield from _step(fields["root"].annotation, part)
            elif isinstance(part, str) and part in fields:
                yield fields[part].annotation
            elif part == member.__name__ or part in _tags(member):
                yield member
        elif isinstance(part, int) and arguments:
            yield arguments[0]
        elif get_origin(member) is dict:
            yield arguments[1]


def _tags(model: type[BaseModel]) -> list[str]:
    return [
        tag
        for field in model.model_fields.values()
        if get_origin(field.annotation) is Literal
        for tag in get_args(field.annotation)
    ]


def _annotations_at(model: type[BaseModel], loc: Sequence[str | int]) -> list[Any]:
    annotations: list[Any] = [model]
    for part in loc:
        reached = [step for annotation in annotations for step in _step(annotation, part)]
        annotations = reached or annotations
    return [member for annotation in annotations for member in _models_in(annotation)]


def _keys_at(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    members = _annotations_at(model, loc)
    keys = (key for member in members if hasattr(member, "model_fields") for key in member.model_fields)
    return list(dict.fromkeys(keys))


def _literals(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    members = _annotations_at(model, loc)
    return [str(value) for member in members if get_origin(member) is Literal for value in get_args(member)]
