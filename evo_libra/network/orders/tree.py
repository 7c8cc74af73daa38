"""The switches, links and groups of the network of an order."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tree:
    """The scale-out network of an order, over all planes and rails.

    Attributes
    ----------
    tiers : tiers of switches: 0 of no network, 1 to 3.
    down, up : ports of a leaf towards NPUs and towards spines.
    leaves, spines, cores : switches of each tier; spines are the aggregation switches of pods where there are cores.
    pods : pods of leaves in a plane, each with spines of its own; 1 of two tiers.
    links : links between NPUs and leaves; uplinks : between leaves and spines; core_links : between spines and cores.
    leaf_systems, pod_systems : systems whose NPUs of one rail are under one leaf, and in one pod; at least 1.
    leaf_share, pod_share : what an NPU has of its bandwidth beyond its leaf, and beyond its pod, at most 1.
    uneven : whether leaves or pods hold different numbers of systems.
    """

    tiers: int
    down: int
    up: int
    leaves: int
    spines: int
    cores: int
    pods: int
    links: int
    uplinks: int
    core_links: int
    leaf_systems: int
    pod_systems: int
    leaf_share: float
    pod_share: float
    uneven: bool = False

    @property
    def switches(self) -> int:
        """Switches of all tiers."""
        return self.leaves + self.spines + self.cores
