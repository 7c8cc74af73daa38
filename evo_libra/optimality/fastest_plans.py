"""Plans of several workloads together, each the fastest of its workload on some network of whole ports.

Times of workloads add up, so that the fastest plan of one does not depend on the plans of the others. Networks times
plans of each are then evaluated, not the combinations of plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population, columns, no_plans
from evo_libra.problem.allocate import TrafficTable
from evo_libra.problem.plans import Members
from evo_libra.problem.pricing.pricing import Topologies
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.time_model import TimeModel

_PAIRS = 100_000
"""Pairs of a network and a plan that are timed at once."""


Networks = Iterable[tuple[IntArray, FloatArray]]
"""Combinations (n,) and bandwidths (d, n) in B/s."""


def fastest_plans(problem: Problem, networks: Networks, kept: Sequence[IntArray]) -> IntArray:
    """Return (w, p) places of plans: for each network the fastest of those `kept` of each workload.

    A network that cannot hold a plan of each workload has none. The time leaves no settings of collectives open.
    """
    found = [no_plans(0).reshape(len(kept), 0)]
    workloads = [_Workload(problem, place, plans) for place, plans in enumerate(kept)]
    for structure, bandwidth in networks:
        designs = problem.pricing.topologies(structure, np.zeros(bandwidth.shape, dtype=np.int64))
        found.append(np.array([workload.fastest(designs, bandwidth) for workload in workloads]))
    plans = np.unique(np.concatenate(found, axis=1), axis=1)
    return plans[:, (plans >= 0).all(axis=0)]


@dataclass(eq=False)
class _Workload:
    """A workload alone, whose traffic takes as long under all plans that lie alike on a network."""

    problem: Problem
    place: int
    kept: IntArray

    @cached_property
    def _time(self) -> TimeModel:
        return self.problem.time.alone(self.place)

    @cached_property
    def _traffic(self) -> TrafficTable:
        return TrafficTable(self.problem.structures, self._time)

    @cached_property
    def _by_way(self) -> Members:
        """The places of the kept plans that lie alike."""
        ways = self._time.tables[0].placements[2][self.kept]
        return Members(np.unique(ways, return_inverse=True)[1].ravel())

    def fastest(self, designs: Topologies, bandwidth: FloatArray) -> IntArray:
        """Return (n,) the fastest plan on each network, -1 where it can hold none."""
        step = max(_PAIRS // max(len(self.kept), 1), 1)
        parts = [np.arange(start, min(start + step, len(bandwidth.T))) for start in range(0, len(bandwidth.T), step)]
        return np.concatenate([self._fastest(designs.select(part), bandwidth[:, part]) for part in parts])

    def _fastest(self, designs: Topologies, bandwidth: FloatArray) -> IntArray:
        ways = len(self._by_way.first)
        network, way = np.indices((bandwidth.shape[1], ways)).reshape(2, -1)
        pairs = replace(designs.select(network), plan=self.kept[self._by_way.first[way]][None])
        held = np.flatnonzero(self._traffic.fits(pairs))
        pairs, network, way = pairs.select(held), network[held], way[held]
        per_unit = self._seconds_per_unit(pairs, bandwidth[:, network])
        pair, item = self._by_way.of(way)
        plan = self.kept[item]
        (seconds,) = self._time.times_of([columns(row, pair) for row in per_unit], plan[None]).workloads
        return _first_of_least(bandwidth.shape[1], network[pair], plan, seconds)

    def _seconds_per_unit(self, pairs: Topologies, bandwidth: FloatArray) -> list[FloatArray]:
        """Return (n,) seconds per unit of each channel under (1, n) plans."""
        designs = Population(
            npus=pairs.npus, block=pairs.block, technology=pairs.technology, bandwidth=bandwidth, plan=pairs.plan
        )
        times = self._time.channel_times(designs, self._traffic.of(pairs))
        return [times[channel] for channel in self._time.channels]


def _first_of_least(count: int, network: IntArray, plan: IntArray, seconds: FloatArray) -> IntArray:
    """Return the plan of least seconds of each network, of equal ones the first; -1 of networks without any.

    The pairs of a network follow each other.
    """
    found = np.full(count, -1)
    if not len(network):
        return found
    start = np.flatnonzero(np.append(True, network[1:] != network[:-1]))
    least = np.repeat(np.minimum.reduceat(seconds, start), np.diff(np.append(start, len(network))))
    found[network[start]] = np.minimum.reduceat(np.where(seconds == least, plan, np.iinfo(np.int64).max), start)
    return found


def count_timed(problem: Problem, networks: Networks, kept: Sequence[IntArray]) -> int:
    """Return how many pairs of a network and a plan of its accelerator `fastest_plans` times."""
    time, table, found = problem.time, problem.structures.table, 0
    assert table is not None, "networks are listed"  # noqa: S101 - internal error
    for structure, _ in networks:
        npu = _npu(time, columns(table.technology, structure))
        found += sum(_by_npu(time, plans, place, npu).count(npu) for place, plans in enumerate(kept))
    return found


def _npu(time: TimeModel, technology: IntArray) -> IntArray:
    """Return (n,) the accelerator of networks of (d, n) technologies; 0 where there is no choice."""
    return np.zeros(technology.shape[1], dtype=np.int64) if time.owner is None else time.owner[technology[0]]


def _by_npu(time: TimeModel, plans: IntArray, place: int, npu: IntArray) -> Members:
    """Return the places in (k,) plans of a workload that each accelerator has."""
    return Members(columns(time.tables[place].npu, plans), int(npu.max(initial=0)) + 1)
