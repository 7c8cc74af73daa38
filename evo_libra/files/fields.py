"""Numbers of a file, within bounds."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

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
