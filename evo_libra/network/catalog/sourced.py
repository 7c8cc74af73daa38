"""Figures of one's own with their sources, as files write them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

from evo_libra.files.source import StrictModel
from evo_libra.network.blocks import Range
from evo_libra.network.catalog.accelerator import ALL, covering_key

_YEAR = re.compile(r"\b(19|20)[0-9]{2}\b")
_SOURCED = ("price_usd", "power_W")

Positive = Annotated[float, Field(gt=0, le=1e12)]
NotNegative = Annotated[float, Field(ge=0, le=1e12)]
Price = NotNegative | tuple[NotNegative, NotNegative]


class SourcedSpec(StrictModel):
    """Figures with their sources, as a file writes them."""

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
        sourced = [key for key in _SOURCED if key in figures and not _YEAR.search(self.source_of(key))]
        found = [(key, "has no source with its year; give one as `source` or under `sources`") for key in sourced]
        idle = [key for key in self.sources if key not in figures and key != ALL]
        found += [(f"sources.{key}", f"the entry has no figure '{key}' that needs this source") for key in idle]
        low, high = ends(getattr(self, "price_usd", None)) or (0.0, 0.0)
        return found if low <= high else [*found, ("price_usd", f"found {low:g} above {high:g}; the lowest is first")]


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
