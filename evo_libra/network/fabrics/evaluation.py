"""Path lengths and throughput of many fabrics at once, in a loop that is compiled where numba is installed."""

from __future__ import annotations

from math import inf

import numpy as np

from evo_libra.network.fabrics.bits import FUNCTIONS as OF_BITS
from evo_libra.network.fabrics.bits import (
    LAYERS,
    LOWER,
    MAX_DIGITS,
    PAIRS,
    SERVER,
    SLOTS,
    TIED,
    Ints,
    digits,
    sizes,
)
from evo_libra.network.fabrics.flows import FUNCTIONS as OF_FLOWS
from evo_libra.network.fabrics.flows import INTO, MAX_ENTRIES, MAX_MOVES, MAX_NODES, MAX_PARTS, Floats, Work
from evo_libra.network.fabrics.masks import FUNCTIONS as OF_MASKS
from evo_libra.network.fabrics.masks import MASKS, NEVER, SENDER, STATES, distances, masks_of
from evo_libra.network.fabrics.phases import (
    BEYOND,
    UNREACHED,
    Arrays,
    Cut,
    exchange_time,
    halving_time,
)
from evo_libra.network.fabrics.phases import FUNCTIONS as OF_PHASES
from evo_libra.network.fabrics.stages import FUNCTIONS as OF_STAGES
from evo_libra.network.fabrics.stages import MAX_MEMBERS, Table, shift_time

EXPERTS, DATA, PIPELINE = 0, 1, 2
"""Kinds of traffic, in the order of `evo_libra.network.fabrics.traffic.KINDS`."""

REGULAR, WITH_TIED_DIGITS, WITH_MANY_DIGITS = 0, 1, 2
"""Outcomes: evaluated, two digits of a layer that are tied to each other, and too many digits."""

_WAYS = 4
"""All ports, and each of three pairs."""

Scratch = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Floats, Cut, Arrays, Table, Work]


