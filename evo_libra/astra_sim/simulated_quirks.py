"""Quirks of ASTRA-sim in a run, each with its size: the time that would differ without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.astra_sim.simulate import InputFiles, Simulation
from evo_libra.collective import SizedCollective
from evo_libra.errors import counted
from evo_libra.files.source import read_source
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.system import cut
from evo_libra.timing.input_files.network_file import parse_network
from evo_libra.timing.input_files.system_file import parse_system
from evo_libra.timing.names import Policy, Scheduler
from evo_libra.timing.quirks import (
    GROUP_ENDPOINT_DELAY,
    GROUPS_AS_RINGS,
    INSTANT_COMPUTATION,
    ONE_COLLECTIVE_AT_A_TIME,
    ONE_DIMENSION_GROUPS,
    SCHEDULER_KEYS,
    named,
)
from evo_libra.timing.traces.execute import execute_program
from evo_libra.timing.traces.operations import Action, Resource
from evo_libra.timing.traces.process_groups import GROUP_ENDPOINT
from evo_libra.timing.traces.program import Communicator
from evo_libra.timing.traces.traffic import links_of_npu


@dataclass(frozen=True)
class SizedQuirk:
    """A quirk of a run: its name and sentence, its size in words, and in ns where it is a time."""

    name: str
    sentence: str
    size: str
    ns: float | None = None

    def __str__(self) -> str:
        return f"{self.sentence} Here: {self.size} [{self.name}]"

    def json(self) -> dict[str, Any]:
        """Return it for programs."""
        return {"quirk": self.name, "sentence": self.sentence, "size": self.size, "size_ns": self.ns}


def quirks_of(simulation: Simulation, files: InputFiles) -> list[SizedQuirk]:
    """Return the quirks that change a figure of a run."""
    return [quirk for find in _FINDERS for quirk in find(simulation)] + list(_scheduler(simulation, files))


def _links_not_shared(simulation: Simulation) -> Iterator[SizedQuirk]:
    machine, done = simulation.machine, simulation.execution
    rate = links_of_npu(machine) * np.array([float(link.rate[0]) for link in machine.links])
    needed = (simulation.traffic.carried / rate).max(axis=1)
    taken = np.array([_taking(simulation, at) for at in range(len(done.program))])
    longer = _most(simulation, np.maximum(needed - taken, 0.0))
    # Rounding down to a ns is no message that shares a link.
    if longer > len(done.program):
        yield SizedQuirk(
            *named("links-are-not-shared"),
            f"an NPU's own links need {_ms(longer)} more for what it sends, at the least.", longer,
        )  # fmt: skip


def _taking(simulation: Simulation, at: int) -> float:
    """Return the ns of a collective or message that all begin together, and no end for others."""
    done = simulation.execution
    program = done.program
    if program.operations[at].action is Action.COLLECTIVE:
        exchange = program.exchanges[program.exchange[at]]
        return float(simulation.execution.times.together(int(program.communicator[at]), exchange).max())
    return float(done.ends[at] - done.starts[at])


def _groups_as_rings(simulation: Simulation) -> Iterator[SizedQuirk]:
    listed = _listed(simulation)
    if not len(listed) or len(simulation.machine.npus) == 1:
        return
    program = simulation.execution.program
    ring, other = np.zeros(len(program)), np.zeros(len(program))
    for at in listed.tolist():
        exchange = program.exchanges[program.exchange[at]]
        one = _by_dimension(simulation, program.communicators[program.communicator[at]], exchange)
        if one is None:
            size = f"{counted(len(listed), 'collective')} of such groups; some have no time dimension by dimension."
            yield SizedQuirk(GROUPS_AS_RINGS.name, _RINGS, size)
            return
        ring[at], other[at] = _taking(simulation, at), one
    difference = np.bincount(program.owner, weights=np.abs(ring - other))
    mine = program.owner == difference.argmax()
    npu = program.classes[int(difference.argmax())][0]
    rings, others = float(ring[mine].sum()), float(other[mine].sum())
    size = f"those of NPU {npu} take {_ms(rings)}, and dimension by dimension they would take {_ms(others)}."
    yield SizedQuirk(GROUPS_AS_RINGS.name, _RINGS, size, rings - others)


_RINGS = "A process group smaller than the world is one flat ring over its members in ASTRA-sim."


def _by_dimension(simulation: Simulation, communicator: Communicator, exchange: SizedCollective) -> float | None:
    """Return the ns of a group's collective over dimensions of the group's own size; None where there is no such."""
    machine = simulation.machine
    digits = np.unravel_index(np.array(communicator.members), machine.npus, order="F")
    extent = [len(np.unique(digit)) for digit in digits]
    if np.prod(extent) != len(communicator.members):
        return None
    links = [replace(link, npus=np.array([size])) for link, size in zip(machine.links, extent, strict=True)]
    try:
        return float(
            collective_time(
                exchange.collective, exchange.size, links, machine.system, world=simulation.execution.times.groups.total
            )[0]
        )
    except ValueError:
        return None


def _listed(simulation: Simulation) -> IntArray:
    """Return the collectives of groups smaller than the world, by ASTRA-sim's algorithms."""
    program = simulation.execution.program
    small = [p.scope.dimensions is None and not p.scope.is_own for p in program.communicators]
    return np.array([at for at, p in enumerate(program.communicator.tolist()) if p >= 0 and small[p]], dtype=np.int64)


