"""Records as plain data for JSON: fields are keys, whose names carry the units."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

INLINE: Mapping[str, bool] = {"inline": True}
"""Metadata of a field whose entries are keys next to the other fields."""


def as_json(value: Any, only: Collection[str] = ()) -> Any:  # noqa: ANN401 - what JSON can state
    """Return a record as plain data: all of its fields, or only some; one that has its default is left out.

    A keyword of Python is a key of JSON without its underscore.

    >>> from evo_libra.explain.time_record import Blocked, OptimizerStream
    >>> as_json(Blocked(change="tp 16", reason="8 heads"), only=["reason"])
    {'reason': '8 heads'}
    >>> as_json([OptimizerStream(pass_="update", stream="host", time_ms=2.0, binds=True)])
    [{'pass': 'update', 'stream': 'host', 'time_ms': 2.0, 'binds': True}]
    """
    if isinstance(value, Mapping):
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    return _object(value, only) if is_dataclass(value) else value


def _object(record: Any, only: Collection[str]) -> dict[str, Any]:  # noqa: ANN401 - any record
    if hasattr(record, "json"):
        return dict(record.json())
    found: dict[str, Any] = {}
    for one in fields(record):
        value = getattr(record, one.name)
        default = one.default if one.default_factory is MISSING else one.default_factory()
        if (only and one.name not in only) or (default is not MISSING and value == default):
            continue
        found |= as_json(value) if one.metadata.get("inline") else {one.name.rstrip("_"): as_json(value)}
    return found
