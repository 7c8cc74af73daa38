"""Plans of several workloads together, each the fastest of its workload on some network of whole ports.

Times of workloads add up, so that the fastest plan of one does not depend on the plans of the others. Networks times
plans of each are then evaluated, not the combinations of plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population, columns, no_plans
from evo_libra.problem.plans import Members
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
    for structure, bandwidth in networks:
        designs = _population(problem, structure, bandwidth)
        found.append(np.array([_fastest(problem.time, designs, kept, place) for place in range(len(kept))]))
    plans = np.unique(np.concatenate(found, axis=1), axis=1)
    return plans[:, (plans >= 0).all(axis=0)]


def _population(problem: Problem, structure: IntArray, bandwidth: FloatArray) -> Population:
    """Return networks of (n,) combinations and (d, n) B/s without plans."""
    built = problem.pricing.topologies(structure, np.zeros(bandwidth.shape, dtype=np.int64))
    return Population(npus=built.npus, block=built.block, technology=built.technology, bandwidth=bandwidth)


def _fastest(time: TimeModel, designs: Population, kept: Sequence[IntArray], place: int) -> IntArray:
    """Return (n,) the fastest of the plans of one workload on each network, -1 where it can hold none."""
    step = max(_PAIRS // max(len(kept[place]), 1), 1)
    parts = [np.arange(start, min(start + step, len(designs))) for start in range(0, len(designs), step)]
    return np.concatenate([_fastest_of_few(time, designs.select(part), kept, place) for part in parts])


def _fastest_of_few(time: TimeModel, designs: Population, kept: Sequence[IntArray], place: int) -> IntArray:
    npu = _npu(time, designs.technology)
    node, item = _by_npu(time, kept[place], place, npu).of(npu)
    plan = kept[place][item]
    held = time.holds(columns(designs.npus, node), plan, place, columns(designs.technology, node))
    node, plan = node[held], plan[held]
    # The time of a workload is the same under any plans of the others.
    together = np.array([plan if other == place else np.full(len(plan), some[0]) for other, some in enumerate(kept)])
    times = time.workload_times(replace(designs.select(node), plan=together))
    (seconds,) = (times[n] for n, loop in enumerate(time.loops) if loop.open_place == place)
    order = np.lexsort([plan, seconds, node])
    first, best = np.unique(node[order], return_index=True)
    found = np.full(len(designs), -1)
    found[first] = plan[order][best]
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
