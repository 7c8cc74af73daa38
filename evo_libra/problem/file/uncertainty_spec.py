"""The schema of what a problem file says of uncertain prices and weights."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from evo_libra.files.fields import PositiveFloat
from evo_libra.files.source import StrictModel

MAX_SCENARIOS = 1000


class WeightSpec(StrictModel):
    """A weight that is known to lie between two bounds."""

    low: PositiveFloat = Field(description="lowest")
    value: PositiveFloat = Field(description="what counts unless an objective is over scenarios")
    high: PositiveFloat = Field(description="highest")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.low <= self.value <= self.high:
            raise ValueError(f"found {self.low:g}, {self.value:g}, {self.high:g}; low <= value <= high")
        return self


class UncertaintySpec(StrictModel):
    """Scenarios of the uncertain prices and weights, for objectives and constraints over scenarios."""

    scenarios: int = Field(64, ge=1, le=MAX_SCENARIOS, description="scenarios to draw, the same for every design")
    seed: int = Field(0, ge=0, lt=2**63, description="seed of the scenarios; the search has another seed")
    prices: bool = Field(
        default=True, description="whether prices of parts and NPUs vary, where their sources give ranges"
    )
