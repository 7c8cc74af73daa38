"""Distances to one NPU in a fabric of few digits: a class of nodes is a mask of the digits that differ from the NPU's.

The states are those of `evo_libra.network.fabrics.routing`: messages at their senders, at switches, and at the NPUs of
a server that forward them on either side.
"""

from __future__ import annotations

from evo_libra.network.fabrics.bits import LAYERS, LOWER, MAX_DIGITS, PAIRS, SERVER, TIES, UPPER, Ints

SENDER, FORWARDER, RECEIVER = 0, LAYERS, LAYERS + 1
"""Kinds of states; those in between are the layers of switches."""

STATES = LAYERS + 2
NONE, SERVERS, ANY = 0, 1, 2
"""Who forwards, as in `evo_libra.network.fabrics.routing.FORWARDING`."""

MASKS = 1 << MAX_DIGITS
NEVER = -1
"""Distance of states without a path."""


def masks_of(kinds: Ints, digits: int, masks: Ints) -> None:
    """Set for each place in signatures the mask of the digits that have it."""
    for place in range(SERVER + 1):
        masks[place] = 0
        for digit in range(digits):
            masks[place] |= (kinds[digit] >> place & 1) << digit


def _reach(distance: Ints, queue: Ints, tail: int, first: int, ties: int, free: int, steps: int) -> int:
    """Set the distance of all states of a kind with given tied digits, and queue those that are new."""
    part = free
    while True:
        node = first + (ties | part)
        if distance[node] == NEVER:
            distance[node] = steps
            queue[tail] = node
            tail += 1
        if part == 0:
            return tail
        part = part - 1 & free


def distances(  # noqa: C901 - a queue of all states and links
    masks: Ints, relations: Ints, digits: int, port: int, forwarding: int, distance: Ints, queue: Ints,
    first: int,
) -> None:  # fmt: skip
    """Set the (STATES * MASKS) links from each state to the root.

    Parameters
    ----------
    masks : as `masks_of` sets them.
    relations : as in `evo_libra.network.fabrics.bits.tied_bits`.
    digits : their number.
    port : pair whose links alone leave and enter NPUs; below 0 for any.
    forwarding : `NONE`, `SERVERS` or `ANY`.
    distance, queue : arrays; of the first one all states from the place `first` on are set.
    """
    for state in range(STATES):
        for mask in range(1 << digits):
            distance[first + state * MASKS + mask] = NEVER
    server, to_npus = masks[SERVER], SENDER if forwarding == ANY else FORWARDER
    goal = first + (SENDER if forwarding == ANY else RECEIVER) * MASKS
    tail = _reach(distance=distance, queue=queue, tail=0, first=goal, ties=0, free=0, steps=0)
    if forwarding == SERVERS:
        tail = _reach(distance=distance, queue=queue, tail=tail, first=goal, ties=0, free=server, steps=1)
    place = 0
    while place < tail:
        state, mask = (queue[place] - first) // MASKS, queue[place] % MASKS
        steps = distance[queue[place]] + 1
        place += 1
        if state == SENDER:
            tail = _reach(
                distance=distance, queue=queue, tail=tail, first=first, ties=mask & ~server, free=server, steps=steps
            )
        layer = 0 if state == RECEIVER else state
        for pair in range(PAIRS):
            lower, upper = LOWER[pair], UPPER[pair]
            if not relations[4 * pair] or (lower == 0 and port >= 0 and port != pair):
                continue
            tied = masks[TIES + pair]
            if layer == lower:
                tail = _reach(
                    distance=distance,
                    queue=queue,
                    tail=tail,
                    first=first + upper * MASKS,
                    ties=mask & tied,
                    free=masks[upper] & ~tied,
                    steps=steps,
                )
            elif layer == upper:
                other = to_npus if lower == 0 else lower
                tail = _reach(
                    distance=distance,
                    queue=queue,
                    tail=tail,
                    first=first + other * MASKS,
                    ties=mask & tied,
                    free=masks[lower] & ~tied,
                    steps=steps,
                )
    if forwarding != ANY:
        _senders(distance, first, masks[0], server, forwarding)


def _senders(distance: Ints, first: int, npus: int, server: int, forwarding: int) -> None:
    """Set the distances of senders: over their own ports, those of an NPU of their server, or one link to the root."""
    part = npus
    while True:
        rails = part & ~server
        best = distance[first + FORWARDER * MASKS + part]
        if rails == 0:
            best = 0 if part == 0 else 1
        elif forwarding == SERVERS:
            inner = server
            while True:
                near = distance[first + FORWARDER * MASKS + (rails | inner)]
                if near != NEVER and (best == NEVER or near + 1 < best):
                    best = near + 1
                if inner == 0:
                    break
                inner = inner - 1 & server
        distance[first + SENDER * MASKS + part] = best
        if part == 0:
            return
        part = part - 1 & npus


FUNCTIONS = (masks_of, _reach, _senders, distances)
"""Functions to compile, each after those that it calls."""
