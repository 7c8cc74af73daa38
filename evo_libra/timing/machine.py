"""The machine of a trace: network, collectives, compute and remote memory of one cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from math import floor

import numpy as np

from evo_libra.errors import InputError
from evo_libra.timing.collectives.phase import Link
from evo_libra.timing.collectives.system import System
from evo_libra.timing.own_algorithms import OwnAlgorithms


@dataclass(frozen=True)
class ComputeModel:
    """The time of computations at the FLOP/s of an NPU (``peak-perf``).

    They take the time of a roofline, with the memory bandwidth of the system's overheads, or their recorded one
    (``roofline-enabled``). In a replay everything, communication too, takes its recorded time (``replay-only``).
    """

    peak: float = 0.0
    roofline: bool = False
    replay: bool = False


class MemoryKind(Enum):
    """Who shares a remote memory, by ASTRA-sim's name."""

    NONE = "NO_MEMORY_EXPANSION"
    PER_NPU = "PER_NPU_MEMORY_EXPANSION"
    PER_NODE = "PER_NODE_MEMORY_EXPANSION"
    POOL = "MEMORY_POOL"


@dataclass(frozen=True)
class RemoteMemory:
    """A remote memory: ns of a transfer, bytes per ns; a shared one transfers for one NPU at a time, in order."""

    kind: MemoryKind = MemoryKind.NONE
    latency: float = 0.0
    bandwidth: float = 1.0
    npus_per_node: int = 1

    def transfer(self, size: int) -> float:
        """Return the ns of a transfer of some bytes."""
        return self.latency + floor(size / self.bandwidth)

    def server(self, npu: int) -> int | None:
        """Return which memory an NPU shares with others, if it does."""
        return {MemoryKind.PER_NODE: npu // self.npus_per_node, MemoryKind.POOL: 0}.get(self.kind)


@dataclass(frozen=True)
class Machine:
    """A cluster: links of each dimension, the innermost first, of one design; system, compute and remote memory.

    Collectives may have algorithms of the user's own.

    An InputError refuses links of several designs, and links that messages share.
    """

    links: Sequence[Link]
    system: System
    compute: ComputeModel = field(default_factory=ComputeModel)
    memory: RemoteMemory = field(default_factory=RemoteMemory)
    algorithms: OwnAlgorithms = field(default_factory=OwnAlgorithms)

    def __post_init__(self) -> None:
        if any(len(link.npus) != 1 for link in self.links):
            raise InputError("a machine is one design; its links have several")
        if any(link.shared for link in self.links):
            raise InputError("traces are executed on links that messages do not share, as in the unaware backend")

    @cached_property
    def npus(self) -> tuple[int, ...]:
        """NPUs of each dimension."""
        return tuple(int(link.npus[0]) for link in self.links)

    def route(self, source: int, target: int) -> Route:
        """Return the way between two different NPUs: a message is charged the first dimension in which they differ."""
        for dimension, npus in enumerate(self.npus):
            offset = (target - source) % npus
            if offset:
                return self._routes[dimension][offset]
            source, target = source // npus, target // npus
        raise ValueError("there is no way from an NPU to itself")

    @cached_property
    def _routes(self) -> tuple[tuple[Route, ...], ...]:
        """Routes of each dimension, by how many places further the target is."""
        return tuple(
            tuple(Route(d, int(hops)) for hops in link.hops(np.arange(npus, dtype=np.float64)))
            for d, (link, npus) in enumerate(zip(self.links, self.npus, strict=True))
        )

    def transfer(self, size: int, route: Route) -> float:
        """Return the ns of a message of some bytes."""
        link = self.links[route.dimension]
        return float(link.transfer(np.array([float(size)]), float(route.hops))[0])


@dataclass(frozen=True)
class Route:
    """The dimension that a message is charged, and the hops in it."""

    dimension: int
    hops: int
