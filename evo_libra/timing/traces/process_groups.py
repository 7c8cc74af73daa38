"""Who runs a collective together, and in which dimensions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from evo_libra.chakra.groups import Groups
from evo_libra.collective import Collective
from evo_libra.errors import InputError, Mistake, unknown
from evo_libra.timing.collectives.phase import RING, Implementation
from evo_libra.timing.collectives.system import Choice
from evo_libra.timing.machine import Machine
from evo_libra.timing.names import CollectiveAlgorithm, Scheduler
from evo_libra.timing.traces.operations import Scope

GROUP_ENDPOINT = 10.0
"""ns before a message in groups smaller than the world: ASTRA-sim's default, whatever the system says."""

_PAIR = 2
_WITHOUT_INVOLVED = 4
"""Dimensions that a collective uses, all of them, if its node does not say."""


@dataclass(frozen=True)
class ProcessGroups:
    """NPUs, their communicator groups in the order of their rings, and the network between them.

    If there is no machine, the network is left open: every collective then is a barrier of its group. An InputError
    refuses a group without members, or with one that is not there, or one twice.
    """

    total: int
    groups: Groups
    machine: Machine | None = None

    def __post_init__(self) -> None:
        mistakes = []
        for name, members in self.groups.items():
            beyond = [npu for npu in members if not 0 <= npu < self.total]
            if beyond:
                mistakes.append(Mistake(f"has NPU {beyond[0]}; there are {self.total} NPUs", key=f"group '{name}'"))
            elif not members or len(set(members)) < len(members):
                mistakes.append(Mistake("must name at least one NPU, and none twice", key=f"group '{name}'"))
        if mistakes:
            raise InputError(mistakes)

    def dimensions(
        self, group: str, collective: Collective, involved: tuple[bool, ...] | None, *, own: bool = False
    ) -> tuple[int, ...] | None:
        """Return the dimensions that a collective uses, or None where its group or nothing decides that.

        A user's own algorithm has no dimensions, and needs none of the system's. A ValueError says that the group is
        unknown or of one NPU, there is no algorithm, or the dimensions are not given, or none.
        """
        if group and not self.groups:
            raise ValueError(f"unknown communicator group '{group}'; no groups are given; give their file as 'groups:'")
        if group and group not in self.groups:
            raise ValueError(unknown("communicator group", group, self.groups))
        if self.machine is not None and not own and not self.machine.system.implementations.get(collective):
            raise ValueError(f"runs {collective.value}, for which the system has no algorithm")
        smaller = group != "" and len(self.groups[group]) < self.total
        alone = self.total == 1 or (smaller and len(self.groups[group]) == 1)
        dimensions = None if smaller or alone or own else self._of_world(group, collective, involved)
        if alone or dimensions == ():
            raise ValueError(f"runs {collective.value} of an NPU with itself, on which ASTRA-sim never ends")
        return dimensions

    def _of_world(
        self, group: str, collective: Collective, involved: tuple[bool, ...] | None
    ) -> tuple[int, ...] | None:
        if self.machine is None:
            if involved is not None and not group:
                raise ValueError("involved_dim can only be read with a known network")
            return None
        npus = self.machine.npus[: len(self.machine.system.implementations[collective])]
        if group:
            involved = (True,) * len(npus)
        elif involved is None:
            if len(npus) > _WITHOUT_INVOLVED:
                raise ValueError(
                    f"has no involved_dim, without which ASTRA-sim uses {_WITHOUT_INVOLVED} dimensions;"
                    f" the network has {len(npus)}"
                )
            involved = (True,) * _WITHOUT_INVOLVED
        elif len(involved) < len(npus):
            raise ValueError(f"has an involved_dim of {len(involved)} dimensions; the network has {len(npus)}")
        return tuple(d for d, size in enumerate(npus) if involved[d] and size > 1)

    def members(self, scope: Scope, npu: int) -> tuple[int, ...]:
        """Return the NPUs that run a collective together with one, in the order of their ring.

        A ValueError says that the NPU is not of the group.
        """
        if scope.dimensions is None:
            members = self.groups[scope.group] if scope.group else self.all
        elif len(scope.dimensions) == len(self._npus) - self._npus.count(1):
            members = self.all
        else:
            members = self._line(scope.dimensions, npu)
        if scope.group and npu not in members:
            raise ValueError(f"uses communicator group '{scope.group}', to which the NPU does not belong")
        return members

    @cached_property
    def all(self) -> tuple[int, ...]:
        """All NPUs."""
        return tuple(range(self.total))

    @property
    def _npus(self) -> tuple[int, ...]:
        return self.machine.npus if self.machine is not None else (self.total,)

    def _line(self, dimensions: tuple[int, ...], npu: int) -> tuple[int, ...]:
        """Return the NPUs that differ from one in some dimensions only."""
        strides = [1]
        for size in self._npus:
            strides.append(strides[-1] * size)
        corner = npu - sum(npu // strides[d] % self._npus[d] * strides[d] for d in dimensions)
        places = product(*(range(self._npus[d]) for d in reversed(dimensions)))
        return tuple(
            corner + sum(at * strides[d] for at, d in zip(place, reversed(dimensions), strict=True)) for place in places
        )

    def is_ring(self, scope: Scope, collective: Collective) -> bool:
        """Tell whether a collective is a single ring over its members; each of them then has an end of its own."""
        if self.machine is None or scope.is_own:
            return False
        system, dimensions = self.machine.system, scope.dimensions
        rows = system.implementations[collective]
        if dimensions is None:
            return len(rows) > 1 or single(rows[0]).algorithm is CollectiveAlgorithm.RING
        one = len(dimensions) == 1 and single(rows[dimensions[0]]).algorithm is CollectiveAlgorithm.RING
        return one and system.scheduler is Scheduler.BASELINE

    def is_uneven(self, scope: Scope, members: Sequence[int], collectives: Collection[Collective]) -> bool:
        """Tell whether members each have a time of their own, of their own algorithm or of links that differ."""
        if self.machine is None or scope.is_own:
            return scope.is_own
        if scope.dimensions is not None or all(self.is_ring(scope, collective) for collective in collectives):
            return False
        try:
            group_shape(members, self.machine)
        except ValueError:
            return True
        return False

    def paired(self, scope: Scope, collective: Collective) -> tuple[bool, ...]:
        """Tell of each dimension of a collective that is no single ring whether pairs exchange there."""
        assert self.machine is not None  # noqa: S101 - without a machine every collective is a barrier
        rows = self.machine.system.implementations[collective]
        used = rows[:1] if scope.dimensions is None else [rows[d] for d in scope.dimensions]
        return tuple(single(row).algorithm is CollectiveAlgorithm.HALVING_DOUBLING for row in used)


@dataclass(frozen=True)
class GroupShape:
    """Positions of the members of a group in one dimension, where they are the same for all of them.

    Hops are from a member to every other one; where they lie evenly around a ring, to the next one.
    """

    dimension: int
    hops: int
    around: bool


def group_shape(members: Sequence[int], machine: Machine) -> GroupShape:
    """Return how the members of a group lie to each other.

    A ValueError says that it is not the same for all; then ASTRA-sim's time of a ring is known, but of nothing else.
    """
    digits = np.unravel_index(np.array(members), machine.npus, order="F")
    dimension = next(d for d, digit in enumerate(digits) if np.ptp(digit) > 0)
    digit, npus, link = digits[dimension], machine.npus[dimension], machine.links[dimension]
    route = machine.route(members[0], members[1])
    alike = len(np.unique(digit)) == len(members)
    if alike and (int(link.block[0]) != RING or len(members) == _PAIR):
        return GroupShape(dimension, route.hops, around=False)
    steps = np.unique((np.roll(digit, -1) - digit) % npus)
    if alike and len(steps) == 1 and min(steps[0], npus - steps[0]) * len(members) == npus:
        return GroupShape(dimension, route.hops, around=True)
    raise ValueError(
        "runs on links that differ between the members of its group; ASTRA-sim's time is known there for several"
        " algorithms in the system's list, which make it a ring, or for the algorithm ring"
    )


def single(row: Implementation | Choice) -> Implementation:
    """Return the implementation of the one design that a machine is."""
    return row if isinstance(row, Implementation) else row.options[int(row.index[0])]
