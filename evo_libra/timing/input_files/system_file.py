"""ASTRA-sim's system file: how collectives run, how fast NPUs compute, and what of the file counts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import Field

from evo_libra.collective import Collective
from evo_libra.errors import InputError, Mistake
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source, read_source, validate
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, Implementation, Overheads, phase_time
from evo_libra.timing.collectives.system import SEVERAL_IN_A_TREE, Choice, System
from evo_libra.timing.input_files.algorithm_files import OWN_KEYS, PER_NODE, read_own_algorithms
from evo_libra.timing.input_files.network_file import HyphenModel, NetworkFile, known_keys, parse_memory, parse_network
from evo_libra.timing.machine import ComputeModel, Machine, RemoteMemory
from evo_libra.timing.names import (
    ASTRA_POLICIES,
    ASTRA_SCHEDULERS,
    LONGEST_ENDPOINT_NS,
    MOST_CHUNKS,
    CollectiveAlgorithm,
    Policy,
    Scheduler,
)
from evo_libra.timing.quirks import AT_ZERO, TRACKING, sentence_of

UNLIMITED = 1e15
"""GB/s of a local memory whose time is nothing: of 10^15 bytes, a nanosecond."""

_ENDPOINT_NS, _TERA = 10, 1e12

if TYPE_CHECKING:
    _AstraScheduler: TypeAlias = str
    _AstraPolicy: TypeAlias = str
else:
    _AstraScheduler = Literal[tuple(scheduler.value for scheduler in ASTRA_SCHEDULERS)]
    _AstraPolicy = Literal[tuple(policy.value for policy in ASTRA_POLICIES)]
_Chunks = Annotated[int, Field(ge=1, le=MOST_CHUNKS)]
_Positive = Annotated[float, Field(gt=0, le=1e18)]
# A number: ASTRA-sim compares with 0, and neither true nor false is 0.
_Switch = Annotated[int, Field(ge=0, le=1)]
_Names = Annotated[tuple[str, ...], Field(min_length=1)]


class _SystemSpec(HyphenModel):
    scheduling_policy: Literal["LIFO", "FIFO", "EXPLICIT"] = "LIFO"
    endpoint_delay: Annotated[int, Field(ge=0, le=LONGEST_ENDPOINT_NS)] = _ENDPOINT_NS
    active_chunks_per_dimension: _Chunks = 1
    preferred_dataset_splits: _Chunks
    all_reduce_implementation: _Names | None = None
    all_gather_implementation: _Names | None = None
    reduce_scatter_implementation: _Names | None = None
    all_to_all_implementation: _Names | None = None
    all_reduce_implementation_custom: Any = None
    all_gather_implementation_custom: Any = None
    reduce_scatter_implementation_custom: Any = None
    all_to_all_implementation_custom: Any = None
    per_node_custom_implementation: Any = None
    collective_optimization: Literal["baseline", "localBWAware"]
    local_mem_bw: _Positive | None = None
    peak_perf: _Positive | None = None
    roofline_enabled: _Switch = 0
    replay_only: _Switch = 0
    model_shared_bus: _Switch = 0
    local_reduction_delay: Any = None
    L: Any = None
    o: Any = None
    g: Any = None
    G: Any = None
    trace_enabled: Any = None
    track_local_mem: Any = None
    local_mem_trace_filename: Any = None
    inter_dimension_scheduling: _AstraScheduler | None = None
    intra_dimension_scheduling: _AstraPolicy | None = None


@dataclass(frozen=True)
class SystemFile:
    """Contents of a system file: collectives in released versions of ASTRA-sim 2, and the speed of computations.

    Scheduler and policy are what ``inter-dimension-scheduling`` and ``intra-dimension-scheduling`` ask for. Notices say
    what ASTRA-sim passes over, or leaves undefined, a sentence each.
    """

    system: System
    compute: ComputeModel
    scheduler: Scheduler = Scheduler.BASELINE
    policy: Policy = Policy.FIFO
    notices: tuple[str, ...] = ()

    @property
    def scheduled(self) -> System:
        """The system with scheduler and policy, for a version of ASTRA-sim that reads them."""
        return replace(self.system, scheduler=self.scheduler, policy=self.policy)


def parse_system(source: Source, network: NetworkFile, *, own: bool = False) -> SystemFile:
    """Return what a system file of a network says.

    An algorithm that cannot run a collective at all, such as halving-doubling an all-to-all, leaves the system without
    that collective, which a notice tells. Algorithms of the user's own, written as traces, may be in the file where
    the caller reads them (`own`). An InputError lists all mistakes of a kind: a key is missing or wrong; an
    algorithm is unknown, of one flat group, written as a trace, or cannot run on the NPUs of its dimension, or no exact
    time is known of it; there are more algorithms than dimensions; the memory bus is modelled; a roofline lacks a roof.
    """
    source, notices_of_own = _with_phases(source) if own else (source, ())
    known, notices = known_keys(source, _SystemSpec, "system file")
    spec = validate(_SystemSpec, known)
    mistakes = [source.mistake(path, message) for path, message in _unsupported(spec, own=own)]
    implementations, all_notices = {}, [*notices, *notices_of_own]
    for collective in Collective:
        reader = _Implementations(source, network, collective)
        rows = reader.read(getattr(spec, reader.key.replace("-", "_")))
        mistakes += reader.mistakes
        # ASTRA-sim takes its own algorithm for nothing where there is one of the user's.
        all_notices += reader.notices if OWN_KEYS[collective] not in known.data else []
        if rows:
            implementations[collective] = rows
    if mistakes:
        raise InputError(mistakes)
    if spec.local_mem_bw is None:
        all_notices.append(
            "local-mem-bw: missing, so ASTRA-sim leaves the time of reductions undefined; it is none here"
        )
    all_notices += [f"{key}: no released ASTRA-sim 2 reads this key" for key in _UNREAD if key in known.data]
    all_notices += _dangers(spec)
    return SystemFile(
        System(
            implementations, spec.preferred_dataset_splits, spec.active_chunks_per_dimension,
            spec.collective_optimization == "localBWAware", Overheads(float(spec.endpoint_delay), _memory(spec)),
        ),
        ComputeModel(
            (spec.peak_perf or 0.0) * _TERA, roofline=spec.roofline_enabled == 1, replay=spec.replay_only == 1
        ),
        Scheduler.of(spec.inter_dimension_scheduling or "baseline"),
        Policy.of(spec.intra_dimension_scheduling or "FIFO"),
        tuple(all_notices),
    )  # fmt: skip


def _with_phases(source: Source) -> tuple[Source, tuple[str, ...]]:
    """Return a file that needs no way through the dimensions, as algorithms of the user's own have none, with one."""
    key, data = "collective-optimization", source.data
    if not isinstance(data, dict) or key in data or not data.keys() & {*OWN_KEYS.values(), PER_NODE}:
        return source, ()
    notice = f"{key}: missing, so ASTRA-sim leaves collectives of its own algorithms undefined; baseline here"
    return replace(source, data={**data, key: "baseline"}), (notice,)


