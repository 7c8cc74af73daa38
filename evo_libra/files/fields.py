"""Types of a schema: numbers within bounds, and types that are imported when a file first has their key."""

from __future__ import annotations

import json
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler, TypeAdapter, ValidationInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

_SMALLEST = 1e-15


def _of_some_size(value: float) -> float:
    if 0 < value < _SMALLEST:
        raise PydanticCustomError("greater_than_equal", "too small", {"ge": _SMALLEST})
    return value


Item = TypeVar("Item")
Some = Annotated[tuple[Item, ...], Field(min_length=1)]
"""Values that the search may choose from."""

PositiveInt = Annotated[int, Field(ge=1, le=2**31)]
PositiveFloat = Annotated[float, Field(gt=0, le=1e15), AfterValidator(_of_some_size)]
NotNegative = Annotated[float, Field(ge=0, le=1e15), AfterValidator(_of_some_size)]
Degree = PositiveInt | Literal["any"] | Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
"""NPUs of a process group: a number, some that the search may choose from, or all that divide."""


STRICT = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)
"""Base of the models of files; each is built when its first file is checked."""


class Late:
    """Stands in ``Annotated[Any, Late(module, name)]`` for a type, with the same values, mistakes and JSON Schema.

    Most files have few of the keys that they may have, and to import a model takes longer than to read a file.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    @cached_property
    def type(self) -> Any:  # noqa: ANN401 - a type
        """The type."""
        return getattr(import_module(self._module), self._name)

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """The validator of values of the type."""
        own = isinstance(self.type, type) and issubclass(self.type, BaseModel)
        return TypeAdapter(self.type, config=None if own else STRICT)

    def check(self, value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 - any data of a file
        """Return data of a file, or a value in code, as the type."""
        return (
            self.adapter.validate_json(json.dumps(value))
            if info.mode == "json"
            else self.adapter.validate_python(value)
        )

    def __get_pydantic_core_schema__(self, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self.check)


class CompleteSchema(GenerateJsonSchema):
    """Writes the JSON Schema of a model whose types are imported late."""

    def function_plain_schema(self, schema: core_schema.PlainValidatorFunctionSchema) -> JsonSchemaValue:
        """Return the schema of a late type."""
        return self.generate_inner(_meant(schema))

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401 - one of many kinds
        """Return whether a field has a title: one whose type has a name has none."""
        return super().field_title_should_be_set(_meant(schema) if schema["type"] == "function-plain" else schema)


def _meant(schema: core_schema.PlainValidatorFunctionSchema) -> CoreSchema:
    late: Late = schema["function"]["function"].__self__  # type: ignore[union-attr]
    return late.adapter.core_schema
