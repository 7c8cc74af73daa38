"""Seconds of a byte that each NPU sends to the next stage of a pipeline, in a fabric of few digits.

A shift by one changes the low digit of the number of a stage, and carries into others. Each pattern of digits that
change is a flow of its own; the loads of links are added by the stages of both ends, as these tell links apart.
"""

from __future__ import annotations

from evo_libra.network.fabrics.bits import LOWER, PAIRS, UPPER, Ints
from evo_libra.network.fabrics.flows import (
    DIRECTIONS,
    ENTRIES,
    OTHERS,
    RECEIVERS,
    SENDERS,
    STAGE_BITS,
    SYMBOLS,
    Floats,
    Parts,
    Work,
)
from evo_libra.network.fabrics.phases import (
    BEYOND,
    UNREACHED,
    Arrays,
    Cut,
    Fabric,
    Ways,
    cut_digits,
    links_of,
    send,
)

MAX_MEMBERS = 16
"""Stages of a pipeline at most."""

Table = tuple[Ints, Floats, Ints, Ints, Ints, Ints]
"""Kinds of links by key, loads of their links by the stages of both ends; and pairs of stages, twice."""


def _pairs(  # noqa: C901 - values of both ends of a link
    parts: Parts, values: Ints, key: int, stages: tuple[int, int], table: Table,
) -> int:  # fmt: skip
    """Set the pairs of stages that both ends of a kind of links have, for a receiver and a sender; return how many."""
    count, digit_of, radices, _, kinds = parts
    receiver, sender = stages
    lower_of, upper_of, next_lower, next_upper = table[2], table[3], table[4], table[5]
    pair = (key & (1 << DIRECTIONS) - 1) // 2
    lower, upper = (LOWER[pair], UPPER[pair]) if pair < PAIRS else (0, 0)
    lower_of[0], upper_of[0] = 0, 0
    found, shift = 1, DIRECTIONS
    for part in range(count):
        if radices[part] < SYMBOLS:
            shift += 1
            continue
        kind, mask, mine = kinds[digit_of[part]], values[part], key >> shift
        shift += STAGE_BITS
        low_at, high_at = kind >> lower & 1, kind >> upper & 1
        same, low, high, new, one = mine & 1, mine >> 1 & 3, mine >> 3 & 3, 0, mask
        while True:
            if not low_at:
                one = 0
            if not low_at or _symbol(one, mask, receiver, sender) == low:
                other = mask
                while True:
                    if not high_at:
                        other = 0
                    alike = one == other or not (low_at and high_at)
                    if (not high_at or _symbol(other, mask, receiver, sender) == high) and (
                        not (low_at and high_at) or alike == same
                    ):
                        for old in range(found):
                            next_lower[new], next_upper[new] = lower_of[old] | one, upper_of[old] | other
                            new += 1
                    if other == 0:
                        break
                    other = other - 1 & mask
            if one == 0:
                break
            one = one - 1 & mask
        found = new
        for place in range(found):
            lower_of[place], upper_of[place] = next_lower[place], next_upper[place]
    return found


def _symbol(value: int, mask: int, receiver: int, sender: int) -> int:
    if value == receiver & mask:
        return RECEIVERS
    return SENDERS if value == sender & mask else OTHERS


def _bare(parts: Parts, key: int) -> int:
    """Return a key without the symbols of stages."""
    bare, shift = key & (1 << DIRECTIONS) - 1, DIRECTIONS
    for part in range(parts[0]):
        if parts[2][part] < SYMBOLS:
            bare |= (key >> shift & 1) << shift
            shift += 1
        else:
            shift += STAGE_BITS
    return bare


def _lay(
    parts: Parts, values: Ints, differing: int, low: int, high: int, kinds: int, table: Table, work: Work
) -> int:  # fmt: skip
    """Add the entries of a pattern of differing digits to all links that they are on; return the kinds of links."""
    members, stages = 1 << high - low, (1 << high - low) * (1 << high - low)
    for place in range(work[9][ENTRIES]):
        key, kind = _bare(parts, work[7][place]), 0
        while kind < kinds and table[0][kind] != key:
            kind += 1
        if kind == kinds:
            table[0][kind] = key
            for stage in range(stages):
                table[1][kind * MAX_MEMBERS * MAX_MEMBERS + stage] = 0.0
            kinds += 1
        for receiver in range(members):
            sender = receiver - 1 & members - 1
            if _differing(parts, values, sender ^ receiver) != differing:
                continue
            found = _pairs(parts, values, work[7][place], (receiver, sender), table)
            for stage in range(found):
                at = kind * MAX_MEMBERS * MAX_MEMBERS + table[2][stage] * members + table[3][stage]
                table[1][at] += work[8][place] / found
    work[9][ENTRIES] = 0
    return kinds


def _differing(parts: Parts, values: Ints, bits: int) -> int:
    found = 0
    for part in range(parts[0]):
        if values[part] & bits:
            found |= 1 << part
    return found


def shift_time(  # noqa: C901 - patterns of stages, then kinds of links
    fabric: Fabric, ways: Ways, low: int, high: int, npus: float, cut: Cut, senders: Arrays, table: Table, work: Work
) -> float:
    """Return the seconds in which each NPU sends a byte to the next member of its group, the last to the first.

    Parameters are those of `exchange_time`, with a table for the loads of links by stages.
    """
    count = cut_digits(fabric, low, high, SYMBOLS, cut)
    if count == 0:
        return BEYOND
    digit_of, radices, counts, grouped, values = cut
    parts, members, kinds, done = (count, digit_of, radices, counts, fabric[0]), 1 << high - low, 0, 0
    for receiver in range(1, members + 1):
        bits = receiver & members - 1 ^ receiver - 1
        if done >> receiver & 1:
            continue
        differing, code, mask, at = _differing(parts, values, bits), 0, 0, 0
        for other in range(receiver, members + 1):
            if _differing(parts, values, other & members - 1 ^ other - 1) == differing:
                done |= 1 << other
        for part in range(count):
            if grouped[part]:
                others, differs = _values(values[part]) - 1, differing >> part & 1
                counts[SYMBOLS * part + SENDERS], counts[SYMBOLS * part + OTHERS] = differs, others - differs
                if differs:
                    code |= SENDERS << at
                    mask |= 1 << digit_of[part]
            at += radices[part] - 1
        senders[0][0], senders[1][0], senders[2][0] = code, mask, 1.0
        if not send(parts, fabric, ways, (1, senders[0], senders[1], senders[2]), work):
            work[9][ENTRIES] = 0
            return UNREACHED
        kinds = _lay(
            parts=parts, values=values, differing=differing, low=low, high=high, kinds=kinds, table=table, work=work
        )
    longest = 0.0
    for kind in range(kinds):
        key, most = table[0][kind], 0.0
        for stage in range(members * members):
            most = max(most, table[1][kind * MAX_MEMBERS * MAX_MEMBERS + stage])
        pair = (key & (1 << DIRECTIONS) - 1) // 2
        longest = max(longest, most * npus / members / (links_of(fabric, parts, key) * fabric[7][pair]))
    return longest


def _values(mask: int) -> int:
    """Return the number of values of some bits."""
    found = 1
    while mask:
        found *= 1 + (mask & 1)
        mask >>= 1
    return found


FUNCTIONS = (_symbol, _pairs, _bare, _differing, _lay, _values, shift_time)
"""Functions to compile, each after those that it calls."""
