"""Cables and modules of an order, by the tier that they lead to and the place that they are in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tier = Literal["circuit", "leaf", "spine", "core", "switch", "group", "groups", "line", "column"]
"""The upper end of a cable; of links between switches of one tier, what they join."""

Place = Literal["NICs", "leaves", "spines", "cores", "switches"]
"""The place of a module."""


@dataclass(frozen=True)
class Run:
    """Cables of one kind and length below the switches of a tier: links, and pieces that make them up."""

    tier: Tier
    cable: str
    metres: float
    links: int
    pieces: int


@dataclass(frozen=True)
class Modules:
    """Optical modules of one kind at one end of cables below the switches of a tier."""

    tier: Tier
    place: Place
    product: str
    pieces: int
