"""Protocols of the links of technologies: the link layer, and the congestion control of RoCE on Ethernet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import Field

from evo_libra.errors import Mistake
from evo_libra.files.source import Source, StrictModel
from evo_libra.network.routing import ROUTINGS
from evo_libra.network.transport import TRANSPORTS

if TYPE_CHECKING:
    TransportName: TypeAlias = str
    RoutingName: TypeAlias = str
else:
    TransportName = Literal[tuple(TRANSPORTS)]
    RoutingName = Literal[tuple(ROUTINGS)]


Sale = Literal["buy", "rent", "own", "roadmap", "research"]
SALE = (
    "whether it can be bought, alone or within a product, is rented, is its maker's own, announced, or in papers alone"
)


class LinkLayerSpec(StrictModel):
    """Protocols of the links of a technology, as a catalogue of either kind writes it."""

    link_layer: Literal["ethernet", "infiniband"] | None = Field(
        None, description="what its links speak; RoCE's `transport` is for ethernet"
    )
    transport: TransportName | None = Field(
        None, description="congestion control of RoCE, unless a problem gives another one; for ethernet"
    )


@dataclass(frozen=True)
class LinkLayers:
    """Protocols of the links of technologies, by their names: the link layer, and the transport, where a file says."""

    layer: Mapping[str, str] = field(default_factory=dict)
    transport: Mapping[str, str] = field(default_factory=dict)


def link_layers(technologies: Iterable[tuple[str, LinkLayerSpec]]) -> LinkLayers:
    """Return what the links of technologies speak."""
    rows = list(technologies)
    return LinkLayers(
        {name: row.link_layer for name, row in rows if row.link_layer is not None},
        {name: row.transport for name, row in rows if row.transport is not None},
    )


def not_ethernet(name: str, links: LinkLayers) -> str | None:
    """Return why a technology has no transport, as part of a sentence; None where it may have one."""
    layer = links.layer.get(name)
    if layer == "ethernet":
        return None
    if layer is None:
        return f"transports are of Ethernet, and the catalogue gives no link_layer of {name}"
    return f"transports are of Ethernet; {name} is InfiniBand, which has congestion control of its own"


def transport_mistakes(source: Source, links: LinkLayers) -> list[Mistake]:
    """Return a mistake for each technology with a transport that cannot have one."""
    found = ((name, not_ethernet(name, links)) for name in links.transport)
    return [source.mistake(("technologies", name, "transport"), why) for name, why in found if why is not None]
