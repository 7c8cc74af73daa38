"""From the time of a problem file to how collectives are timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.collective import Collective, Pattern, SizedByPlan, SizedCollective
from evo_libra.errors import InputError
from evo_libra.files.source import Source
from evo_libra.network.blocks import Kit, PricedBlock
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.technologies import Catalog
from evo_libra.problem.file.spec import ProblemSpec, TimeSpec
from evo_libra.problem.time_models.kinds import PlanTable, ServingStep, TracedWorkload, TrainingStep
from evo_libra.problem.time_models.libra import LibraTime
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.problem.time_models.time_model import TimeModel
from evo_libra.workload.layers.iteration_time import Merging

if TYPE_CHECKING:
    from evo_libra.timing.fidelity import Fidelity

_ALWAYS = ("model", "overlap", "weights", "shares", "efficiency")


def time_spec(spec: ProblemSpec) -> TimeSpec:
    """Return the time of a problem file, written out."""
    return spec.time if isinstance(spec.time, TimeSpec) else TimeSpec(model=spec.time)


def check_keys(spec: TimeSpec, source: Source) -> None:
    """Refuse keys of the other models where the time is LIBRA's."""
    given = [key for key in TimeSpec.model_fields if key not in _ALWAYS and getattr(spec, key) is not None]
    if given and spec.model == "libra":
        message = "LIBRA's time has bandwidth only; this key belongs to astra and themis"
        raise InputError([source.mistake(("time", key), message) for key in given])


def has_whole_bandwidth(spec: ProblemSpec) -> bool:
    """Return whether process groups get the whole bandwidth of what has a price per bandwidth, as in LIBRA's study."""
    return time_spec(spec).shares == "libra"


def check_shares(spec: ProblemSpec, source: Source) -> None:
    """Refuse the key `shares` with a trace: LIBRA has none that could be reproduced."""
    shares = time_spec(spec).shares
    traces = [index for index, workload in enumerate(spec.workloads) if workload.trace is not None]
    if shares is not None and traces:
        why = f"workloads[{traces[0]}] is a trace, whose groups always get what their links carry; leave the key out"
        raise InputError(source.mistake(("time", "shares"), f"found {shares}; {why}"))


def identity_of_time(spec: ProblemSpec) -> Any:  # noqa: ANN401 - a name or a mapping
    """Return the time of a problem file without its shares, as files had it that could not name them."""
    if isinstance(spec.time, str):
        return spec.time
    data, plain = (
        one.model_dump(mode="json", exclude={"shares"}) for one in (spec.time, TimeSpec(model=spec.time.model))
    )
    return spec.time.model if spec.time.shares is not None and data == plain else data


def fidelity_of(spec: TimeSpec, catalog: Catalog, source: Source) -> Fidelity | None:
    """Return how collectives are timed; None is LIBRA's time.

    Raises
    ------
    InputError : a key does not belong to the model, a latency is missing, a technology is unknown, an algorithm cannot
        run in a block, or a scheduler, be it one of several, lacks the policy.
    """
    check_keys(spec, source)
    if spec.model == "libra":
        return None
    from evo_libra.problem.file.fidelity import astra_fidelity  # noqa: PLC0415 - LIBRA's time does not need it

    return astra_fidelity(spec, catalog, source)


def time_model(
    loops: Callable[[Fidelity | None, Merging], Sequence[WeightedLoop]],
    fidelity: Fidelity | None,
    built: tuple[Kit | PricedBlock, ...],
    efficiency: FloatArray | None,
    owner: IntArray | None,
) -> TimeModel:
    """Return the time model of workloads, which `loops` compiles; a fidelity of None is LIBRA's time.

    `built` is what each technology is built of; empty where every group gets the whole bandwidth of its NPUs.
    """
    timed = None if fidelity is None else tuple(loops(fidelity, Merging.NONE))
    libra = LibraTime(tuple(loops(None, _merging(built))), built, efficiency, owner)
    if fidelity is None or timed is None:
        return libra
    from evo_libra.problem.time_models.astra import AstraTime  # noqa: PLC0415 - LIBRA's time does not need it

    return AstraTime(timed, built, efficiency, owner, collectives=fidelity, libra=libra)


def _merging(kits: Sequence[Kit | PricedBlock]) -> Merging:
    """Return which collectives are one stream under LIBRA's time."""
    both = np.array([2])
    reduces = any(BLOCKS[kit.block].traffic_factor(Pattern.SHRINKING, 2 * both)[0] < 1 for kit in kits)
    return Merging.COLLECTIVE if reduces else Merging.PATTERN


def check_chunks(fidelity: Fidelity | None, loop: WeightedLoop) -> None:
    """Refuse a workload with an all-gather of fewer bytes than chunks; ASTRA-sim would never end."""
    if fidelity is None:
        return
    max_chunks = max(fidelity.chunks)
    for place, size in _all_gathers(loop):
        if size < max_chunks:
            raise InputError(f"the all-gather of {size:g} bytes in {place} cannot be cut into {max_chunks} chunks")


def _all_gathers(loop: WeightedLoop) -> Iterator[tuple[str, float]]:
    """Give where each all-gather is, and the bytes of its shard; of open plans, the smallest shards."""
    workload = loop.workload
    if isinstance(workload, TracedWorkload):
        program = workload.program
        for operation, node in zip(program.operations, program.nodes, strict=True):
            if operation.collective is Collective.ALL_GATHER:
                yield f"node {node}", operation.size
        return
    if isinstance(workload, TrainingStep | ServingStep | PlanTable):
        yield from _all_gathers_of_step(workload, loop)
        return
    for layer in workload.layers:
        for phase in layer.phases:
            if phase.collective is Collective.ALL_GATHER:
                yield f"layer {layer.name}", round(phase.size)


def _all_gathers_of_step(
    step: TrainingStep | ServingStep | PlanTable, loop: WeightedLoop
) -> Iterator[tuple[str, float]]:
    for group, load in loop.time.streams:
        if isinstance(load, SizedCollective) and load.collective is Collective.ALL_GATHER:
            yield f"the group {group}", load.size
        if isinstance(step, PlanTable) and isinstance(load, SizedByPlan) and load.operation is Collective.ALL_GATHER:
            size = np.where(load.sent, load.size, np.inf)
            yield f"the group {group} under the plan {step.text(int(size.argmin()))}", float(size.min())
