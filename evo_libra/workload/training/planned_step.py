"""A whole model under one plan as a workload: memory, traffic, and its time from those of its streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from evo_libra.arrays import GIGA, FloatArray
from evo_libra.collective import BytesAlone, Collective, Dispatch, NextStage, SizedCollective, WithoutLatency
from evo_libra.network.catalog.collective_latency import SIMULATED_FROM
from evo_libra.workload.layers.iteration_time import (
    IterationTime,
    Merging,
    Overlap,
    Stream,
    stream_of,
    units_of,
    without_certain_races,
)
from evo_libra.workload.layers.workload import Sent, WorkloadKind
from evo_libra.workload.parallelism import HoldsGroups, Layout, holds_groups
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
    slowdown = _number(step.slowdown)
    rows = iter(np.array([[units.get(stream, 0.0) for stream in streams] for units in chains]))
    races = [
        Overlap(
            # While the pipeline fills and drains an NPU waits for the same, too.
            slowdown * (_number(race.count) + _number(race.idle)),
            tuple(_number(chain.compute) for chain in race.chains),
            np.array([next(rows) for _ in race.chains]),
        )
        for race in step.races
    ]
    plain = slowdown * sum(_number(time) for time in step.plain.values())
    return without_certain_races(IterationTime(streams, plain, np.zeros(len(streams)), tuple(races)))


def _number(array: FloatArray) -> float:
    return float(np.asarray(array).ravel()[0])


def _units(chain: StepSequence, degrees: Mapping[str, int], merging: Merging) -> dict[Stream, float]:
    """Return the units of each stream that a chain sends."""
    units: dict[Stream, float] = {}
    for traffic in chain.traffic:
        for stream, count in all_units(traffic, degrees, merging):
            if count and degrees[traffic.group] > 1:
                units[stream] = units.get(stream, 0.0) + count
    return units


def all_units(traffic: Traffic, degrees: Mapping[str, int], merging: Merging) -> list[tuple[Stream, float]]:
    """Return all streams of some traffic with their units: its bytes or operations, and what software takes besides.

    If operations are timed one by one, small ones are bytes alone and the latencies of others do not count, as the
    measured times of software contain them.
    """
    stream, count = stream_units(traffic, degrees, merging)
    if not traffic.beyond or not count:
        return [(stream, count)]
    operations, (group, load) = _number(traffic.operations), stream
    if merging is Merging.NONE and _number(traffic.size) <= SIMULATED_FROM:
        stream, count = (group, BytesAlone(traffic.pattern)), operations * _number(traffic.bytes_of_pattern)
    elif merging is Merging.NONE:
        assert isinstance(load, SizedCollective | NextStage), "operations are of one size"  # noqa: S101 - internal error
        stream = group, WithoutLatency(load)
    return [(stream, count), *(((group, link), operations * _number(s)) for link, s in traffic.beyond.items())]


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


_WHOLE = 1e-6
"""Distance from a whole number that is rounding."""

_SHOWN = 0.05
"""GB from which on a class of memory is named."""


class PlannedStep(WorkloadKind):
    """A training step, or an answered request.

    Attributes
    ----------
    memory : bytes of an accelerator's own memory by class; `expanded` : those in its expansion memory.
    degrees : NPUs of each process group; `layouts` : how the groups lie, the innermost first.
    parallelism : the degrees that the plan says, and `plan` the whole plan in the notation.
    advise : returns a plan that fits a number of bytes of an accelerator's memory and whose groups a network holds,
        as a sentence without an end.
    """

    memory: Mapping[str, float]
    expanded: Mapping[str, float]
    degrees: Mapping[str, int]
    layouts: Mapping[str, Layout]
    parallelism: Mapping[str, int]
    plan: str
    advise: Callable[..., str]
    layers = ()
    whole = True
    if TYPE_CHECKING:  # as in `WorkloadKind`

        @property
        def time(self) -> StepTime:
            """The time of an iteration; its arrays are (1,)."""

    @cached_property
    def compute(self) -> float:
        """Seconds of an iteration on a network that costs no time."""
        return float(self.time(lambda _: np.zeros(1))[0])

    @property
    def total_memory(self) -> float:
        """Bytes of an accelerator's own memory."""
        return sum(self.memory.values())

    def memory_mistakes(self, limit: float, holds: HoldsGroups = holds_groups) -> list[str]:
        """Return the need above a number of bytes, and a plan that would fit, whose groups a network holds."""
        if self.total_memory <= limit:
            return []
        used = sorted(self.memory.items(), key=lambda item: -item[1])
        classes = ", ".join(f"{kind} {bytes_ / GIGA:.1f}" for kind, bytes_ in used if bytes_ >= _SHOWN * GIGA)
        needed = f"{self.name} ({self.plan}) needs {self.total_memory / GIGA:.1f} GB of an NPU: {classes}"
        return [f"{needed}; {self.advise(capacity=limit, holds=holds)}"]

    def figures(self, degrees: Mapping[str, int]) -> dict[str, Any]:  # noqa: ARG002 - those of the plan are told
        """Return the degrees and the notation of the plan, and how much an iteration is."""
        return {"parallelism": self.parallelism, "plan": self.plan, **self.size.figures}

    def traffic(self) -> Iterator[tuple[Traffic, float]]:
        """Return what is sent, with how many operations of it an NPU runs in an iteration; none in the bubble."""
        return self.time.sent_by(self.degrees)

    def sent(self) -> Mapping[Sent, float]:
        """Count what is sent; a part of a collective, such as an overlapped one, counts as such."""
        found: dict[Sent, float] = {}
        for one, count in self.traffic():
            size, what = float(np.ravel(one.size)[0]), one.operation
            if isinstance(what, Collective):
                size = shard_or_whole(what, size, self.degrees[one.group])
            if size and count:
                sent = Sent(one.part, what, one.group, size)
                found[sent] = found.get(sent, 0.0) + count
        return {sent: round(count) if abs(count - round(count)) < _WHOLE else count for sent, count in found.items()}

    def collectives(self, degrees: Mapping[str, int]) -> list[tuple[Collective, str, int]]:
        """Return the collectives of an iteration, each kind of a group and size once."""
        streams = step_iteration(self.time, degrees, Merging.NONE).streams
        loads = [(group, load.load if isinstance(load, WithoutLatency) else load) for group, load in streams]
        return [(load.collective, group, load.size) for group, load in loads if isinstance(load, SizedCollective)]

    def compiled(self, merging: Merging) -> IterationTime:
        """Return the time of an iteration as coefficients of the times of its streams."""
        return step_iteration(self.time, self.degrees, merging)

    def compiled_parts(self, merging: Merging) -> tuple[IterationTime, IterationTime] | None:  # noqa: ARG002 - serving has some
        """Return the times to the first token and of each further one, where users see them."""
        return None
