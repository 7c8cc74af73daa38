"""Time of a step as a sum of overlaps between compute and the traffic alongside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.collective import BeyondBytes, Collective, Dispatch, NextStage, Pattern, PushPull, Streamed, pattern_of
from evo_libra.workload.parallelism import BEYOND, CONTEXT_GROUP, TENSOR_GROUP

TENSOR, CONTEXT, EXPERT, PIPELINE, DATA, EXPERT_DATA = TENSOR_GROUP, CONTEXT_GROUP, "ep", "pp", "cp+dp", "edp"
"""Process groups; an expert parallel group and its copies (``edp``) share out the NPUs of ``tp``, ``cp`` and ``dp``."""

SHARDS, COPIES = "cp+shards", "copies"
"""Parts of a data parallel group that shard weights or states among them, and those that hold the same shard."""

DATA_BEYOND, EXPERT_DATA_BEYOND = DATA + BEYOND, EXPERT_DATA + BEYOND
"""Parts of the groups of copies of weights that lie beyond scale-up domains."""

OF_PREFILL = {TENSOR: "prefill-tp", EXPERT: "prefill-ep", "dp": "prefill-dp", PIPELINE: "prefill-pp"}
"""Process groups of replicas that only process prompts, by those of the others; there are none where both are alike."""

POOLS = "pools"
"""The group over which the cache of a prompt goes from such a replica to one of the others."""

COMPUTE, BUBBLE, JITTER = "compute", "bubble", "jitter"
OFFLOADED = tuple(f"{where} {what}" for where in ("host", "server") for what in ("link", "SSD", "memory", "compute"))
"""Parts that wait for hosts and parameter servers."""

EXPANSION = "expansion memory"
"""Part that waits for expansion memory."""

PARTS = (COMPUTE, "cache", "head", "overhead", "tensor", "context", "expert", "embedding", "pipeline", "sampling",
         "transfer", BUBBLE, "data", *OFFLOADED, EXPANSION, "optimizer", JITTER)  # fmt: skip
"""Parts of a step of training or serving, in the order of reports."""


@dataclass(frozen=True)
class Traffic:
    """Collectives or messages that run one after the other.

    Attributes
    ----------
    part : of the step that waits for them.
    group : process group.
    operation : what runs.
    size : (n,) bytes of one: the whole message, of an all-gather the gathered one.
    operations : (n,) how many.
    beyond : (n,) s of one beyond its bytes by the links of a group; empty where the time model says them.
    """

    part: str
    group: str
    operation: Collective | NextStage | Dispatch | PushPull | Streamed
    size: FloatArray
    operations: FloatArray
    beyond: Mapping[BeyondBytes, FloatArray] = field(default_factory=dict)

    @property
    def pattern(self) -> Pattern | NextStage | Dispatch | PushPull | Streamed:
        """Spread of the bytes over the dimensions."""
        return pattern_of(self.operation) if isinstance(self.operation, Collective) else self.operation

    @property
    def bytes_of_pattern(self) -> FloatArray:
        """The (n,) bytes of its pattern that one operation is; an all-reduce is two reduce-scatters."""
        return np.asarray((2.0 if self.operation is Collective.ALL_REDUCE else 1.0) * self.size)

    def seconds(self, seconds_of: SecondsOf) -> FloatArray:
        """Return (n,) seconds of all operations."""
        return np.asarray(self.operations * seconds_of(self))


SecondsOf: TypeAlias = Callable[[Traffic], FloatArray]
"""(n,) seconds of one operation of some traffic."""


@dataclass(frozen=True)
class PerByte:
    """Seconds of traffic where it costs the same per byte: (n,) of each group, by the pattern of its bytes.

    Attributes
    ----------
    links : (n,) the factor of seconds beyond bytes by group and kind of links.
    """

    seconds_per_byte: Mapping[tuple[str, Pattern | NextStage | Dispatch | PushPull | Streamed], FloatArray]
    links: Mapping[tuple[str, BeyondBytes], FloatArray] = field(default_factory=dict)

    def __call__(self, traffic: Traffic) -> FloatArray:
        """Return (n,) seconds of one operation."""
        seconds = traffic.bytes_of_pattern * self.seconds_per_byte[traffic.group, traffic.pattern]
        for link, beyond in traffic.beyond.items():
            if (traffic.group, link) in self.links:
                seconds = seconds + beyond * self.links[traffic.group, link]
        return np.asarray(seconds)


@dataclass(frozen=True)
class StepSequence:
    """Compute, then traffic that nothing in this chain hides.

    Attributes
    ----------
    compute : (n,) seconds.
    traffic : what is sent after it.
    partial : its traffic is a part of what another chain of the overlap sends, and the part starts earlier.
    name : the part of the step that waits for a chain without traffic.
    """

    compute: FloatArray
    traffic: tuple[Traffic, ...] = ()
    partial: bool = False
    name: str = COMPUTE

    @property
    def part(self) -> str:
        """The part of the step that waits for the chain: that of its last traffic."""
        return self.traffic[-1].part if self.traffic else self.name

    def seconds(self, seconds_of: SecondsOf) -> FloatArray:
        """Return (n,) seconds."""
        return sum((sent.seconds(seconds_of) for sent in self.traffic), self.compute)


@dataclass(frozen=True)
class StepOverlap:
    """Chains that run side by side; the longest one counts.

    Attributes
    ----------
    chains : compute first; each other one is charged with what it is longer than all before it.
    count : (n,) times in a step; `idle` : (n,) times more while the pipeline fills and drains.
    name : what runs, where reports list its chains.
    """

    chains: tuple[StepSequence, ...]
    count: FloatArray
    idle: FloatArray = field(default_factory=lambda: np.zeros(1))
    name: str = ""

    @property
    def sent(self) -> tuple[Traffic, ...]:
        """Traffic of one repetition; an object in several chains is sent once, and partial chains send nothing."""
        found = {id(sent): sent for chain in self.chains if not chain.partial for sent in chain.traffic}
        return tuple(found.values())

    def waits(self, seconds_of: SecondsOf) -> Iterator[tuple[str, FloatArray]]:
        """Yield the part of each chain, and the (n,) seconds by which it is longer than those before it."""
        longest = np.zeros(1)
        for chain in self.chains:
            longer = np.maximum(longest, chain.seconds(seconds_of))
            yield chain.part, longer - longest
            longest = longer

    def seconds(self, seconds_of: SecondsOf) -> FloatArray:
        """Return (n,) seconds of one time."""
        times = [chain.seconds(seconds_of) for chain in self.chains]
        return times[0] if len(times) == 1 else np.asarray(np.maximum.reduce(np.broadcast_arrays(*times)))


@dataclass(frozen=True)
class StepTime:
    """Time of a training step: compute that no communication can overlap, and overlaps, most of which have one chain.

    Attributes
    ----------
    plain : (n,) seconds of the ``head`` and of the ``optimizer``.
    races : the rest.
    slowdown : (n,) what all of it is multiplied by, as the slowest of many NPUs sets the pace.
    """

    plain: Mapping[str, FloatArray]
    races: tuple[StepOverlap, ...]
    slowdown: FloatArray = field(default_factory=lambda: np.ones(1))

    def __call__(self, seconds_of: SecondsOf) -> FloatArray:
        """Return (n,) seconds of a step."""
        time = sum(self.plain.values(), np.zeros(1))
        for race in self.races:
            time = time + (race.count + race.idle) * race.seconds(seconds_of)
        return np.asarray(self.slowdown * time)

    def split(self, seconds_of: SecondsOf) -> dict[str, FloatArray]:
        """Return (n,) seconds of each of `PARTS`; they add up to the step's time."""
        parts = {part: self.plain.get(part, np.zeros(1)) for part in PARTS}
        for race in self.races:
            for part, wait in race.waits(seconds_of):
                parts[part] = parts[part] + race.count * wait
                parts[BUBBLE] = parts[BUBBLE] + race.idle * wait
        parts[JITTER] = (self.slowdown - 1.0) * sum(parts.values(), np.zeros(1))
        return parts

    def sent_by(self, degrees: Mapping[str, int]) -> Iterator[tuple[Traffic, float]]:
        """Yield what is sent in groups of more than one NPU under one plan, with how many operations an NPU runs.

        It runs none in the bubble. `degrees` has the NPUs of each process group.
        """
        for race in self.races:
            for sent in race.sent:
                if degrees[sent.group] > 1:
                    yield sent, float(np.ravel(race.count * sent.operations)[0])
