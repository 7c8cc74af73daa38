"""Quirks of ASTRA-sim that concern the times of designs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import BoolArray, IntArray, Population
from evo_libra.collective import Collective
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.timing import quirks
from evo_libra.timing.collectives.system import cut
from evo_libra.timing.names import Policy, Scheduler
from evo_libra.timing.quirks import WARNED, Quirk, Warned
from evo_libra.timing.schedule_choices import schedule_of

if TYPE_CHECKING:
    from evo_libra.problem.time_models.astra import AstraTime

_UNSAFE = (Policy.ALTERNATING, Policy.FEWEST_PHASES_FIRST)


def quirks_of(time: AstraTime, population: Population) -> list[Warned]:
    """Return the quirks that concern some designs, in the order of their table."""
    counts: Counter[Quirk] = Counter()
    _, kind = np.unique(population.plans, axis=1, return_inverse=True)
    for k in range(kind.max() + 1):
        mine = population.select(np.flatnonzero(kind.ravel() == k))
        found = _concerned(time.pinned(mine.plans[:, 0].tolist()), mine)
        counts.update({quirk: int(np.broadcast_to(found[quirk], len(mine)).sum()) for quirk in WARNED})
    nodes = {quirks.INSTANT_COMPUTATION: _instant(time)}
    return [Warned(quirk, counts[quirk], len(population), nodes.get(quirk, ())) for quirk in WARNED if counts[quirk]]


def _concerned(time: AstraTime, designs: Population) -> dict[Quirk, BoolArray]:
    """Return, of each quirk, which of the (n,) designs it concerns."""
    chosen = np.broadcast_to(schedule_of(designs).scheduler, len(designs)).tolist()
    schedulers = [tuple(Scheduler)[n] for n in chosen]
    depth = (designs.npus > 1).sum(axis=0)
    several, greedy = depth > 1, np.array([scheduler.greedy for scheduler in schedulers])
    turning, baseline = (
        np.array([scheduler is kind for scheduler in schedulers])
        for kind in (Scheduler.ROUND_ROBIN, Scheduler.BASELINE)
    )
    paper = np.array([scheduler.of_paper or not time.collectives.occupies for scheduler in schedulers])
    again = several & any(len(loop.workload.collectives(loop.degrees)) > 1 for loop in time.loops)
    policies = [time.collectives.policy_of(scheduler) for scheduler in schedulers]
    asked = ~baseline | np.array([policy is not Policy.FIFO for policy in policies])
    unsafe = np.array([policy in _UNSAFE for policy in policies])
    parts = _parts(time, designs)
    return {
        quirks.SCHEDULER_KEYS: asked & ~paper,
        quirks.PAPER_SCHEDULER: paper,
        quirks.ROUND_ROBIN_COUNTER: turning & again & _uneven_round_robin(time, designs, depth),
        quirks.STALE_LOADS: greedy & again,
        quirks.QUEUE_ORDER_DEADLOCK: greedy & unsafe & several,
        quirks.GROUPS_AS_RINGS: parts,
        quirks.ONE_DIMENSION_GROUPS: parts & ~several,
        quirks.ONE_COLLECTIVE_AT_A_TIME: _overlapping(time, designs),
        quirks.INSTANT_COMPUTATION: np.full(len(designs), bool(_instant(time))),
    }


def _instant(time: AstraTime) -> tuple[str, ...]:
    """Return the nodes of traces that compute for less than 1 ns; of NPUs that do the same, those of the first."""
    return tuple(node for loop in time.loops for node in loop.workload.instant)


def _parts(time: AstraTime, designs: Population) -> BoolArray:
    """Return which designs have a process group that holds a part of a dimension."""
    found = np.zeros(len(designs), dtype=np.bool_)
    for placed in time.placed(designs.npus).values():
        found |= ((placed.extent > 1) & (placed.extent < designs.npus)).any(axis=0)
    return found


def _uneven_round_robin(time: AstraTime, designs: Population, depth: IntArray) -> BoolArray:
    """Return in which designs a collective's chunks are no multiple of the dimensions, which are taken by turns."""
    found, placed = np.zeros(len(designs), dtype=np.bool_), time.placed(designs.npus)
    for loop in time.loops:
        for collective, group, size in set(loop.workload.collectives(loop.degrees)):
            npus = placed[loop.layouts[group], group].extent.prod(axis=0)
            found |= cut(collective, size, npus, schedule_of(designs).chunks).count % np.maximum(depth, 1) > 0
    return found


def _overlapping(time: AstraTime, designs: Population) -> BoolArray:
    """Return whether the collective of an input gradient takes longer than the work alongside it, for each design."""
    found, placed = np.zeros(len(designs), dtype=np.bool_), time.placed(designs.npus)
    for loop in time.loops:
        for first, computed in _beside(loop) if loop.overlap != "none" else ():
            collective, group, size = first
            found |= time.seconds(collective, size, placed[loop.layouts[group], group], designs) > computed
    return found


def _beside(loop: WeightedLoop) -> set[tuple[tuple[Collective, str, int], float]]:
    """Return the collectives of input gradients, and the seconds of computation before another collective can begin."""
    layers = loop.workload.layers
    return {
        ((first.collective, first.group, round(first.size)), second.compute)
        for first, second in ((layer.input_gradient, layer.weight_gradient) for layer in layers)
        if first.collective and second.collective and min(loop.degrees[phase.group] for phase in (first, second)) > 1
    }
