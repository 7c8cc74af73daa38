"""The catalogue of hosts: the parts of a node besides accelerators, NICs and the switches between them, and servers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, RootModel

from evo_libra.errors import InputError, unknown
from evo_libra.files.source import StrictModel, packaged
from evo_libra.network.blocks import Range
from evo_libra.network.catalog.accelerator import ALL, covering_key
from evo_libra.network.catalog.link_layers import SALE, Sale

HOSTS_FILE = Path(__file__).with_name("hosts.yaml")
_YEAR = re.compile(r"\b(19|20)[0-9]{2}\b")

RATES = ("link_GBps", "memory_GB", "memory_GBps", "GFLOPS", "ssds", "ssd_GBps")
"""The figures of a host for an optimizer in it, besides its price."""

_SOURCED: tuple[str, ...] = ("price_usd", "power_W", "ssd_price_usd", *RATES)

Positive = Annotated[float, Field(gt=0, le=1e12)]
NotNegative = Annotated[float, Field(ge=0, le=1e12)]
Price = NotNegative | tuple[NotNegative, NotNegative]


class SourcedSpec(StrictModel):
    """Figures with their sources, as a file writes them; `sourced` names the figures that need one."""

    sourced: ClassVar[tuple[str, ...]] = _SOURCED
    source: str | None = Field(None, description="where all figures come from, with the year, such as `quote 2026-05`")
    sources: dict[str, str] = Field(
        default_factory=dict, description="where each figure comes from and its year, by key; `all` is for the rest"
    )

    @property
    def given(self) -> dict[str, str]:
        """The sources by key; that of `source` is for the rest."""
        return self.sources if self.source is None else {ALL: self.source, **self.sources}

    def source_of(self, figure: str) -> str:
        """Return where a figure comes from; empty where no source covers it."""
        return self.given.get(covering_key(figure, self.given) or "", "")

    def mistakes(self) -> list[tuple[str, str]]:
        """Return the figures that lack a source or the year of one, by key."""
        figures = self.model_dump(exclude_none=True, exclude={"source", "sources", "base"})
        sourced = [key for key in self.sourced if key in figures and not _YEAR.search(self.source_of(key))]
        found = [(key, "has no source with its year; give one as `source` or under `sources`") for key in sourced]
        idle = [key for key in self.sources if key not in figures and key != ALL]
        found += [(f"sources.{key}", f"the entry has no figure '{key}' that needs this source") for key in idle]
        low, high = ends(getattr(self, "price_usd", None)) or (0.0, 0.0)
        return found if low <= high else [*found, ("price_usd", f"found {low:g} above {high:g}; the lowest is first")]


class HostSpec(SourcedSpec):
    """A host as a file writes it."""

    base: str | None = Field(None, description="host of the catalogue whose other figures hold here, too")
    npus: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="accelerators of a host; needed unless the entry has a base"
    )
    price_usd: Price | None = Field(
        None, description="price of a host without its accelerators, or its lowest and highest price"
    )
    power_W: NotNegative | None = Field(None, description="power under load of a host without its accelerators")
    link_GBps: Positive | None = Field(None, description="between an accelerator and its host in each direction")
    memory_GB: Positive | None = Field(None, description="memory of the host")
    memory_GBps: Positive | None = Field(None, description="of its memory, reads and writes together")
    GFLOPS: Positive | None = Field(None, description="GFLOP/s of its processors in the update of weights")
    ssds: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        None, description="SSDs that hold optimizer states; bought where plans have these there"
    )
    ssd_GBps: Positive | None = Field(None, description="of an SSD in each direction, with as many reads as writes")
    ssd_price_usd: Price | None = Field(None, description="price of an SSD, or its lowest and highest price")
    order: Sale = Field("buy", description=SALE)

    @property
    def ssd_rate(self) -> float | None:
        """GB/s of all SSDs in each direction; None where there are none, or their rate is not known."""
        return None if self.ssds is None or self.ssd_GBps is None else self.ssds * self.ssd_GBps


class _Catalogue(RootModel[dict[str, HostSpec]]):
    """All of the file."""


def load_hosts() -> dict[str, HostSpec]:
    """Return every host that comes with the package, by name."""
    return packaged(_Catalogue, HOSTS_FILE).root


def host_of(given: str | HostSpec) -> HostSpec:
    """Return a host of the catalogue, or one that a user describes with what it leaves out of its base.

    An `InputError` says that there is none of a name.
    """
    name = given if isinstance(given, str) else given.base
    if name is not None and name not in load_hosts():
        raise InputError(unknown("host", name, load_hosts()))
    if name is None or isinstance(given, str):
        return load_hosts()[given] if isinstance(given, str) else given
    base, own = load_hosts()[name], given.model_dump(exclude_none=True, exclude={"base", "source", "sources"})
    sources = {key: given.source_of(key) if key in own else base.source_of(key) for key in _SOURCED}
    known = {**base.model_dump(exclude={"base", "source", "sources"}), **own}
    return HostSpec.model_validate({**known, "sources": {key: text for key, text in sources.items() if text}})


def ends(price: float | tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the lowest and the highest price; one price is both.

    >>> ends(5.0), ends((1.0, 2.0)), ends(None)
    ((5.0, 5.0), (1.0, 2.0), None)
    """
    return (price, price) if isinstance(price, int | float) else price


def price_range(price: float | tuple[float, float] | None) -> Range | None:
    """Return the range of a price in USD, whose middle counts."""
    found = ends(price)
    return None if found is None else Range(found[0], sum(found) / 2.0, found[1])
