"""The schema of accelerators, of memory next to their own, and of the system around them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from evo_libra.files.fields import PositiveInt, Some
from evo_libra.files.source import StrictModel
from evo_libra.network.catalog.accelerators import AcceleratorSpec
from evo_libra.network.catalog.hosts import HostSpec, NotNegative, Positive, Price, SourcedSpec

Npu = str | AcceleratorSpec | Annotated[tuple[str | AcceleratorSpec, ...], Field(min_length=1)]


Capacity = Annotated[float, Field(ge=0, le=1e9)]


class ExpansionSpec(SourcedSpec):
    """Memory that NPUs have next to their own, for what does not fit there."""

    capacity_GB: Capacity | Some[Capacity] = Field(
        description="GB of each NPU; from a list the search chooses, and 0 is none"
    )
    bandwidth_GBps: Positive | Some[Positive] = Field(
        description="GB/s of reads and writes together; from a list the search chooses"
    )
    shared_by: PositiveInt = Field(
        1, description="NPUs that share the bandwidth: those of a node, or of a pool; each has its part of it"
    )
    price_usd: Price | None = Field(None, description="price of a GB, or its lowest and highest price")
    power_W: NotNegative | None = Field(None, description="power under load of a GB")


class StorageSpec(SourcedSpec):
    """Storage that the whole system shares."""

    capacity_TB: Positive = Field(description="TB of 1e12 bytes of the whole system")
    price_usd: Price | None = Field(None, description="price of a TB, or its lowest and highest price")
    power_W: NotNegative | None = Field(None, description="power under load of a TB")


class SystemSpec(StrictModel):
    """Everything besides network and accelerators."""

    host: str | HostSpec | None = Field(
        None, description="the node around the accelerators: a name of the catalogue of hosts, or figures of one's own"
    )
    storage: StorageSpec | None = Field(None, description="storage of the whole system")
