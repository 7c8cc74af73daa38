"""Why a design is worth what it is: time by collective and dimension, cost by part."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from evo_libra.model.arrays import GIGA, Population
from evo_libra.model.collective import Collective, traffic
from evo_libra.model.cost import cost_by_part, part_prices
from evo_libra.model.fabric import BLOCK_NAMES, PARTS
from evo_libra.model.parallelism import ALL, offsets
from evo_libra.model.trace_time import TracedWorkload
from evo_libra.model.training import Message
from evo_libra.model.workload import PHASES
from evo_libra.problem.evaluator import WeightedLoop
from evo_libra.problem.problem import Problem


def explain(problem: Problem, population: Population) -> dict[str, Any]:
    """Return the breakdown of the first design of a population, with units in its keys.

    Messages of traces that are alike (bytes, dimension and time) are one entry, too; a message uses one dimension.
    Collectives that are alike (workload, phase, kind, group and bytes) are one entry with a count; their times are
    those without overlap, which the total takes into account. The times of their dimensions are bytes over bandwidth,
    of chunks that take the dimensions in order; under LIBRA's time the longest of them is the collective's time,
    otherwise ``beyond_bandwidth_ms`` is what latency, endpoints and the pipeline add, or what a scheduler saves.
    """
    used = np.flatnonzero(population.npus[:, 0] > 1)
    times = problem.time.workload_times(population)
    return {
        "workloads": [
            {
                "name": loop.workload.name,
                "weight": loop.weight,
                "parallelism": {name: degree for name, degree in loop.degrees.items() if name != ALL},
                "time_ms": float(time[0]) * 1e3,
                "compute_ms": loop.workload.compute * 1e3,
                "collectives": _collectives(problem, loop, population, used),
                "messages": _messages(problem, loop, population, used),
            }
            for loop, time in zip(problem.time.loops, times, strict=True)
        ],
        "dimensions": _dimensions(problem, population, used),
    }


def _collectives(problem: Problem, loop: WeightedLoop, population: Population, used: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - indices
    extents = problem.time.extents(population.npus)
    entries = []
    for (name, collective, group, size), count in _counted(loop).items():
        extent = extents[loop.layouts[group], group]
        sent = traffic(collective, size, extent)[used, 0]
        seconds = sent / population.bandwidth[used, 0]
        slowest = int(np.argmax(seconds)) if len(seconds) else 0
        time = float(seconds.max())
        beyond = {}
        if problem.time.fidelity is not None:
            bytes_over_bandwidth = time
            time = float(problem.time.fidelity.seconds(collective, round(size), extent, population)[0])
            beyond = {"beyond_bandwidth_ms": (time - bytes_over_bandwidth) * 1e3 * count}
        entries.append(
            {
                "phase": name,
                "collective": collective.value,
                "group": group,
                "count": count,
                "size_MB": size / 1e6,
                "time_ms": time * 1e3 * count,
                **beyond,
                "bottleneck_dimension": int(used[slowest]) if seconds.max() > 0 else None,
                "dimensions": [
                    {
                        "dimension": int(d),
                        "npus_of_group": int(extent[d, 0]),
                        "traffic_MB": float(bytes_) / 1e6 * count,
                        "time_ms": float(each) * 1e3 * count,
                    }
                    for d, bytes_, each in zip(used, sent, seconds, strict=True)
                ],
            }
        )
    return entries


_Key = tuple[str, Collective, str, float]
"""Phase, kind, group and bytes of a collective."""


def _counted(loop: WeightedLoop) -> Counter[_Key]:
    """Count the collectives that are alike; of traces, those of the NPU that has the most of them."""
    if isinstance(loop.workload, TracedWorkload):
        each: dict[int, Counter[_Key]] = {}
        for owner, collective, group, size in loop.workload.collectives():
            each.setdefault(owner, Counter())["trace", collective, group, size] += 1
        return reduce(or_, each.values(), Counter())
    return Counter(
        (name, phase.collective, phase.group, phase.size)
        for layer in loop.workload.layers
        for name, phase in zip(PHASES, layer.phases, strict=True)
        if phase.collective
    )


def _messages(problem: Problem, loop: WeightedLoop, population: Population, used: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - indices
    if not isinstance(loop.workload, TracedWorkload):
        return []
    channels = problem.time.channel_times(population)
    seconds = {load: float(time[0]) for (_, _, load), time in channels.items() if isinstance(load, Message)}
    each: dict[int, Counter[tuple[int, int, float]]] = {}
    for owner, message in loop.workload.messages():
        dimension = int(np.argmax(offsets(message.source, message.target, population.npus)[:, 0] > 0))
        each.setdefault(owner, Counter())[dimension, message.size, seconds[message]] += 1
    # Of the NPU that has the most of them, as with collectives.
    counted = reduce(or_, each.values(), Counter[tuple[int, int, float]]())
    return [_message(problem, population, used, *key, count) for key, count in counted.items()]


def _message(
    problem: Problem,
    population: Population,
    used: Any,  # noqa: ANN401 - indices
    dimension: int,
    size: int,
    seconds: float,
    count: int,
) -> dict[str, Any]:
    over_bandwidth = size / float(population.bandwidth[dimension, 0])
    timed = problem.time.fidelity is not None
    return {
        "phase": "trace",
        "count": count,
        "size_MB": size / 1e6,
        "time_ms": seconds * 1e3 * count,
        **({"beyond_bandwidth_ms": (seconds - over_bandwidth) * 1e3 * count} if timed else {}),
        "bottleneck_dimension": dimension,
        "dimensions": [
            {
                "dimension": int(d),
                "traffic_MB": size / 1e6 * count * bool(d == dimension),
                "time_ms": over_bandwidth * 1e3 * count * bool(d == dimension),
            }
            for d in used
        ],
    }


def _dimensions(problem: Problem, population: Population, used: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - indices
    cost = cost_by_part(population, part_prices(problem.catalog))
    return [
        {
            "dimension": int(d),
            "block": BLOCK_NAMES[int(population.block[d, 0])],
            "npus": int(population.npus[d, 0]),
            "technology": problem.catalog.names[int(population.technology[d, 0])],
            "bandwidth_GBps": float(population.bandwidth[d, 0]) / GIGA,
            **{f"{part}_usd": float(cost[p, d, 0]) for p, part in enumerate(PARTS)},
            "cost_usd": float(cost[:, d, 0].sum()),
        }
        for d in used
    ]
