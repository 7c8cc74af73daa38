"""By how much designs are faster than their links carry, where every group gets the whole bandwidth as in LIBRA."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypedDict

import numpy as np

from evo_libra.arrays import FloatArray, IntArray, Population
from evo_libra.collective import (
    BeyondBytes,
    BytesAlone,
    Collective,
    NextStage,
    Pattern,
    PushPull,
    SizedByPlan,
    SizedCollective,
    WithoutLatency,
    pattern_of,
    unit_traffic,
)
from evo_libra.errors import counted
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem
from evo_libra.problem.time_models.loops import Channel
from evo_libra.problem.time_models.time_model import NO_BANDWIDTH, TimeModel
from evo_libra.workload.layers.iteration_time import Load, Message

_ROUNDING = 1e-9
"""Part of a time that is no difference."""
_WHOLE = 100
"""Ratio from which on digits behind the point say nothing."""


@dataclass(frozen=True)
class FastTraffic:
    """Traffic of a process group that takes less time than its links need.

    Attributes
    ----------
    traffic : the collectives, or what is sent; `group` : whose.
    dimension, network : the slowest dimension under physical shares, and its block and size, such as ``RI(4096)``.
    times_faster : seconds under physical shares over those under LIBRA's.
    added_ms : by how much the time of the design grows with the physical time of just this traffic.
    """

    traffic: str
    group: str
    dimension: int
    network: str
    times_faster: float
    added_ms: float

    def __str__(self) -> str:
        return f"{self.traffic} on {self.network}: {ratio_text(self.times_faster)} times faster than its links carry"


class BeyondKeys(TypedDict):
    """The keys of what links do not carry in JSON; each traffic has the fields of its record."""

    time_ms: float
    physical_time_ms: float
    times_faster: float
    traffic: list[dict[str, str | int | float]]


@dataclass(frozen=True)
class BeyondLinks:
    """A design that is faster than its links carry: its seconds as stated and as they carry, and which traffic is.

    The traffic whose physical time adds most comes first.
    """

    seconds: float
    physical_seconds: float
    traffic: tuple[FastTraffic, ...]

    @property
    def times_faster(self) -> float:
        """The seconds that the links need over the stated ones."""
        return self.physical_seconds / self.seconds

    def __str__(self) -> str:
        whole = f"the whole time would be {ratio_text(self.times_faster)} times as long"
        return f"LIBRA's shares: {self.traffic[0]}; with `shares: physical` {whole}"

    def json(self) -> BeyondKeys:
        """Return it for programs, with units in the keys."""
        return {
            "time_ms": self.seconds * 1e3, "physical_time_ms": self.physical_seconds * 1e3,
            "times_faster": self.times_faster, "traffic": [asdict(one) for one in self.traffic],
        }  # fmt: skip


def ratio_text(ratio: float) -> str:
    """Return a ratio with three digits, from 100 on without any behind the point.

    >>> ratio_text(1.2345), ratio_text(1170.4)
    ('1.23', '1,170')
    """
    return f"{ratio:,.0f}" if ratio >= _WHOLE else f"{ratio:.3g}"


def beyond_links(problem: SearchProblem, designs: Population | Sequence[str]) -> list[BeyondLinks | None]:
    """Return by how much each of (n,) designs is faster than its links carry; None where it is not.

    No design is where shares are physical, and none of a problem that is written in Python is known to be.
    """
    if not isinstance(problem, Problem) or problem.time.kits or not len(designs):
        return [None] * len(designs)
    population = designs if isinstance(designs, Population) else problem.read(designs)
    found: list[BeyondLinks | None] = [None] * len(population)
    for mine in _by_plan(population):
        some = population.select(mine)
        for place, one in zip(mine.tolist(), _compared(problem.pinned(some), some), strict=True):
            found[place] = one
    return found


def summary(found: Sequence[BeyondLinks | None], names: Sequence[str]) -> list[str]:
    """Return how many designs are faster than their links carry, and which one most, as a sentence; none where none is.

    The names are those of the designs.
    """
    concerned = [(one, name) for one, name in zip(found, names, strict=True) if one is not None]
    if not concerned:
        return []
    worst, name = max(concerned, key=lambda pair: pair[0].times_faster)
    some = f"{len(concerned):,} of {counted(len(found), 'design')}"
    return [f"Faster than their links carry: {some}, most of all {name}. {worst}"]


def _by_plan(designs: Population) -> Iterator[IntArray]:
    """Yield the places of the designs of each combination of plans."""
    kinds = np.unique(designs.plans, axis=1, return_inverse=True)[1].ravel()
    for kind in range(int(kinds.max()) + 1):
        yield np.flatnonzero(kinds == kind)


def _compared(problem: Problem, designs: Population) -> Iterator[BeyondLinks | None]:
    stated, physical = problem.time, problem.time.physical(len(problem.catalog.technologies))
    split = replace(designs, technology=designs.technology * len(BLOCKS) + designs.block)
    each = [one.channel_times(some) for one, some in ((stated, designs), (physical, split))]
    whole, limited = (_weighted(stated, times, designs) for times in each)
    names, rows = _names(problem), dict[Channel, tuple[FloatArray, IntArray, FloatArray]]()
    for channel, time in each[1].items():
        ratio = np.divide(time, each[0][channel], out=np.ones_like(time), where=each[0][channel] > 0)
        if (ratio > 1.0 + _ROUNDING).any():
            added = _weighted(stated, {**each[0], channel: time}, designs) - whole
            rows[channel] = added, _slowest(physical, channel, split), ratio
    for n in range(len(designs)):
        if limited[n] <= whole[n] * (1.0 + _ROUNDING):
            yield None
            continue
        order = sorted(rows, key=lambda channel: -rows[channel][0][n])
        traffic = [
            _traffic(channel, [row[n] for row in rows[channel]], names, designs.select([n])) for channel in order
        ]
        exceeding = tuple(one for one in traffic if one.times_faster > 1.0 + _ROUNDING)
        yield BeyondLinks(float(whole[n]), float(limited[n]), exceeding)


def _weighted(time: TimeModel, per_unit: Mapping[Channel, FloatArray], designs: Population) -> FloatArray:
    """Return the (n,) seconds of all workloads from those per unit of each channel."""
    return time.weighted(time.times_of([per_unit[channel] for channel in time.channels], designs.plans).workloads)


def _slowest(time: TimeModel, channel: Channel, designs: Population) -> IntArray:
    """Return (n,) the dimension in which the traffic of a channel takes longest."""
    layout, group, load = channel
    load = _sent(load)
    alike = BeyondBytes | BytesAlone | WithoutLatency | Message
    assert not isinstance(load, alike), "links do not change it, or it has the whole bandwidth of its ends"  # noqa: S101 - internal error
    assert not isinstance(load, SizedByPlan), "plans are pinned"  # noqa: S101 - internal error
    what = load.collective if isinstance(load, SizedCollective) else load
    placed = time.placed(designs.npus, designs.plan, designs.technology)[layout, group]
    sent = unit_traffic(pattern_of(what) if isinstance(what, Collective) else what, placed.extent)
    relative = time.relative_bytes(what, placed, designs.npus, designs.technology)
    return np.asarray((sent * relative / np.maximum(designs.bandwidth, NO_BANDWIDTH)).argmax(axis=0))


def _sent(load: Load) -> Load:
    """Return traffic without what says how its latency is counted."""
    if isinstance(load, WithoutLatency):
        return load.load
    return load.pattern if isinstance(load, BytesAlone) else load


def _traffic(
    channel: Channel, figures: Sequence[Any], names: Mapping[tuple[str, Pattern], str], design: Population
) -> FastTraffic:
    """Return a row from the seconds that a channel adds, its slowest dimension, and its ratio."""
    (_, group, load), (added, dimension, ratio) = channel, figures
    network = f"{BLOCKS[int(design.block[dimension, 0])].code}({design.npus[dimension, 0]})"
    return FastTraffic(
        traffic=_name(group, load, names), group=group, dimension=int(dimension), network=network,
        times_faster=float(ratio), added_ms=float(added) * 1e3,
    )  # fmt: skip


def _name(group: str, load: Any, names: Mapping[tuple[str, Pattern], str]) -> str:  # noqa: ANN401 - the load of a channel
    """Return what people call the load of a channel."""
    load = _sent(load)
    if isinstance(load, SizedCollective):
        return load.collective.value
    if isinstance(load, NextStage):
        return "messages to the next stage"
    if isinstance(load, PushPull):
        return "traffic to servers and back"
    pattern = load if isinstance(load, Pattern) else Pattern.ALL_TO_ALL  # tokens go to their experts all to all
    return names.get((group, pattern), Collective.ALL_TO_ALL.value)


def _names(problem: Problem) -> dict[tuple[str, Pattern], str]:
    """Return the collectives that LIBRA's time has as one stream, by group and pattern."""
    found: dict[tuple[str, Pattern], dict[str, None]] = {}
    for loop in problem.time.loops:
        for collective, group, _ in loop.workload.collectives(loop.degrees):
            found.setdefault((group, pattern_of(collective)), {})[collective.value] = None
    return {key: " and ".join(names) for key, names in found.items()}
