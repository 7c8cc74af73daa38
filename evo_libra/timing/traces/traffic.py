"""Bytes that operations of a program send, and that links carry: a message of two hops of a ring loads two links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.chakra.trace import Kind
from evo_libra.collective import Collective
from evo_libra.timing.collectives.collective_time import way_of
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, RING, Implementation
from evo_libra.timing.collectives.system import cut, left
from evo_libra.timing.machine import Machine
from evo_libra.timing.names import CollectiveAlgorithm
from evo_libra.timing.traces.operations import Action, TraceOperation
from evo_libra.timing.traces.process_groups import single
from evo_libra.timing.traces.program import Communicator, TraceProgram

_PAIR = 2


@dataclass(frozen=True)
class Traffic:
    """(o, d) bytes of one NPU per operation and dimension: sent, and carried, which counts each link of a message."""

    sent: FloatArray
    carried: FloatArray


def links_of_npu(machine: Machine) -> FloatArray:
    """Return the (d,) links on which an NPU sends in each dimension: two around a ring, one to each other NPU, or one.

    A ring of two NPUs has one, and so has a switch.
    """
    found = []
    for link, npus in zip(machine.links, machine.npus, strict=True):
        around = 1.0 if npus == _PAIR else 2.0
        found.append({RING: around, FULLY_CONNECTED: npus - 1.0}.get(int(link.block[0]), 1.0))
    return np.array(found)


def traffic_of(program: TraceProgram, machine: Machine) -> Traffic:
    """Return the traffic of a program that was compiled for the machine, without its scheduler."""
    found = Traffic(*(np.zeros((len(program), len(machine.npus))) for _ in range(2)))
    known: dict[tuple[int, int, int], Traffic] = {}
    for at, operation in enumerate(program.operations):
        if operation.action is Action.SEND:
            route = machine.route(program.classes[program.owner[at]][0], int(program.peer[at]))
            found.sent[at, route.dimension] = operation.size
            found.carried[at, route.dimension] = operation.size * _links(machine, route.dimension, route.hops)
        elif operation.action is Action.COLLECTIVE:
            number, role = int(program.communicator[at]), int(program.role[at])
            key = number, role, int(program.exchange[at])
            if key not in known:
                known[key] = _of_collective(operation, program.communicators[number], role, machine)
            found.sent[at], found.carried[at] = known[key].sent[0], known[key].carried[0]
    return found


def _links(machine: Machine, dimension: int, hops: int) -> int:
    """Return the links of an NPU's dimension that a message takes: a switch has one up and one down, and one counts."""
    return hops if int(machine.links[dimension].block[0]) == RING else 1


def _of_collective(operation: TraceOperation, communicator: Communicator, role: int, machine: Machine) -> Traffic:
    assert operation.collective is not None  # noqa: S101 - a collective has one
    if operation.algorithm:
        return _of_own(operation.algorithm, communicator, role, machine)
    total = int(np.prod(machine.npus))
    chunks = cut(operation.collective, operation.size, np.array([total]), machine.system.splits)
    run = _of_dimensions if communicator.scope.dimensions is not None else _of_list
    found = run(operation.collective, int(chunks.size[0]), communicator, role, machine)
    return Traffic(*(one * int(chunks.count[0]) for one in (found.sent, found.carried)))


def _of_own(algorithm: str, communicator: Communicator, role: int, machine: Machine) -> Traffic:
    """Return the (1, d) bytes of a member by an algorithm of the user's own."""
    found = Traffic(*(np.zeros((1, len(machine.npus))) for _ in range(2)))
    members = communicator.members
    npu = members[communicator.seats.index(role)]
    for step in machine.algorithms.known[algorithm].places[sorted(members).index(npu)]:
        if step.kind is Kind.COMM_SEND:
            route = machine.route(npu, members[step.peer])
            found.sent[0, route.dimension] += step.size
            found.carried[0, route.dimension] += step.size * _links(machine, route.dimension, route.hops)
    return found


def _of_dimensions(
    collective: Collective, chunk: int, communicator: Communicator, _role: int, machine: Machine
) -> Traffic:
    """Return the (1, d) bytes of one chunk over whole dimensions."""
    found = Traffic(*(np.zeros((1, len(machine.npus))) for _ in range(2)))
    used, rows = communicator.scope.dimensions or (), machine.system.implementations[collective]
    size = np.array([float(chunk)])
    for place, kind in way_of(collective, len(used), shrinking=machine.system.shrinking):
        d = used[place]
        npus = machine.npus[d]
        bytes_ = sent_by_offset(single(rows[d]), kind, npus, int(size[0]))
        hops = machine.links[d].hops(np.arange(npus, dtype=np.float64))
        found.sent[0, d] += bytes_.sum()
        found.carried[0, d] += (bytes_ * [_links(machine, d, int(hop)) for hop in hops]).sum()
        size = left(kind, size, np.array([npus]))
    return found


def _of_list(collective: Collective, chunk: int, communicator: Communicator, role: int, machine: Machine) -> Traffic:
    """Return the (1, d) bytes of one chunk of listed members, which are one ring where there are several algorithms."""
    found = Traffic(*(np.zeros((1, len(machine.npus))) for _ in range(2)))
    rows, members = machine.system.implementations[collective], communicator.members
    row = single(rows[0]) if len(rows) == 1 else Implementation(CollectiveAlgorithm.RING)
    place = communicator.seats.index(role)
    for offset, bytes_ in enumerate(sent_by_offset(row, collective, len(members), chunk)):
        if bytes_:
            route = machine.route(members[place], members[(place + offset) % len(members)])
            found.sent[0, route.dimension] += bytes_
            found.carried[0, route.dimension] += bytes_ * _links(machine, route.dimension, route.hops)
    return found


def sent_by_offset(row: Implementation, collective: Collective, npus: int, size: int) -> FloatArray:
    """Return the (n,) bytes that an NPU sends to each other one, by how many places further it lies.

    The size is that of the message, for an all-gather of the shard. A double binary tree counts its mean, as a message
    to the next place.

    >>> sent_by_offset(Implementation.read("direct"), Collective.ALL_REDUCE, 4, 400).tolist()
    [0.0, 200.0, 200.0, 200.0]
    """
    found, both = np.zeros(npus), 2 if collective is Collective.ALL_REDUCE else 1
    message = size if collective is Collective.ALL_GATHER else size // npus
    if row.algorithm is CollectiveAlgorithm.RING:
        steps = npus * (npus - 1) // 2 if collective is Collective.ALL_TO_ALL else both * (npus - 1)
        found[1] = steps * message
    elif row.algorithm is CollectiveAlgorithm.DIRECT:
        found[1:] = both * message
    elif row.algorithm is CollectiveAlgorithm.HALVING_DOUBLING:
        _halve_and_double(found, collective, size)
    else:
        found[1] = 2 * (npus - 1) / npus * size
    return found


def _halve_and_double(found: FloatArray, collective: Collective, size: int) -> None:
    npus = len(found)
    steps = npus.bit_length() - 1
    if collective is not Collective.ALL_GATHER:
        for step in range(1, steps + 1):
            found[2 ** (step - 1)] += size // 2**step
    if collective is not Collective.REDUCE_SCATTER:
        shard = size if collective is Collective.ALL_GATHER else 2 * (size // (2 * npus))
        for step in range(steps):
            found[npus // 2 ** (step + 1)] += shard * 2**step
