"""Meetings of NPUs, and classes of NPUs that do the same at the same times, which are executed only once.

NPUs meet in communicators that run collectives, channels that carry messages, and memories that are shared. They are of
one class when their traces say the same but for names, and they meet NPUs of the same classes in the same roles. That
is found by refining a partition until nothing changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum

from evo_libra.collective import Collective
from evo_libra.errors import InputError, Mistake
from evo_libra.timing.machine import Machine, MemoryKind
from evo_libra.timing.traces.apart import equal_views
from evo_libra.timing.traces.operations import MESSAGES, Action, Channel, Scope, Script, mistake_in
from evo_libra.timing.traces.process_groups import ProcessGroups, group_shape


class Order(Enum):
    """Differences of the seats of a meeting: none, by who sits next to whom around a ring or on a grid, or all."""

    ANY = "any"
    RING = "ring"
    GRID = "grid"
    LINE = "line"


@dataclass(frozen=True)
class Meeting:
    """A meeting of NPUs: a group that runs collectives, or a memory.

    Attributes
    ----------
    order : how seats differ.
    seats : the NPUs, each with the number that it knows the meeting by; -1 for one that never comes.
    labels : of each seat: what tells the link to the next seat from others.
    label : what tells the meeting from others.
    grid : of a grid, its sizes, the first one fastest, and of each kind of collective, in which of them pairs exchange.
    """

    order: Order
    seats: tuple[tuple[int, int], ...]
    labels: tuple[Hashable, ...]
    label: Hashable = None
    grid: Grid | None = None

    def signature(self, colours: Sequence[int], numbers: dict[Hashable, int]) -> tuple[Hashable, Sequence[int]]:
        """Return what meetings of the same colours have in common, and what tells the seats of one from each other.

        Numbers are those of `equal_views`.
        """
        rows = [(colours[npu], number, label) for (npu, number), label in zip(self.seats, self.labels, strict=True)]
        key = self.order, self.label, len(rows)
        if self.order is Order.ANY:
            return (*key, frozenset(rows)), [0] * len(rows)
        if self.grid is not None:
            views = list(
                zip(*(equal_views(rows, self.grid.sizes, one, numbers) for one in self.grid.paired), strict=True)
            )
            return (*key, self.grid, frozenset(views)), [numbers.setdefault(view, len(numbers)) for view in views]
        period = len(rows) if self.order is Order.LINE else _period(rows)
        return (*key, tuple(rows[:period])), [place % period for place in range(len(rows))]


@dataclass(frozen=True)
class Grid:
    """Members on a grid: its sizes, the first one fastest, and of each kind of collective, where pairs exchange."""

    sizes: tuple[int, ...]
    paired: tuple[tuple[bool, ...], ...]


def _period(rows: Sequence[Hashable]) -> int:
    """Return the least number of seats after which a ring repeats itself."""
    count = len(rows)
    # The longest proper prefix that is also a suffix, as in string matching by Knuth, Morris and Pratt.
    border = [0] * count
    for place in range(1, count):
        length = border[place - 1]
        while length and rows[place] != rows[length]:
            length = border[length - 1]
        border[place] = length + (rows[place] == rows[length])
    period = count - border[-1]
    return period if count % period == 0 else count


@dataclass(frozen=True)
class Partition:
    """The class of each NPU, numbered by their first NPUs, and the kind of each meeting.

    Meetings of one kind are the same to their classes.
    """

    colours: tuple[int, ...]
    kinds: tuple[int, ...]


def partition(
    initial: Sequence[Hashable], meetings: Sequence[Meeting], peers: Sequence[Sequence[tuple[int, Hashable]]]
) -> Partition:
    """Return the coarsest partition in which NPUs of a class do the same.

    Of each NPU there is what its trace says, and the other ends of its channels with what tells those channels from
    others.
    """
    at: list[list[tuple[int, int]]] = [[] for _ in initial]
    for number, meeting in enumerate(meetings):
        for place, (npu, known_by) in enumerate(meeting.seats):
            if known_by >= 0:
                at[npu].append((number, place))
    for npu, mine in enumerate(at):
        at[npu] = sorted(mine, key=lambda seat: meetings[seat[0]].seats[seat[1]][1])
    colours = _numbered(initial)
    while True:
        numbers: dict[Hashable, int] = {}
        signatures = [meeting.signature(colours, numbers) for meeting in meetings]
        kinds = _numbered([key for key, _ in signatures])
        rows = [
            (
                colours[npu],
                tuple((kinds[number], meetings[number].seats[place][1], signatures[number][1][place])
                      for number, place in at[npu]),
                tuple((colours[other], label) for other, label in peers[npu]),
            )
            for npu in range(len(initial))
        ]  # fmt: skip
        refined = _numbered(rows)
        if max(refined, default=0) == max(colours, default=0):
            return Partition(tuple(colours), tuple(kinds))
        colours = refined


def _numbered(rows: Sequence[Hashable]) -> list[int]:
    """Return a number for each row, the same for the same rows, in the order of first appearance."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(row, len(numbers)) for row in rows]


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


def find_meetings(scripts: Sequence[Script], groups: ProcessGroups, *, apart: bool = False) -> Meetings:
    """Return where NPUs meet; where members may begin apart, by their places among all members.

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
            meetings.append(_meeting(scope, seats, scripts, groups, apart=apart))
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
    scope: Scope, seats: tuple[tuple[int, int], ...], scripts: Sequence[Script], groups: ProcessGroups, *, apart: bool
) -> Meeting:
    npus, machine = [npu for npu, _ in seats], groups.machine
    collectives = frozenset[Collective]().union(*(scripts[npu].collectives[at] for npu, at in seats if at >= 0))
    rings = [groups.is_ring(scope, collective) for collective in collectives]
    if groups.is_uneven(scope, npus, collectives):
        return Meeting(Order.LINE, seats, (None,) * len(seats), (scope, tuple(npus)))
    of_group = machine is not None and scope.dimensions is None
    links: tuple[Hashable, ...] = (None,) * len(seats)
    label: Hashable = scope.dimensions
    if machine is not None and of_group:
        label = None if all(rings) else group_shape(npus, machine)
        if any(rings):
            links = tuple(machine.route(a, b) for a, b in zip(npus, [*npus[1:], npus[0]], strict=True))
    if apart and machine is not None and not all(rings):
        kinds = sorted(collectives, key=lambda collective: collective.value)
        paired = [groups.paired(scope, kind) for kind in kinds]
        sizes = (len(npus),) if scope.dimensions is None else tuple(machine.npus[d] for d in scope.dimensions)
        return Meeting(Order.GRID, seats, links, label, Grid(sizes, tuple(dict.fromkeys(paired))))
    return Meeting(Order.RING if any(rings) else Order.ANY, seats, links, label)


def _memories(scripts: Sequence[Script], groups: ProcessGroups) -> list[list[int]]:
    """Return the NPUs that share each memory, of those that use it."""
    machine = groups.machine
    found: dict[int, list[int]] = {}
    mistakes = []
    first_of = {
        id(script.operations): next((at for at, o in enumerate(script.operations) if o.action is Action.MEMORY), None)
        for script in {id(script.operations): script for script in scripts}.values()
    }
    for npu, script in enumerate(scripts):
        first = first_of[id(script.operations)]
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
    """The other end of a channel: its NPU, and the channel's number there, -1 where no NPU receives what is sent.

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
    of_each = {id(script.operations): script for script in scripts}
    counted = {
        key: Counter(o.number for o in script.operations if o.action in MESSAGES) for key, script in of_each.items()
    }
    messages = [counted[id(script.operations)] for script in scripts]
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