def read_machine(network: Path, system: Path, memory: Path | None = None) -> tuple[Machine, tuple[str, ...]]:
    """Read a cluster as released versions of ASTRA-sim 2 read it, without schedulers, and the notices of its files.

    Without a file of remote memory there is none. An InputError says what is wrong with a file.
    """
    links = parse_network(read_source(network))
    source = read_source(system)
    file = parse_system(source, links, own=True)
    remote, notices = (RemoteMemory(), ()) if memory is None else parse_memory(read_source(memory))
    all_notices = [(network, links.notices), (system, file.notices), (memory, notices)]
    machine = Machine(links.links, file.system, file.compute, remote, read_own_algorithms(source))
    return machine, tuple(f"{path}: {notice}" for path, some in all_notices for notice in some)


def _dangers(spec: _SystemSpec) -> Iterator[str]:
    """Yield what is read, and may stop ASTRA-sim."""
    if spec.endpoint_delay == 0:
        yield f"endpoint-delay: found 0. {sentence_of(AT_ZERO)}"
    if spec.track_local_mem not in (None, 0):
        yield f"track-local-mem: {sentence_of(TRACKING)} 0 leaves it out"


_UNREAD = ("inter-dimension-scheduling", "intra-dimension-scheduling")


def _memory(spec: _SystemSpec) -> float:
    return math.inf if spec.local_mem_bw is None or spec.local_mem_bw >= UNLIMITED else spec.local_mem_bw


