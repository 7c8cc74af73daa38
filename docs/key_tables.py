"""Tables of the keys of a file, from the JSON Schema of its pydantic model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from layout import either, table

Schema = Mapping[str, Any]
_UNITS = (
    ("usd_per_GBps", "USD per GB/s"), ("usd_per_kWh", "USD per kWh"), ("pJ_per_bit", "pJ per bit"),
    ("usd_per_Gbps", "USD per Gb/s"), ("usd_per_Tbps", "USD per Tb/s"), ("GBps", "GB/s"), ("Gbps", "Gb/s"),
    ("Tbps", "Tb/s"),
    ("TFLOPS", "TFLOP/s"), ("kWh", "kWh"), ("usd", "USD"), ("ns", "ns"), ("ms", "ms"), ("kW", "kW"), ("W", "W"),
    ("m", "m"), ("s", "s"),
)  # fmt: skip
_LONG = 10_000_000  # from here on figures are written as powers of ten
_UNITS_OF_KEYS = {"years": "years", "seconds": "s", "timeout": "s"}


def key_tables(schema: dict[str, Any], prefix: str = "", defaults: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Return a table of the keys of a file, then a section for each mapping inside it.

    Parameters
    ----------
    schema : as pydantic gives it.
    prefix : what anchors begin with.
    defaults : of keys at the top for which the schema has none, because another table has it.
    """
    for key, field in schema["properties"].items():
        if field.get("default") is None:
            field["default"] = defaults.get(key)
    for chosen in _discriminated(schema):
        schema["$defs"][chosen]["discriminated"] = True
    return "\n\n".join(_sections(schema, schema.get("$defs", {}), prefix, "", 3))


