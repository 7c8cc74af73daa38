"""Chunk schedulers: in which order each chunk takes the dimensions (Themis, ISCA 2022, as ASTRA-sim implements it).

`OFFLINE_GREEDY` gives each chunk the dimensions from the least loaded to the most loaded one, unless the loads are
nearly even; loads are kept as the simulator keeps them: relative to the bandwidth of dimension 0, in MiB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import ceil, floor

from evo_libra.model.collective import Collective

_MEBI = 2**20
_FRACTION = 16


class Scheduler(Enum):
    """A chunk scheduler, by ASTRA-sim's name."""

    BASELINE = "baseline"
    ROUND_ROBIN = "roundRobin"
    OFFLINE_GREEDY = "offlineGreedy"
    OFFLINE_GREEDY_FLEX = "offlineGreedyFlex"


@dataclass(frozen=True)
class Chunk:
    """Bytes of a chunk, and the dimensions in the order in which it takes them."""

    size: int
    order: tuple[int, ...]


@dataclass(frozen=True)
class Network:
    """What a scheduler knows of a network: NPUs, bandwidth of a link, which dimensions take part."""

    npus: Sequence[int]
    bandwidth: Sequence[float]
    involved: Sequence[bool]


def plan(scheduler: Scheduler, collective: Collective, size: int, chunk: int, network: Network) -> list[Chunk]:
    """Return the chunks of a collective in the order in which they are issued.

    Parameters
    ----------
    scheduler, collective : what runs, and how.
    size : bytes of the collective; `chunk` : of a chunk. A greedy scheduler gives the last chunk what is left, the
        others a whole one.
    network : the dimensions.
    """
    every = tuple(d for d, involved in enumerate(network.involved) if involved)
    if scheduler in (Scheduler.BASELINE, Scheduler.ROUND_ROBIN):
        count = len(network.npus)
        turns = range(ceil(size / chunk))
        if scheduler is Scheduler.BASELINE:
            return [Chunk(chunk, every) for _ in turns]
        rotated = [[(d + turn) % count for d in range(count)] for turn in turns]
        return [Chunk(chunk, tuple(d for d in order if network.involved[d])) for order in rotated]
    if collective is Collective.ALL_TO_ALL:
        return [Chunk(min(chunk, size - start), every) for start in range(0, size, chunk)]
    flexible = scheduler is Scheduler.OFFLINE_GREEDY_FLEX
    return _Greedy(network, gathers=collective is Collective.ALL_GATHER).plan(size, chunk, flexible=flexible)


class _Greedy:
    """Loads of the dimensions, and the list of dimensions that the simulator sorts again and again, stably."""

    def __init__(self, network: Network, *, gathers: bool) -> None:
        self.network, self.gathers = network, gathers
        self.load = [0.0] * len(network.npus)
        self.dimensions = list(range(len(network.npus)))

    def plan(self, size: int, chunk: int, *, flexible: bool) -> list[Chunk]:
        chunks = []
        while size > 0:
            self.dimensions.sort(key=self.load.__getitem__)
            if self.gathers:
                self.dimensions.reverse()
            difference, part = self.difference(), min(size, chunk)
            if difference < (chunk if flexible else chunk // _FRACTION):
                order = sorted(self.dimensions)
                # The list is put in order, and loads are added by place, of the dimension that belongs there.
                self.dimensions = order[::-1] if self.gathers else list(order)
                self.carry(part, [(target, d) for target, d in zip(self.dimensions, order, strict=True)])
            else:
                part = min(size, difference) if flexible else part
                order = list(self.dimensions)
                self.carry(part, [(d, d) for d in order])
            chunks.append(Chunk(part, tuple(d for d in order if self.network.involved[d])))
            size -= part
        return chunks

    def difference(self) -> int:
        """Return the bytes by which the most loaded dimension is ahead of the least loaded one."""
        npus, bandwidth, involved = self.network.npus, self.network.bandwidth, self.network.involved
        taking = [d for d in self.dimensions if involved[d]]
        first = taking[0]
        if not self.gathers:
            ahead = abs(self.load[self.dimensions[-1]] - self.load[first])
            share = (npus[first] - 1) / npus[first]
            return floor(ahead * (bandwidth[first] / bandwidth[0]) / share * _MEBI)
        last = taking[-1]
        ahead = abs(self.load[last] - self.load[first])
        found = floor(ahead * (bandwidth[last] / bandwidth[0]) / (npus[last] - 1) * _MEBI)
        for d in reversed(taking[:-1]):
            found //= npus[d]
        return found

    def carry(self, size: int, pairs: Sequence[tuple[int, int]]) -> None:
        """Add the load of a chunk: to the first of each pair what the second one of it sends."""
        npus, bandwidth = self.network.npus, self.network.bandwidth
        for target, d in pairs:
            if not self.network.involved[d]:
                continue
            share = npus[d] - 1 if self.gathers else (npus[d] - 1) / npus[d]
            self.load[target] += (size / _MEBI) * share / (bandwidth[d] / bandwidth[0])
            size = size * npus[d] if self.gathers else size // npus[d]
