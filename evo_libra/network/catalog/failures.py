"""Failure rates: how often a piece of each kind fails, and how long its repair takes, each with a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from evo_libra.files.source import StrictModel, packaged
from evo_libra.network.blocks import KINDS, Part
from evo_libra.network.catalog.technologies import Name

FAILURES_FILE = Path(__file__).with_name("failures.yaml")

NPU, HOST, SOFTWARE = "npu", "host", "software"
FAILING = (NPU, HOST, SOFTWARE, *KINDS)
"""Kinds of what fails: NPUs, the hosts that some of them share, software, and the kinds of parts."""

YEAR, HOUR = 365.25 * 86400.0, 3600.0
"""Seconds."""

PerYear = Annotated[float, Field(ge=0, le=1e6)]
Hours = Annotated[float, Field(ge=0, le=1e6)]


class FailureSpec(StrictModel):
    """Failure rate of a piece, as the file writes it."""

    per_year: PerYear = Field(description="failures of a piece in a year")
    repair_h: Hours = Field(description="mean time of a repair or replacement, in hours")
    source: str = Field(min_length=1, description="where the figures come from")
    year: int = Field(ge=1990, le=2100, description="of the source")


class _Catalogue(StrictModel):
    """All of the file."""

    kinds: dict[Name, FailureSpec] = Field(description="by kind")
    parts: dict[Name, FailureSpec] = Field(description="of single parts, by name")


@dataclass(frozen=True)
class Failure:
    """Failures of a piece per second, and the mean seconds of its repair."""

    rate: float
    repair: float


@dataclass(frozen=True)
class Failures:
    """The catalogue's failures, with other figures of some kinds or parts, by name.

    A figure of a kind is that of its parts, but for those that have their own: here or in the catalogue.
    """

    per_year: Mapping[str, float]
    repair_hours: Mapping[str, float]

    def of(self, part: Part | None) -> Failure:
        """Return the failures of a part; none of a part that is not bought."""
        return Failure(0.0, 0.0) if part is None else self.named(part.name, part.kind)

    def named(self, name: str, kind: str | None = None) -> Failure:
        """Return the failures of a part or a kind by its name.

        >>> known = Failures({"switch": 0.02}, {})
        >>> round(known.named("switch-400g", "switch").rate * YEAR, 6), known.named("npu").repair / HOUR
        (0.02, 24.0)
        """
        specs, kind = load_failure_specs(), kind or name
        entry = specs.get(name, specs[kind])
        rate = self.per_year.get(name, entry.per_year if name in specs else self.per_year.get(kind, entry.per_year))
        hours = self.repair_hours.get(
            name, entry.repair_h if name in specs else self.repair_hours.get(kind, entry.repair_h)
        )
        return Failure(rate / YEAR, hours * HOUR)


def load_failure_specs() -> dict[str, FailureSpec]:
    """Return every entry of the catalogue as the file says it: kinds first, then parts."""
    found = packaged(_Catalogue, FAILURES_FILE)
    return {**found.kinds, **found.parts}
