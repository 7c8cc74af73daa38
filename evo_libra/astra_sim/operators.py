"""Tables of a run: the operators of its traces, its NPUs and its dimensions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.astra_sim.simulate import Simulation
from evo_libra.timing.traces.execute import Execution
from evo_libra.timing.traces.operations import Action, Resource
from evo_libra.timing.traces.program import TraceProgram
from evo_libra.timing.traces.traffic import links_of_npu

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Operator:
    """Nodes of the same kind, bytes and members, whose names differ in numbers alone; NPUs of a class count each.

    Attributes
    ----------
    name : of the nodes, with ``*`` for each number.
    kind : a computation, a collective by name, a send, and so on.
    size : bytes; -1 where it has none.
    members : NPUs that run a collective together; 1 for everything else.
    nodes : of all NPUs.
    total, longest : ns from the start to the end, of all nodes and of one.
    exposed : ns of `total` at which the NPU does not compute; of computations none.
    """

    name: str
    kind: str
    size: int
    members: int
    nodes: int
    total: float
    longest: float
    exposed: float

    def json(self) -> dict[str, Any]:
        """Return it for programs, with units in the keys."""
        return {
            "name": self.name, "kind": self.kind, "bytes": None if self.size < 0 else self.size,
            "members": self.members, "nodes": self.nodes, "total_ns": self.total, "longest_ns": self.longest,
            "exposed_ns": self.exposed,
        }  # fmt: skip


@dataclass
class _Sum:
    nodes: int = 0
    total: float = 0.0
    longest: float = 0.0
    exposed: float = 0.0


def operators_of(done: Execution) -> list[Operator]:
    """Return the operators of a run, those that take most of the time of all NPUs first."""
    program, sums = done.program, dict[tuple[str, str, int, int], _Sum]()
    taken, exposed = done.ends - done.starts, exposed_ns(done)
    names: dict[str, str] = {}
    for at, operation in enumerate(program.operations):
        if (name := program.names[at]) not in names:
            names[name] = _NUMBER.sub("*", name)
        number = int(program.communicator[at])
        members = len(program.communicators[number].members) if number >= 0 else 1
        size = operation.size if operation.action is not Action.COMPUTE else -1
        one = sums.setdefault((names[name], _kind(program, at), size, members), _Sum())
        npus = len(program.classes[program.owner[at]])
        one.nodes += npus
        one.total += npus * taken[at]
        one.exposed += npus * exposed[at]
        one.longest = max(one.longest, float(taken[at]))
    found = [
        Operator(*key, nodes=one.nodes, total=float(one.total), longest=one.longest, exposed=float(one.exposed))
        for key, one in sums.items()
    ]
    return sorted(found, key=lambda operator: -operator.total)


def _kind(program: TraceProgram, at: int) -> str:
    operation = program.operations[at]
    if operation.collective is not None:
        return operation.collective.value
    if operation.action is Action.REPLAY and operation.resource is Resource.COMPUTE:
        return _KINDS[Action.COMPUTE]
    return _KINDS[operation.action]


_KINDS = {
    Action.REPLAY: "replay", Action.COMPUTE: "computation", Action.MEMORY: "remote memory", Action.SEND: "send",
    Action.RECEIVE: "receive",
}  # fmt: skip


def exposed_ns(done: Execution) -> FloatArray:
    """Return (o,) ns of each operation at which its NPU does not compute."""
    program = done.program
    computes = np.array([o.resource is Resource.COMPUTE for o in program.operations], dtype=np.bool_)
    found = done.ends - done.starts
    for own in _of_classes(program):
        busy = own[computes[own]]
        order = busy[np.argsort(done.starts[busy], kind="stable")]
        starts, ends = done.starts[order], done.ends[order]
        if len(order):
            found[own] -= computed(starts, ends, done.ends[own]) - computed(starts, ends, done.starts[own])
    found[computes] = 0.0
    return np.asarray(found)


def _of_classes(program: TraceProgram) -> list[IntArray]:
    first = np.searchsorted(program.owner, np.arange(1, len(program.classes)))
    return np.split(np.arange(len(program)), first)


def computed(starts: FloatArray, ends: FloatArray, until: FloatArray) -> FloatArray:
    """Return (m,) ns that computations of (c,) starts and ends, one after the other, take before (m,) times.

    >>> computed(np.array([0.0, 10.0]), np.array([4.0, 12.0]), np.array([2.0, 5.0, 11.0, 20.0])).tolist()
    [2.0, 4.0, 5.0, 6.0]
    """
    before = np.concatenate([[0.0], np.cumsum(ends - starts)])
    place = np.searchsorted(starts, until, side="right")
    running = np.maximum(ends[np.maximum(place - 1, 0)] - until, 0.0) * (place > 0)
    return np.asarray(before[place] - running)


@dataclass(frozen=True)
class DimensionUse:
    """A dimension of the network in a run.

    Attributes
    ----------
    sent : bytes of a mean NPU.
    links : on which an NPU sends.
    utilisation : bytes that links carried over those that they carry from the beginning to the end of the run. More
        than 1 says that messages were under way together, each at the rate of a whole link.
    """

    block: int
    npus: int
    sent: float
    links: float
    utilisation: float


def dimensions_of(simulation: Simulation) -> list[DimensionUse]:
    """Return the use of each dimension, the innermost first."""
    machine, program = simulation.machine, simulation.execution.program
    count = np.array([len(members) for members in program.classes], dtype=np.float64)[program.owner]
    total, end = float(np.prod(machine.npus)), float(simulation.execution.finish.max())
    links = links_of_npu(machine)
    found = []
    for d, link in enumerate(machine.links):
        sent, carried = (
            float(count @ of[:, d]) / total for of in (simulation.traffic.sent, simulation.traffic.carried)
        )
        capacity = links[d] * float(link.rate[0]) * end
        used = float(carried / capacity) if capacity else 0.0
        found.append(DimensionUse(int(link.block[0]), machine.npus[d], sent, float(links[d]), used))
    return found


def ranges(npus: Sequence[int]) -> str:
    """Return ascending numbers in few words.

    >>> ranges([0, 1, 2, 5, 7, 8])
    '0-2, 5, 7-8'
    """
    parts: list[list[int]] = []
    for npu in npus:
        if parts and npu == parts[-1][1] + 1:
            parts[-1][1] = npu
        else:
            parts.append([npu, npu])
    return ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in parts)
