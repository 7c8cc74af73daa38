"""Addresses of fabrics whose sizes and blocks are powers of two, bit by bit, compiled where numba is installed.

Bits that a relation ties are one component. Components that are in the same layers, and that the same relations tie,
can be exchanged, wherever their bits are: together they are one digit. A fabric of any size has few of them.
"""

from __future__ import annotations

from typing import Any

LAYERS = 4
"""Layers of a fabric at most, the NPUs among them."""

LOWER, UPPER = (0, 0, 0, 1, 1, 2), (1, 2, 3, 2, 3, 3)
"""The two layers of each pair that a relation may join."""

PAIRS = len(LOWER)
SLOTS = 16
"""Bits of an address at most, and one more."""

MAX_DIGITS = 10
"""Digits of a fabric that are told apart."""

TIED, MANY = -1, -2
"""Numbers of digits that say that two bits of one layer are tied to each other, and that there are too many digits."""

TIES, SERVER = LAYERS, LAYERS + PAIRS
"""Places in a signature: of the layers first, then of the relations that tie a digit, then of servers."""

Ints = Any
"""A one-dimensional array of whole numbers for compiled functions, a list otherwise."""


def _find(parent: Ints, bit: int) -> int:
    while parent[bit] != bit:
        bit = parent[bit]
    return bit


def _join(parent: Ints, one: int, other: int) -> None:
    one, other = _find(parent, one), _find(parent, other)
    if one < other:
        parent[other] = one
    elif other < one:
        parent[one] = other


def tied_bits(bits: Ints, relations: Ints, pair: int, bit: int) -> int:
    """Return the bit of the lower layer that a relation ties a bit of the upper layer to; -1 for none.

    Parameters
    ----------
    bits : (layers,) bits of the addresses of each layer.
    relations : for each pair whether it is joined, and the bits of H_i, H_j and E.
    """
    lower_blocks, upper_blocks, links = relations[4 * pair + 1], relations[4 * pair + 2], relations[4 * pair + 3]
    inner = bits[UPPER[pair]] - upper_blocks
    if bit >= inner:
        return int(bits[LOWER[pair]] - lower_blocks + bit - inner)
    return int(bit - links) if bit >= links else -1


def components(bits: Ints, relations: Ints, parent: Ints) -> None:
    """Set the parents of all bits, so that those of a component have one root."""
    for layer in range(LAYERS):
        for bit in range(bits[layer]):
            parent[SLOTS * layer + bit] = SLOTS * layer + bit
    for pair in range(PAIRS):
        if relations[4 * pair]:
            for bit in range(bits[UPPER[pair]]):
                lower = tied_bits(bits, relations, pair, bit)
                if lower >= 0:
                    _join(parent, SLOTS * LOWER[pair] + lower, SLOTS * UPPER[pair] + bit)


def signatures(  # noqa: C901 - loops over bits, one after the other
    bits: Ints, relations: Ints, server: int, parent: Ints, signature: Ints
) -> bool:  # fmt: skip
    """Set the signatures of roots: layers, relations that tie them, servers. Return whether no layer has two bits."""
    for layer in range(LAYERS):
        for bit in range(bits[layer]):
            signature[SLOTS * layer + bit] = 0
    for layer in range(LAYERS):
        for bit in range(bits[layer]):
            root = _find(parent, SLOTS * layer + bit)
            if signature[root] >> layer & 1:
                return False
            signature[root] |= 1 << layer
    for pair in range(PAIRS):
        if relations[4 * pair]:
            for bit in range(bits[UPPER[pair]]):
                if tied_bits(bits, relations, pair, bit) >= 0:
                    signature[_find(parent, SLOTS * UPPER[pair] + bit)] |= 1 << TIES + pair
    for bit in range(server):
        signature[_find(parent, bit)] |= 1 << SERVER
    return True


def digits(bits: Ints, relations: Ints, server: int, scratch: tuple[Ints, Ints], kinds: Ints, places: Ints) -> int:
    """Return the number of digits of a fabric, or `TIED` or `MANY`.

    Parameters
    ----------
    bits, relations : as in `tied_bits`.
    server : bits of the number of an NPU in its server.
    scratch : parents and signatures.
    kinds : set to the signature of each digit.
    places : set to the digit of each bit of the NPUs.
    """
    parent, signature = scratch
    components(bits, relations, parent)
    if not signatures(bits, relations, server, parent, signature):
        return TIED
    count = 0
    for layer in range(LAYERS):
        for bit in range(bits[layer]):
            mine, found = signature[_find(parent, SLOTS * layer + bit)], 0
            while found < count and kinds[found] != mine:
                found += 1
            if found == count:
                if count == MAX_DIGITS:
                    return MANY
                kinds[count] = mine
                count += 1
            if layer == 0:
                places[bit] = found
    return count


def sizes(bits: Ints, scratch: tuple[Ints, Ints], digits: tuple[int, Ints, Ints]) -> None:
    """Set the bits of each digit.

    Parameters
    ----------
    bits, scratch : as in `digits`, after it.
    digits : their number, their signatures, and the array that is set.
    """
    parent, signature = scratch
    count, kinds, size = digits
    for digit in range(count):
        size[digit] = 0
    for layer in range(LAYERS):
        for bit in range(bits[layer]):
            if parent[SLOTS * layer + bit] == SLOTS * layer + bit:
                for digit in range(count):
                    size[digit] += kinds[digit] == signature[SLOTS * layer + bit]


FUNCTIONS = (_find, _join, tied_bits, components, signatures, digits, sizes)
"""Functions to compile, each after those that it calls."""
