"""Shortest paths to one NPU and the loads that messages to it cause.

Three rules say who forwards: ``none`` but switches; ``server``, the NPUs of the sender's and of the receiver's server,
once on each side (NCCL's PXN); ``any`` NPU, as BCube needs. A path inside a server is one link.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.errors import InputError, unknown
from evo_libra.network.fabrics.rooted import Orbits, Rooted

FORWARDING = ("none", "server", "any")


@dataclass(frozen=True)
class Routes:
    """Arcs that messages to the root may take, from states of a message.

    Attributes
    ----------
    states : number of states; state i < `senders` is a message at its sender, of class i.
    senders : classes of NPUs.
    goal : state of a message that has arrived.
    source, target, links, orbit : (a,) as in `Rooted`, between states.
    distance : (states,) links to the goal; -1 where there is no path.
    """

    states: int
    senders: int
    goal: int
    source: IntArray
    target: IntArray
    links: FloatArray
    orbit: IntArray
    distance: IntArray


def routes(rooted: Rooted, orbits: Orbits, forwarding: str, port: int | None = None) -> Routes:
    """Return the shortest routes to the root that a failed switch leaves.

    Parameters
    ----------
    rooted, orbits : the fabric as seen from the root, and its kinds of links.
    forwarding : one of `FORWARDING`.
    port : relation whose links alone a message leaves and enters NPUs by, at both ends; None for any links. Messages
        in a server keep to its links; where any NPU forwards, a port is of no meaning.
    """
    if forwarding not in FORWARDING:
        raise InputError(unknown("forwarding", forwarding, FORWARDING))
    alive = _chosen(rooted, (rooted.source != rooted.failed) & (rooted.target != rooted.failed))
    if forwarding == "any":
        found = _routes(alive, len(alive.size), alive.root, [(alive, 0, 0)])
    else:
        found = _states(alive, orbits, port, in_servers=forwarding == "server")
    return replace(found, distance=_distances(found))


def _chosen(rooted: Rooted, which: BoolArray) -> Rooted:
    return replace(
        rooted, source=rooted.source[which], target=rooted.target[which], links=rooted.links[which],
        orbit=rooted.orbit[which], relation=rooted.relation[which],
    )  # fmt: skip


def _states(rooted: Rooted, orbits: Orbits, port: int | None, *, in_servers: bool) -> Routes:
    """Return routes with states of messages: at a sender, at the NPU that forwards it on either side, at switches."""
    npus, from_npu, to_npu, to_root = _ends(rooted)
    inside = orbits.is_server[rooted.orbit]
    forwarder = len(rooted.size)
    receiver = forwarder + npus
    own = (rooted.relation == port) | (from_npu == to_npu) if port is not None else np.ones_like(to_npu)
    near = np.isin(rooted.target, rooted.source[inside & to_root]) | to_root
    parts = [(_chosen(rooted, ~to_npu & own), 0, 0), (_chosen(rooted, to_root & own), 0, receiver)]
    if in_servers:
        parts += [
            (_chosen(rooted, from_npu & inside & ~to_root), 0, forwarder),
            (_chosen(rooted, from_npu & ~to_npu & own), forwarder, 0),
            (_chosen(rooted, ~from_npu & to_npu & near & ~to_root & own), 0, receiver),
            (_chosen(rooted, inside & to_root), receiver, receiver),
        ]
    return _routes(rooted, receiver + npus, receiver + rooted.root, parts)


def _ends(rooted: Rooted) -> tuple[int, BoolArray, BoolArray, BoolArray]:
    """Return the number of classes of NPUs, and of each arc whether it leaves an NPU, enters one, enters the root."""
    return rooted.npus, rooted.source < rooted.npus, rooted.target < rooted.npus, rooted.target == rooted.root


def _routes(rooted: Rooted, states: int, goal: int, parts: list[tuple[Rooted, int, int]]) -> Routes:
    """Return routes of arcs whose ends are moved to other states."""
    return Routes(
        states=states, senders=rooted.npus, goal=goal,
        source=np.concatenate([arcs.source + out for arcs, out, _ in parts]),
        target=np.concatenate([arcs.target + into for arcs, _, into in parts]),
        links=np.concatenate([arcs.links for arcs, _, _ in parts]),
        orbit=np.concatenate([arcs.orbit for arcs, _, _ in parts]),
        distance=np.zeros(0, dtype=np.int64),
    )  # fmt: skip


def _distances(found: Routes) -> IntArray:
    distance = np.full(found.states, -1, dtype=np.int64)
    distance[found.goal] = 0
    for step in range(1, found.states + 1):
        reached = found.source[distance[found.target] == step - 1]
        reached = reached[distance[reached] < 0]
        if not len(reached):
            break
        distance[reached] = step
    return distance


def orbit_loads(found: Routes, sent: FloatArray, orbits: int) -> FloatArray:
    """Return the bytes on all links of each kind.

    A sender and each switch spread a message evenly over all links of shortest paths, as spraying does.

    Parameters
    ----------
    found : routes to the root.
    sent : (senders,) bytes that all NPUs of each class together send to the root; a path to it must exist.
    orbits : number of kinds of links.
    """
    shorter = found.distance[found.target] == found.distance[found.source] - 1
    which = shorter & (found.distance[found.target] >= 0)
    source, target, links, orbit = (column[which] for column in (found.source, found.target, found.links, found.orbit))
    ways = np.bincount(source, weights=links, minlength=found.states)
    flow, loads = np.zeros(found.states), np.zeros(orbits)
    flow[: found.senders] = sent
    for step in range(int(found.distance.max()), 0, -1):
        here = found.distance[source] == step
        moved = flow[source[here]] * links[here] / ways[source[here]]
        flow += np.bincount(target[here], weights=moved, minlength=found.states)
        loads += np.bincount(orbit[here], weights=moved, minlength=orbits)
    return loads
