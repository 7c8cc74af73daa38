"""Collectives of process groups on the study's cluster as phases, and the simulated time of those of training steps.

The innermost group lies inside a leaf, and the next one has an NPU in each leaf, as the problem `roce-study` has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from evo_libra.arrays import IntArray
from evo_libra.collective import Collective
from evo_libra.network.transport import TRANSPORTS
from evo_libra.validation.roce.fluid import Law, Network
from evo_libra.validation.roce.hashed import hashed_network, spines
from evo_libra.validation.roce.study import LEAF, NPUS, STEP, Phase, network_of, phases_seconds
from evo_libra.workload.layers.workload import WorkloadKind
from evo_libra.workload.parallelism import ALL

SIMULATED_STEPS = 4
"""Steps of a ring that are simulated, for all of them."""


@dataclass(frozen=True)
class Group:
    """The members of a process group: in a leaf, and leaves."""

    inside: int
    leaves: int

    @property
    def npus(self) -> int:
        """All members."""
        return self.inside * self.leaves

    @property
    def crossing(self) -> int:
        """NPUs of a leaf that send to others where each member does."""
        return LEAF if self.leaves > 1 else 0


GROUPS = {ALL: Group(LEAF, NPUS // LEAF), "tp": Group(LEAF, 1), "dp": Group(1, NPUS // LEAF)}
ALGORITHMS = ("ring", "direct", "halving-doubling")


def phases_of(collective: Collective, group: Group, size: float, algorithm: str) -> list[Phase]:
    """Return the phases of a collective of some bytes, for an all-gather of the shard; all-to-alls run direct."""
    if collective is Collective.ALL_TO_ALL or algorithm == "direct":
        return _direct(collective, group, size)
    return (_ring if algorithm == "ring" else _halving_doubling)(collective, group, size)


def _ring(collective: Collective, group: Group, size: float) -> list[Phase]:
    rounds = 2 if collective is Collective.ALL_REDUCE else 1
    message = size if collective is Collective.ALL_GATHER else size / group.npus
    near, far = int(group.inside > 1), int(group.leaves > 1)
    # Of a ring through a leaf one NPU sends out of it; of members in leaves of their own each does.
    crossing = far if near else group.crossing
    times = rounds * (group.npus - 1) / SIMULATED_STEPS
    return [Phase(near, far, crossing, message, times, fresh=step == 0) for step in range(SIMULATED_STEPS)]


def _direct(collective: Collective, group: Group, size: float) -> list[Phase]:
    rounds = 2 if collective is Collective.ALL_REDUCE else 1
    message = size if collective is Collective.ALL_GATHER else size / group.npus
    near, far = group.inside - 1, group.npus - group.inside
    return [Phase(near, far, group.crossing, message, fresh=turn == 0) for turn in range(rounds)]


def _halving_doubling(collective: Collective, group: Group, size: float) -> list[Phase]:
    distances = [d for d in _powers(NPUS) if (d < group.inside) or (group.leaves > 1 and d >= LEAF)]
    whole = size * group.npus if collective is Collective.ALL_GATHER else size
    there = [(distance, whole / 2 ** (turn + 1)) for turn, distance in enumerate(distances)]
    back = [(pair, collective is Collective.ALL_GATHER) for pair in reversed(there)]
    turns = {
        Collective.ALL_GATHER: back,
        Collective.REDUCE_SCATTER: [(pair, True) for pair in there],
    }.get(collective, [*((pair, True) for pair in there), *back])
    return [_pairs(distance, message, fresh=new) for (distance, message), new in turns]


def _pairs(distance: int, message: float, *, fresh: bool) -> Phase:
    far = distance >= LEAF
    return Phase(int(not far), int(far), LEAF if far else 0, message, fresh=fresh, distance=distance)


def _powers(limit: int) -> Sequence[int]:
    return [1 << k for k in range(limit.bit_length() - 1)]


def all_reduce_seconds(scheme: str, algorithm: str, size: float, dt: float = STEP, law: Law | None = None) -> float:
    """Return the simulated s of an all-reduce of some bytes of payload among all NPUs under a scheme."""
    return phases_seconds(scheme, phases_of(Collective.ALL_REDUCE, GROUPS[ALL], size, algorithm), dt, law)


def factors(size: float, dt: float = STEP) -> dict[str, dict[str, float]]:
    """Return the bandwidth of all-reduces over that of PFC by simulation, by algorithm and scheme."""
    found = {}
    for algorithm in ALGORITHMS:
        times = {scheme: all_reduce_seconds(scheme, algorithm, size, dt) for scheme in TRANSPORTS}
        found[algorithm] = {scheme: times["pfc"] / time for scheme, time in times.items()}
    return found


def communication_seconds(
    workload: WorkloadKind, scheme: str, algorithm: str, dt: float = STEP, seed: int | None = None
) -> float:
    """Return the simulated s of all collectives of a step, one after the other, under a scheme.

    With a seed, a hash chooses the routes of pairs in different leaves (ECMP); else they are spread evenly.
    """
    routes = network_of if seed is None else partial(_hashed, spines(seed))
    total = 0.0
    for sent, count in workload.sent().items():
        assert isinstance(sent.what, Collective)  # noqa: S101 - tables of layers have nothing else
        phases = phases_of(sent.what, GROUPS[sent.group], sent.size, algorithm)
        total += count * phases_seconds(scheme, phases, dt, routes=routes)
    return total


def _hashed(spine: IntArray, phase: Phase) -> Network:
    return hashed_network(phase.distance, spine) if phase.distance >= LEAF else network_of(phase)
