"""From the time of a problem file to how collectives are timed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective, Pattern, SizedByPlan, SizedCollective
from evo_libra.errors import InputError, unknown
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.network.catalog.technologies import Catalog
from evo_libra.network.transport import TRANSPORTS
from evo_libra.problem.file.spec import ProblemSpec, TimeSpec
from evo_libra.problem.pricing.catalog import kits_of
from evo_libra.problem.time_models.astra import AstraTime
from evo_libra.problem.time_models.libra import LibraTime
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.problem.time_models.time_model import TimeModel
from evo_libra.timing.collectives.phase import Overheads
from evo_libra.timing.fidelity import NATURAL, Fidelity
from evo_libra.timing.names import ALGORITHMS, POLICIES, SCHEDULERS, Scheduler
from evo_libra.timing.phase_dimensions import ONE_ALGORITHM, TIMED_BLOCKS
from evo_libra.timing.trace_time import TracedWorkload
from evo_libra.units import nanoseconds, seconds
from evo_libra.workload.serving.serving_step import ServingStep
from evo_libra.workload.step.plan_table import PlanTable
from evo_libra.workload.step.training_step import TrainingStep
from evo_libra.workload.training import Merging

_CHUNKS, _ENDPOINT_NS = 64, 10
_ALWAYS = ("model", "overlap", "weights", "efficiency")


def time_spec(spec: ProblemSpec) -> TimeSpec:
    """Return the time of a problem file, written out."""
    return spec.time if isinstance(spec.time, TimeSpec) else TimeSpec(model=spec.time)


def check_keys(spec: TimeSpec, source: Source) -> None:
    """Refuse keys of the other models where the time is LIBRA's."""
    given = [key for key in TimeSpec.model_fields if key not in _ALWAYS and getattr(spec, key) is not None]
    if given and spec.model == "libra":
        message = "LIBRA's time has bandwidth only; this key belongs to astra and themis"
        raise InputError([source.mistake(("time", key), message) for key in given])


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
    themis = spec.model == "themis"
    schedulers = _several(spec.scheduler) or ("offline-greedy" if themis else "baseline",)
    for scheduler in (scheduler for scheduler in Scheduler if scheduler.key in schedulers):
        allowed = [policy.key for policy in scheduler.policies]
        if spec.policy not in (None, *allowed):
            message = f"found {spec.policy}; allowed with the scheduler {scheduler.key}: {', '.join(allowed)}"
            raise _fail(source, ("policy",), message)
    trees = [BLOCK_NAMES[kit.block] for kit in kits_of(catalog) if BLOCKS[kit.block].timed_as == "tree"]
    if trees and Scheduler.THEMIS_PAPER.key in schedulers:
        known = "is of rings, lines, fully connected dimensions and switches"
        raise _fail(source, ("scheduler",), f"{Scheduler.THEMIS_PAPER.key} {known}, not of {', '.join(trees)}")
    memory = math.inf if spec.local_memory_GBps is None else spec.local_memory_GBps
    return Fidelity(
        _several(spec.chunks) or (_CHUNKS,),
        tuple(SCHEDULERS.index(name) for name in schedulers),
        _algorithms(spec, source),
        _latency(spec, catalog, source),
        Overheads(_ENDPOINT_NS if spec.endpoint_delay_ns is None else spec.endpoint_delay_ns, memory),
        spec.active_chunks or 1,
        spec.collective_optimization != "baseline",
        None if spec.policy is None else POLICIES[spec.policy],
        _timed(kits_of(catalog), source),
        seconds(1000.0 * (spec.ocs_setting_us or 0.0)),
        _ramped(catalog, schedulers, source),
    )


def _ramped(catalog: Catalog, schedulers: Sequence[str], source: Source) -> BoolArray | None:
    ramped = [t.transport is not None and TRANSPORTS[t.transport].ramped for t in catalog.technologies]
    if any(ramped) and Scheduler.THEMIS_PAPER.key in schedulers:
        message = f"{Scheduler.THEMIS_PAPER.key} has no messages that wait for their rate, as transports but pfc have"
        raise _fail(source, ("scheduler",), message)
    return np.array(ramped) if any(ramped) else None


def _timed(kits: tuple[Kit, ...], source: Source) -> tuple[Kit, ...]:
    untimed = sorted({BLOCK_NAMES[kit.block] for kit in kits if BLOCKS[kit.block].code not in TIMED_BLOCKS})
    if untimed:
        allowed = ", ".join(block.name for block in BLOCKS if block.code in TIMED_BLOCKS)
        raise _fail(
            source, ("model",), f"no phases are known on {', '.join(untimed)}; with `fabric.blocks` of {allowed}, "
            "or under LIBRA's time, the problem can be searched",
        )  # fmt: skip
    return kits


def time_model(
    loops: Callable[[Fidelity | None, Merging], Sequence[WeightedLoop]],
    fidelity: Fidelity | None,
    kits: tuple[Kit, ...],
    efficiency: FloatArray | None,
    owner: IntArray | None,
) -> TimeModel:
    """Return the time model of workloads, which `loops` compiles; a fidelity of None is LIBRA's time."""
    timed = None if fidelity is None else tuple(loops(fidelity, Merging.NONE))
    libra = LibraTime(tuple(loops(None, _merging(kits))), kits, efficiency, owner)
    if fidelity is None or timed is None:
        return libra
    return AstraTime(timed, kits, efficiency, owner, collectives=fidelity, libra=libra)


def _merging(kits: Sequence[Kit]) -> Merging:
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


T = TypeVar("T", int, str)


def _several(given: T | tuple[T, ...] | None) -> tuple[T, ...]:
    if given is None:
        return ()
    return tuple(dict.fromkeys(given)) if isinstance(given, tuple) else (given,)


def _fail(source: Source, path: KeyPath, message: str) -> InputError:
    return InputError(source.mistake(("time", *path), message))


def _algorithms(spec: TimeSpec, source: Source) -> IntArray:
    natural = [NATURAL.get(TIMED_BLOCKS.get(block.code, -1), 0) for block in BLOCKS]
    if spec.algorithms == "search":
        every = range(len(ALGORITHMS))
        rows = [[first, *(a for a in every if a != first)] for first in natural]
        for only in ONE_ALGORITHM:
            rows[only] = [natural[only]] * len(ALGORITHMS)
        return np.array(rows)
    if isinstance(spec.algorithms, dict):
        for block, name in spec.algorithms.items():
            index = BLOCK_NAMES.index(block)
            if index in ONE_ALGORITHM and ALGORITHMS.index(name) != natural[index]:
                own = "reduces in its switches" if BLOCKS[index].in_network else f"runs {ALGORITHMS[natural[index]]}"
                message = f"found {name}; a {block} {own}"
                raise _fail(source, ("algorithms", block), message)
            natural[index] = ALGORITHMS.index(name)
    return np.array(natural)[:, None]


def _latency(spec: TimeSpec, catalog: Catalog, source: Source) -> FloatArray:
    given = spec.latency_ns
    if isinstance(given, float):
        return np.full(len(catalog.technologies), given)
    for name in given or {}:
        if name not in catalog.families:
            raise _fail(source, ("latency_ns", name), unknown("technology", name, catalog.families))
    latency = {t.family: nanoseconds(t.latency) for t in catalog.technologies if t.latency is not None} | (given or {})
    missing = [name for name in catalog.families if name not in latency]
    if missing:
        raise _fail(
            source,
            ("latency_ns",) if given else (),
            f"the latency of {', '.join(missing)} is required and not in the catalogue; give time.latency_ns, a number "
            "or one for each technology",
        )
    return np.array([latency[name] for name in catalog.families])
