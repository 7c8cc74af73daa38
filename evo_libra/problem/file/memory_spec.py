"""The schema of what a problem file says of the memory of its NPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from evo_libra.files.fields import Late
from evo_libra.files.source import StrictModel

if TYPE_CHECKING:
    from evo_libra.problem.file.hardware_spec import ExpansionSpec
else:
    ExpansionSpec = Annotated[Any, Late("evo_libra.problem.file.hardware_spec", "ExpansionSpec")]


class MemorySpec(StrictModel):
    """The share of an NPU's memory that plans may use, and the memory next to it."""

    reserve: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        None,
        description="part of the capacity that stays free: 0.03 in training for fragments, next to the 1 GB of buffers "
        "of steps; 0.05 where a workload is served, for fragments and the framework",
    )
    expansion: ExpansionSpec | None = Field(None, description="memory besides the NPUs' own, by figures")
