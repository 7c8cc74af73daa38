"""Times of a training step under many plans: one table of coefficients, looked up by design."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, columns
from evo_libra.collective import Collective
from evo_libra.workload.step.races import StepChain, StepRace, StepTime, Traffic
from evo_libra.workload.training import Merging, Stream


@dataclass(frozen=True)
class TabulatedRace:
    """Parts of a step in which k chains run side by side, under each of p plans.

    Attributes
    ----------
    count : (p,) how many such parts there are.
    compute : (k, p) seconds of compute of each chain.
    size : (k, s, p) units of each stream that each chain sends.
    """

    count: FloatArray
    compute: FloatArray
    size: FloatArray


@dataclass(frozen=True)
class TabulatedTime:
    """The time of a step as a function of its plan and the seconds per byte of each stream.

    Attributes
    ----------
    streams : groups with the patterns of their traffic, the same under all plans.
    compute, size : (p,) seconds and (s, p) bytes that nothing hides.
    races : the rest.
    """

    streams: tuple[Stream, ...]
    compute: FloatArray
    size: FloatArray
    races: tuple[TabulatedRace, ...]

    def __call__(self, time_per_unit: Sequence[FloatArray], plan: IntArray) -> FloatArray:
        """Return (n,) seconds under (n,) plans, from one (n,) array of seconds per byte for each stream."""
        time = columns(self.compute, plan) + _sent(self.size, self._plain, time_per_unit, plan)
        for race, sends in zip(self.races, self._in_races, strict=True):
            chains = (
                columns(compute, plan) + _sent(size, some, time_per_unit, plan)
                for compute, size, some in zip(race.compute, race.size, sends, strict=True)
            )
            time = time + columns(race.count, plan) * reduce(np.maximum, chains)
        return np.asarray(time)

    @cached_property
    def _plain(self) -> list[int]:
        """The streams that some plan sends outside of races; to look at all plans takes longer than some designs."""
        return _some(self.size)

    @cached_property
    def _in_races(self) -> list[list[list[int]]]:
        """The streams that some plan sends in each chain of each race."""
        return [[_some(size) for size in race.size] for race in self.races]


def _some(size: FloatArray) -> list[int]:
    return np.flatnonzero(size.any(axis=1)).tolist()


def _sent(
    size: FloatArray, some: Sequence[int], time_per_unit: Sequence[FloatArray], plan: IntArray
) -> FloatArray | float:
    total: FloatArray | float = 0.0
    for stream in some:
        total = total + columns(size[stream], plan) * time_per_unit[stream]
    return total


def tabulated_time(step: StepTime, degrees: Mapping[str, IntArray], merging: Merging, count: int) -> TabulatedTime:
    """Return the time of a step whose arrays are (p,) or (1,), for `count` plans.

    Parameters
    ----------
    degrees : (p,) NPUs of each process group; traffic of a group of one is left out.
    merging : of streams, by pattern or by kind of collective.
    """
    streams = tuple(dict.fromkeys(
        _stream(traffic, merging) for race in step.races for chain in race.chains for traffic in chain.traffic
    ))  # fmt: skip
    compute = np.zeros(count) + sum(step.plain.values(), np.zeros(1))
    size, races = np.zeros((len(streams), count)), []
    for race in step.races:
        found = _race(race, streams, degrees, merging, count)
        if len(found.compute) == 1:
            compute, size = compute + found.count * found.compute[0], size + found.count * found.size[0]
        elif found.count.any():
            races.append(found)
    return TabulatedTime(streams, compute, size, tuple(races))


def joined(parts: Sequence[TabulatedTime]) -> TabulatedTime:
    """Return the times of all plans of some tables of one model, in their order."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    assert all(len(part.races) == len(first.races) for part in parts), "tables of one model are alike"  # noqa: S101
    races = [
        TabulatedRace(*(
            np.concatenate([getattr(part.races[r], name) for part in parts], axis=-1)
            for name in ("count", "compute", "size")
        ))
        for r in range(len(first.races))
    ]  # fmt: skip
    return TabulatedTime(
        first.streams,
        np.concatenate([part.compute for part in parts]),
        np.concatenate([part.size for part in parts], axis=1),
        tuple(races),
    )


def _race(
    race: StepRace, streams: Sequence[Stream], degrees: Mapping[str, IntArray], merging: Merging, count: int
) -> TabulatedRace:
    compute = np.array([np.zeros(count) + chain.compute for chain in race.chains])
    size = np.array([_row(chain, streams, degrees, merging, count) for chain in race.chains])
    kept = list(_not_within(compute, size))
    return TabulatedRace(np.zeros(count) + race.count + race.idle, compute[kept], size[kept])


def _not_within(compute: FloatArray, size: FloatArray) -> Iterator[int]:
    """Yield the chains that are not, under every plan, within another one; of equal ones the first."""
    table = np.concatenate([compute[:, None], size], axis=1)
    for k in range(len(table)):
        others = (j for j in range(len(table)) if j != k)
        if not any((table[j] >= table[k]).all() and (j < k or (table[j] > table[k]).any()) for j in others):
            yield k


def _row(
    chain: StepChain, streams: Sequence[Stream], degrees: Mapping[str, IntArray], merging: Merging, count: int
) -> FloatArray:
    row = np.zeros((len(streams), count))
    for traffic in chain.traffic:
        several = degrees[traffic.group] > 1
        row[streams.index(_stream(traffic, merging))] += several * traffic.operations * traffic.bytes_of_pattern
    return row


def _stream(traffic: Traffic, merging: Merging) -> Stream:
    assert merging is not Merging.NONE, "sizes differ from plan to plan"  # noqa: S101 - our mistake
    kind = traffic.operation
    by_kind = merging is Merging.COLLECTIVE and isinstance(kind, Collective)
    return traffic.group, kind if by_kind else traffic.pattern
