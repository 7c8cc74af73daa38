"""Objectives of fabrics of switches."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from evo_libra.problem.objectives import COST, TIME, Objective

__all__ = ["COST", "FABRIC_OBJECTIVES", "HOPS", "SWITCHES", "TIME"]

HOPS = Objective("hops", "hops", 1.0, "mean path length [links]")
SWITCHES = Objective("switches", "switches", 1.0, "switches")

FABRIC_OBJECTIVES: Mapping[str, Objective] = MappingProxyType({one.name: one for one in (TIME, COST, HOPS, SWITCHES)})
"""The objectives by name."""
