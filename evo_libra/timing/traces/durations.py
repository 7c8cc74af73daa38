"""Times of the operations of a program on a machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import GIGA, FloatArray
from evo_libra.collective import Collective, SizedCollective
from evo_libra.errors import InputError, Mistake
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import SWITCH
from evo_libra.timing.collectives.system import System, cut
from evo_libra.timing.machine import Machine
from evo_libra.timing.traces.apart import ends_apart
from evo_libra.timing.traces.by_member import members_of, running, uneven_members
from evo_libra.timing.traces.operations import Action, TraceOperation
from evo_libra.timing.traces.own_collective import own_ends
from evo_libra.timing.traces.process_groups import GROUP_ENDPOINT, ProcessGroups
from evo_libra.timing.traces.program import Communicator, TraceProgram
from evo_libra.units import roofline_ns


def durations(program: TraceProgram, machine: Machine, times: CollectiveTimes | None = None) -> FloatArray:
    """Return (o,) ns of each operation; of a collective, until the last of members that begin together ends.

    A receive takes no time once its message is there. All is rounded down to a ns, as ASTRA-sim does it. An InputError
    lists all computations that lack what the roofline needs, and all collectives that cannot run.
    """
    times = CollectiveTimes(machine, program.communicators) if times is None else times
    found, mistakes = np.zeros(len(program)), list[Mistake]()
    for at, operation in enumerate(program.operations):
        try:
            found[at] = _duration(program, at, operation, machine, times)
        except ValueError as error:
            mistakes.append(program.mistake(at, str(error)))
    if mistakes:
        raise InputError(mistakes)
    return found


def _duration(
    program: TraceProgram, at: int, operation: TraceOperation, machine: Machine, times: CollectiveTimes
) -> float:
    if operation.action is Action.COLLECTIVE:
        return float(times.together(int(program.communicator[at]), program.exchanges[program.exchange[at]]).max())
    if operation.action is Action.SEND:
        sender = program.classes[program.owner[at]][0]
        return machine.transfer(operation.size, machine.route(sender, int(program.peer[at])))
    if operation.action is Action.MEMORY:
        return machine.memory.transfer(operation.size)
    if operation.action is Action.COMPUTE and machine.compute.roofline:
        return _roofline(operation, machine)
    return 0.0 if operation.action is Action.RECEIVE else float(operation.duration)


def _roofline(operation: TraceOperation, machine: Machine) -> float:
    if operation.work < 1 or operation.size < 1:
        raise ValueError(
            f"has num_ops {_describe(operation.work)} and tensor_size {_describe(operation.size)};"
            " with roofline-enabled both must be above 0"
        )
    memory = machine.system.overheads.memory * GIGA
    if min(memory, machine.compute.peak) <= 0:
        raise ValueError("needs a peak-perf and a local-mem-bw above 0, as roofline-enabled is set")
    return float(roofline_ns(operation.work, operation.size, machine.compute.peak, memory))


def _describe(number: int) -> str:
    return "missing" if number < 0 else str(number)


def ring_ends(starts: FloatArray, links: FloatArray, steps: int, own: float) -> FloatArray:
    """Return when the m members of a ring end, which begin at (m,) times.

    A message to the next member, and from the last to the first, takes one of (m,) times; each member sends some steps
    of them, at least ``m - 1``, and spends some time of its own besides, all steps together.
    """
    members = len(starts)
    around = np.concatenate([[0.0], np.cumsum(links)])
    before, lap = around[:-1], around[-1]
    lead = starts - before
    # The farthest origin is as many places before a member as there are steps; the others follow it around the ring.
    first = (np.arange(members) - steps) % members
    laps = (np.arange(members) - steps) // members
    from_here = np.maximum.accumulate(lead[::-1])[::-1][first]
    beyond = np.concatenate([[-np.inf], np.maximum.accumulate(lead)])[first] - lap
    return np.asarray(before + np.maximum(from_here, beyond) - laps * lap + own)


@dataclass(frozen=True)
class _Ring:
    """A collective that is a single ring: its links, and per chunk the messages and the time that a member spends."""

    links: FloatArray
    steps: int
    own: float
    chunks: int
    window: int

    def ends(self, starts: FloatArray) -> FloatArray:
        """Return when the members end; as many chunks are under way as the window has places.

        Chunks that follow each other in a place are one ring of all their steps: the farthest origin is as many links
        away as the chunks have steps together. The place with the most chunks is the last one.
        """
        rounds = -(-self.chunks // self.window)
        return ring_ends(starts, self.links, self.steps * rounds, self.own * rounds)


MOST_MESSAGES = 2 * 10**6
"""Messages of a collective whose members begin apart, of all roles; a run of as many takes about 20 s."""


class CollectiveTimes:
    """Times of the collectives of some communicators, by number; what members that begin together take is kept.

    With a callback, each search that takes time is announced before it starts. Members that begin apart each have an
    end of their own if the communicators were compiled for that (`apart`); or a collective begins when the last one
    comes, and ends for all together (`waiting`), which ASTRA-sim does not do.
    """

    def __init__(
        self,
        machine: Machine,
        communicators: Sequence[Communicator],
        tell: Callable[[str], None] | None = None,
        *,
        apart: bool = False,
        waiting: bool = False,
    ) -> None:
        self.machine, self.communicators, self.tell = machine, communicators, tell
        self.is_apart, self.waiting = apart, waiting
        self.groups = ProcessGroups(int(np.prod(machine.npus)), {}, machine)
        self._rings: dict[tuple[int, SizedCollective], _Ring] = {}
        self._together: dict[tuple[int, SizedCollective], FloatArray] = {}
        self._apart: dict[tuple[int, SizedCollective, tuple[float, ...]], FloatArray] = {}

    def together(self, number: int, exchange: SizedCollective) -> FloatArray:
        """Return (r,) the ns that each role of a communicator takes when all begin together.

        A ValueError says that an algorithm cannot run the collective, or its chunks would be empty: ASTRA-sim would
        hang.
        """
        key, communicator = (number, exchange), self.communicators[number]
        if key not in self._together:
            if self.tell is not None:
                self.tell(f"{exchange.collective.called} of {exchange.size:,} bytes")
            if self._is_uneven(communicator, exchange):
                found = self._uneven(communicator, exchange, np.zeros(len(communicator.roles)))
            elif self.groups.is_ring(communicator.scope, exchange.collective):
                ring = self._rings[key] = self._ring(communicator, exchange.collective, exchange.size)
                found = _of_roles(communicator, ring.ends(np.zeros(len(communicator.members))))
            else:
                found = np.full(
                    len(communicator.roles), self._barrier(communicator, exchange.collective, exchange.size)
                )
            self._together[key] = found
        return self._together[key]

    def ends(self, number: int, exchange: SizedCollective, starts: FloatArray) -> tuple[FloatArray, bool]:
        """Return (r,) when each role ends that begins at (r,) times, and whether that is exact.

        It is where all begin together, the collective is a single ring, or communicators know the places of members;
        otherwise all end together, which is right for the last ones but late for the others. Errors are those of
        `together` and `ends_apart`.
        """
        first, last = starts.min(), starts.max()
        together = self.together(number, exchange)
        if first == last or self.waiting:
            return np.asarray(last + together), True
        communicator = self.communicators[number]
        if (ring := self._rings.get((number, exchange))) is not None:
            return _of_roles(communicator, ring.ends(starts[list(communicator.seats)])), True
        key = number, exchange, tuple((starts - first).tolist())
        if self._is_uneven(communicator, exchange):
            self._apart.setdefault(key, self._uneven(communicator, exchange, starts - first))
        elif self.is_apart and key not in self._apart:
            members = members_of(self.machine, communicator, exchange)
            if members is not None and members.messages <= MOST_MESSAGES:
                if self.tell is not None:
                    self.tell(f"{exchange} whose members begin apart")
                self._apart[key] = ends_apart(members, starts - first)
        if key in self._apart:
            return np.asarray(first + self._apart[key]), True
        return np.asarray(last + together), False

    def _is_uneven(self, communicator: Communicator, exchange: SizedCollective) -> bool:
        return self.groups.is_uneven(communicator.scope, communicator.members, (exchange.collective,))

    def _uneven(self, communicator: Communicator, exchange: SizedCollective, starts: FloatArray) -> FloatArray:
        """Return when roles end, each member by itself: by the user's algorithm, or on links that differ."""
        if exchange.algorithm:
            algorithm = self.machine.algorithms.known[exchange.algorithm]
            of_members = starts[list(communicator.seats)]
            return _of_roles(communicator, own_ends(algorithm, communicator.members, self.machine, of_members))
        return ends_apart(uneven_members(self.machine, communicator, exchange, MOST_MESSAGES), starts)

    def _ring(self, communicator: Communicator, collective: Collective, size: int) -> _Ring:
        machine, members = self.machine, communicator.members
        system, count = machine.system, len(members)
        overheads = system.overheads
        if communicator.scope.dimensions is None:
            overheads = replace(overheads, endpoint=GROUP_ENDPOINT)
        chunks = cut(collective, size, np.array([self.groups.total]), system.splits)
        chunk = int(chunks.size[0])
        message = chunk if collective is Collective.ALL_GATHER else chunk // count
        ways = zip(members, [*members[1:], members[0]], strict=True)
        if communicator.scope.dimensions is None:
            links = np.array([machine.transfer(message, machine.route(a, b)) for a, b in ways])
        else:
            link = machine.links[communicator.scope.dimensions[0]]
            hops = 2.0 if int(link.block[0]) == SWITCH else 1.0
            links = np.full(count, link.transfer(np.array([float(message)]), hops)[0])
        steps = _STEPS[collective](count)
        reductions = count - 1 if collective in (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER) else 0
        reduction = float(overheads.reduction(np.array([float(message)]))[0])
        own = (steps + 1) * overheads.endpoint + reductions * reduction
        return _Ring(links, steps, own, int(chunks.count[0]), _window(collective, system))

    def _barrier(self, communicator: Communicator, collective: Collective, size: int) -> float:
        system, links = running(self.machine, communicator, collective)
        used = communicator.scope.dimensions
        involved = None if used is None else [d in used for d in range(len(links))]
        return float(collective_time(collective, size, links, system, involved, world=self.groups.total)[0])


_STEPS = {
    Collective.ALL_REDUCE: lambda n: 2 * (n - 1),
    Collective.REDUCE_SCATTER: lambda n: n - 1,
    Collective.ALL_GATHER: lambda n: n - 1,
    Collective.ALL_TO_ALL: lambda n: n * (n - 1) // 2,
}


def _window(collective: Collective, system: System) -> int:
    """Return how many chunks of a ring are under way at a time: an all-reduce that shrinks has half of the queues."""
    halved = collective is Collective.ALL_REDUCE and system.shrinking
    return (max(system.queues // 2, 1) if halved else system.queues) * system.slots


def _of_roles(communicator: Communicator, ends: FloatArray) -> FloatArray:
    """Return the ends of roles from those of members; members of a role end together."""
    found = np.empty(len(communicator.roles))
    found[list(communicator.seats)] = ends
    return found
