"""The bill of an order: lines as a vendor would send them, whose sums are the objectives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evo_libra.network.blocks import Range

Section = Literal[
    "systems", "network", "management", "storage", "spares", "racks", "cooling", "licences", "support", "installation"
]


@dataclass(frozen=True)
class Line:
    """A line of a bill.

    Attributes
    ----------
    section, product : part of the bill, and the product, or the rule that the line follows from.
    what : one line for people, such as "leaf switches" or "copper cables of 2 m".
    pieces : how many; whole but for shares.
    usd : price of a piece; None where no source gives one.
    watts : power of a piece under load; None where no source gives it.
    source : where the price comes from, with its year.
    """

    section: Section
    product: str
    what: str
    pieces: float
    usd: Range | None
    watts: float | None
    source: str


@dataclass(frozen=True)
class OrderBill:
    """All lines of an order."""

    lines: tuple[Line, ...]