def _group_endpoint(simulation: Simulation) -> Iterator[SizedQuirk]:
    endpoint, listed = simulation.machine.system.overheads.endpoint, _listed(simulation)
    if endpoint != GROUP_ENDPOINT and len(listed):
        per_message = endpoint - GROUP_ENDPOINT
        size = f"each message of {counted(len(listed), 'collective')} would wait {per_message:+g} ns with the file's."
        yield SizedQuirk(GROUP_ENDPOINT_DELAY.name, GROUP_ENDPOINT_DELAY.sentence, size)


def _one_dimension_groups(simulation: Simulation) -> Iterator[SizedQuirk]:
    listed = _listed(simulation)
    if len(listed) and len(simulation.machine.npus) == 1:
        size = f"{counted(len(listed), 'collective')} of such groups; the figures stay right."
        yield SizedQuirk(ONE_DIMENSION_GROUPS.name, ONE_DIMENSION_GROUPS.sentence, size)


def _one_at_a_time(simulation: Simulation) -> Iterator[SizedQuirk]:
    done = simulation.execution
    waits = np.zeros(len(done.program))
    first = np.searchsorted(done.program.owner, np.arange(len(done.program.classes)))
    for at, operation in enumerate(done.program.operations):
        if operation.resource is Resource.COMMUNICATION:
            base = first[done.program.owner[at]]
            ready = max((done.ends[base + other] for other in operation.waits_for), default=0.0)
            waits[at] = done.starts[at] - ready
    longest = _most(simulation, waits)
    if longest > 0:
        size = f"communication of an NPU that could begin waits {_ms(longest)} in all for other communication."
        yield SizedQuirk(ONE_COLLECTIVE_AT_A_TIME.name, _ONE, size, longest)


_ONE = "An NPU of ASTRA-sim runs one collective or send at a time, even on links that nothing uses."


def _first_dimension_only(simulation: Simulation) -> Iterator[SizedQuirk]:
    program = simulation.execution.program
    more = np.zeros(len(program))
    for at, operation in enumerate(program.operations):
        if operation.action is Action.SEND:
            more[at] = _other_dimensions(simulation, program.classes[program.owner[at]][0], int(program.peer[at]), at)
    longest = _most(simulation, more)
    if longest > 0:
        size = f"the messages of an NPU would take {_ms(longest)} more over all dimensions in which their ends differ."
        yield SizedQuirk(*named("first-dimension-only"), size, longest)


def _other_dimensions(simulation: Simulation, source: int, target: int, at: int) -> float:
    """Return the ns of a message in the dimensions but the first in which its ends differ."""
    machine, size, found = simulation.machine, simulation.execution.program.operations[at].size, list[float]()
    for link, npus in zip(machine.links, machine.npus, strict=True):
        offset = np.array([float((target - source) % npus)])
        if offset[0]:
            found.append(float(link.transfer(np.array([float(size)]), link.hops(offset))[0]))
        source, target = source // npus, target // npus
    return sum(found[1:])


