"""The breakdown of a design: time by collective and dimension, cost by part."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from evo_libra.arrays import GIGA, FloatArray, Population
from evo_libra.collective import Collective, pattern_of, traffic
from evo_libra.network.bill import bill, cost_by_item, power_by_item
from evo_libra.network.blocks import ITEMS
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.catalog.technologies import PARTS, cost_by_part, part_prices
from evo_libra.problem.pricing.parts import hardware_of_designs
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.process_groups import Placement, relative_bytes
from evo_libra.problem.time_models.time_model import WeightedLoop
from evo_libra.timing.trace_time import TracedWorkload
from evo_libra.workload.parallelism import ALL, offsets
from evo_libra.workload.training import Message
from evo_libra.workload.workload import PHASES


def explain(problem: Problem, population: Population) -> dict[str, Any]:
    """Return the breakdown of the first design of a population, with units in its keys.

    Messages of traces that are alike (bytes, dimension and time) are one entry, too; a message uses one dimension.
    Collectives that are alike (workload, phase, kind, group and bytes) are one entry with a count; their times are
    those without overlap, which the total takes into account. The times of their dimensions are bytes over the part of
    the bandwidth that the group gets, of chunks that take the dimensions in order; under LIBRA's time the longest of
    them is the collective's time, otherwise ``beyond_bandwidth_ms`` is what latency, endpoints and the pipeline add, or
    what a scheduler saves. Parts come in any fraction where bandwidths are solved for, and then there is no bill.
    """
    used = np.flatnonzero(population.npus[:, 0] > 1)
    times = problem.time.workload_times(population)
    return {
        "workloads": [
            {
                "name": loop.workload.name,
                "weight": loop.weight,
                **sizes_of(loop),
                "time_ms": float(time[0]) * 1e3,
                "compute_ms": loop.workload.compute * 1e3,
                "collectives": _collectives(problem, loop, population, used),
                "messages": _messages(problem, loop, population, used),
            }
            for loop, time in zip(problem.time.loops, times, strict=True)
        ],
        "dimensions": _dimensions(problem, population, used),
        **({"bill": bill_of(problem, population)} if problem.pricing.kits and not problem.optimal else {}),
    }


def sizes_of(loop: WeightedLoop) -> dict[str, Any]:
    """Return the process groups of a workload, and how much one iteration of it is."""
    return {
        "parallelism": {name: degree for name, degree in loop.degrees.items() if name != ALL},
        **loop.size.figures,
    }


def _collectives(problem: Problem, loop: WeightedLoop, population: Population, used: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - indices
    placed = problem.time.placed(population.npus)
    entries = []
    for (name, collective, group, size), count in _counted(loop).items():
        where = placed[loop.layouts[group], group]
        extent = where.extent
        sent = traffic(collective, size, extent)[used, 0]
        seconds = sent * _per_byte(problem, collective, where, population)[used, 0] / population.bandwidth[used, 0]
        slowest = int(np.argmax(seconds)) if len(seconds) else 0
        time = float(seconds.max())
        beyond = {}
        if problem.time.fidelity is not None:
            bytes_over_bandwidth = time
            time = float(problem.time.seconds(collective, round(size), where, population)[0])
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


def _per_byte(problem: Problem, collective: Collective, where: Placement, population: Population) -> FloatArray:
    """Return (d, n) the time of a group's bytes, over that with all the bandwidth of its NPUs; 1 but for parts."""
    kits = problem.pricing.kits
    if not kits:
        return np.ones(population.npus.shape)
    return relative_bytes(kits, pattern_of(collective), collective, where, population.npus, population.technology)


def _built(problem: Problem, population: Population, d: int) -> dict[str, Any]:
    kit = problem.pricing.kits[int(population.technology[d, 0])]
    bandwidth = float(population.bandwidth[d, 0])
    return {
        "dimension": d,
        "block": BLOCK_NAMES[int(population.block[d, 0])],
        "npus": int(population.npus[d, 0]),
        "technology": kit.technology,
        "bandwidth_GBps": bandwidth / GIGA,
        **(_fractions if problem.optimal else _pieces)(problem, population, d, bandwidth / kit.port_rate),
    }


def _pieces(problem: Problem, population: Population, d: int, ports: float) -> dict[str, float]:
    """Return ports, cost and power of a dimension of whole parts."""
    rows = [row for row in bill_of(problem, population) if row["dimension"] == d]
    cost, power = (sum(row[key] for row in rows) for key in ("cost_usd", "power_W"))
    return {"ports": round(ports), "cost_usd": cost, "power_W": power}


def _fractions(problem: Problem, population: Population, d: int, ports: float) -> dict[str, float]:
    """Return ports, cost and power of a dimension of parts in any fraction."""
    hardware = hardware_of_designs(problem.pricing, population)
    each = (hardware.relaxed_price[d, 0], hardware.relaxed_watts[d, 0])
    cost, power = (float(one * population.bandwidth[d, 0]) for one in each)
    return {"ports": ports, "cost_usd": cost, "power_W": power}


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


def bill_of(problem: Problem, population: Population) -> list[dict[str, Any]]:
    """Return the bill of materials of the first design: parts by dimension, with pieces, USD and W.

    The sums over all rows are the design's cost and power. It is empty where prices are per bandwidth.
    """
    kits, one = problem.pricing.kits, population.select([0])
    if not kits:
        return []
    hardware = hardware_of_designs(problem.pricing, one)
    items = bill(kits, one.technology, one.npus, hardware.ports(one.bandwidth).astype(np.int64))
    usd, watts = cost_by_item(items, kits, one.technology), power_by_item(items, kits, one.technology)
    rows = []
    for d, i in [(d, i) for d in range(len(one.npus)) for i in range(len(ITEMS)) if items[i, d, 0] > 0]:
        kit = kits[int(one.technology[d, 0])]
        part = dict(zip(ITEMS, (kit.links, kit.uplink, kit.transceiver, kit.nic, kit.switch), strict=True))[ITEMS[i]]
        rows.append({
            "dimension": d, "item": ITEMS[i], "part": None if part is None else part.name,
            "pieces": round(float(items[i, d, 0])), "unit_usd": None if part is None else part.price.value,
            "cost_usd": float(usd[i, d, 0]), "power_W": float(watts[i, d, 0]),
        })  # fmt: skip
    return rows


def _dimensions(problem: Problem, population: Population, used: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - indices
    if problem.pricing.kits:
        return [_built(problem, population, int(d)) for d in used]
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
