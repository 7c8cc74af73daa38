"""A training step under one plan as a function of the times of its streams of traffic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective, Dispatch, NextStage, SizedCollective
from evo_libra.workload.layers.iteration_time import (
    IterationTime,
    Merging,
    Overlap,
    Stream,
    stream_of,
    units_of,
    without_certain_races,
)
from evo_libra.workload.training.races import StepSequence, StepTime, Traffic


def step_iteration(step: StepTime, degrees: Mapping[str, int], merging: Merging) -> IterationTime:
    """Return the time of a step under one plan as coefficients of the times of its streams.

    Parameters
    ----------
    step : whose arrays are (1,).
    degrees : NPUs of each process group; traffic of a group of one is left out.
    merging : which traffic is one stream, as for `iteration_time`.
    """
    chains = [_units(chain, degrees, merging) for race in step.races for chain in race.chains]
    streams = tuple(dict.fromkeys(stream for units in chains for stream in units))
    rows = iter(np.array([[units.get(stream, 0.0) for stream in streams] for units in chains]))
    races = [
        Overlap(
            # While the pipeline fills and drains an NPU waits for the same, too.
            _number(race.count) + _number(race.idle),
            tuple(_number(chain.compute) for chain in race.chains),
            np.array([next(rows) for _ in race.chains]),
        )
        for race in step.races
    ]
    plain = sum(_number(time) for time in step.plain.values())
    return without_certain_races(IterationTime(streams, plain, np.zeros(len(streams)), tuple(races)))


def _number(array: FloatArray) -> float:
    return float(np.asarray(array).ravel()[0])


def _units(chain: StepSequence, degrees: Mapping[str, int], merging: Merging) -> dict[Stream, float]:
    """Return the units of each stream that a chain sends."""
    units: dict[Stream, float] = {}
    for traffic in chain.traffic:
        stream, count = stream_units(traffic, degrees, merging)
        if count and degrees[traffic.group] > 1:
            units[stream] = units.get(stream, 0.0) + count
    return units


def stream_units(traffic: Traffic, degrees: Mapping[str, int], merging: Merging) -> tuple[Stream, float]:
    """Return the stream of some traffic, and how many units of it the traffic of one microbatch or step is."""
    size, operations, group = _number(traffic.size), _number(traffic.operations), traffic.group
    if not size:
        operations = 0.0
    if isinstance(traffic.operation, Collective):
        degree = degrees[group]
        mine = shard_or_whole(traffic.operation, size, degree)
        stream = stream_of(group, traffic.operation, mine, merging)
        return stream, operations * units_of(traffic.operation, mine, degree, merging)
    if merging is not Merging.NONE:
        return (group, traffic.operation), operations * size
    if isinstance(traffic.operation, Dispatch):
        return (group, SizedCollective(Collective.ALL_TO_ALL, round(size))), operations
    return (group, NextStage(round(size))), operations


Bytes = TypeVar("Bytes", float, FloatArray)


def shard_or_whole(operation: Collective | NextStage, size: Bytes, degree: Bytes | int) -> Bytes:
    """Return the bytes by which other parts of the program know a collective: of an all-gather, those of a shard."""
    return size / degree if operation is Collective.ALL_GATHER else size
