"""The JSON Schema of answers: dictionaries of records, as `evo_libra.explain.as_json` writes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

Schema = dict[str, Any]
_PLAIN: Mapping[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}
_CELL = {"type": ["string", "number", "boolean", "null"]}
TABLE: Schema = {"type": "array", "items": {"type": "object", "additionalProperties": _CELL}}
"""A data frame: its rows, with a key for each column."""


@dataclass
class Schemas:
    """The schemas of types, with those of the records that they name.

    Attributes
    ----------
    late : types by the names under which modules of records import them for the type checker alone.
    known : schemas of types that are no records.
    records : the schemas of records, by the names of their classes.
    """

    late: Mapping[str, type] = field(default_factory=dict)
    known: Mapping[Any, Schema] = field(default_factory=dict)
    records: dict[str, Schema] = field(default_factory=dict)
    _classes: dict[str, type] = field(default_factory=dict)

    def of(self, kind: Any) -> Schema:  # noqa: ANN401 - a type
        """Return the schema of a type; a `TypeError` says that records have none of the kind."""
        if kind is Any:
            return {}
        if kind in self.known:
            return dict(self.known[kind])
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
        if is_typeddict(kind):
            return self.keys(kind)
        return self._record(kind) if is_dataclass(kind) else self._generic(kind)

    def keys(self, kind: type) -> Schema:
        """Return the schema of a dictionary with the keys of a `TypedDict`."""
        hints = get_type_hints(kind, localns=dict(self.late), include_extras=True)
        required = [name for name, hint in hints.items() if get_origin(hint) is not NotRequired]
        values = {name: hint if name in required else get_args(hint)[0] for name, hint in hints.items()}
        return _object({name: self.of(value) for name, value in values.items()}, required)

    def fields(self, kind: type, only: Collection[str] = ()) -> Schema:
        """Return the schema of a record, or of some of its fields; one with a default may be left out."""
        hints = get_type_hints(kind, localns=dict(self.late))
        found, others = _object({}, []), list[Schema]()
        for one in fields(kind):
            if only and one.name not in only:
                continue
            if one.metadata.get("inline"):
                others += self._inline(found, hints[one.name])
                continue
            found["properties"][one.name.rstrip("_")] = self.of(hints[one.name])
            if one.default is MISSING and one.default_factory is MISSING:
                found["required"].append(one.name.rstrip("_"))
        return {**found, "additionalProperties": _any_of(others)} if others else found

    def _inline(self, found: Schema, kind: Any) -> list[Schema]:  # noqa: ANN401 - a type
        """Add the keys of a record to those around it; return the schema of any key of a mapping."""
        if not is_dataclass(kind):
            return [self.of(kind)["additionalProperties"]]
        inner = self._written(kind)
        found["properties"] |= inner["properties"]
        found["required"] += inner["required"]
        return [inner["additionalProperties"]] if inner["additionalProperties"] else []

    def _written(self, kind: Any) -> Schema:  # noqa: ANN401 - a type
        """Return the schema of a record as it writes itself, or of its fields."""
        if not hasattr(kind, "json"):
            return self.fields(kind)
        return self.of(get_type_hints(kind.json, localns=dict(self.late))["return"])

    def _record(self, kind: Any) -> Schema:  # noqa: ANN401 - a type
        name = str(kind.__name__)
        if self._classes.get(name, kind) is not kind:  # another room has a class of this name
            name = f"{kind.__module__.rpartition('.')[2]}_{name}"
        if name not in self._classes:
            self._classes[name] = kind
            self.records[name] = self._written(kind)
        return {"$ref": f"#/$defs/{name}"}

    def _generic(self, kind: Any) -> Schema:  # noqa: ANN401 - a type
        origin, inner = get_origin(kind), get_args(kind)
        if origin in (Union, UnionType):
            return _any_of([self.of(one) for one in inner])
        if origin is Literal:
            return {"enum": list(inner)}
        if not isinstance(origin, type):
            raise TypeError(f"records have no {kind}")
        if issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        if issubclass(origin, tuple) and inner[-1] is not ...:
            items = _any_of([self.of(one) for one in dict.fromkeys(inner)])
            return {"type": "array", "items": items, "minItems": len(inner), "maxItems": len(inner)}
        if issubclass(origin, Collection):
            return {"type": "array", "items": self.of(inner[0])}
        raise TypeError(f"records have no {kind}")


def merged(*schemas: Schema) -> Schema:
    """Return the schema of an object with the keys of several ones."""
    open_to = [one["additionalProperties"] for one in schemas if one["additionalProperties"]]
    return {
        "type": "object",
        "properties": {key: value for one in schemas for key, value in one["properties"].items()},
        "required": [key for one in schemas for key in one["required"]],
        "additionalProperties": _any_of(open_to) if open_to else False,
    }


def _object(properties: Schema, required: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _any_of(schemas: list[Schema]) -> Schema:
    """Return the schema of what fits one of several, each stated once."""
    apart = [one for place, one in enumerate(schemas) if one not in schemas[:place]]
    return apart[0] if len(apart) == 1 else {"anyOf": apart}
