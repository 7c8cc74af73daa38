"""Where NPUs meet: communicators that run collectives, channels that carry messages, and memories that are shared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from evo_libra.collective import Collective
from evo_libra.errors import InputError, Mistake
from evo_libra.timing.machine import Machine, MemoryKind
from evo_libra.timing.traces.equivalence_classes import Meeting, Order
from evo_libra.timing.traces.operations import MESSAGES, Action, Channel, Scope, Script, mistake_in
from evo_libra.timing.traces.process_groups import ProcessGroups, group_shape


@dataclass(frozen=True)
class Meetings:
    """The meetings of all NPUs, communicators first, with the scopes and members of these.

    Each NPU has a communicator for each scope of its script, and the memory that it shares, or None.
    """

    meetings: list[Meeting]
    scopes: list[Scope]
    members: list[tuple[int, ...]]
    communicator_of: list[list[int]]
    memory_of: list[int | None]


def find_meetings(scripts: Sequence[Script], groups: ProcessGroups) -> Meetings:
    """Return where NPUs meet.

    An InputError names NPUs that run a collective of a group that they are not in, or on links for which its algorithm
    is not known, or that have no remote memory for what they load or store.
    """
    scopes, members, communicator_of = _communicators(scripts, groups)
    known_by = [{communicator: number for number, communicator in enumerate(row)} for row in communicator_of]
    meetings: list[Meeting] = []
    mistakes: list[Mistake] = []
    for communicator, (scope, npus) in enumerate(zip(scopes, members, strict=True)):
        seats = tuple((npu, known_by[npu].get(communicator, -1)) for npu in npus)
        try:
            meetings.append(_meeting(scope, seats, scripts, groups))
        except ValueError as error:
            npu, number = next(seat for seat in seats if seat[1] >= 0)
            mistakes.append(mistake_in(npu, scripts[npu].first(Action.COLLECTIVE, number), str(error)))
    if mistakes:
        raise InputError(mistakes)
    memory_of: list[int | None] = [None] * len(scripts)
    for users in _memories(scripts, groups):
        for npu in users:
            memory_of[npu] = len(meetings)
        seats = tuple((npu, len(scripts[npu].scopes)) for npu in users)
        meetings.append(Meeting(Order.LINE, seats, (None,) * len(seats)))
    return Meetings(meetings, scopes, members, communicator_of, memory_of)


def _communicators(
    scripts: Sequence[Script], groups: ProcessGroups
) -> tuple[list[Scope], list[tuple[int, ...]], list[list[int]]]:
    numbers: dict[tuple[Scope, int], int] = {}
    scopes: list[Scope] = []
    members: list[tuple[int, ...]] = []
    communicator_of: list[list[int]] = [[] for _ in scripts]
    mistakes = []
    for npu, script in enumerate(scripts):
        for number, scope in enumerate(script.scopes):
            if (scope, npu) not in numbers:
                try:
                    npus = groups.members(scope, npu)
                except ValueError as error:
                    mistakes.append(mistake_in(npu, script.first(Action.COLLECTIVE, number), str(error)))
                    continue
                # All members at once: to look for each of them among all would take the square of their number.
                numbers |= {(scope, member): len(members) for member in npus}
                scopes.append(scope)
                members.append(npus)
            communicator_of[npu].append(numbers[scope, npu])
    if mistakes:
        raise InputError(mistakes)
    return scopes, members, communicator_of


def _meeting(
    scope: Scope, seats: tuple[tuple[int, int], ...], scripts: Sequence[Script], groups: ProcessGroups
) -> Meeting:
    npus, machine = [npu for npu, _ in seats], groups.machine
    collectives = frozenset[Collective]().union(*(scripts[npu].collectives[at] for npu, at in seats if at >= 0))
    rings = [groups.is_ring(scope, collective) for collective in collectives]
    of_group = machine is not None and scope.dimensions is None
    links: tuple[Hashable, ...] = (None,) * len(seats)
    label: Hashable = scope.dimensions
    if machine is not None and of_group:
        label = None if all(rings) else group_shape(npus, machine)
        if any(rings):
            links = tuple(machine.route(a, b) for a, b in zip(npus, [*npus[1:], npus[0]], strict=True))
    return Meeting(Order.RING if any(rings) else Order.ANY, seats, links, label)


def _memories(scripts: Sequence[Script], groups: ProcessGroups) -> list[list[int]]:
    """Return the NPUs that share each memory, of those that use it."""
    machine = groups.machine
    found: dict[int, list[int]] = {}
    mistakes = []
    for npu, script in enumerate(scripts):
        first = next((at for at, o in enumerate(script.operations) if o.action is Action.MEMORY), None)
        if machine is None or first is None:
            continue
        if machine.memory.kind is MemoryKind.NONE:
            mistakes.append(mistake_in(npu, script.nodes[first], "needs remote memory, which the cluster has not"))
        server = machine.memory.server(npu)
        if server is not None:
            found.setdefault(server, []).append(npu)
    if mistakes:
        raise InputError(mistakes)
    return list(found.values())


@dataclass(frozen=True)
class Peer:
    """The other end of a channel: its NPU, and the channel's number there, -1 where nobody receives what is sent.

    The label is all that tells the channel from others of the same classes.
    """

    npu: int
    number: int
    label: Hashable


def peers_of(scripts: Sequence[Script], machine: Machine | None) -> list[list[Peer]]:
    """Return the other end of every channel of every NPU.

    An InputError refuses a message to or from an NPU that is not there, and a receive of what is not sent.
    """
    if not any(script.channels for script in scripts):
        return [[] for _ in scripts]
    numbers = [{channel: number for number, channel in enumerate(script.channels)} for script in scripts]
    messages = [Counter(o.number for o in script.operations if o.action in MESSAGES) for script in scripts]
    mistakes: list[Mistake] = []
    found: list[list[Peer]] = [[] for _ in scripts]
    for npu, script in enumerate(scripts):
        for number, channel in enumerate(script.channels):
            if channel.peer >= len(scripts):
                mistakes.append(_mistake(npu, script, number, 0, f"there are {len(scripts)} NPUs"))
                continue
            there = numbers[channel.peer].get(Channel(npu, channel.tag, channel.size, not channel.sends), -1)
            sent = messages[channel.peer][there]
            if not channel.sends and sent < messages[npu][number]:
                mistakes.append(_mistake(npu, script, number, sent, "which does not send it"))
            route = machine.route(npu, channel.peer) if machine is not None else None
            found[npu].append(Peer(channel.peer, there, (number, there, route)))
    if mistakes:
        raise InputError(mistakes)
    return found


def _mistake(npu: int, script: Script, number: int, first: int, reason: str) -> Mistake:
    """Return what is wrong with a message, of those of a channel the one in some place."""
    channel = script.channels[number]
    nodes = [script.nodes[at] for at, o in enumerate(script.operations) if o.action in MESSAGES and o.number == number]
    way = "a message to" if channel.sends else "receives from"
    message = f"{way} NPU {channel.peer} of {channel.size} bytes with tag {channel.tag}; {reason}"
    return mistake_in(npu, nodes[first], message)
