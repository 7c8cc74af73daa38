"""Times of a training step under many plans: one table of coefficients, looked up by design."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, columns
from evo_libra.collective import (
    BeyondBytes,
    BytesAlone,
    Collective,
    Dispatch,
    NextStage,
    PushPull,
    SizedByPlan,
    Streamed,
    WithoutLatency,
)
from evo_libra.network.catalog.collective_latency import SIMULATED_FROM
from evo_libra.workload.layers.iteration_time import Linear, Merging, Stream
from evo_libra.workload.training.planned_step import shard_or_whole
from evo_libra.workload.training.races import StepOverlap, StepSequence, StepTime, Traffic


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
    """The time of a step as a function of its plan and the seconds per unit (byte or operation) of each stream.

    Attributes
    ----------
    streams : groups with the patterns of their traffic, or with operations whose bytes each plan decides.
    compute, size : (p,) seconds and (s, p) units that nothing hides.
    races : the rest.
    """

    streams: tuple[Stream, ...]
    compute: FloatArray
    size: FloatArray
    races: tuple[TabulatedRace, ...]

    def __call__(self, time_per_unit: Sequence[FloatArray], plan: IntArray) -> FloatArray:
        """Return (n,) seconds under (n,) plans, from one (n,) array of seconds per unit for each stream."""
        time = columns(self.compute, plan) + _sent(self.size, self._plain, time_per_unit, plan)
        for race, sends in zip(self.races, self._in_races, strict=True):
            chains = (
                columns(compute, plan) + _sent(size, some, time_per_unit, plan)
                for compute, size, some in zip(race.compute, race.size, sends, strict=True)
            )
            time = time + columns(race.count, plan) * reduce(np.maximum, chains)
        return np.asarray(time)

    def times(self, factor: FloatArray) -> TabulatedTime:
        """Return the time multiplied by a (p,) or (1,) factor of each plan."""
        if (factor == 1.0).all():
            return self
        races = tuple(replace(race, count=race.count * factor) for race in self.races)
        return replace(self, compute=self.compute * factor, size=self.size * factor, races=races)

    def linear(self, weight: float, kind: FloatArray, plan: IntArray) -> Linear:
        """Return the weighted time under (1, n) plans as coefficients of traffic, as `IterationTime.linear` does."""
        (mine,) = plan
        chained = []
        for race in self.races:
            count = weight * columns(race.count, mine)
            size = np.einsum("sg,ksn->kgn", kind, columns(race.size, mine)) * count
            chained.append((columns(race.compute, mine) * count, size))
        size = weight * np.einsum("sg,sn->gn", kind, columns(self.size, mine))
        return Linear(weight * columns(self.compute, mine), size, chained=chained)

    @cached_property
    def _plain(self) -> list[int]:
        """The streams that some plan sends outside of overlaps; to check all plans takes longer than some designs."""
        return _some(self.size)

    @cached_property
    def _in_races(self) -> list[list[list[int]]]:
        """The streams that some plan sends in each chain of each overlap."""
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
    """Return the time of a step; see `tabulated_times`."""
    return tabulated_times([step], degrees, merging, count)[0]


def tabulated_times(
    steps: Sequence[StepTime], degrees: Mapping[str, IntArray], merging: Merging, count: int
) -> list[TabulatedTime]:
    """Return the times of steps whose arrays are (p,) or (1,), for `count` plans; they have the same streams.

    Parameters
    ----------
    degrees : (p,) NPUs of each process group; traffic of a group of one is left out.
    merging : which traffic is one stream, as for `iteration_time`.
    """
    races = [race for step in steps for race in step.races]
    everything = [traffic for race in races for chain in race.chains for traffic in chain.traffic]
    units = {id(traffic): np.zeros(count) + _units(traffic, degrees, merging) for traffic in everything}
    if merging is Merging.NONE:
        stream_of = _sized(everything, degrees, units)
    else:
        stream_of = {id(traffic): _of_pattern(traffic, merging) for traffic in everything}
    sent = {
        id(traffic): [(stream_of[id(traffic)], units[id(traffic)]), *_besides(traffic, degrees, merging, count)]
        for traffic in everything
    }
    return [_tabulated(step, sent, count) for step in steps]


def _besides(
    traffic: Traffic, degrees: Mapping[str, IntArray], merging: Merging, count: int
) -> Iterator[tuple[Stream, FloatArray]]:
    """Yield what software takes besides, with (p,) units that some plan has; of small operations the bytes, too."""
    if not traffic.beyond:
        return
    times = (degrees[traffic.group] > 1) * (traffic.size != 0) * traffic.operations
    if merging is Merging.NONE:
        small = np.zeros(count) + times * (traffic.size <= SIMULATED_FROM) * traffic.bytes_of_pattern
        if small.any():
            yield (traffic.group, BytesAlone(traffic.pattern)), small
    for link, seconds in traffic.beyond.items():
        units = np.zeros(count) + times * seconds
        if units.any():
            yield (traffic.group, link), units


def of_links(time: TabulatedTime, kinds: Collection[str]) -> TabulatedTime:
    """Return a time without what software takes on links of other kinds, which no network has."""
    kept = [not isinstance(load, BeyondBytes) or load.link in kinds for _, load in time.streams]
    races = tuple(replace(race, size=race.size[:, kept]) for race in time.races)
    streams = tuple(stream for stream, some in zip(time.streams, kept, strict=True) if some)
    return replace(time, streams=streams, size=time.size[kept], races=races)


def _tabulated(step: StepTime, sent_by: Mapping[int, Sequence[tuple[Stream, FloatArray]]], count: int) -> TabulatedTime:
    """Return the time of a step whose traffic has known streams with their units, by its identity."""
    streams = tuple(dict.fromkeys(stream for mine in sent_by.values() for stream, _ in mine))
    compute = np.zeros(count) + sum(step.plain.values(), np.zeros(1))
    size, races = np.zeros((len(streams), count)), []
    for race in step.races:
        sent = np.zeros((len(race.chains), len(streams), count))
        for row, chain in zip(sent, race.chains, strict=True):
            for traffic in chain.traffic:
                for stream, units in sent_by[id(traffic)]:
                    row[streams.index(stream)] += units
        found = _race(race, sent)
        if len(found.compute) == 1:
            compute, size = compute + found.count * found.compute[0], size + found.count * found.size[0]
        elif found.count.any():
            races.append(found)
    return TabulatedTime(streams, compute, size, tuple(races)).times(step.slowdown)


def _race(race: StepOverlap, size: FloatArray) -> TabulatedRace:
    """Return an overlap whose chains send (k, s, p) units."""
    count = size.shape[-1]
    compute = np.array([np.zeros(count) + chain.compute for chain in race.chains])
    kept = list(_not_within(compute, size))
    return TabulatedRace(np.zeros(count) + race.count + race.idle, compute[kept], size[kept])


def _not_within(compute: FloatArray, size: FloatArray) -> Iterator[int]:
    """Yield the chains that are not, under every plan, within another one; of equal ones the first."""
    table = np.concatenate([compute[:, None], size], axis=1)
    for k in range(len(table)):
        others = (j for j in range(len(table)) if j != k)
        if not any((table[j] >= table[k]).all() and (j < k or (table[j] > table[k]).any()) for j in others):
            yield k


def _units(traffic: Traffic, degrees: Mapping[str, IntArray], merging: Merging) -> FloatArray:
    """Return (p,) units of its stream that some traffic is."""
    several = degrees[traffic.group] > 1
    if merging is Merging.NONE:
        simulated = (traffic.size > SIMULATED_FROM) if traffic.beyond else (traffic.size != 0)
        return np.asarray(several * simulated * traffic.operations)
    return np.asarray(several * traffic.operations * traffic.bytes_of_pattern)


def _of_pattern(traffic: Traffic, merging: Merging) -> Stream:
    kind = traffic.operation
    by_kind = merging is Merging.COLLECTIVE and isinstance(kind, Collective)
    return traffic.group, kind if by_kind else traffic.pattern


def _sized(
    everything: Sequence[Traffic], degrees: Mapping[str, IntArray], units: Mapping[int, FloatArray]
) -> dict[int, Stream]:
    """Return streams of operations by the identity of traffic.

    Traffic of one kind and group is one stream where it has the same bytes under each plan that sends both.
    """
    known: dict[tuple[str, Collective | NextStage], list[FloatArray]] = {}
    places = {}
    latent = {id(traffic): not traffic.beyond for traffic in everything}
    for traffic in everything:
        what = Collective.ALL_TO_ALL if isinstance(traffic.operation, Dispatch) else traffic.operation
        assert not isinstance(what, PushPull | Streamed), "the loader refuses servers under this time"  # noqa: S101 - internal error
        bytes_ = shard_or_whole(what, traffic.size, degrees[traffic.group].astype(np.float64))
        size = np.where(units[id(traffic)] != 0, np.rint(bytes_), _NOT_SENT)
        sizes = known.setdefault((traffic.group, what), [])
        place = next((k for k, other in enumerate(sizes) if _alike(size, other)), len(sizes))
        if place == len(sizes):
            sizes.append(size)
        sizes[place] = np.maximum(size, sizes[place])
        places[id(traffic)] = (traffic.group, what), place
    streams = {
        (group, what): [(group, SizedByPlan(what, size, size != _NOT_SENT)) for size in sizes]
        for (group, what), sizes in known.items()
    }
    found = {traffic: streams[kind][place] for traffic, (kind, place) in places.items()}
    return {
        traffic: (group, load if latent[traffic] else WithoutLatency(load)) for traffic, (group, load) in found.items()
    }


_NOT_SENT = -1.0


def _alike(one: FloatArray, other: FloatArray) -> bool:
    return bool(((one == other) | (one == _NOT_SENT) | (other == _NOT_SENT)).all())


def joined(steps: Sequence[StepTime], counts: Sequence[int]) -> StepTime:
    """Return the time of a step under a number of plans of each of some steps of one model, in their order.

    Further plans of a step are left out.
    """
    if len(steps) == 1:
        return steps[0]

    def together(arrays: Iterable[FloatArray]) -> FloatArray:
        return np.concatenate([np.broadcast_to(array[:n], n) for array, n in zip(arrays, counts, strict=True)])

    def traffic(parts: Sequence[Traffic]) -> Traffic:
        size, operations = (together(getattr(part, name) for part in parts) for name in ("size", "operations"))
        links = dict.fromkeys(link for part in parts for link in part.beyond)
        beyond = {link: together(part.beyond.get(link, np.zeros(1)) for part in parts) for link in links}
        return replace(parts[0], size=size, operations=operations, beyond=beyond)

    def chain(parts: Sequence[StepSequence]) -> StepSequence:
        sent = zip(*(part.traffic for part in parts), strict=True)
        return replace(parts[0], compute=together(part.compute for part in parts), traffic=tuple(map(traffic, sent)))

    def race(parts: Sequence[StepOverlap]) -> StepOverlap:
        count, idle = (together(getattr(part, name) for part in parts) for name in ("count", "idle"))
        return StepOverlap(
            tuple(map(chain, zip(*(part.chains for part in parts), strict=True))), count, idle, parts[0].name
        )

    plain = {part: together(step.plain[part] for step in steps) for part in steps[0].plain}
    races = tuple(map(race, zip(*(step.races for step in steps), strict=True)))
    return StepTime(plain, races, together(step.slowdown for step in steps))
