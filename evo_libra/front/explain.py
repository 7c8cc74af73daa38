"""The breakdown of a design: time by collective and dimension, cost by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any, TypeVar

import numpy as np

from evo_libra.arrays import GIGA, Population
from evo_libra.collective import Collective, traffic
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.time_model import WeightedLoop
from evo_libra.timing.trace_time import TracedWorkload
from evo_libra.workload.parallelism import ALL, offsets
from evo_libra.workload.training import Message
from evo_libra.workload.workload import PHASES

Key = TypeVar("Key")


def explain(problem: Problem, population: Population) -> dict[str, Any]:
    """Return the breakdown of the first design of a population, with units in its keys.

    Messages of traces that are alike (bytes, dimension and time) are one entry, too; a message uses one dimension.
    Collectives that are alike (workload, phase, kind, group and bytes) are one entry with a count; their times are
    those without overlap, which the total takes into account. The times of their dimensions are bytes over the part of
    the bandwidth that the group gets, of chunks that take the dimensions in order; under LIBRA's time the longest of
    them is the collective's time, otherwise ``beyond_bandwidth_ms`` is what latency, endpoints and the pipeline add, or
    what a scheduler saves. Parts come in any fraction where bandwidths are solved for, and then there is no bill.
    """
    times = problem.time.workload_times(population)
    bill = problem.pricing.bill(population)
    return {
        "workloads": [
            {
                "name": loop.workload.name,
                "weight": loop.weight,
                **sizes_of(loop),
                "time_ms": float(time[0]) * 1e3,
                "compute_ms": loop.workload.compute * 1e3,
                "collectives": _collectives(problem, loop, population),
                "messages": _messages(problem, loop, population),
            }
            for loop, time in zip(problem.time.loops, times, strict=True)
        ],
        "dimensions": _dimensions(problem, population),
        **({"bill": bill} if bill else {}),
    }


def sizes_of(loop: WeightedLoop) -> dict[str, Any]:
    """Return the process groups of a workload, and how much one iteration of it is."""
    return {
        "parallelism": {name: degree for name, degree in loop.degrees.items() if name != ALL},
        **loop.size.figures,
    }


def _used(population: Population) -> list[int]:
    """Return the dimensions that the first design uses."""
    used: list[int] = np.flatnonzero(population.npus[:, 0] > 1).tolist()
    return used


def _collectives(problem: Problem, loop: WeightedLoop, population: Population) -> list[dict[str, Any]]:
    placed, used = problem.time.placed(population.npus), _used(population)
    entries = []
    for (phase, collective, group, size), count in _counted(loop).items():
        where = placed[loop.layouts[group], group]
        sent = traffic(collective, size, where.extent)[used, 0]
        relative = problem.time.relative_bytes(collective, where, population.npus, population.technology)
        seconds = sent * relative[used, 0] / population.bandwidth[used, 0]
        time = over_bandwidth = float(seconds.max())
        if problem.time.fidelity is not None:
            time = float(problem.time.seconds(collective, round(size), where, population)[0])
        dimensions = [
            {
                "dimension": d,
                "npus_of_group": int(where.extent[d, 0]),
                "traffic_MB": float(bytes_) / 1e6 * count,
                "time_ms": float(each) * 1e3 * count,
            }
            for d, bytes_, each in zip(used, sent, seconds, strict=True)
        ]
        bottleneck = used[int(np.argmax(seconds))] if over_bandwidth > 0 else None
        figures = _figures(problem, count, size, time, over_bandwidth)
        entries.append({
            "phase": phase, "collective": collective.value, "group": group, **figures,
            "bottleneck_dimension": bottleneck, "dimensions": dimensions,
        })  # fmt: skip
    return entries


def _figures(problem: Problem, count: int, size: float, seconds: float, over_bandwidth: float) -> dict[str, Any]:
    """Return the figures of so many messages or collectives that are alike."""
    beyond = (seconds - over_bandwidth) * 1e3 * count
    return {
        "count": count,
        "size_MB": size / 1e6,
        "time_ms": seconds * 1e3 * count,
        **({} if problem.time.fidelity is None else {"beyond_bandwidth_ms": beyond}),
    }


def _alike(owned: Iterable[tuple[int, Key]]) -> Counter[Key]:
    """Count what is alike, of the NPU that has the most of it; each item comes with its NPU."""
    each: dict[int, Counter[Key]] = {}
    for npu, key in owned:
        each.setdefault(npu, Counter())[key] += 1
    return reduce(or_, each.values(), Counter())


def _counted(loop: WeightedLoop) -> Counter[tuple[str, Collective, str, float]]:
    """Count the collectives that are alike in phase, kind, group and bytes."""
    if isinstance(loop.workload, TracedWorkload):
        return _alike((npu, ("trace", kind, group, size)) for npu, kind, group, size in loop.workload.collectives())
    return Counter(
        (name, phase.collective, phase.group, phase.size)
        for layer in loop.workload.layers
        for name, phase in zip(PHASES, layer.phases, strict=True)
        if phase.collective
    )


def _messages(problem: Problem, loop: WeightedLoop, population: Population) -> list[dict[str, Any]]:
    if not isinstance(loop.workload, TracedWorkload):
        return []
    channels = problem.time.channel_times(population)
    seconds = {load: float(time[0]) for (_, _, load), time in channels.items() if isinstance(load, Message)}
    counted = _alike(
        (npu, (_dimension(message, population), message.size, seconds[message]))
        for npu, message in loop.workload.messages()
    )
    entries = []
    for (dimension, size, time), count in counted.items():
        over_bandwidth = size / float(population.bandwidth[dimension, 0])
        dimensions = [
            {
                "dimension": d,
                "traffic_MB": size / 1e6 * count * (d == dimension),
                "time_ms": over_bandwidth * 1e3 * count * (d == dimension),
            }
            for d in _used(population)
        ]
        figures = _figures(problem, count, size, time, over_bandwidth)
        entries.append({"phase": "trace", **figures, "bottleneck_dimension": dimension, "dimensions": dimensions})
    return entries


def _dimension(message: Message, population: Population) -> int:
    """Return the dimension that a message takes in the first design."""
    return int(np.argmax(offsets(message.source, message.target, population.npus)[:, 0] > 0))


def _dimensions(problem: Problem, population: Population) -> list[dict[str, Any]]:
    return [
        {
            "dimension": d,
            "block": BLOCK_NAMES[int(population.block[d, 0])],
            "npus": int(population.npus[d, 0]),
            "technology": problem.catalog.names[int(population.technology[d, 0])],
            "bandwidth_GBps": float(population.bandwidth[d, 0]) / GIGA,
            **figures,
        }
        for d, figures in zip(_used(population), problem.pricing.breakdown(population), strict=True)
    ]
