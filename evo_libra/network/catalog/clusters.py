"""Reference orders by name: clusters that were built or that their makers draw, as orders of products."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, RootModel

from evo_libra.files.source import StrictModel, packaged
from evo_libra.network.catalog.designs import EXISTENCE, Existence, StepsSpec
from evo_libra.network.catalog.parts_spec import DomainSize
from evo_libra.network.catalog.technologies import Name

CLUSTERS_FILE = Path(__file__).with_name("clusters.yaml")

_OPEN = "N "


class ReferenceOrder(StrictModel):
    """A reference order as the file writes it."""

    title: str = Field(min_length=1, description="what it is")
    order: str = Field(min_length=1, description="in the notation of orders; N is the number of systems")
    npus: Annotated[tuple[DomainSize, ...], Field(min_length=1)] | StepsSpec = Field(description="of its clusters")
    order_state: Existence = Field(description=EXISTENCE)
    source: str = Field(min_length=1, description="where it is described")
    year: int = Field(ge=1990, le=2100, description="of the source")

    def at(self, systems: int, npus: int) -> str:
        """Return its notation with some systems of some NPUs together; nothing where its source has no such cluster.

        >>> reference_orders()["dgx-h100-superpod"].at(32, 256)
        '32 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1'
        """
        return f"{systems} {self.order.removeprefix(_OPEN)}" if self.has(npus) else ""

    def has(self, npus: int) -> bool:
        """Return whether its source has a cluster of some NPUs."""
        if isinstance(self.npus, StepsSpec):
            return npus % self.npus.multiple_of == 0 and npus <= self.npus.at_most
        return npus in self.npus

    def systems(self, count: int) -> str:
        """Return the notation of some of its systems without the network around them."""
        return f"{count} {self.order.removeprefix(_OPEN)}".partition(" / ")[0]


class _Catalogue(RootModel[dict[Name, ReferenceOrder]]):
    """All of the file."""


def reference_orders() -> dict[str, ReferenceOrder]:
    """Return the reference orders, by name."""
    return packaged(_Catalogue, CLUSTERS_FILE).root
