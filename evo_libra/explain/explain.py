"""The breakdown of a design: time by collective and dimension, cost by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evo_libra.arrays import GIGA, FloatArray, Population
from evo_libra.collective import Collective, traffic, unit_traffic
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.catalog.technologies import Technology
from evo_libra.network.transport import APPROXIMATION, TRANSPORTS
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.problem.time_models.placement import Placement
from evo_libra.workload.layers.iteration_time import Message
from evo_libra.workload.layers.workload import Sent, most_of_one
from evo_libra.workload.parallelism import offsets

if TYPE_CHECKING:
    from evo_libra.workload.serving.serving_step import ServingStep
    from evo_libra.workload.training.training_step import TrainingStep


def explain(problem: Problem, population: Population) -> dict[str, Any]:
    """Return the breakdown of the first design of a population, with units in its keys.

    Messages of traces that are alike (bytes, dimension and time) are one entry, too; a message uses one dimension.
    Collectives that are alike (workload, phase, kind, group and bytes) are one entry with a count; their times are
    those without overlap, which the total takes into account. The times of their dimensions are bytes over the part of
    the bandwidth that the group gets, of chunks that take the dimensions in order; under LIBRA's time the longest of
    them is the collective's time, otherwise ``beyond_bandwidth_ms`` is what latency, endpoints and the pipeline add, or
    what a scheduler saves. Parts come in any fraction where bandwidths are solved for, and then there is no bill.
    Dimensions and bill are without spares, whose part of the network is among the ``faults``. The ``system`` is the
    bill of `evo_libra.explain.system_bill`, with spares.
    """
    from evo_libra.explain.fault_report import fault_report  # noqa: PLC0415 - only `explain` reports it
    from evo_libra.explain.system_bill import system_bill  # noqa: PLC0415 - the same

    plans = _alternatives(problem, population)
    problem = problem.pinned(population)
    times = problem.time.workload_times(population)
    bill, faults = problem.pricing.bill(population), fault_report(problem, population)
    system = system_bill(problem, population)
    return {
        "workloads": [
            {
                "name": loop.workload.name,
                "weight": loop.weight,
                **loop.workload.figures(loop.degrees),
                "time_ms": float(time[0]) * 1e3,
                "compute_ms": loop.workload.compute * 1e3,
                **_reported(problem, loop, population),
                **found,
                "collectives": _collectives(problem, loop, population),
                "messages": _messages(problem, loop, population),
            }
            for loop, time, found in zip(problem.time.loops, times, plans, strict=True)
        ],
        "dimensions": _dimensions(problem, population),
        **({"bill": bill} if bill else {}),
        **({"system": system} if system else {}),
        **({"faults": faults} if faults else {}),
    }


def _alternatives(problem: Problem, population: Population) -> list[dict[str, Any]]:
    """Return what other plans would take, for each workload that leaves some open."""
    from evo_libra.explain.plan_alternatives import plan_alternatives  # noqa: PLC0415 - only `explain` reports it

    places = [loop.open_place for loop in problem.time.loops]
    return [
        {} if place is None else {"alternatives": plan_alternatives(problem, population, place)} for place in places
    ]


def _reported(problem: Problem, loop: WeightedLoop, population: Population) -> dict[str, Any]:
    """Return the report of a model as a whole, under its kind; nothing of another workload."""
    report = _REPORTS.get(loop.workload.reported)
    return {} if report is None else {loop.workload.reported: report(problem, loop, population)}


def _training(problem: Problem, loop: WeightedLoop, population: Population) -> dict[str, Any]:
    from evo_libra.explain.training_report import training_report  # noqa: PLC0415 - tables of layers do not need it

    return training_report(problem, loop, cast("TrainingStep", loop.workload), population)


def _serving(problem: Problem, loop: WeightedLoop, population: Population) -> dict[str, Any]:
    from evo_libra.explain.serving_report import serving_report  # noqa: PLC0415 - it simulates requests, few do

    return serving_report(problem, loop, cast("ServingStep", loop.workload), population)


_REPORTS = {"training": _training, "serving": _serving}
"""The reports of models as a whole."""


def _used(population: Population) -> list[int]:
    """Return the dimensions that the first design uses."""
    used: list[int] = np.flatnonzero(population.npus[:, 0] > 1).tolist()
    return used


def _collectives(problem: Problem, loop: WeightedLoop, population: Population) -> list[dict[str, Any]]:
    placed, used = problem.time.placed(population.npus), _used(population)
    entries = []
    for sent, count in loop.workload.sent().items():
        where = placed[loop.layouts[sent.group], sent.group]
        bytes_ = _bytes(sent, where)
        relative = problem.time.relative_bytes(sent.what, where, population.npus, population.technology)
        seconds = (bytes_ * relative)[used, 0] / population.bandwidth[used, 0]
        over_bandwidth = float(seconds.max())
        time = float(problem.time.seconds(sent.what, sent.size, where, population)[0])
        dimensions = [
            {
                "dimension": d,
                "npus_of_group": int(where.extent[d, 0]),
                "traffic_MB": float(each) / 1e6 * count,
                "time_ms": float(each_seconds) * 1e3 * count,
            }
            for d, each, each_seconds in zip(used, bytes_[used, 0], seconds, strict=True)
        ]
        bottleneck = used[int(np.argmax(seconds))] if over_bandwidth > 0 else None
        figures = _figures(problem, count, sent.size, time, over_bandwidth)
        entries.append({
            "phase": sent.phase, "collective": sent.name, "group": sent.group, **figures,
            "bottleneck_dimension": bottleneck, "dimensions": dimensions,
        })  # fmt: skip
    return entries


def _bytes(sent: Sent, where: Placement) -> FloatArray:
    """Return the (d, n) bytes that an NPU sends in each dimension."""
    if isinstance(sent.what, Collective):
        return traffic(sent.what, sent.size, where.extent)
    return np.asarray(unit_traffic(sent.what, where.extent) * sent.size)


def _figures(problem: Problem, count: float, size: float, seconds: float, over_bandwidth: float) -> dict[str, Any]:
    """Return the figures of so many messages or collectives that are alike."""
    beyond = (seconds - over_bandwidth) * 1e3 * count
    return {
        "count": count,
        "size_MB": size / 1e6,
        "time_ms": seconds * 1e3 * count,
        **({} if problem.time.exact else {"beyond_bandwidth_ms": beyond}),
    }


def _messages(problem: Problem, loop: WeightedLoop, population: Population) -> list[dict[str, Any]]:
    sends = list(loop.workload.messages())
    if not sends:
        return []
    channels = problem.time.channel_times(population)
    seconds = {load: float(time[0]) for (_, _, load), time in channels.items() if isinstance(load, Message)}
    counted = most_of_one(
        (npu, (_dimension(message, population), message.size, seconds[message])) for npu, message in sends
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


def _transport(technology: Technology) -> dict[str, Any]:
    """Return the transport of a technology with what it leaves of the bandwidth; nothing where it has none."""
    if technology.transport is None:
        return {}
    scheme = TRANSPORTS[technology.transport]
    return {"transport": scheme.name, "transport_factor": scheme.factor, "transport_note": APPROXIMATION}


def _dimensions(problem: Problem, population: Population) -> list[dict[str, Any]]:
    return [
        {
            "dimension": d,
            "block": BLOCK_NAMES[int(population.block[d, 0])],
            "npus": int(population.npus[d, 0]),
            "technology": problem.catalog.names[int(population.technology[d, 0])],
            "bandwidth_GBps": float(population.bandwidth[d, 0]) / GIGA,
            **_transport(problem.catalog.technologies[int(population.technology[d, 0])]),
            **figures,
        }
        for d, figures in zip(_used(population), problem.pricing.breakdown(population), strict=True)
    ]
