"""Constants of kernels and collectives as files write them, and the types of their values."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import Field

from evo_libra.arrays import FloatArray
from evo_libra.files.source import StrictModel

MAX, MEGA, MICRO, NANO = 1e12, 1e6, 1e-6, 1e-9
Size = TypeVar("Size", float, FloatArray)

Positive = Annotated[float, Field(gt=0, le=MAX)]
Share = Annotated[float, Field(gt=0, le=1)]
Time = Annotated[float, Field(ge=0, le=MAX)]


class Constants(StrictModel):
    """Constants of kernels: the key of a file ends in the unit, a property without it is in SI units."""

    def figures(self) -> dict[str, float | None]:
        """Return the constants in SI units, by name."""
        names = (key.removesuffix("_us").removesuffix("_MB").removesuffix("_ns") for key in type(self).model_fields)
        return {name: getattr(self, name) for name in names}
