"""Seconds of one byte of each NPU in groups of a fabric of few digits, compiled where numba is installed."""

from __future__ import annotations

from evo_libra.network.fabrics.bits import LOWER, PAIRS, SERVER, TIES, UPPER, Ints
from evo_libra.network.fabrics.flows import (
    DIRECTIONS,
    ENTRIES,
    MAX_CODES,
    MAX_PARTS,
    OTHERS,
    RECEIVERS,
    SENDERS,
    STAGE_BITS,
    SYMBOLS,
    Floats,
    Parts,
    Work,
    put,
    spread,
)
from evo_libra.network.fabrics.masks import MASKS, NEVER, SENDER, STATES

BEYOND, UNREACHED = -2.0, -1.0
"""Values in place of seconds: too many kinds of nodes, and NPUs without a path."""

Fabric = tuple[Ints, Ints, Ints, int, Ints, Floats, Floats, Floats]
"""Signatures of digits, their bits, the digit of each bit of the NPUs, the number of digits, relations, parallel links,
all links, and B/s of a link; of the latter three the last is of servers."""

Ways = tuple[int, Ints, Floats, int, Ints]
"""Ways of messages: their number, ports, shares, forwarding, and distances of each."""

Senders = tuple[int, Ints, Ints, Floats]
"""Classes of senders: their number, codes, masks and flows."""

Arrays = tuple[Ints, Ints, Floats]
"""Arrays of senders."""

Cut = tuple[Ints, Ints, Ints, Ints, Ints]
"""Parts of digits: their digits, radices, counts of symbols, whether they are of the group, and which bits of it."""


def cut_digits(fabric: Fabric, low: int, high: int, radix: int, cut: Cut) -> int:
    """Cut digits in two, by the bits of a group; return the number of parts, 0 if there are too many."""
    bits, places, digits = fabric[1], fabric[2], fabric[3]
    digit_of, radices, counts, grouped, values = cut
    found, widths = 0, 0
    for digit in range(digits):
        mask = 0
        for bit in range(low, high):
            if places[bit] == digit:
                mask |= 1 << bit - low
        inside = 0
        for bit in range(high - low):
            inside += mask >> bit & 1
        for group in range(2):
            size = inside if group else bits[digit] - inside
            if size == 0:
                continue
            if found == MAX_PARTS:
                return 0
            digit_of[found], grouped[found], values[found] = digit, group, mask if group else 0
            radices[found] = radix if group else 2
            counts[SYMBOLS * found + RECEIVERS], counts[SYMBOLS * found + SENDERS] = 1, (1 << size) - 1
            counts[SYMBOLS * found + OTHERS] = 0
            widths += radices[found] - 1
            found += 1
    return found if 1 << widths <= MAX_CODES else 0


def send(parts: Parts, fabric: Fabric, ways: Ways, senders: Senders, work: Work) -> bool:
    """Send the messages of all senders to the root; return whether all have a path."""
    count, ports, shares, forwarding, distances = ways
    number, codes, masks, flows = senders
    for way in range(count):
        first, longest = way * STATES * MASKS, 0
        for sender in range(number):
            steps, total = distances[first + SENDER * MASKS + masks[sender]], 0.0
            for other in range(count):
                if distances[other * STATES * MASKS + SENDER * MASKS + masks[sender]] != NEVER:
                    total += shares[other]
            if total == 0.0:
                return False
            if steps != NEVER:
                put(work, SENDER * MAX_CODES + codes[sender], masks[sender], flows[sender] * shares[way] / total)
                longest = max(longest, steps)
        spread(
            parts=parts,
            network=(fabric[4], fabric[5]),
            distance=distances,
            way=(ports[way], forwarding, first),
            steps=longest,
            work=work,
        )
    return True


