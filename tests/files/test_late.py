from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError

from evo_libra.errors import InputError
from evo_libra.files.fields import CompleteSchema, Late
from evo_libra.files.source import StrictModel, parse_source, validate


class Inner(StrictModel):
    size: int = Field(ge=1)
    parts: tuple[int, ...] = ()


class One(StrictModel):
    kind: Literal["one"]
    width: int


class Two(StrictModel):
    kind: Literal["two"]
    height: float


Either = Annotated[One | Two, Field(discriminator="kind")]
Several = str | Inner | Annotated[tuple[str | Inner, ...], Field(min_length=1)]
LateInner, LateEither, LateSeveral = (
    Annotated[Any, Late(__name__, name)] for name in ("Inner", "Either", "Several")
)  # fmt: skip


class AtOnce(StrictModel):
    """A model."""

    inner: Inner | None = Field(None, description="one model")
    either: Either | None = Field(None, description="one of two")
    several: Several | None = Field(None, description="names and models")


class Later(StrictModel):
    """A model."""

    inner: LateInner | None = Field(None, description="one model")  # type: ignore[valid-type]
    either: LateEither | None = Field(None, description="one of two")  # type: ignore[valid-type]
    several: LateSeveral | None = Field(None, description="names and models")  # type: ignore[valid-type]


FILES = (
    "inner: {size: 0, sise: 1, parts: [1, x]}", "inner: {sise: 3}", "inner: 5", "inner: [1]", "inner: null",
    "either: {kind: three}", "either: {kind: two, height: q}", "either: {}", "either: {kind: one, width: 2}",
    "several: {size: x}", "several: [a, {size: 0}]", "several: []", "several: 3", "several: [a, {size: 2}]",
    "inner: {size: 2, parts: [1, 2]}\neither: {kind: one, width: 1.5}\nseveral: a\nother: 1",
)  # fmt: skip


@pytest.mark.parametrize("text", FILES)
def test_a_late_type_has_the_values_and_mistakes_of_the_type(text: str) -> None:
    found = []
    for model in (AtOnce, Later):
        try:
            found.append(validate(model, parse_source(text, "file.yaml")).model_dump(mode="json"))
        except InputError as error:
            found.append(str(error))
    assert found[0] == found[1]


def test_a_late_type_has_the_json_schema_of_the_type() -> None:
    found = [model.model_json_schema(schema_generator=CompleteSchema) for model in (AtOnce, Later)]
    assert json.dumps(found[0]).replace("AtOnce", "Later") == json.dumps(found[1])


def test_values_in_code_are_models_of_the_type() -> None:
    inner = Inner(size=2)
    assert Later(inner=inner).inner is inner
    for wrong in (Later(), 3, [inner]):
        with pytest.raises(ValidationError):
            Later(inner=wrong)


def test_a_late_type_is_imported_when_it_is_asked_for() -> None:
    assert Late("decimal", "Decimal").type is Decimal
    never = Late("no_such_module", "Nothing")
    with pytest.raises(ModuleNotFoundError):
        _ = never.type
    assert math.isclose(Later.model_validate_json('{"either": {"kind": "two", "height": 1}}').either.height, 1.0)