def _unsupported(spec: _SystemSpec, *, own: bool) -> Iterator[tuple[KeyPath, str]]:
    for key in (*OWN_KEYS.values(), PER_NODE):
        if not own and getattr(spec, key.replace("-", "_")) is not None:
            yield (key,), "algorithms that are written as traces are not read here; name one of ASTRA-sim's own"
    if spec.preferred_dataset_splits > 1:
        for d, name in enumerate(spec.all_reduce_implementation or ()):
            if name == CollectiveAlgorithm.DOUBLE_BINARY_TREE.value:
                yield (_TREES, d), f"{SEVERAL_IN_A_TREE}, found {spec.preferred_dataset_splits}"
    if spec.model_shared_bus:
        yield ("model-shared-bus",), "found 1; the bus of the NPUs' memory is not modelled here, 0 leaves it out"
    if spec.roofline_enabled:
        for key in ("peak-perf", "local-mem-bw"):
            if getattr(spec, key.replace("-", "_")) is None:
                yield (key,), "a required key is missing; roofline-enabled is 1"


_TREES = "all-reduce-implementation"


class _Implementations:
    """Reads the algorithms of one collective, and collects what is to be said of them."""

    def __init__(self, source: Source, network: NetworkFile, collective: Collective) -> None:
        self.source, self.network, self.collective = source, network, collective
        self.key = f"{collective.value}-implementation"
        self.mistakes: list[Mistake] = []
        self.notices: list[str] = []

    def read(self, names: Sequence[str] | None) -> tuple[Implementation, ...]:
        """Return the algorithm of each dimension; none where the collective cannot run."""
        if names is None:
            self.notices.append(f"{self.key}: missing, so no trace with {self.collective.called} can run")
            return ()
        depth = len(self.network.npus)
        if len(names) > depth:
            self._refuse((), f"names {len(names)} algorithms, the network has {depth} dimensions")
            return ()
        if len(names) < depth:
            self.notices.append(
                f"{self.key}: names {len(names)} algorithms, the other dimensions of {depth} are not used"
            )
        rows = [self._row(d, name) for d, name in enumerate(names)]
        return tuple(row for row in rows if row) if all(rows) else ()

    def _row(self, d: int, name: str) -> Implementation | None:
        if name.startswith("one"):
            self._refuse(
                (d,), f"found {name}, one flat group of all NPUs; here every dimension has an algorithm of its own"
            )
            return None
        try:
            row = Implementation.read(name)
        except InputError as error:
            self._refuse((d,), str(error))
            return None
        if row.algorithm in (CollectiveAlgorithm.RING, CollectiveAlgorithm.DIRECT):
            return row
        return row if self._runs(d, row) else None

    def _runs(self, d: int, row: Implementation) -> bool:
        link = self.network.links[d]
        # If the collective has the algorithm at all.
        two = replace(link, npus=np.array([2]), block=np.array([FULLY_CONNECTED]))
        for npus, found in ((two, self._pass_over), (link, self._refuse)):
            try:
                phase_time(row, self.collective, np.ones(1), npus, Overheads(0.0, math.inf))
            except ValueError as error:
                found((d,), f"{error}; this has {link.npus[0]} NPUs" if npus is link else str(error))
                return False
        return True

    def _refuse(self, path: KeyPath, message: str) -> None:
        self.mistakes.append(self.source.mistake((self.key, *path), message))

    def _pass_over(self, _: KeyPath, message: str) -> None:
        self.notices.append(f"{self.key}: {message}, so no trace with {self.collective.called} can run")


def system_text(file: SystemFile) -> str:
    """Return the file that says this of a system, without its notices."""
    system, compute = file.system, file.compute
    assert isinstance(system.splits, int)  # noqa: S101 - a file is of one design
    keys = {
        "scheduling-policy": "LIFO",
        "endpoint-delay": int(system.overheads.endpoint),
        "active-chunks-per-dimension": system.active,
        "preferred-dataset-splits": system.splits,
        **{f"{collective.value}-implementation": list(map(_name, rows)) for collective, rows in _rows(system)},
        "collective-optimization": "localBWAware" if system.shrinking else "baseline",
        "local-mem-bw": min(system.overheads.memory, UNLIMITED),
        "roofline-enabled": int(compute.roofline),
    }
    if compute.peak:
        keys["peak-perf"] = compute.peak / _TERA
    if compute.replay:
        keys["replay-only"] = 1
    if (file.scheduler, file.policy) != (Scheduler.BASELINE, Policy.FIFO):
        keys |= dict(zip(_UNREAD, (file.scheduler.value, file.policy.value), strict=True))
    return json.dumps(keys, indent=2) + "\n"


def _rows(system: System) -> Iterator[tuple[Collective, Sequence[Implementation | Choice]]]:
    return (
        (collective, system.implementations[collective])
        for collective in Collective
        if collective in system.implementations
    )


def _name(row: Implementation | Choice) -> str:
    assert isinstance(row, Implementation)  # noqa: S101 - a file is of one design
    return f"{row.algorithm.value}{row.window or ''}"
