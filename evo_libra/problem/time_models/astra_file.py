"""From the keys of ASTRA-sim's time in a problem file to the time model of its workloads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.errors import InputError, unknown
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.network.catalog.technologies import Catalog
from evo_libra.problem.pricing.catalog import kits_of
from evo_libra.problem.time_models.astra import AstraTime
from evo_libra.problem.time_models.libra import libra_time
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.problem.time_models.registry import Loops, Make, Network, TimeKind
from evo_libra.timing.collectives.phase import Overheads
from evo_libra.timing.fidelity import NATURAL, Fidelity
from evo_libra.timing.names import ALGORITHMS, PAPER_POLICIES, POLICIES, SCHEDULERS, Scheduler
from evo_libra.timing.phase_dimensions import ONE_ALGORITHM, TIMED_BLOCKS
from evo_libra.units import nanoseconds, seconds
from evo_libra.workload.layers.iteration_time import Merging

if TYPE_CHECKING:
    from evo_libra.problem.file.spec import TimeSpec

_CHUNKS, _ENDPOINT_NS = 64, 10


def astra_fidelity(spec: TimeSpec, catalog: Catalog, source: Source, *, scheduler: str) -> Fidelity:
    """Return how collectives are timed, by a scheduler where the file names none.

    Raises
    ------
    InputError : a latency is missing, a technology is unknown, an algorithm cannot run in a block, or a scheduler, be
        it one of several, lacks the policy.
    """
    schedulers = _several(spec.scheduler) or (scheduler,)
    occupies = spec.latency_occupies is not False
    for known in (known for known in Scheduler if known.key in schedulers):
        allowed = [policy.key for policy in (known.policies if occupies else PAPER_POLICIES)]
        if spec.policy not in (None, *allowed):
            message = f"found {spec.policy}; allowed with the scheduler {known.key}: {', '.join(allowed)}"
            raise _fail(source, ("policy",), message)
    papers = _of_paper(schedulers, source, occupies=occupies)
    trees = [BLOCK_NAMES[kit.block] for kit in kits_of(catalog) if BLOCKS[kit.block].timed_as == "tree"]
    if trees and papers:
        of = "is of rings, lines, fully connected dimensions and switches"
        raise _fail(source, ("scheduler",), f"{papers[0]} {of}, not of {', '.join(trees)}")
    memory = math.inf if spec.local_memory_GBps is None else spec.local_memory_GBps
    return Fidelity(
        chunks=_several(spec.chunks) or (_CHUNKS,), schedulers=tuple(SCHEDULERS.index(name) for name in schedulers),
        algorithms=_algorithms(spec, source), latency=latency_of(spec, catalog, source),
        overheads=Overheads(_ENDPOINT_NS if spec.endpoint_delay_ns is None else spec.endpoint_delay_ns, memory),
        active=spec.active_chunks or 1, shrinking=spec.collective_optimization != "baseline",
        policy=None if spec.policy is None else POLICIES[spec.policy], kits=_timed(kits_of(catalog), source),
        ocs_setting=seconds(1000.0 * (spec.ocs_setting_us or 0.0)),
        message_on_link=spec.message_bandwidth == "link", occupies=occupies,
    )  # fmt: skip


def _of_paper(schedulers: Sequence[str], source: Source, *, occupies: bool) -> list[str]:
    """Return the schedulers that run in the time model of Themis' paper: its own ones, or all."""
    of_paper = [known.key for known in Scheduler if known.of_paper]
    if occupies:
        return [name for name in schedulers if name in of_paper]
    allowed = (Scheduler.BASELINE.key, *of_paper)
    for name in schedulers:
        if name not in allowed:
            message = f"found false; with the scheduler {name} it is true, allowed with false: {', '.join(allowed)}"
            raise _fail(source, ("latency_occupies",), message)
    return list(schedulers)


def _timed(kits: tuple[Kit, ...], source: Source) -> tuple[Kit, ...]:
    untimed = sorted({BLOCK_NAMES[kit.block] for kit in kits if BLOCKS[kit.block].code not in TIMED_BLOCKS})
    if untimed:
        allowed = ", ".join(block.name for block in BLOCKS if block.code in TIMED_BLOCKS)
        raise _fail(
            source, ("model",), f"no phases are known on {', '.join(untimed)}; with `fabric.blocks` of {allowed}, "
            "or under LIBRA's time, the problem can be searched",
        )  # fmt: skip
    return kits


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


def latency_of(spec: TimeSpec, catalog: Catalog, source: Source) -> FloatArray:
    """Return (t,) ns of a link of each technology: those of the file, or of the catalogue."""
    given = spec.latency_ns
    if isinstance(given, float):
        return np.full(len(catalog.technologies), given)
    for name in given or {}:
        if name not in catalog.families:
            raise _fail(source, ("latency_ns", name), unknown("technology", name, dict.fromkeys(catalog.families)))
    latency = {t.family: nanoseconds(t.latency) for t in catalog.technologies if t.latency is not None} | (given or {})
    missing = dict.fromkeys(name for name in catalog.families if name not in latency)
    if missing:
        raise _fail(
            source,
            ("latency_ns",) if given else (),
            f"the latency of {', '.join(missing)} is required and not in the catalogue; give time.latency_ns, a number "
            "or one for each technology",
        )
    return np.array([latency[name] for name in catalog.families])


def _check_chunks(fidelity: Fidelity, loop: WeightedLoop) -> None:
    """Refuse a workload with an all-gather of fewer bytes than chunks; ASTRA-sim would never end."""
    most = max(fidelity.chunks)
    for place, size in loop.workload.all_gathers(loop.time.streams):
        if size < most:
            raise InputError(f"the all-gather of {size:g} bytes in {place} cannot be cut into {most} chunks")


def _read(spec: TimeSpec, catalog: Catalog, source: Source, *, scheduler: str) -> Make:
    fidelity = astra_fidelity(spec, catalog, source, scheduler=scheduler)

    def make(loops: Loops, network: Network) -> AstraTime:
        each = loops(Merging.NONE, partial(_check_chunks, fidelity))
        timed = tuple(loop.of_links(network.links) for loop in each)
        return AstraTime(timed, *network, collectives=fidelity, libra=libra_time(loops, network))

    return make


_KEYS = (
    "chunks", "scheduler", "algorithms", "latency_ns", "latency_occupies", "endpoint_delay_ns", "local_memory_GBps",
    "message_bandwidth", "ocs_setting_us", "active_chunks", "collective_optimization", "policy",
)  # fmt: skip
ASTRA = TimeKind(partial(_read, scheduler="baseline"), _KEYS)
"""ASTRA-sim's time in problem files; `THEMIS` is the same with another scheduler where the file names none."""
THEMIS = TimeKind(partial(_read, scheduler="offline-greedy"), _KEYS)