def links_of(fabric: Fabric, parts: Parts, key: int) -> float:
    """Return the links of a kind; of parts with symbols those at which both ends have one value each."""
    count, digit_of, radices, counts, kinds = parts
    pair = (key & (1 << DIRECTIONS) - 1) // 2
    lower, upper = (LOWER[pair], UPPER[pair]) if pair < PAIRS else (0, 0)
    links, shift = fabric[6][pair], DIRECTIONS
    for part in range(count):
        kind, radix = kinds[digit_of[part]], radices[part]
        size = float(counts[SYMBOLS * part] + counts[SYMBOLS * part + 1] + counts[SYMBOLS * part + 2])
        tied = kind >> (TIES + pair) & 1 if pair < PAIRS else 1 - (kind >> SERVER & 1)
        both = kind >> lower & 1 and kind >> upper & 1
        if radix == SYMBOLS:
            links /= size if kind >> lower & 1 else 1.0
            links /= size if kind >> upper & 1 and not (both and tied) else 1.0
        elif both and not tied:
            links *= (1.0 if key >> shift & 1 else size - 1.0) / size
        shift += STAGE_BITS if radix == SYMBOLS else 1
    return float(links)


def _longest(fabric: Fabric, parts: Parts, npus: float, work: Work) -> float:
    """Return the seconds of the entries, which are all of one NPU as receiver, and remove them."""
    keys, loads, size = work[7], work[8], work[9]
    longest = 0.0
    for place in range(size[ENTRIES]):
        pair = (keys[place] & (1 << DIRECTIONS) - 1) // 2
        seconds = loads[place] * npus / (links_of(fabric, parts, keys[place]) * fabric[7][pair])
        longest = max(longest, seconds)
    size[ENTRIES] = 0
    return longest


def exchange_time(
    fabric: Fabric, ways: Ways, low: int, high: int, npus: float, cut: Cut, senders: Arrays, work: Work
) -> float:
    """Return the seconds in which each NPU sends a byte, spread evenly over all others of its group.

    Parameters
    ----------
    fabric, ways : as in `Fabric` and `Ways`.
    low, high : bits of the number of an NPU that tell the members of a group apart.
    npus : their number.
    cut, senders, work : arrays, as in `Cut`, `Arrays` and `Work`.
    """
    count = cut_digits(fabric, low, high, 2, cut)
    if count == 0:
        return BEYOND
    digit_of, radices, counts, grouped, _ = cut
    parts = (count, digit_of, radices, counts, fabric[0])
    groups = 0
    for part in range(count):
        groups |= grouped[part] << part
    number, chosen = 0, groups
    while chosen:
        code, mask, flow = 0, 0, 1.0 / ((1 << high - low) - 1)
        for part in range(count):
            if chosen >> part & 1:
                code |= 1 << part
                mask |= 1 << digit_of[part]
                flow *= counts[SYMBOLS * part + SENDERS]
        senders[0][number], senders[1][number], senders[2][number] = code, mask, flow
        number += 1
        chosen = chosen - 1 & groups
    if not send(parts, fabric, ways, (number, senders[0], senders[1], senders[2]), work):
        work[9][ENTRIES] = 0
        return UNREACHED
    return _longest(fabric, parts, npus, work)


def halving_time(
    fabric: Fabric, ways: Ways, low: int, high: int, npus: float, cut: Cut, senders: Arrays, work: Work
) -> float:
    """Return the seconds of a reduce-scatter and an all-gather by halving and doubling, per byte that an NPU sends.

    Parameters are those of `exchange_time`. Bits of one digit take the same time.
    """
    places, seconds, sent, digit, each = fabric[2], 0.0, 0.0, -1, 0.0
    for bit in range(low, high):
        new = True
        for before in range(low, bit):
            new = new and places[before] != places[bit]
        if new:
            digit = places[bit]
            each = exchange_time(
                fabric=fabric, ways=ways, low=bit, high=bit + 1, npus=npus, cut=cut, senders=senders, work=work
            )
            if each < 0.0:
                return each
            for other in range(bit, high):
                if places[other] == digit:
                    seconds += each / (1 << other - low)
        sent += 1.0 / (1 << bit - low)
    return seconds / sent


FUNCTIONS = (cut_digits, send, links_of, _longest, exchange_time, halving_time)
"""Functions to compile, each after those that it calls."""
