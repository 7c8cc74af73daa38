"""Where NPUs meet: the parties that run collectives together, and memories that are shared."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from evo_libra.collective import Collective
from evo_libra.errors import InputError, Mistake
from evo_libra.timing.traces.equivalence_classes import Meeting, Order
from evo_libra.timing.traces.machine import MemoryKind
from evo_libra.timing.traces.operations import Action, Script, Use, mistake_in
from evo_libra.timing.traces.wiring import Wiring, group_shape


@dataclass(frozen=True)
class Gathering:
    """The meetings of all NPUs, parties first.

    Attributes
    ----------
    meetings : parties and memories.
    uses, members : of each party.
    party_of : of each NPU, the party of each use of its script.
    memory_of : of each NPU, the memory that it shares, or None.
    """

    meetings: list[Meeting]
    uses: list[Use]
    members: list[tuple[int, ...]]
    party_of: list[list[int]]
    memory_of: list[int | None]


def gather(scripts: Sequence[Script], wiring: Wiring) -> Gathering:
    """Return where NPUs meet.

    Raises
    ------
    InputError : an NPU runs a collective of a group that it is not in, or on links for which its algorithm is not
        known; or it has no remote memory for what it loads or stores.
    """
    uses, members, party_of = _parties(scripts, wiring)
    known_by = [{party: number for number, party in enumerate(row)} for row in party_of]
    meetings: list[Meeting] = []
    mistakes: list[Mistake] = []
    for party, (use, npus) in enumerate(zip(uses, members, strict=True)):
        seats = tuple((npu, known_by[npu].get(party, -1)) for npu in npus)
        try:
            meetings.append(_meeting(use, seats, scripts, wiring))
        except ValueError as error:
            npu, number = next(seat for seat in seats if seat[1] >= 0)
            mistakes.append(mistake_in(npu, scripts[npu].first(Action.COLLECTIVE, number), str(error)))
    if mistakes:
        raise InputError(mistakes)
    memory_of: list[int | None] = [None] * len(scripts)
    for users in _memories(scripts, wiring):
        for npu in users:
            memory_of[npu] = len(meetings)
        seats = tuple((npu, len(scripts[npu].uses)) for npu in users)
        meetings.append(Meeting(Order.LINE, seats, (None,) * len(seats)))
    return Gathering(meetings, uses, members, party_of, memory_of)


def _parties(scripts: Sequence[Script], wiring: Wiring) -> tuple[list[Use], list[tuple[int, ...]], list[list[int]]]:
    numbers: dict[tuple[Use, int], int] = {}
    uses: list[Use] = []
    members: list[tuple[int, ...]] = []
    party_of: list[list[int]] = [[] for _ in scripts]
    mistakes = []
    for npu, script in enumerate(scripts):
        for number, use in enumerate(script.uses):
            if (use, npu) not in numbers:
                try:
                    npus = wiring.members(use, npu)
                except ValueError as error:
                    mistakes.append(mistake_in(npu, script.first(Action.COLLECTIVE, number), str(error)))
                    continue
                # All members learn of their party at once: to look for each of them among all would take its square.
                numbers |= {(use, member): len(members) for member in npus}
                uses.append(use)
                members.append(npus)
            party_of[npu].append(numbers[use, npu])
    if mistakes:
        raise InputError(mistakes)
    return uses, members, party_of


def _meeting(use: Use, seats: tuple[tuple[int, int], ...], scripts: Sequence[Script], wiring: Wiring) -> Meeting:
    npus, machine = [npu for npu, _ in seats], wiring.machine
    collectives = frozenset[Collective]().union(*(scripts[npu].collectives[at] for npu, at in seats if at >= 0))
    rings = [wiring.is_ring(use, collective) for collective in collectives]
    of_group = machine is not None and use.dimensions is None
    links: tuple[Hashable, ...] = (None,) * len(seats)
    label: Hashable = use.dimensions
    if machine is not None and of_group:
        label = None if all(rings) else group_shape(npus, machine)
        if any(rings):
            links = tuple(machine.route(a, b) for a, b in zip(npus, [*npus[1:], npus[0]], strict=True))
    return Meeting(Order.RING if any(rings) else Order.ANY, seats, links, label)


def _memories(scripts: Sequence[Script], wiring: Wiring) -> list[list[int]]:
    """Return the NPUs that share each memory, of those that use it."""
    machine = wiring.machine
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
