"""The training loop: from layers to a function of the times of its streams of traffic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.model.arrays import FloatArray
from evo_libra.model.collective import Collective, Pattern, bytes_of_pattern, pattern_of
from evo_libra.model.workload import Layer, Phase, Workload


@dataclass(frozen=True)
class Operation:
    """A collective and its bytes: the whole message, for an all-gather the shard."""

    collective: Collective
    size: int


@dataclass(frozen=True)
class Message:
    """Bytes from one NPU to another."""

    source: int
    target: int
    size: int


Stream = tuple[str, Pattern | Operation | Message]
"""Traffic of a process group that costs the same per unit: per byte of a pattern, or per operation or message."""


@dataclass(frozen=True)
class Race:
    """Layers in which two chains run side by side and the longer one counts.

    Attributes
    ----------
    count : how many layers of the iteration are alike, times the weight of their workload.
    compute : seconds of the two chains.
    size : (2, s) units of each stream in the two chains.
    """

    count: float
    compute: tuple[float, float]
    size: FloatArray


@dataclass(frozen=True)
class IterationTime:
    """Iteration time as a function of the seconds per unit (byte or operation) of each stream.

    ``time = compute + sum_s size[s] * t[s] + sum_races count * max(chain 0, chain 1)``

    Attributes
    ----------
    streams : what the rows of the argument are.
    compute : seconds that nothing hides.
    size : (s,) units of each stream that nothing hides.
    races : overlapped parts; empty without overlap.
    """

    streams: tuple[Stream, ...]
    compute: float
    size: FloatArray
    races: tuple[Race, ...]

    def __call__(self, time_per_unit: Sequence[FloatArray]) -> FloatArray:
        """Return (n,) seconds from one (n,) array of seconds per unit for each stream."""
        time = self.compute + _chain(self.size, time_per_unit)
        for race in self.races:
            first, second = (race.compute[c] + _chain(race.size[c], time_per_unit) for c in (0, 1))
            time = time + race.count * np.maximum(first, second)
        return np.asarray(time)


def _chain(size: FloatArray, time_per_unit: Sequence[FloatArray]) -> FloatArray | float:
    total: FloatArray | float = 0.0
    for units, time in zip(size, time_per_unit, strict=True):
        if units:
            total = total + units * time
    return total


def iteration_time(
    workload: Workload, degrees: Mapping[str, int], overlap: str, *, merged: bool = True
) -> IterationTime:
    """Compile a workload's training loop.

    Parameters
    ----------
    workload : the layers.
    degrees : NPUs in each process group the workload names.
    overlap : ``none``, where everything is added up (LIBRA's loop), or ``tp-dp``, where in the backward pass of each
        layer the input gradient's collective runs beside the weight gradient's compute and collective: the layer takes
        the longer of (input-gradient compute + its collective) and (input-gradient compute + weight-gradient compute +
        its collective). The forward pass is the same in both.
    merged : whether collectives of a pattern are one stream of bytes, as times without latency allow; otherwise those
        of a kind and size are one stream.
    """
    stream = _merged if merged else _single
    phases = [phase for layer in workload.layers for phase in layer.phases]
    streams = tuple(dict.fromkeys(stream(phase) for phase in phases if phase.collective))
    size = _sizes(streams, stream, degrees)
    if overlap == "none":
        return IterationTime(streams, workload.compute, size(phases), ())
    forward = [layer.forward for layer in workload.layers]
    races = Counter(_race(layer, size) for layer in workload.layers)
    return IterationTime(
        streams,
        float(sum(phase.compute for phase in forward)),
        size(forward),
        tuple(
            Race(count, compute, np.array(sizes).reshape(2, len(streams))) for (compute, sizes), count in races.items()
        ),
    )


def _merged(phase: Phase) -> Stream:
    assert phase.collective is not None  # noqa: S101 - callers have filtered
    return phase.group, pattern_of(phase.collective)


def _single(phase: Phase) -> Stream:
    assert phase.collective is not None  # noqa: S101 - callers have filtered
    return phase.group, Operation(phase.collective, round(phase.size))


def _sizes(
    streams: Sequence[Stream], stream: Callable[[Phase], Stream], degrees: Mapping[str, int]
) -> Callable[[Sequence[Phase]], FloatArray]:
    def size(phases: Sequence[Phase]) -> FloatArray:
        total = np.zeros(len(streams))
        for phase in phases:
            if phase.collective:
                place = streams.index(stream(phase))
                single = isinstance(streams[place][1], Operation)
                total[place] += 1.0 if single else bytes_of_pattern(phase.collective, phase.size, degrees[phase.group])
        return total

    return size


def _race(
    layer: Layer, size: Callable[[Sequence[Phase]], FloatArray]
) -> tuple[tuple[float, float], tuple[tuple[float, ...], ...]]:
    tensor, data = layer.input_gradient, layer.weight_gradient
    compute = (tensor.compute, tensor.compute + data.compute)
    return compute, (tuple(size([tensor])), tuple(size([data])))
