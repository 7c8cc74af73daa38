"""A catalogue of parts as its file writes it, and which links are within reach of a short cable."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field

from evo_libra.files.source import StrictModel
from evo_libra.network.blocks import KINDS
from evo_libra.network.catalog.link_layers import SALE, LinkLayerSpec, Sale
from evo_libra.network.catalog.technologies import BlockName, Name

_ROUNDING = 1e-9

MOST = 1_000_000_000
"""Of any figure of a part: far above what is built, and no sum over a network overflows."""

Amount = Annotated[float, Field(ge=0, le=MOST)]
Rate = Annotated[float, Field(ge=1e-6, le=MOST)]
Count = Annotated[int, Field(ge=1, le=MOST)]
DomainSize = Annotated[int, Field(ge=2, le=MOST)]
if TYPE_CHECKING:
    PartKind: TypeAlias = str
else:
    PartKind = Literal[KINDS]


class ShortSpec(StrictModel):
    """A cable for short ways, as a technology writes it."""

    cable: str = Field(description="a link of one port that needs no transceivers")
    longest_m: Rate = Field(description="how far it reaches")


class LayoutSpec(StrictModel):
    """Positions: racks side by side, NPUs in their order, switches in the middle of what they join."""

    rack_npus: Count = Field(description="NPUs of a rack")
    rack_width_m: Rate = Field(description="width of a rack")
    slack_m: Amount = Field(description="metres of a cable within the racks at its ends")
    source: str = Field(min_length=1, description="where the figures come from")
    year: int = Field(ge=1990, le=2100, description="of the figures")


class RangeSpec(StrictModel):
    """A price that is known to lie between two bounds."""

    low: Amount = Field(description="lowest")
    value: Amount = Field(description="what counts unless a scenario asks for a bound")
    high: Amount = Field(description="highest")


class PowerSpec(StrictModel):
    """The power of a part without traffic and under load."""

    idle: Amount = Field(description="without traffic; for the reader")
    busy: Amount = Field(description="under load; what counts")


class PartSpec(StrictModel):
    """A part as a file writes it."""

    kind: PartKind = Field(description="what it is")
    price_usd: Amount | RangeSpec = Field(description="price of a piece: a number, or low, value and high")
    power_W: Amount | PowerSpec = Field(description="power of a piece under load: a number, or idle and busy")
    ports: Count | None = Field(None, description="ports of a switch, an OCS or a NIC")
    latency_ns: Amount = Field(0.0, description="of passing through it")
    fibres: Count | None = Field(
        None, description="fibres of a transceiver, each of which takes a port of an OCS; 2 when left out"
    )
    aggregates: bool = Field(
        default=False,
        description="whether a switch adds up what NPUs send to a parameter server, and copies what it sends",
    )
    order: Sale = Field("buy", description=SALE)
    source: str = Field(min_length=1, description="where the figures come from")
    year: int = Field(ge=1990, le=2100, description="of the figures")

    @property
    def busy_watts(self) -> float:
        """W of a piece under load."""
        return self.power_W.busy if isinstance(self.power_W, PowerSpec) else self.power_W

    @property
    def idle_watts(self) -> float | None:
        """W of an idle piece, None where the file does not have it."""
        return self.power_W.idle if isinstance(self.power_W, PowerSpec) else None


class KitSpec(LinkLayerSpec):
    """A technology as a file writes it."""

    port_GBps: Rate = Field(description="GB/s of a port in one direction")
    ports: Count = Field(description="most ports of an NPU")
    domain_size: DomainSize | None = Field(
        None, description="most NPUs in one domain: of a dimension and all inside it; no limit when left out"
    )
    domains: dict[BlockName, tuple[DomainSize, ...]] | None = Field(
        None, description="sizes of the domains that are sold, by their block; any size and block when left out"
    )
    reach_m: Rate | None = Field(None, description="longest link; for the reader, nothing is computed of it")
    latency_ns: Amount = Field(description="of a link")
    energy_pJ_per_bit: Amount = Field(0.0, description="per bit and link passed, beyond the power of its parts")
    blocks: tuple[BlockName, ...] = Field(min_length=1, description="blocks that can be built")
    link: str | None = Field(None, description="link of one port; none is bought when left out")
    uplink: str | None = Field(None, description="link of one port between switches; the link when left out")
    transceiver: str | None = Field(None, description="one at each end of each link; none when left out")
    nic: str | None = Field(None, description="what ties its number of ports to an NPU; none when left out")
    within_reach: ShortSpec | None = Field(
        None, description="what is bought in place of link, uplink and their transceivers where it reaches"
    )
    switch: str | None = Field(None, description="switch of the blocks that have switches")
    ocs: str | None = Field(None, description="optical circuit switch of the blocks that have one")
    order: Sale = Field("buy", description=SALE)
    source: str = Field(min_length=1, description="where the figures come from")
    year: int = Field(ge=1990, le=2100, description="of the figures")


class PartsSpec(StrictModel):
    """A catalogue of parts."""

    kind: Literal["parts"] = Field(description="parts")
    name: str = Field(description="name of the catalogue")
    source: str = Field(description="where the figures come from")
    extends: str | None = Field(
        None, description="catalogue whose parts and technologies are here, too, where this one does not replace them"
    )
    layout: LayoutSpec | None = Field(None, description="where NPUs and switches stand; for cables within reach")
    parts: dict[Name, PartSpec] = Field(default_factory=dict, description="what is bought, by name")
    technologies: dict[Name, KitSpec] = Field(default_factory=dict, description="technologies, the innermost first")


def room_of(layout: LayoutSpec, reach: float) -> int:
    """Return the NPUs of the racks that cables of some metres reach from a switch in their middle.

    >>> layout = LayoutSpec(rack_npus=32, rack_width_m=0.6, slack_m=2, source="an example", year=2026)
    >>> [room_of(layout, reach) for reach in (1.5, 2, 3, 5)]
    [0, 32, 96, 352]
    """
    if reach < layout.slack_m:
        return 0
    return (2 * math.floor((reach - layout.slack_m) / layout.rack_width_m + _ROUNDING) + 1) * layout.rack_npus
