"""Plans that another plan beats on every network, and bounds that hold for many plans at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, columns
from evo_libra.workload.plans.tabulated import TabulatedRace, TabulatedTime

_ROWS = 256
"""Plans that are compared with all others at a time."""


def undominated(time: TabulatedTime, group: IntArray, among: IntArray) -> IntArray:
    """Return those of (k,) plans that no other one beats on every network, ascending; of equal ones the first.

    A plan beats another one of its (p,) group, whose traffic costs the same, where it has no more to compute and to
    send outside of overlaps, and each of its chains has no more than some chain of the other one in the same overlap.
    So a plan that hides traffic beats one that adds it up.
    """
    linear = np.vstack([time.compute[None], time.size])
    races = [_coefficients(race) for race in time.races]
    kept = []
    for kind in np.unique(group[among]).tolist():
        mine = among[group[among] == kind]
        beats = np.concatenate([
            _beats(linear, races, mine[start : start + _ROWS], mine) for start in range(0, len(mine), _ROWS)
        ])  # fmt: skip
        equal = beats & beats.T
        kept.append(mine[~((beats & ~equal).any(axis=0) | np.triu(equal, 1).any(axis=0))])
    return np.sort(np.concatenate(kept)) if kept else among


def _coefficients(race: TabulatedRace) -> FloatArray:
    """Return (k, 1 + s, p) seconds and units of the chains of an overlap, all its repetitions together."""
    return np.concatenate([race.compute[:, None], race.size], axis=1) * race.count


def _beats(linear: FloatArray, races: list[FloatArray], some: IntArray, others: IntArray) -> BoolArray:
    """Return (a, b) whether each of some plans takes no longer than each of others, on any network."""
    found = np.ones((len(some), len(others)), dtype=np.bool_)
    for row in linear:
        found &= row[some][:, None] <= row[others]
    # Few pairs are left, and fewer with each chain, so that only their chains are compared.
    first, second = np.nonzero(found)
    for race in races:
        for chain in race:
            mine, theirs = some[first], others[second]
            holds = np.logical_or.reduce([_no_more(chain, other, mine, theirs) for other in race])
            first, second = first[holds], second[holds]
    found[...] = False
    found[first, second] = True
    return found


def _no_more(first: FloatArray, second: FloatArray, some: IntArray, others: IntArray) -> BoolArray:
    """Return (k,) whether each of some plans has no more in any row than its counterpart of others."""
    found = np.ones(len(some), dtype=np.bool_)
    for one, two in zip(first, second, strict=True):
        found &= one[some] <= two[others]
    return found


def smallest(time: TabulatedTime, group: IntArray, among: IntArray) -> TabulatedTime:
    """Return a time that is, under any plan, no more than that of each of (k,) plans in the same (p,) group.

    Each coefficient is the smallest of the group's; an overlap of chains that are each no longer is no longer.
    """

    def least(values: FloatArray) -> FloatArray:
        found = np.full((int(group.max(initial=0)) + 1, *values.shape[:-1]), np.inf)
        np.minimum.at(found, group[among], np.moveaxis(values[..., among], -1, 0))
        return columns(np.moveaxis(np.where(np.isfinite(found), found, 0.0), 0, -1), group)

    races = tuple(
        TabulatedRace(np.ones(len(group)), least(race.compute * race.count), least(race.size * race.count))
        for race in time.races
    )
    return replace(time, compute=least(time.compute), size=least(time.size), races=races)


_CLUSTER = 4
"""Plans of a cluster at most: fewer cost more bounds, more make them loose."""


def clustered(time: TabulatedTime, group: IntArray, among: IntArray) -> IntArray:
    """Return (p,) labels of clusters of at most a few of (k,) plans, each within one group and with like coefficients.

    Groups are halved where the seconds of compute, or the units of a stream, differ the most.
    """
    whole = np.vstack([time.compute[None], time.size])
    for race in time.races:
        whole = whole + _coefficients(race).max(axis=0)
    label, last = np.zeros(len(group), dtype=np.int64), 0
    waiting = [among[group[among] == kind] for kind in np.unique(group[among]).tolist()]
    while waiting:
        mine = waiting.pop()
        if len(mine) <= _CLUSTER:
            label[mine], last = last, last + 1
            continue
        part = whole[:, mine]
        spread = np.ptp(part, axis=1) / np.maximum(part.max(axis=1), _TINY)
        order = mine[np.argsort(part[int(spread.argmax())], kind="stable")]
        waiting += [order[: len(order) // 2], order[len(order) // 2 :]]
    return label


_TINY = 1e-300
