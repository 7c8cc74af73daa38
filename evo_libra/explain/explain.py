"""The breakdown of a design: time by collective and dimension, cost by part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evo_libra.arrays import GIGA, FloatArray, Population
from evo_libra.collective import Collective, traffic, unit_traffic
from evo_libra.explain.as_json import as_json
from evo_libra.explain.record import Breakdown, NetworkDimension, PartRow
from evo_libra.explain.time_record import (
    Alternatives,
    Communication,
    DimensionTraffic,
    Serving,
    Size,
    Training,
    WorkloadTime,
)
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
    """Return the breakdown of the first design of a population as plain data, with units in its keys."""
    found: dict[str, Any] = as_json(breakdown_of(problem, population))
    return found


def breakdown_of(problem: Problem, population: Population, *, alternatives: bool = True) -> Breakdown:
    """Return where time and money of the first design of a population go.

    Messages of traces that are alike (bytes, dimension and time) are one entry, too; a message uses one dimension.
    Collectives that are alike (workload, phase, kind, group and bytes) are one entry with a count; their times are
    those without overlap, which the total takes into account. The times of their dimensions are bytes over the part of
    the bandwidth that the group gets, of chunks that take the dimensions in order; under LIBRA's time the longest of
    them is the collective's time, otherwise ``beyond_bandwidth_ms`` is what latency, endpoints and the pipeline add, or
    what a scheduler saves. Parts come in any fraction where bandwidths are solved for, and then there is no bill.
    Dimensions and bill are without spares, whose part of the network is among the ``faults``. The ``system`` is the
    bill of `evo_libra.explain.system_bill`, with spares.

    Parameters
    ----------
    alternatives : whether other plans are of interest, which take most of the time.
    """
    from evo_libra.explain.fault_report import fault_report  # noqa: PLC0415 - a search names workloads alone
    from evo_libra.explain.order_bill import order_lines  # noqa: PLC0415 - the same
    from evo_libra.explain.system_bill import system_bill  # noqa: PLC0415 - the same

    pinned = problem.pinned(population)
    times = pinned.time.workload_times(population)
    places = [loop.open_place if alternatives else None for loop in problem.time.loops]
    return Breakdown(
        workloads=tuple(
            _workload(pinned, loop, float(time[0]), population, _alternatives(problem, population, place))
            for loop, time, place in zip(pinned.time.loops, times, places, strict=True)
        ),
        dimensions=_dimensions(pinned, population),
        bill=() if pinned.book is not None else tuple(PartRow(**row) for row in pinned.pricing.bill(population)),
        system=system_bill(pinned, population),
        faults=fault_report(pinned, population),
        order=order_lines(pinned, population),
    )


def _workload(
    problem: Problem, loop: WeightedLoop, seconds: float, population: Population, others: Alternatives | None
) -> WorkloadTime:
    report = _REPORTS.get(loop.workload.reported)
    reports = {} if report is None else {loop.workload.reported: report(problem, loop, population)}
    return WorkloadTime(
        name=loop.workload.name,
        weight=loop.weight,
        size=Size(**loop.workload.figures(loop.degrees)),
        time_ms=seconds * 1e3,
        compute_ms=loop.workload.compute * 1e3,
        **reports,
        alternatives=others,
        collectives=_collectives(problem, loop, population),
        messages=_messages(problem, loop, population),
    )


def _alternatives(problem: Problem, population: Population, place: int | None) -> Alternatives | None:
    """Return what other plans would take of a workload that leaves some open."""
    from evo_libra.explain.plan_alternatives import plan_alternatives  # noqa: PLC0415 - few ask for it

    return None if place is None else plan_alternatives(problem, population, place)


def _training(problem: Problem, loop: WeightedLoop, population: Population) -> Training:
    from evo_libra.explain.figure_bands import banded_training  # noqa: PLC0415 - tables of layers do not need it
    from evo_libra.explain.step_report import training_report  # noqa: PLC0415 - the same

    report = training_report(problem, loop, cast("TrainingStep", loop.workload), population)
    return banded_training(report, problem, loop, population)


def _serving(problem: Problem, loop: WeightedLoop, population: Population) -> Serving:
    from evo_libra.explain.figure_bands import banded_serving  # noqa: PLC0415 - few problems serve
    from evo_libra.explain.step_report import serving_report  # noqa: PLC0415 - it simulates requests, few do

    report = serving_report(problem, loop, cast("ServingStep", loop.workload), population)
    return banded_serving(report, problem, loop, population)


_REPORTS: Mapping[str, Callable[[Problem, WeightedLoop, Population], Any]] = {
    "training": _training, "serving": _serving,
}  # fmt: skip
"""The reports of models as a whole."""


def _used(population: Population) -> list[int]:
    """Return the dimensions that the first design uses."""
    used: list[int] = np.flatnonzero(population.npus[:, 0] > 1).tolist()
    return used


def _collectives(problem: Problem, loop: WeightedLoop, population: Population) -> tuple[Communication, ...]:
    placed, used = problem.time.placed(population.npus), _used(population)
    entries = []
    for sent, count in loop.workload.sent().items():
        where = placed[loop.layouts[sent.group], sent.group]
        bytes_ = _bytes(sent, where)
        relative = problem.time.relative_bytes(sent.what, where, population.npus, population.technology)
        seconds = (bytes_ * relative)[used, 0] / population.bandwidth[used, 0]
        over_bandwidth = float(seconds.max())
        time = float(problem.time.seconds(sent.what, sent.size, where, population)[0])
        dimensions = tuple(
            DimensionTraffic(
                dimension=d,
                npus_of_group=int(where.extent[d, 0]),
                traffic_MB=float(each) / 1e6 * count,
                time_ms=float(each_seconds) * 1e3 * count,
            )
            for d, each, each_seconds in zip(used, bytes_[used, 0], seconds, strict=True)
        )
        bottleneck = used[int(np.argmax(seconds))] if over_bandwidth > 0 else None
        figures = _figures(problem, count, sent.size, time, over_bandwidth)
        entries.append(
            Communication(
                phase=sent.phase, collective=sent.name, group=sent.group, **figures,
                bottleneck_dimension=bottleneck, dimensions=dimensions,
            )
        )  # fmt: skip
    return tuple(entries)


def _bytes(sent: Sent, where: Placement) -> FloatArray:
    """Return the (d, n) bytes that an NPU sends in each dimension."""
    if isinstance(sent.what, Collective):
        return traffic(sent.what, sent.size, where.extent)
    return np.asarray(unit_traffic(sent.what, where.extent) * sent.size)


def _figures(problem: Problem, count: float, size: float, seconds: float, over_bandwidth: float) -> dict[str, Any]:
    """Return the figures of some messages or collectives that are alike."""
    beyond = (seconds - over_bandwidth) * 1e3 * count
    return {
        "count": count,
        "size_MB": size / 1e6,
        "time_ms": seconds * 1e3 * count,
        "beyond_bandwidth_ms": None if problem.time.exact else beyond,
    }


def _messages(problem: Problem, loop: WeightedLoop, population: Population) -> tuple[Communication, ...]:
    sends = list(loop.workload.messages())
    if not sends:
        return ()
    channels = problem.time.channel_times(population)
    seconds = {load: float(time[0]) for (_, _, load), time in channels.items() if isinstance(load, Message)}
    counted = most_of_one(
        (npu, (_dimension(message, population), message.size, seconds[message])) for npu, message in sends
    )
    entries = []
    for (dimension, size, time), count in counted.items():
        over_bandwidth = size / float(population.bandwidth[dimension, 0])
        dimensions = tuple(
            DimensionTraffic(
                dimension=d,
                traffic_MB=size / 1e6 * count * (d == dimension),
                time_ms=over_bandwidth * 1e3 * count * (d == dimension),
            )
            for d in _used(population)
        )
        figures = _figures(problem, count, size, time, over_bandwidth)
        entries.append(Communication(phase="trace", **figures, bottleneck_dimension=dimension, dimensions=dimensions))
    return tuple(entries)


def _dimension(message: Message, population: Population) -> int:
    """Return the dimension that a message takes in the first design."""
    return int(np.argmax(offsets(message.source, message.target, population.npus)[:, 0] > 0))


def _transport(technology: Technology) -> dict[str, Any]:
    """Return the transport of a technology with what it leaves of the bandwidth; nothing where it has none."""
    if technology.transport is None:
        return {}
    scheme = TRANSPORTS[technology.transport]
    return {"transport": scheme.name, "transport_factor": scheme.factor, "transport_note": APPROXIMATION}


def _dimensions(problem: Problem, population: Population) -> tuple[NetworkDimension, ...]:
    return tuple(
        NetworkDimension(
            dimension=d,
            block=BLOCK_NAMES[int(population.block[d, 0])],
            npus=int(population.npus[d, 0]),
            technology=problem.catalog.names[int(population.technology[d, 0])],
            bandwidth_GBps=float(population.bandwidth[d, 0]) / GIGA,
            **_transport(problem.catalog.technologies[int(population.technology[d, 0])]),
            figures=figures,
        )
        for d, figures in zip(_used(population), problem.pricing.breakdown(population), strict=True)
    )
