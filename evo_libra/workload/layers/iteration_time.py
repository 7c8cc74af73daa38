"""The training loop: from layers to a function of the times of its streams of traffic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, partial, reduce

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.collective import (
    BeyondBytes,
    BytesAlone,
    Collective,
    Dispatch,
    NextStage,
    Pattern,
    PushPull,
    SizedByPlan,
    SizedCollective,
    Streamed,
    WithoutLatency,
    bytes_of_pattern,
    pattern_of,
)
from evo_libra.workload.layers.workload import Layer, Phase, Workload


@dataclass(frozen=True)
class Message:
    """Bytes from one NPU to another."""

    source: int
    target: int
    size: int


Load = (
    Pattern | Collective | SizedCollective | SizedByPlan | Message | NextStage | Dispatch | PushPull | Streamed
    | BeyondBytes | BytesAlone | WithoutLatency
)  # fmt: skip
"""Traffic of a network: bytes of a pattern or of a kind of collectives, single operations and messages, or software."""

Stream = tuple[str, Load]
"""Traffic of a process group that costs the same per unit: per byte of a pattern or of one kind of collectives of it,
or per operation or message."""


class Merging(Enum):
    """Collectives of a group that form one stream."""

    PATTERN = "all of a pattern, whose bytes cost the same where only NPUs reduce"
    COLLECTIVE = "those of a kind, as where the network itself reduces"
    NONE = "those of a kind and a size, as where messages have a latency"


@dataclass(frozen=True)
class Overlap:
    """Parts of an iteration in which chains run side by side and the longest one counts.

    Attributes
    ----------
    count : how many such parts there are, times the weight of a workload.
    compute : seconds of compute of each of the k chains.
    size : (k, s) units of each stream that each chain sends.
    """

    count: float
    compute: tuple[float, ...]
    size: FloatArray


@dataclass(frozen=True)
class Linear:
    """A time as coefficients of c kinds of traffic, for one plan or those of n designs.

    Attributes
    ----------
    compute, size : seconds and (c, n) or (c, 1) units that nothing hides.
    races : of one plan; `chained` : of plans of designs, (k, n) seconds and (k, c, n) units of each chain.
    """

    compute: FloatArray | float
    size: FloatArray
    races: Sequence[Overlap] = ()
    chained: Sequence[tuple[FloatArray, FloatArray]] = ()


@dataclass(frozen=True)
class IterationTime:
    """Iteration time as a function of the seconds per unit (byte or operation) of each stream.

    ``time = compute + sum_s size[s] * t[s] + sum_races count * max(chains)``, where nothing hides ``compute`` seconds
    and (s,) units of ``size``.
    """

    streams: tuple[Stream, ...]
    compute: float
    size: FloatArray
    races: tuple[Overlap, ...]

    def __call__(self, time_per_unit: Sequence[FloatArray]) -> FloatArray:
        """Return (n,) seconds from one (n,) array of seconds per unit for each stream."""
        time = _chain(self.compute, self._sends, time_per_unit)
        for race, sends in zip(self.races, self._in_races, strict=True):
            chains = (_chain(*chain, time_per_unit) for chain in zip(race.compute, sends, strict=True))
            time = time + race.count * reduce(np.maximum, chains)
        return np.asarray(time)

    def linear(self, weight: float, kind: FloatArray, plan: IntArray) -> Linear:  # noqa: ARG002 - tables of plans need it
        """Return the weighted time as coefficients of traffic; (s, c) is 1 where a stream is of a kind."""
        time = without_certain_races(self)
        races = [Overlap(weight * race.count, race.compute, race.size @ kind) for race in time.races]
        return Linear(weight * time.compute, weight * (time.size @ kind)[:, None], races)

    @cached_property
    def _sends(self) -> list[tuple[int, float]]:
        """The streams that have units outside of overlaps, and their units."""
        return _some(self.size)

    @cached_property
    def _in_races(self) -> list[list[list[tuple[int, float]]]]:
        """The streams of each chain of each overlap."""
        return [[_some(size) for size in race.size] for race in self.races]


def without_dominated(race: Overlap) -> Overlap:
    """Return an overlap without the chains that another chain never ends before; of equal chains the first one stays.

    One chain dominates another where its compute and each of its sizes are at least as large.
    """
    table = np.column_stack([race.compute, race.size])
    covers = (table[:, None] >= table).all(axis=2)
    first = np.arange(len(table))[:, None] < np.arange(len(table))
    kept = np.flatnonzero(~(covers & (~covers.T | first)).any(axis=0))
    return replace(race, compute=tuple(race.compute[chain] for chain in kept), size=race.size[kept])


def without_certain_races(time: IterationTime) -> IterationTime:
    """Return the same time without chains that never count; an overlap with one chain left is plain time."""
    compute, size, races = time.compute, time.size, []
    for race in map(without_dominated, time.races):
        if len(race.compute) > 1:
            races.append(race)
        else:
            compute, size = compute + race.count * race.compute[0], size + race.count * race.size[0]
    return replace(time, compute=compute, size=size, races=tuple(races))


def _some(size: FloatArray) -> list[tuple[int, float]]:
    return [(stream, units) for stream, units in enumerate(size.tolist()) if units]


def _chain(
    compute: float, sends: Sequence[tuple[int, float]], time_per_unit: Sequence[FloatArray]
) -> FloatArray | float:
    if not sends:
        return compute
    return compute + reduce(np.add, [units * time_per_unit[stream] for stream, units in sends])


def iteration_time(
    workload: Workload, degrees: Mapping[str, int], overlap: str, *, merging: Merging = Merging.PATTERN
) -> IterationTime:
    """Compile a workload's training loop, with the degrees of its process groups.

    Without overlap, ``none``, everything is added up (LIBRA's loop). With ``tp-dp``, in the backward pass of each layer
    the input gradient's collective runs alongside the weight gradient's compute and collective: the layer takes the
    longer of (input-gradient compute + its collective) and (input-gradient compute + weight-gradient compute + its
    collective). The forward pass is the same in both.
    """
    stream = partial(_stream, merging=merging)
    phases = [phase for layer in workload.layers for phase in layer.phases]
    streams = tuple(dict.fromkeys(stream(phase) for phase in phases if phase.collective))
    size = _sizes(streams, stream, degrees, merging)
    if overlap == "none":
        return IterationTime(streams, workload.compute, size(phases), ())
    forward = [layer.forward for layer in workload.layers]
    races = Counter(_race(layer, size) for layer in workload.layers)
    return IterationTime(
        streams,
        float(sum(phase.compute for phase in forward)),
        size(forward),
        tuple(Overlap(count, compute, np.array(sizes)) for (compute, sizes), count in races.items()),
    )


def _stream(phase: Phase, merging: Merging) -> Stream:
    assert phase.collective is not None  # noqa: S101 - callers have filtered
    return stream_of(phase.group, phase.collective, phase.size, merging)


def stream_of(group: str, collective: Collective, size: float, merging: Merging) -> Stream:
    """Return the stream that a collective is part of."""
    if merging is Merging.PATTERN:
        return group, pattern_of(collective)
    return group, collective if merging is Merging.COLLECTIVE else SizedCollective(collective, round(size))


def units_of(collective: Collective, size: float, degree: int, merging: Merging) -> float:
    """Return how many units of its stream a collective is."""
    return 1.0 if merging is Merging.NONE else float(bytes_of_pattern(collective, size, degree))


def _sizes(
    streams: Sequence[Stream], stream: Callable[[Phase], Stream], degrees: Mapping[str, int], merging: Merging
) -> Callable[[Sequence[Phase]], FloatArray]:
    def size(phases: Sequence[Phase]) -> FloatArray:
        total = np.zeros(len(streams))
        for phase in phases:
            if phase.collective:
                units = units_of(phase.collective, phase.size, degrees[phase.group], merging)
                total[streams.index(stream(phase))] += units
        return total

    return size


def _race(
    layer: Layer, size: Callable[[Sequence[Phase]], FloatArray]
) -> tuple[tuple[float, float], tuple[tuple[float, ...], ...]]:
    tensor, data = layer.input_gradient, layer.weight_gradient
    compute = (tensor.compute, tensor.compute + data.compute)
    return compute, (tuple(size([tensor])), tuple(size([data])))