def _whole_chunks(simulation: Simulation) -> Iterator[SizedQuirk]:
    program, splits = simulation.execution.program, simulation.machine.system.splits
    total, asked, run = np.array([simulation.execution.times.groups.total]), 0, 0
    for operation in program.operations:
        if operation.collective is not None and not operation.algorithm:
            chunks = cut(operation.collective, operation.size, total, splits)
            asked, run = asked + operation.size, run + int(chunks.size[0] * chunks.count[0])
    if run > asked:
        size = f"collectives run {run - asked:,} bytes more than the {asked:,} of the traces."
        yield SizedQuirk(*named("whole-chunks"), size)


def _instant(simulation: Simulation) -> Iterator[SizedQuirk]:
    done = simulation.execution
    if not simulation.machine.compute.roofline:
        return
    instant = [
        at
        for at, operation in enumerate(done.program.operations)
        if operation.action is Action.COMPUTE and done.ends[at] == done.starts[at]
    ]
    if instant:
        npu = done.program.classes[done.program.owner[instant[0]]][0]
        size = (
            f"{counted(len(instant), 'computation')}, the first is node {done.program.nodes[instant[0]]} of NPU {npu}."
        )
        yield SizedQuirk(INSTANT_COMPUTATION.name, INSTANT_COMPUTATION.sentence, size)


def _late(simulation: Simulation) -> Iterator[SizedQuirk]:
    late = simulation.execution.late
    if late:
        size = f"{counted(len(late), 'collective')}; times of members that came early are too long."
        yield SizedQuirk("late", _LATE, size)


_LATE = (
    "Members of a collective that begin apart end by themselves in ASTRA-sim. Of double binary trees and of very many "
    "messages no such time is known, and all end with the last one."
)


def _ties(simulation: Simulation) -> Iterator[SizedQuirk]:
    done = simulation.execution
    if done.tied:
        longest = float(done.taking[list(done.tied)].max())
        size = f"{counted(len(done.tied), 'transfer')}; each may begin {_ms(longest)} sooner or later."
        yield SizedQuirk("shared-memory-ties", _TIES, size, longest)


_TIES = (
    "NPUs that come to a shared memory at the same ns are served by their number here, and in the order of its events "
    "in ASTRA-sim."
)


def _scheduler(simulation: Simulation, files: InputFiles) -> Iterator[SizedQuirk]:
    """Yield the quirk of schedulers that a file asks for, with the end under them."""
    asked = parse_system(read_source(files.system), parse_network(read_source(files.network)), own=True)
    if (asked.scheduler, asked.policy) == (Scheduler.BASELINE, Policy.FIFO):
        return
    system = replace(simulation.machine.system, scheduler=asked.scheduler, policy=asked.policy)
    before = float(simulation.execution.finish.max())
    name, sentence = SCHEDULER_KEYS.name, SCHEDULER_KEYS.sentence
    if system.queues > 1:
        yield SizedQuirk(name, sentence, "no time of schedulers is known with several queues in a dimension.")
        return
    done = execute_program(simulation.execution.program, replace(simulation.machine, system=system))
    after = float(done.finish.max())
    asked_for = f"{asked.scheduler.value} and {asked.policy.value}"
    size = f"with {asked_for} the end would be {_ms(after)} in place of {_ms(before)}."
    yield SizedQuirk(name, sentence, size, after - before)


def _most(simulation: Simulation, values: FloatArray) -> float:
    """Return the sum of the class that has the largest, of (o,) values."""
    return float(np.bincount(simulation.execution.program.owner, weights=values).max(initial=0.0))


def _ms(ns: float) -> str:
    return f"{ns / 1e6:.6g} ms"


_FINDERS: tuple[Callable[[Simulation], Iterator[SizedQuirk]], ...] = (
    _links_not_shared, _groups_as_rings, _group_endpoint, _one_dimension_groups, _one_at_a_time, _first_dimension_only,
    _whole_chunks, _instant, _late, _ties,
)  # fmt: skip