def _discriminated(schema: Schema) -> Iterator[str]:
    """Yield the models that a key ``kind`` chooses."""
    if isinstance(schema, dict):
        yield from map(_model_name, schema.get("discriminator", {}).get("mapping", {}).values())
        for value in schema.values():
            yield from _discriminated(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _discriminated(value)


def _sections(model: Schema, models: Mapping[str, Schema], prefix: str, place: str, level: int) -> Iterator[str]:
    rows = []
    for key, field in model["properties"].items():
        anchor = _anchor("key", prefix, place, key)
        value = _with_unit(key, _value(field, models, lambda name, key=key: _target(models[name], prefix, place, key)))
        rows.append([f"[`{key}`]{{#{anchor}}}", value, _default(model, key), field.get("description", "")])
    yield table(["key", "value", "default", "meaning"], rows)
    for key, field in model["properties"].items():
        # A value and a list of such values have one section.
        for name, suffix in reversed(dict(reversed([*_models_in(field)])).items()):
            inner, where = models[name], _joined(place, key) + suffix
            kind = _kind(inner)
            title = f"`{where}`, kind `{kind}`" if kind else f"`{where}`"
            yield f"({_target(inner, prefix, place, key)})=\n{'#' * level} {title}"
            if set(inner["properties"]) <= set(model["properties"]):
                names = ", ".join(f"`{one}`" for one in inner["properties"])
                yield f"{_first(inner)} The keys are those above: {names}."
            else:
                yield _first(inner)
                yield from _sections(inner, models, prefix, f"{where} {kind}" if kind else where, min(level + 1, 4))


def _kind(model: Schema) -> str:
    return str(model["properties"].get("kind", {}).get("const", "")) if "discriminated" in model else ""


def _target(model: Schema, prefix: str, place: str, key: str) -> str:
    return _anchor(prefix, _joined(place, key), _kind(model), "keys")


def _anchor(*parts: str) -> str:
    return "-".join(filter(None, (re.sub(r"[^A-Za-z0-9_]+", "-", part).strip("-") for part in parts))).lower()


def _joined(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _models_in(field: Schema, suffix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the models that a value may be, with the rest of its key path."""
    if "$ref" in field:
        yield _model_name(field["$ref"]), suffix
    for one in [*field.get("anyOf", ()), *field.get("oneOf", ())]:
        yield from _models_in(one, suffix)
    if isinstance(field.get("items"), dict):
        yield from _models_in(field["items"], f"{suffix}[]")
    if (values := _values_of(field)) is not None:
        yield from _models_in(values, f"{suffix}.<name>")


def _model_name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _values_of(field: Schema) -> Schema | None:
    """Return what the values of a mapping are, for mappings of any names."""
    found = field.get("additionalProperties", False)
    return next(iter(field.get("patternProperties", {}).values()), found if isinstance(found, dict) else None)


def _default(model: Schema, key: str) -> str:
    if key in model.get("required", ()):
        return "required"
    default = model["properties"][key].get("default")
    if default in (None, "", []) or isinstance(default, dict):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{', '.join(map(str, default)) if isinstance(default, list) else default}`"


def _first(model: Schema) -> str:
    return str(model.get("description", "")).split("\n\n")[0].replace("\n", " ")


def _with_unit(key: str, value: str) -> str:
    found = (unit for suffix, unit in _UNITS if key.endswith(f"_{suffix}") or (key == suffix and "_" in key))
    unit = _UNITS_OF_KEYS.get(key) or next(found, "")
    return f"{value}; {unit}" if unit and "number" in value else value


def _value(field: Schema, models: Mapping[str, Schema], target: Callable[[str], str]) -> str:  # noqa: PLR0911 - one for each kind
    def inner(one: Schema) -> str:
        return _value(one, models, target)

    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return _listed_elsewhere(field) or either([f"`{one}`" for one in field["enum"]])
    if "$ref" in field:
        name = _model_name(field["$ref"])
        return f"[mapping{' of kind ' * bool(_kind(models[name]))}{_kind(models[name])}](#{target(name)})"
    if options := [one for one in field.get("anyOf", field.get("oneOf", ())) if one.get("type") != "null"]:
        return "; or ".join(map(inner, options))
    if "prefixItems" in field:
        return f"list [{', '.join(map(inner, field['prefixItems']))}]"
    if field.get("type") == "array":
        return f"list of {inner(field['items'])}"
    if field.get("type") == "object":
        values = _values_of(field)
        return f"mapping of {_names_of(field)}" + ("" if values is None else f" to {inner(values)}")
    words = {"integer": "whole number", "number": "number", "boolean": "`true` or `false`", "string": "text"}
    return words.get(str(field.get("type")), "any value") + _bounds(field)


def _listed_elsewhere(field: Schema) -> str:
    """Return what a value is one of, where a table has the list."""
    if _is_block(field):
        return "a [block](catalogue.md#blocks)"
    return "[objectives](problem-file.md#objectives)" if "cost.p95" in field["enum"] else ""


def _is_block(field: Schema) -> bool:
    return "fully-connected" in field.get("enum", ()) and "ring" in field["enum"]


def _names_of(mapping: Schema) -> str:
    names = mapping.get("propertyNames", {})
    return (
        "names"
        if "enum" not in names
        else "blocks"
        if _is_block(names)
        else either([f"`{name}`" for name in names["enum"]])
    )


def _bounds(field: Schema) -> str:
    low, high = field.get("minimum"), field.get("maximum")
    above, below = field.get("exclusiveMinimum"), field.get("exclusiveMaximum")
    if below is not None and field["type"] == "integer":
        high, below = below - 1, None
    if low is not None and high is not None:
        return f" from {_figure(low)} to {_figure(high)}"
    said = [
        "" if low is None else f"of at least {_figure(low)}", "" if above is None else f"above {_figure(above)}",
        "" if high is None else f"at most {_figure(high)}", "" if below is None else f"below {_figure(below)}",
    ]  # fmt: skip
    return " " + ", ".join(filter(None, said)) if any(said) else ""


def _figure(value: float) -> str:
    power = next((power for power in (31, 62, 63) if value in (2**power, 2**power - 1, float(2**power))), None)
    if power is not None:
        return f"2^{power}"
    text = f"{value:.0e}" if value >= _LONG and float(f"{value:.0e}") == value else f"{value:.10g}"
    return re.sub(r"e([+-])0*", lambda sign: "e" + sign[1].strip("+"), text)
