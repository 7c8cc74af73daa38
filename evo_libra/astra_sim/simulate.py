"""A run of ASTRA-sim's own input files: network, system, remote memory, communicator groups and traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import floor
from pathlib import Path

import numpy as np

from evo_libra.chakra.groups import Groups, read_groups
from evo_libra.chakra.read import read_traces
from evo_libra.errors import InputError, Mistake, counted
from evo_libra.files.source import read_source
from evo_libra.timing.input_files.system_file import read_machine
from evo_libra.timing.machine import Machine
from evo_libra.timing.traces.compile import Traces
from evo_libra.timing.traces.execute import Execution, execute
from evo_libra.timing.traces.traffic import Traffic, traffic_of

_EMPTY = "empty"
"""A path of communicator groups that contains this word stands for no groups."""

MOST_QUEUES = 1024
"""Queues of a dimension: more than its chunks at a time are never of use."""


@dataclass(frozen=True)
class InputFiles:
    """The files and numbers of ASTRA-sim's command line.

    Attributes
    ----------
    workload : prefix of the traces PREFIX.<npu>.et, or one trace that all NPUs run.
    groups : communicator groups; none where the path contains "empty".
    queues : of each dimension.
    injection_scale : factor of the system file's endpoint-delay.
    comm_scale : ASTRA-sim reads it and uses it nowhere.
    waiting : whether collectives begin when the last member comes, as in no ASTRA-sim 2.0 to date.
    speeds : JSON with the speed of NPUs at computations, as ``{"3": 0.9}``; others have 1.
    """

    workload: Path
    system: Path
    network: Path
    memory: Path | None = None
    groups: Path | None = None
    queues: int = 1
    injection_scale: float = 1.0
    comm_scale: float = 1.0
    waiting: bool = False
    speeds: Path | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.queues <= MOST_QUEUES:
            raise InputError(f"--num-queues-per-dim: found {self.queues}; 1 to {MOST_QUEUES} are allowed")
        for name, value in (("injection-scale", self.injection_scale), ("comm-scale", self.comm_scale)):
            if not 0 <= value < float("inf"):
                raise InputError(f"--{name}: found {value:g}; a finite number of at least 0 is needed")

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences on options that ASTRA-sim passes over."""
        if self.comm_scale == 1:
            return ()
        return (f"--comm-scale: found {self.comm_scale:g}; ASTRA-sim reads this number and uses it nowhere",)


@dataclass(frozen=True)
class Simulation:
    """A run, with the machine that it ran on, and the notices of its files, a sentence each."""

    machine: Machine
    execution: Execution
    notices: tuple[str, ...]
    traffic: Traffic = field(repr=False)


def simulate(files: InputFiles, tell: Callable[[str], None] | None = None) -> Simulation:
    """Run ASTRA-sim's input files; errors are those of the files, and of traces that cannot run or wait for ever."""
    tell = tell or _tell_no_one
    machine, notices = machine_of_files(files)
    npus = int(np.prod(machine.npus))
    groups = _groups(files.groups, npus)
    traces = _traces(files.workload, npus, tell)
    if not groups:
        _refuse_groups(traces)
    tell("running the traces")
    speeds = None if files.speeds is None else read_speeds(files.speeds, npus)
    done = execute(traces, groups, machine, tell=tell, waiting=files.waiting, speeds=speeds)
    traffic = traffic_of(done.program, machine)
    return Simulation(machine, done, (*notices, *files.notices), traffic)


def machine_of_files(files: InputFiles) -> tuple[Machine, tuple[str, ...]]:
    """Return the machine that files and numbers describe, and the notices of the files."""
    machine, notices = read_machine(files.network, files.system, files.memory)
    overheads = machine.system.overheads
    endpoint = float(floor(overheads.endpoint * files.injection_scale))
    system = replace(machine.system, queues=files.queues, overheads=replace(overheads, endpoint=endpoint))
    if files.queues > system.active:
        more = f"--num-queues-per-dim: found {files.queues}, active-chunks-per-dimension is {system.active}"
        notices = (*notices, f"{more}; each queue runs a chunk at a time, so more chunks than that run at a time")
    return replace(machine, system=system), notices


def _groups(path: Path | None, npus: int) -> Groups:
    if path is None or _EMPTY in str(path):
        return {}
    groups = read_groups(path, npus)
    if not groups:
        raise InputError(Mistake("has no groups; leave the option out for none", str(path)))
    return groups


def read_speeds(path: Path, npus: int) -> tuple[float, ...]:
    """Return the speed of each NPU at computations, 1 where a file has none; an InputError says what is wrong."""
    source = read_source(path)
    if not isinstance(source.data, dict) or not source.data:
        raise InputError(source.mistake((), 'must be an object of speeds by NPU, as {"3": 0.9}'))
    found, mistakes = [1.0] * npus, list[Mistake]()
    for key, value in source.data.items():
        name = str(key)
        if not name.isdecimal() or int(name) >= npus:
            mistakes.append(source.mistake((key,), f"is no NPU; there are {npus}, 0 to {npus - 1}"))
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or not _SLOWEST <= value <= 1 / _SLOWEST:
            mistakes.append(
                source.mistake((key,), f"found {value!r}; a speed of {_SLOWEST:g} to {1 / _SLOWEST:g} is needed")
            )
        else:
            found[int(name)] = float(value)
    if mistakes:
        raise InputError(mistakes)
    return tuple(found)


_SLOWEST = 1e-6


def _traces(prefix: Path, npus: int, tell: Callable[[str], None]) -> Traces:
    traces = [nodes for _, nodes in read_traces(prefix, tell)]
    one_file = len(traces) == 1 and prefix.is_file()
    if len(traces) != npus and not one_file:
        found = counted(len(traces), "trace")
        raise InputError(
            Mistake(f"has {found}; the network has {counted(npus, 'NPU')}, which need one each", str(prefix))
        )
    return traces


def _refuse_groups(traces: Traces) -> None:
    """Refuse a trace that names a communicator group, as none are given."""
    for npu, trace in {id(trace): (npu, trace) for npu, trace in reversed([*enumerate(traces)])}.values():
        for node in trace:
            name = node.attributes.get("pg_name")
            if name is not None and name.value not in ("", "0"):
                reason = (
                    f"names communicator group '{name.value!s}', and no groups are given; --comm-group-configuration"
                )
                raise InputError(Mistake(f"{reason} takes their file", f"trace of NPU {npu}", key=f"node {node.id}"))


def _tell_no_one(_: str) -> None:
    """Show nothing."""
