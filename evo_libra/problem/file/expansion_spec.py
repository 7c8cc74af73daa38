"""The schema of the memory that NPUs have beside their own."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from evo_libra.files.fields import PositiveInt, Some
from evo_libra.network.catalog.hosts import NotNegative, Positive, Price, SourcedSpec

Capacity = Annotated[float, Field(ge=0, le=1e9)]


class ExpansionSpec(SourcedSpec):
    """Memory that NPUs have beside their own, for what does not fit there."""

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
