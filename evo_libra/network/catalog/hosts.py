"""The catalogue of hosts: machines around NPUs, and machines that serve parameters, each with its source."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, RootModel

from evo_libra.errors import InputError, unknown
from evo_libra.files.source import StrictModel, read_source, validate

HOSTS_FILE = Path(__file__).parent / "hosts.yaml"
_MAX = 1e12

Rate = Annotated[float, Field(gt=0, le=_MAX)]
Amount = Annotated[float, Field(ge=0, le=_MAX)]


class HostSpec(StrictModel):
    """A host as a file writes it; a figure that has no source is left out, and what needs it is refused."""

    npus: Annotated[int, Field(ge=1, le=1024)] = Field(1, description="NPUs that share it")
    link_GBps: Rate | None = Field(None, description="GB/s between an NPU and its host in each direction")
    memory_GB: Rate | None = Field(None, description="GB of the host's memory")
    memory_GBps: Rate | None = Field(None, description="GB/s of its memory, reads and writes together")
    GFLOPS: Rate | None = Field(None, description="GFLOP/s of its processors in the update of weights")
    ssds: Annotated[int, Field(ge=1, le=1024)] | None = Field(None, description="SSDs; none when left out")
    ssd_GBps: Rate | None = Field(None, description="GB/s of an SSD in each direction, as many reads as writes")
    ssd_price_usd: Amount | None = Field(None, description="price of an SSD")
    price_usd: Amount | None = Field(None, description="price of the host with its memory, without NPUs, NICs and SSDs")
    source: str = Field(min_length=1, description="where the figures come from")
    year: int = Field(ge=1990, le=2100, description="of the figures")

    @property
    def ssd_rate(self) -> float | None:
        """GB/s of all SSDs in each direction; None where there are none, or their rate is not known."""
        return None if self.ssds is None or self.ssd_GBps is None else self.ssds * self.ssd_GBps


class _Catalogue(RootModel[dict[str, HostSpec]]):
    pass


@lru_cache(maxsize=1)
def load_hosts() -> dict[str, HostSpec]:
    """Return every host that comes with the package, by name."""
    return validate(_Catalogue, read_source(HOSTS_FILE)).root


def host(name: str) -> HostSpec:
    """Return a host of the catalogue; an `InputError` says that there is none of that name."""
    if name not in load_hosts():
        raise InputError(unknown("host", name, load_hosts()))
    return load_hosts()[name]
