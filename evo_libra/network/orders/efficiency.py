"""The part of the wire that traffic reaches through a switch, as a catalogue of products writes it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from evo_libra.files.source import StrictModel

Share = Annotated[float, Field(gt=0, le=1)]


class EfficiencySpec(StrictModel):
    """A share of the wire."""

    efficiency: Share = Field(1.0, description="share of the wire that many flows reach")
    efficiency_range: tuple[Share, Share] | None = Field(
        None, description="lowest and highest efficiency, of sources or as an estimate"
    )


class PlatformSpec(EfficiencySpec):
    """The part of the wire that traffic reaches through a switch with NICs that take part in its routing."""

    name: str = Field(description="the platform, which these NICs name, too")