def scratch(*, lists: bool) -> Scratch:
    """Return the arrays that a loop over designs works in; without numba, lists are faster."""

    def whole(count: int) -> Ints:
        return [0] * count if lists else np.zeros(count, dtype=np.int64)

    def real(count: int) -> Floats:
        return [0.0] * count if lists else np.zeros(count)

    slots, cut = LAYERS * SLOTS, (whole(MAX_PARTS), whole(MAX_PARTS), whole(3 * MAX_PARTS), whole(MAX_PARTS))
    stages = MAX_MEMBERS * MAX_MEMBERS
    senders = (whole(MASKS), whole(MASKS), real(MASKS))
    pairs = (whole(stages), whole(stages), whole(stages), whole(stages))
    table = (whole(MAX_ENTRIES), real(MAX_ENTRIES // 4 * stages), *pairs)
    work = (
        real(MAX_NODES), whole(MAX_NODES), whole(MAX_NODES), whole(INTO * MAX_MOVES), real(MAX_MOVES),
        whole(3 * MAX_MOVES), real(MAX_MOVES), whole(MAX_ENTRIES), real(MAX_ENTRIES), whole(2),
    )  # fmt: skip
    return (
        whole(slots), whole(slots), whole(MAX_DIGITS), whole(MAX_DIGITS), whole(SLOTS), whole(SERVER + 1),
        whole(_WAYS * STATES * MASKS), whole(STATES * MASKS), whole(_WAYS), real(_WAYS), (*cut, whole(MAX_PARTS)),
        senders, table, work,
    )  # fmt: skip


def _lengths(distance: Ints, npus: int, size: Ints, digits: int) -> tuple[float, float]:
    """Return the mean and the maximum of the links from other NPUs to the root; infinite without a path."""
    total, others, longest, part = 0.0, 0.0, 0.0, npus
    while part:
        steps, count = distance[SENDER * MASKS + part], 1.0
        if steps == NEVER:
            return inf, inf
        for digit in range(digits):
            if part >> digit & 1:
                count *= (1 << size[digit]) - 1
        total += count * steps
        others += count
        longest = max(longest, float(steps))
        part = part - 1 & npus
    return total / max(others, 1.0), longest


def figures(  # noqa: C901 - one design from its bits to its figures
    bits: Ints, relations: Ints, links: tuple[Floats, Floats, Floats], traffic: Ints, policy: tuple[int, int, int],
    seconds: Floats, lengths: Floats, arrays: Scratch,
) -> int:  # fmt: skip
    """Set the seconds per byte of all traffic, and the mean and maximum path length; return the outcome.

    Parameters
    ----------
    bits, relations : as in `evo_libra.network.fabrics.bits.tied_bits`.
    links : parallel links, all links, and B/s of a link, for each pair and for servers.
    traffic : for each phase its kind, and the bits that tell the members of a group apart.
    policy : whether messages are striped, who forwards, and the bits of servers.
    seconds, lengths : set.
    arrays : as in `Scratch`.
    """
    parent, signature, kinds, size, places, masks, distance, queue, ports, shares, cut, senders, table, work = arrays
    striped, forwarding, server = policy
    count = digits(
        bits=bits, relations=relations, server=server, scratch=(parent, signature), kinds=kinds, places=places
    )
    if count < 0:
        return WITH_TIED_DIGITS if count == TIED else WITH_MANY_DIGITS
    sizes(bits, (parent, signature), (count, kinds, size))
    masks_of(kinds, count, masks)
    distances(
        masks=masks,
        relations=relations,
        digits=count,
        port=-1,
        forwarding=forwarding,
        distance=distance,
        queue=queue,
        first=0,
    )
    lengths[0], lengths[1] = _lengths(distance, masks[0], size, count)
    ways, total = 1, 0.0
    ports[0], shares[0] = -1, 1.0
    if striped:
        ways = 0
        for pair in range(PAIRS):
            if LOWER[pair] == 0 and relations[4 * pair]:
                distances(
                    masks=masks,
                    relations=relations,
                    digits=count,
                    port=pair,
                    forwarding=forwarding,
                    distance=distance,
                    queue=queue,
                    first=ways * STATES * MASKS,
                )
                ports[ways], shares[ways] = pair, links[1][pair] * links[2][pair]
                total += shares[ways]
                ways += 1
        for way in range(ways):
            shares[way] /= total
    fabric = (kinds, size, places, count, relations, links[0], links[1], links[2])
    how, npus = (ways, ports, shares, forwarding, distance), float(1 << bits[0])
    for phase in range(len(seconds)):
        kind, low, high = traffic[3 * phase], traffic[3 * phase + 1], traffic[3 * phase + 2]
        if kind == EXPERTS:
            seconds[phase] = exchange_time(
                fabric=fabric, ways=how, low=low, high=high, npus=npus, cut=cut, senders=senders, work=work
            )
        elif kind == DATA:
            seconds[phase] = halving_time(
                fabric=fabric, ways=how, low=low, high=high, npus=npus, cut=cut, senders=senders, work=work
            )
        else:
            seconds[phase] = shift_time(
                fabric=fabric, ways=how, low=low, high=high, npus=npus, cut=cut, senders=senders, table=table, work=work
            )
        if seconds[phase] == BEYOND:
            return WITH_MANY_DIGITS
        if seconds[phase] == UNREACHED:
            seconds[phase] = inf
    return REGULAR


def all_figures(
    bits: Ints, relations: Ints, links: tuple[Floats, Floats, Floats], traffic: Ints, policy: tuple[int, int, int],
    seconds: Floats, lengths: Floats, outcome: Ints, arrays: Scratch,
) -> None:  # fmt: skip
    """Set the `figures` of (..., n) designs."""
    for design in range(len(outcome)):
        outcome[design] = figures(
            bits=bits[design], relations=relations[design],
            links=(links[0][design], links[1][design], links[2][design]), traffic=traffic, policy=policy,
            seconds=seconds[design], lengths=lengths[design], arrays=arrays,
        )  # fmt: skip


FUNCTIONS = (*OF_BITS, *OF_MASKS, *OF_FLOWS, *OF_PHASES, *OF_STAGES, _lengths, figures, all_figures)
"""Functions to compile, each after those that it calls."""
