"""Collectives whose members run by themselves, message by message: as they begin apart, or their links differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evo_libra.collective import Collective, SizedCollective
from evo_libra.timing.collectives.collective_time import servers_of, way_of
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, RING, Link, phase_time
from evo_libra.timing.collectives.steps import steps_of
from evo_libra.timing.collectives.system import System, cut, left
from evo_libra.timing.machine import Machine
from evo_libra.timing.names import CollectiveAlgorithm, Policy, Scheduler
from evo_libra.timing.traces.apart import MemberCollective, MemberPhase
from evo_libra.timing.traces.process_groups import GROUP_ENDPOINT, group_shape, single
from evo_libra.timing.traces.program import Communicator


def running(machine: Machine, communicator: Communicator, collective: Collective) -> tuple[System, list[Link]]:
    """Return how a collective that is no ring runs: the system, and its links; listed members are one dimension."""
    if communicator.scope.dimensions is not None:
        return machine.system, list(machine.links)
    row = single(machine.system.implementations[collective][0])
    overheads = replace(machine.system.overheads, endpoint=GROUP_ENDPOINT, listed=True)
    system = replace(machine.system, implementations={collective: [row]}, overheads=overheads)
    return system, [_group_link(communicator.members, machine)]


def members_of(machine: Machine, communicator: Communicator, exchange: SizedCollective) -> MemberCollective | None:
    """Return a collective of members that may begin apart; None where no exact time of it is known.

    That is so of double binary trees, and of schedulers.
    """
    collective, (system, links) = exchange.collective, running(machine, communicator, exchange.collective)
    rows = system.implementations[collective]
    used = communicator.scope.dimensions or (0,)
    trees = any(single(rows[d]).algorithm is CollectiveAlgorithm.DOUBLE_BINARY_TREE for d in used)
    if trees or (system.scheduler, system.policy) != (Scheduler.BASELINE, Policy.FIFO):
        return None
    chunks = cut(collective, exchange.size, np.array([int(np.prod(machine.npus))]), system.splits)
    way = way_of(collective, len(used), shrinking=system.shrinking)
    split = collective is Collective.ALL_REDUCE and system.shrinking
    queues, size, phases = (
        servers_of(way, system.queues, split=split),
        chunks.size.astype(np.float64),
        list[MemberPhase](),
    )
    for (place, kind), own in zip(way, queues.tolist(), strict=True):
        d = used[place]
        steps = steps_of(single(rows[d]), kind, int(size[0]), links[d], system.overheads)
        phases.append(MemberPhase(steps, place, tuple(own)))
        size = left(kind, size, links[d].npus)
    sizes = tuple(int(links[d].npus[0]) for d in used)
    return MemberCollective(sizes, tuple(phases), int(chunks.count[0]), system.slots, communicator.seats)


def uneven_members(
    machine: Machine, communicator: Communicator, exchange: SizedCollective, most: int
) -> MemberCollective:
    """Return a collective of listed members whose links differ, each with a role of its own.

    A ValueError says that the algorithm cannot run it, or that no time is known of it: of double binary trees, and of
    more messages than the most.
    """
    row = single(machine.system.implementations[exchange.collective][0])
    (link,) = running(machine, communicator, exchange.collective)[1]
    phase_time(row, exchange.collective, np.ones(1), link, machine.system.overheads)
    found = members_of(machine, communicator, exchange)
    if found is None or found.messages > most:
        group_shape(communicator.members, machine)
        raise ValueError("links that differ have no shape")
    (phase,) = found.phases
    members, steps = communicator.members, phase.steps
    transfers = []
    for place in (communicator.seats.index(role) for role in range(len(communicator.roles))):
        targets = [members[steps.target(place, move)] for move in steps.moves]
        routes = {target: machine.route(members[place], target) for target in set(targets)}
        ways = zip(targets, steps.sizes, strict=True)
        transfers.append(tuple(machine.transfer(size, routes[target]) for target, size in ways))
    return replace(found, phases=(replace(phase, transfers=tuple(transfers)),))


def _group_link(members: Sequence[int], machine: Machine) -> Link:
    """Return a dimension that is like the links between the members of a group."""
    try:
        shape = group_shape(members, machine)
    except ValueError:  # `uneven_members` gives each link its own
        link = machine.links[machine.route(members[0], members[1]).dimension]
        return replace(link, block=np.array([FULLY_CONNECTED]), npus=np.array([len(members)]))
    link = machine.links[shape.dimension]
    block = np.array([RING if shape.around else FULLY_CONNECTED])
    return Link(block, np.array([len(members)]), link.bandwidth, link.latency * shape.hops, link.shared)
