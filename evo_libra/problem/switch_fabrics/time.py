"""Times of steps on fabrics: LIBRA's, with the seconds per byte that each process group has on the links of a fabric.

Groups inside a server have its links. Of others, gradients and weights move by halving and doubling, messages of a
pipeline to the next stage, and experts exchange all with all. All groups of a kind send at once, so that links that
they share are shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import cast

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.collective import Dispatch, NextStage, Pattern, unit_traffic
from evo_libra.errors import InputError
from evo_libra.network.fabrics.traffic import Traffic
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.workload.layers.iteration_time import IterationTime, Load, Stream
from evo_libra.workload.parallelism import BEYOND, parts_of

SLOWEST = 1.0
"""Seconds per byte of groups without a path, so that designs without one have a finite time."""


@dataclass(frozen=True)
class FabricTime:
    """The time of the workloads of a problem under one plan of each.

    Attributes
    ----------
    plan : the plan in the notation; empty where the file states it.
    loops : the workloads, each under its plan.
    server : NPUs of a server, and `server_rate` B/s of each inside it.
    """

    plan: str
    loops: tuple[WeightedLoop, ...]
    server: int
    server_rate: float

    @cached_property
    def traffic(self) -> tuple[Traffic, ...]:
        """The traffic between servers."""
        streams = [(loop, stream) for loop in self.loops for stream in loop.time.streams]
        found = (self._traffic(loop, stream) for loop, stream in streams)
        return tuple(dict.fromkeys(one for one in found if one is not None))

    def __call__(self, seconds: FloatArray) -> FloatArray:
        """Return (n,) seconds of an iteration of all workloads, weighted, from the (t, n) s per byte of the traffic."""
        per_byte = dict(zip(self.traffic, np.minimum(seconds, SLOWEST), strict=True))
        total = np.zeros(seconds.shape[1])
        for loop in self.loops:
            time = cast("IterationTime", loop.time)  # that of one plan
            units = [self._seconds(loop, stream, per_byte, total) for stream in time.streams]
            total = total + loop.weight * time(units)
        return total

    def _seconds(
        self, loop: WeightedLoop, stream: Stream, per_byte: Mapping[Traffic, FloatArray], like: FloatArray
    ) -> FloatArray:
        group, load = stream
        _, members = _place(loop, group)
        unit = float(unit_traffic(_pattern(load), np.array([[members]])).sum())
        traffic = self._traffic(loop, stream)
        if traffic is not None:
            return unit * per_byte[traffic]
        outside = group.endswith(BEYOND) or members == 1
        return np.zeros_like(like) if outside else np.full_like(like, unit / self.server_rate)

    def _traffic(self, loop: WeightedLoop, stream: Stream) -> Traffic | None:
        """Return the traffic of a stream; None where it stays inside servers."""
        group, load = stream
        place, members = _place(loop, group)
        if members == 1 or place * members <= self.server:
            return None
        kind = "pipeline" if isinstance(load, NextStage) else "data"
        kind = "experts" if isinstance(load, Dispatch) or load is Pattern.ALL_TO_ALL else kind
        return Traffic(kind, place, members)


def _pattern(load: Load) -> Pattern | NextStage | Dispatch:
    if not isinstance(load, Pattern | NextStage | Dispatch):
        raise InputError(f"traffic of {type(load).__name__} has no time on fabrics yet; allowed: training steps")
    return load


def _place(loop: WeightedLoop, group: str) -> tuple[int, int]:
    """Return how far apart the members of a group are, and their number."""
    name = group.removesuffix(BEYOND)
    layout: Sequence[tuple[str, int]] = loop.layouts[name]
    if not layout:
        return 1, loop.degrees[name]
    names, parts = [one for one, _ in layout], parts_of(name)
    places = [index for index, one in enumerate(names) if one in parts]
    degrees = [degree for _, degree in layout]
    first, last = places[0], places[-1]
    between = [degrees[index] for index in range(first, last) if index not in places]
    if prod(between) > 1:
        raise InputError(f"the group {name} lies around others; allowed: groups whose parts are next to each other")
    return prod(degrees[:first]), prod(degrees[index] for index in places)
