"""When the members of a party end a collective, given when they begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, RING, SWITCH, Link
from evo_libra.timing.collectives.system import System, cut
from evo_libra.timing.traces.machine import Machine
from evo_libra.timing.traces.program import Exchange, Party
from evo_libra.timing.traces.wiring import GROUP_ENDPOINT, Wiring, group_shape, single


def ring_ends(starts: FloatArray, links: FloatArray, steps: int, own: float) -> FloatArray:
    """Return when the members of a ring end.

    Parameters
    ----------
    starts : (m,) when each begins; m is at least 2.
    links : (m,) time of a message to the next member, and from the last to the first.
    steps : messages that each sends, at least ``m - 1``.
    own : time that each spends besides, all steps together.
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


class PartyTimes:
    """Times of the collectives of some parties; what members that begin together take is kept.

    Parameters
    ----------
    machine : the cluster.
    parties : that the methods name by number.
    """

    def __init__(self, machine: Machine, parties: Sequence[Party]) -> None:
        self.machine, self.parties = machine, parties
        self.wiring = Wiring(int(np.prod(machine.npus)), {}, machine)
        self._rings: dict[tuple[int, Exchange], _Ring] = {}
        self._together: dict[tuple[int, Exchange], FloatArray] = {}

    def together(self, number: int, exchange: Exchange) -> FloatArray:
        """Return (r,) the ns that each role of a party takes when all begin together.

        Raises
        ------
        ValueError : an algorithm cannot run the collective, or its chunks would be empty: ASTRA-sim would hang.
        """
        key, party = (number, exchange), self.parties[number]
        if key not in self._together:
            if self.wiring.is_ring(party.use, exchange.collective):
                ring = self._rings[key] = self._ring(party, exchange.collective, exchange.size)
                found = _of_roles(party, ring.ends(np.zeros(len(party.members))))
            else:
                found = np.full(len(party.roles), self._barrier(party, exchange.collective, exchange.size))
            self._together[key] = found
        return self._together[key]

    def ends(self, number: int, exchange: Exchange, starts: FloatArray) -> tuple[FloatArray, bool]:
        """Return (r,) when each role ends, and whether that is exact.

        It is where all begin together or the collective is a single ring; otherwise all end together, which is right
        for the last ones but late for the others.

        Parameters
        ----------
        number, exchange : where and what.
        starts : (r,) when each role begins.

        Raises
        ------
        ValueError : as for `together`.
        """
        last = starts.max()
        together = self.together(number, exchange)
        ring = self._rings.get((number, exchange))
        if starts.min() == last or ring is None:
            return np.asarray(last + together), starts.min() == last
        party = self.parties[number]
        return _of_roles(party, ring.ends(starts[list(party.seats)])), True

    def _ring(self, party: Party, collective: Collective, size: int) -> _Ring:
        machine, members = self.machine, party.members
        system, count = machine.system, len(members)
        overheads = system.overheads
        if party.use.dimensions is None:
            overheads = replace(overheads, endpoint=GROUP_ENDPOINT)
        chunks = cut(collective, size, np.array([self.wiring.total]), system.splits)
        chunk = int(chunks.size[0])
        message = chunk if collective is Collective.ALL_GATHER else chunk // count
        ways = zip(members, [*members[1:], members[0]], strict=True)
        if party.use.dimensions is None:
            links = np.array([machine.transfer(message, machine.route(a, b)) for a, b in ways])
        else:
            link = machine.links[party.use.dimensions[0]]
            hops = 2.0 if int(link.block[0]) == SWITCH else 1.0
            links = np.full(count, link.transfer(np.array([float(message)]), hops)[0])
        steps = _STEPS[collective](count)
        reductions = count - 1 if collective in (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER) else 0
        reduction = float(overheads.reduction(np.array([float(message)]))[0])
        own = (steps + 1) * overheads.endpoint + reductions * reduction
        return _Ring(links, steps, own, int(chunks.count[0]), _window(collective, system))

    def _barrier(self, party: Party, collective: Collective, size: int) -> float:
        system, links, involved = self.machine.system, list(self.machine.links), None
        if party.use.dimensions is None:
            row = single(system.implementations[collective][0])
            overheads = replace(system.overheads, endpoint=GROUP_ENDPOINT)
            system = replace(system, implementations={collective: [row]}, overheads=overheads)
            links = [_group_link(party.members, self.machine)]
        else:
            involved = [d in party.use.dimensions for d in range(len(links))]
        return float(collective_time(collective, size, links, system, involved, world=self.wiring.total)[0])


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


def _of_roles(party: Party, ends: FloatArray) -> FloatArray:
    """Return the ends of roles from those of members; members of a role end together."""
    found = np.empty(len(party.roles))
    found[list(party.seats)] = ends
    return found


def _group_link(members: Sequence[int], machine: Machine) -> Link:
    """Return a dimension that is like the links between the members of a group."""
    shape = group_shape(members, machine)
    link = machine.links[shape.dimension]
    block = np.array([RING if shape.around else FULLY_CONNECTED])
    return Link(block, np.array([len(members)]), link.bandwidth, link.latency * shape.hops, link.shared)
