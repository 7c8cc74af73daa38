"""The schema of what a problem file says of the system around its network."""

from __future__ import annotations

from pydantic import Field

from evo_libra.files.source import StrictModel
from evo_libra.network.catalog.hosts import HostSpec, NotNegative, Positive, Price, SourcedSpec


class StorageSpec(SourcedSpec):
    """Storage that the whole system shares."""

    capacity_TB: Positive = Field(description="TB of 1e12 bytes of the whole system")
    price_usd: Price | None = Field(None, description="price of a TB, or its lowest and highest price")
    power_W: NotNegative | None = Field(None, description="power under load of a TB")


class SystemSpec(StrictModel):
    """What is bought beside network and accelerators."""

    host: str | HostSpec | None = Field(
        None, description="the node around the accelerators: a name of the catalogue of hosts, or figures of one's own"
    )
    storage: StorageSpec | None = Field(None, description="storage of the whole system")
