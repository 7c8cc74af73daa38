"""Where the parts of a network stand, and so which of its links are within reach of a short cable."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

from evo_libra.files.source import StrictModel

_ROUNDING = 1e-9

MOST = 1_000_000_000
"""Of any figure of a part: far above what is built, and no sum over a network overflows."""

Amount = Annotated[float, Field(ge=0, le=MOST)]
Rate = Annotated[float, Field(ge=1e-6, le=MOST)]
Count = Annotated[int, Field(ge=1, le=MOST)]


class ShortSpec(StrictModel):
    """A cable for short ways, as a technology writes it."""

    cable: str = Field(description="a link of one port that needs no transceivers")
    longest_m: Rate = Field(description="how far it reaches")


class LayoutSpec(StrictModel):
    """Where things stand: racks side by side, NPUs in their order, switches in the middle of what they join."""

    rack_npus: Count = Field(description="NPUs of a rack")
    rack_width_m: Rate = Field(description="width of a rack")
    slack_m: Amount = Field(description="metres of a cable within the racks at its ends")
    source: str = Field(min_length=1, description="where the figures come from")
    year: int = Field(ge=1990, le=2100, description="of the figures")


def room_of(layout: LayoutSpec, reach: float) -> int:
    """Return the NPUs of the racks that cables of some metres reach from a switch in their middle.

    >>> layout = LayoutSpec(rack_npus=32, rack_width_m=0.6, slack_m=2, source="an example", year=2026)
    >>> [room_of(layout, reach) for reach in (1.5, 2, 3, 5)]
    [0, 32, 96, 352]
    """
    if reach < layout.slack_m:
        return 0
    return (2 * math.floor((reach - layout.slack_m) / layout.rack_width_m + _ROUNDING) + 1) * layout.rack_npus
