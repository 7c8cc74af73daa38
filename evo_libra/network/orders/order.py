"""An order: systems that are bought, and the scale-out network that joins them, by the names of products."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Family = Literal[
    "none", "rail-only", "rail-optimised", "tor", "fat-tree", "dragonfly", "hyperx", "ocs-rails", "slice", "apart"
]
"""Ways in which switches join systems.

none : one system alone.
rail-only : a network for each rail, and no path between rails but the scale-up network.
rail-optimised : leaves of one rail each, which spines join.
tor : leaves in the rack of their systems, which spines join.
fat-tree : leaves of whole systems, or filled ones where less than two systems fit, which spines join.
dragonfly : groups of switches, each linked to all others of its group; links between groups join these.
hyperx : a grid of switches, each linked to all others of its line and of its column.
ocs-rails : optical circuit switches, which are set to rings of the NPUs that have one place in each system.
slice : rented slices, which the network of the data centre joins where there are several.
apart : several systems that no scale-out network joins; each answers requests alone.
"""

APART: Family = "apart"

Ratio = float
"""Bandwidth down over bandwidth up: that of links where both have one rate."""


@dataclass(frozen=True)
class Order:
    """Some systems and their network; what a product gives is not said again.

    Attributes
    ----------
    system, count : the product and how many of it.
    npus, active : NPUs of each system, and those of them that are in use; the rest are spare.
    nic : the NIC of each NPU; None where there is no scale-out network.
    ports, Gbps : ports of each NPU in the mode of its NICs, and the rate of each.
    planes : networks that are alike and that nothing joins; an NPU has ports / planes ports in each.
    family, switch : how switches join systems, and which.
    leaf_ratio : bandwidth down over bandwidth up of a leaf; pod_ratio : the same of a pod, where there are cores. Of a
        dragonfly, ports of a switch to NPUs over those to other groups, and the same of a group; of a HyperX, those to
        NPUs over the links of a line with all of its switches.
    uplink_Gbps : rate of the links above leaves; None for that of the ports.
    rack_systems : systems of a rack of `tor`; None for as many as it takes.
    """

    system: str
    count: int
    npus: int
    active: int
    nic: str | None = None
    ports: int = 0
    Gbps: float = 0.0
    planes: int = 1
    family: Family = "none"
    switch: str | None = None
    leaf_ratio: Ratio = 1.0
    pod_ratio: Ratio = 1.0
    uplink_Gbps: float | None = None
    rack_systems: int | None = None

    @property
    def active_npus(self) -> int:
        """NPUs in use."""
        return self.count * self.active

    @property
    def bought_npus(self) -> int:
        """NPUs bought, spare ones in systems included."""
        return self.count * self.npus

    @property
    def bandwidth(self) -> float:
        """B/s of each NPU into the scale-out network, in one direction."""
        return self.ports * self.Gbps * 1e9 / 8

    def of(self, count: int) -> Order:
        """Return the same order of another number of systems."""
        return replace(self, count=count)
