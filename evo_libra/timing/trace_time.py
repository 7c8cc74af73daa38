"""Iteration time of execution traces on a population: every class of NPUs once, all designs in one go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evo_libra.arrays import NANO, FloatArray, IntArray
from evo_libra.chakra.groups import Groups, read_groups
from evo_libra.chakra.read import read_traces
from evo_libra.collective import Collective
from evo_libra.errors import InputError, Mistake
from evo_libra.timing.traces.compile import Traces, compile_program
from evo_libra.timing.traces.operations import Action
from evo_libra.timing.traces.program import TraceProgram
from evo_libra.timing.traces.replay import replay_population
from evo_libra.units import roofline_ns
from evo_libra.workload.layers.iteration_time import Linear, Merging, Message, Stream, stream_of, units_of
from evo_libra.workload.layers.workload import IterationSize, Sent, WorkloadKind, most_of_one
from evo_libra.workload.parallelism import ALL, BETWEEN, MEMBER, Layout

_SHOWN = 6


@dataclass(frozen=True)
class TraceAccelerator:
    """Speed of computations: FLOP/s and B/s of a roofline, or where these are None, recorded times, scaled."""

    peak: float | None = None
    memory: float | None = None
    scale: float = 1.0


@dataclass(frozen=True)
class TraceFiles:
    """Files of traces: the prefix of their names, and the file of their communicator groups, if there is one."""

    prefix: Path
    groups: Path | None

    def read(self, npus: int) -> tuple[Traces, Groups]:
        """Return the nodes of each trace and the groups; an `InputError` says what is wrong with a file."""
        traces = [nodes for _, nodes in read_traces(self.prefix)]
        return traces, {} if self.groups is None else read_groups(self.groups, npus)


@dataclass(frozen=True)
class TracedWorkload(WorkloadKind):
    """Execution traces, compiled, for networks of some NPUs, with (o,) s of each operation that is no communication.

    Layouts say how the members of communicator groups that collectives run on lie, the innermost first. Files are those
    that the traces came from, which are read again for a program of one certain network: searches send workloads to
    other processes, and all nodes would be far larger than the program.
    """

    name: str
    program: TraceProgram
    computing: FloatArray
    layouts: Mapping[str, Layout]
    npus: int
    accelerator: TraceAccelerator
    files: TraceFiles | None = None
    size = IterationSize()
    tokens = None
    layers = ()
    planned = None

    @property
    def unexported(self) -> str:
        """Why ASTRA-sim gets no new traces."""
        return f"the workload '{self.name}' is a trace already; what is exported are training loops and training steps"

    @property
    def instant(self) -> tuple[str, ...]:
        """Computations that take less than 1 ns under the roofline; of NPUs that do the same, those of the first."""
        program, roofline = self.program, self.accelerator.peak is not None
        return tuple(
            f"node {program.nodes[at]} '{program.names[at]}' of NPU {program.classes[program.owner[at]][0]} in "
            f"{self.name}"
            for at, operation in enumerate(program.operations if roofline else ())
            if operation.action is Action.COMPUTE and self.computing[at] < NANO
        )

    @property
    def compute(self) -> float:
        """Seconds of computation of the NPU that has the most of it."""
        return float(np.bincount(self.program.owner, weights=self.computing).max(initial=0.0))

    @property
    def groups(self) -> tuple[str, ...]:
        """Process groups that some collective runs on: groups whose members lie alike are one."""
        return tuple(self.layouts)

    def sent(self) -> Mapping[Sent, float]:
        """Count the collectives that are alike in kind, group and bytes."""
        owned = ((owner, Sent("trace", kind, group, size)) for owner, kind, group, size in self.runs())
        return most_of_one(owned)

    def collectives(self, degrees: Mapping[str, int]) -> list[tuple[Collective, str, int]]:  # noqa: ARG002 - others need it
        """Return the collectives of the NPU that has most of them."""
        each: dict[int, list[tuple[Collective, str, int]]] = {}
        for owner, collective, group, size in self.runs():
            each.setdefault(owner, []).append((collective, group, size))
        return max(each.values(), key=len, default=[])

    def all_gathers(self, streams: Iterable[Stream]) -> Iterator[tuple[str, float]]:  # noqa: ARG002 - nodes are known
        """Give the node of each all-gather, and the bytes of its shard."""
        for operation, node in zip(self.program.operations, self.program.nodes, strict=True):
            if operation.collective is Collective.ALL_GATHER:
                yield f"node {node}", operation.size

    def runs(self) -> Iterator[tuple[int, Collective, str, int]]:
        """Give class, kind, group and bytes of each collective."""
        program = self.program
        for at, operation in enumerate(program.operations):
            if operation.collective is not None:
                members = program.communicators[program.communicator[at]].members
                yield (
                    int(program.owner[at]),
                    operation.collective,
                    group_name(grid_of(members, self.npus)),
                    operation.size,
                )

    def messages(self) -> Iterator[tuple[int, Message]]:
        """Give class and message of each send."""
        program = self.program
        for at, operation in enumerate(program.operations):
            if operation.action is Action.SEND:
                yield int(program.owner[at]), _message(program, at)


@dataclass(frozen=True)
class TraceTime:
    """Iteration time of the traces of a workload as a function of the seconds per unit of each stream.

    Each operation takes (o,) s, or if it communicates, (o,) units of its (o,) stream, else -1. Times may be whole ns.
    """

    streams: tuple[Stream, ...]
    program: TraceProgram
    computing: FloatArray
    stream: IntArray
    units: FloatArray
    whole: bool
    name: str

    def linear(self, weight: float, kind: FloatArray, plan: IntArray) -> Linear:  # noqa: ARG002 - the signature of others
        """Refuse: what waits for what in a trace is no sum."""
        raise InputError(f"exact bandwidths and proofs are of training loops; the workload '{self.name}' is a trace")

    def __call__(self, time_per_unit: Sequence[FloatArray]) -> FloatArray:
        """Return (n,) seconds until the last NPU has finished, from one (n,) array for each stream."""
        nothing = np.zeros((1, len(time_per_unit[0]) if time_per_unit else 1))
        rows = np.concatenate([np.array(time_per_unit).reshape(len(time_per_unit), nothing.shape[1]), nothing])
        durations = (self.computing[:, None] + self.units[:, None] * rows[self.stream]) / NANO
        # Whole nanoseconds tie as they do in ASTRA-sim; LIBRA's times are no whole numbers.
        return replay_population(self.program, np.rint(durations) if self.whole else durations).all * NANO


def traced_workload(
    name: str,
    traces: Traces,
    groups: Groups,
    npus: int,
    accelerator: TraceAccelerator,
    files: TraceFiles | None = None,
) -> TracedWorkload:
    """Compile traces, of each NPU or one for all of them, for networks of some NPUs that are still to be chosen.

    Errors are those of `compile_program` and `replay_population`; an InputError refuses, too, collectives that name
    dimensions of one certain network, groups that are no grid, computations that lack what a roofline needs, and remote
    memory.
    """
    for npu, trace in enumerate(traces):
        for node in trace:
            if "involved_dim" in node.attributes and not all(np.atleast_1d(node.attributes["involved_dim"].value)):
                reason = (
                    "has involved_dim, which names dimensions of one certain network; where the network is searched, a "
                    "communicator group says who takes part"
                )
                raise InputError(Mistake(reason, key=f"NPU {npu}, node {node.id}"))
    program = compile_program(traces, groups, npus)
    # Traces that wait for each other for ever are refused now, and not by the first design of a search.
    replay_population(program, np.ones((len(program), 1)))
    layouts = {}
    for communicator in program.communicators:
        try:
            layout = grid_of(communicator.members, npus)
        except ValueError as error:
            raise InputError(Mistake(str(error), key=str(communicator))) from None
        layouts[group_name(layout)] = layout
    return TracedWorkload(
        name=name, program=program, computing=computing_seconds(program, accelerator), layouts=layouts, npus=npus,
        accelerator=accelerator, files=files,
    )  # fmt: skip


def trace_time(workload: TracedWorkload, *, merging: Merging) -> TraceTime:
    """Return the iteration time of traces."""
    program, streams = workload.program, dict[Stream, int]()
    stream, units = np.full(len(program), -1), np.zeros(len(program))
    for at, operation in enumerate(program.operations):
        if operation.action is Action.COLLECTIVE and operation.collective is not None:
            members = program.communicators[program.communicator[at]].members
            group = group_name(grid_of(members, workload.npus))
            load = stream_of(group, operation.collective, operation.size, merging)
            units[at] = units_of(operation.collective, operation.size, len(members), merging)
        elif operation.action is Action.SEND:
            load = ALL, _message(program, at)
            units[at] = 1.0
        else:
            continue
        stream[at] = streams.setdefault(load, len(streams))
    return TraceTime(
        streams=tuple(streams), program=program, computing=workload.computing, stream=stream, units=units,
        whole=merging is Merging.NONE, name=workload.name,
    )  # fmt: skip


def _message(program: TraceProgram, at: int) -> Message:
    source = program.classes[program.owner[at]][0]
    return Message(source, int(program.peer[at]), program.operations[at].size)


def group_name(layout: Layout) -> str:
    """Return the name of groups that lie alike; that of all NPUs is `ALL`."""
    return "+".join(f"{degree}{'' if name == MEMBER else 'x'}" for name, degree in layout) or ALL


def grid_of(members: Sequence[int], npus: int) -> Layout:
    """Return how a group lies among the NPUs: degrees of members and of what lies between them, the innermost first.

    All NPUs are the empty layout. A ValueError says that the members are no grid of even strides that begins at a
    multiple of each.

    >>> grid_of([0, 2, 8, 10], 16)
    (('between', 2), ('member', 2), ('between', 2), ('member', 2))
    """
    ordered = sorted(members)
    if len(ordered) == npus:
        return ()
    layout: list[tuple[str, int]] = []
    strides: list[tuple[int, int]] = []
    inside = known = 1
    while known < len(ordered):
        stride, degree = ordered[known] - ordered[0], 2
        while degree * known < len(ordered) and ordered[degree * known] - ordered[0] == degree * stride:
            degree += 1
        if stride % inside or len(ordered) % (degree * known):
            break
        layout += [(BETWEEN, stride // inside)] * (stride > inside) + [(MEMBER, degree)]
        strides.append((stride, degree))
        inside, known = stride * degree, known * degree
    aligned = all(ordered[0] // stride % degree == 0 for stride, degree in strides)
    if not aligned or _places(strides) != [npu - ordered[0] for npu in ordered] or npus % inside:
        raise ValueError(f"its members {_short(ordered)} are no grid, as groups have to be on networks of dimensions")
    return tuple(layout) or ((MEMBER, 1),)


def _places(strides: Sequence[tuple[int, int]]) -> list[int]:
    places = [0]
    for stride, degree in strides:
        places = [place + step * stride for step in range(degree) for place in places]
    return places


def _short(members: Sequence[int]) -> str:
    shown = ", ".join(map(str, members[:_SHOWN]))
    return f"{shown}, ..." if len(members) > _SHOWN else shown


def computing_seconds(program: TraceProgram, accelerator: TraceAccelerator) -> FloatArray:
    """Return (o,) s of each operation of a program that is no communication, 0 for the others.

    An `InputError` lists all computations that lack what a roofline needs, and all uses of remote memory.
    """
    found, mistakes = np.zeros(len(program)), list[Mistake]()
    for at, operation in enumerate(program.operations):
        if operation.action is Action.MEMORY:
            mistakes.append(program.mistake(at, "uses remote memory, which networks of a search do not have"))
        elif operation.action is Action.COMPUTE and accelerator.peak is not None and accelerator.memory is not None:
            if operation.work < 1 or operation.size < 1:
                mistakes.append(program.mistake(at, "needs num_ops and tensor_size above 0 for a roofline"))
            else:
                found[at] = roofline_ns(operation.work, operation.size, accelerator.peak, accelerator.memory) * NANO
        elif operation.action in (Action.COMPUTE, Action.REPLAY):
            found[at] = operation.duration * accelerator.scale * NANO
    if mistakes:
        raise InputError(mistakes)
    return found
