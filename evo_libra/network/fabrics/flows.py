"""Loads of messages to one NPU in a fabric of few digits, compiled where numba is installed.

Digits are cut in two where only some of their bits tell the members of a group apart. Of each part, a node has the
value of the receiver, that of the sender, or another one; all nodes with the same such symbols have the same flow.
"""

from __future__ import annotations

from typing import Any

from evo_libra.network.fabrics.bits import LOWER, PAIRS, SERVER, TIES, UPPER, Ints
from evo_libra.network.fabrics.masks import ANY, FORWARDER, MASKS, RECEIVER, SENDER, SERVERS, STATES

MAX_PARTS, MAX_CODES = 14, 4096
"""Parts of digits, and classes of nodes of a layer, that are told apart."""

MAX_MOVES, MAX_ENTRIES, MAX_NODES = 4096, 4096, STATES * MAX_CODES
"""Links of a class of nodes, kinds of links with a load, and classes of nodes that have a flow."""

RECEIVERS, SENDERS, OTHERS = 0, 1, 2
"""Symbols: values of a part that are the receiver's, the sender's and others."""

SYMBOLS = 3
DIRECTIONS, STAGE_BITS = 4, 5
"""Bits of a key: the relation and its direction; then for each part 1, or the symbols of both ends, too."""

INTO = 4
"""Figures of a move: class, mask and key of its end, and whether it differs from the node."""

Floats = Any
"""A one-dimensional array of floats for compiled functions, a list otherwise."""

Parts = tuple[int, Ints, Ints, Ints, Ints]
"""Parts of digits: their number, their digits, their radices, counts of symbols, and the signatures of digits."""

Moves = tuple[Ints, Floats]
"""The `INTO` figures of moves, and their links."""


def _take(moves: Moves, source: int, target: int, end: tuple[int, int, int, int], links: float) -> None:
    """Set a move to another one with one part more."""
    into, links_of = moves
    code, mask, key, differs = end
    into[INTO * target] = into[INTO * source] + code
    into[INTO * target + 1] = into[INTO * source + 1] | mask
    into[INTO * target + 2] = into[INTO * source + 2] + key
    into[INTO * target + 3] = into[INTO * source + 3] | differs
    links_of[target] = links_of[source] * links


def _key(symbol: int, value: int, upward: int, same: int, radix: int) -> int:
    """Return the part of a key: whether both ends are one value, and the symbols of the lower and the upper one."""
    if radix < SYMBOLS:
        return same
    return same | (symbol if upward else value) << 1 | (value if upward else symbol) << 3


def _free(parts: Parts, part: int, node: tuple[int, int, int, int, int], found: int, moves: Moves) -> int:
    """Cross moves with all values of a free part; return their number."""
    _, digit_of, radices, counts, _ = parts
    symbol, at_source, upward, at, shift = node
    radix, base = radices[part], found
    first, first_links = (0, 0, 0, 0), -1.0
    for value in range(radix):
        there, mask = counts[SYMBOLS * part + value], (1 if value else 0) << digit_of[part]
        for same in range(2):
            links = float(there)
            if at_source and value == symbol:
                links = 1.0 if same else there - 1.0
            elif same:
                continue
            if links <= 0.0:
                continue
            end = (value << at, mask, _key(symbol, value, upward, same, radix) << shift, 1 - same)
            if first_links < 0.0:
                first, first_links = end, links
                continue
            for move in range(base):
                _take(moves, move, found + move, end, links)
            found += base
    for move in range(base):
        _take(moves, move, move, first, first_links)
    return found


def link_moves(parts: Parts, code: int, pair: int, upward: int, links: float, moves: Moves) -> int:
    """Set the ends that links of a relation lead to from a class of nodes, and return their number.

    Parameters
    ----------
    parts : as in `Parts`.
    code : class of the node, one or two bits for the symbol of each part.
    pair : the relation; `PAIRS` for the links inside servers.
    upward : whether the node is at the lower end.
    links : parallel links of a pair of nodes.
    moves : as in `Moves`.
    """
    count, digit_of, radices, _, kinds = parts
    into, links_of = moves
    for figure in range(INTO):
        into[figure] = 0
    into[2], links_of[0] = pair * 2 + upward, links
    found, at, shift, lower, upper = 1, 0, DIRECTIONS, 0, 0
    if pair < PAIRS:
        lower, upper = LOWER[pair], UPPER[pair]
    source, target = (lower, upper) if upward else (upper, lower)
    for part in range(count):
        kind, radix = kinds[digit_of[part]], radices[part]
        symbol, at_source, at_target = code >> at & (1 << radix - 1) - 1, kind >> source & 1, kind >> target & 1
        tied = kind >> (TIES + pair) & 1 if pair < PAIRS else 1 - (kind >> SERVER & 1)
        if at_target and at_source and tied:
            end = (
                symbol << at, (1 if symbol else 0) << digit_of[part],
                _key(symbol, symbol, upward, 1, radix) << shift, 0,
            )  # fmt: skip
            for move in range(found):
                _take(moves, move, move, end, 1.0)
        elif at_target:
            found = _free(parts, part, (symbol, at_source, upward, at, shift), found, moves)
        elif at_source and radix == SYMBOLS:
            end = (0, 0, _key(symbol, 0, upward, 0, radix) << shift, 0)
            for move in range(found):
                _take(moves, move, move, end, 1.0)
        at += radix - 1
        shift += STAGE_BITS if radix == SYMBOLS else 1
    return found


Work = tuple[Floats, Ints, Ints, Ints, Floats, Ints, Floats, Ints, Floats, Ints]
"""Flows of states; nodes with a flow and their masks; moves and their links; accepted ends and their links; keys and
loads of entries; and the numbers of nodes and of entries."""

NODES, ENTRIES = 0, 1


def put(work: Work, node: int, mask: int, flow: float) -> None:
    """Add to the flow of a class of nodes."""
    if work[0][node] == 0.0:
        work[1][work[9][NODES]] = node
        work[2][work[9][NODES]] = mask
        work[9][NODES] += 1
    work[0][node] += flow


def _enter(work: Work, key: int, load: float) -> None:
    """Add to the load of a kind of links."""
    keys, loads, count = work[7], work[8], work[9][ENTRIES]
    place = 0
    while place < count and keys[place] != key:
        place += 1
    if place == count:
        keys[count], loads[count] = key, 0.0
        work[9][ENTRIES] += 1
    loads[place] += load


def _accept(
    work: Work, distance: Ints, at: tuple[int, int], found: int, state: int, only: int, accepted: int
) -> int:  # fmt: skip
    """Keep the moves that are on shortest paths; `only` 1 for those to the root, 2 for those to another NPU."""
    into, links, ends, end_links = work[3], work[4], work[5], work[6]
    first, steps = at
    for move in range(found):
        code, mask = into[INTO * move], into[INTO * move + 1]
        if (
            distance[first + state * MASKS + mask] != steps - 1
            or (only == 1 and mask)
            or (only and not into[INTO * move + 3])
        ):
            continue
        ends[3 * accepted], ends[3 * accepted + 1] = state * MAX_CODES + code, mask
        ends[3 * accepted + 2], end_links[accepted] = into[INTO * move + 2], links[move]
        accepted += 1
    return accepted


def _moves_of(
    parts: Parts, network: tuple[Ints, Floats], distance: Ints, way: tuple[int, int, int], node: tuple[int, int, int],
    work: Work,
) -> int:  # fmt: skip
    """Set the ends of all shortest links of a class of nodes, and return their number."""
    relations, parallel = network
    port, forwarding, first = way
    state, code, steps = node
    at = first, steps
    moves, accepted = (work[3], work[4]), 0
    if state in (SENDER, RECEIVER) and parallel[PAIRS] > 0.0:
        found = link_moves(parts=parts, code=code, pair=PAIRS, upward=1, links=1.0, moves=moves)
        if forwarding == ANY:
            accepted = _accept(
                work=work, distance=distance, at=at, found=found, state=SENDER, only=2, accepted=accepted
            )
        else:
            accepted = _accept(
                work=work, distance=distance, at=at, found=found, state=RECEIVER, only=1, accepted=accepted
            )
            if forwarding == SERVERS and state == SENDER:
                accepted = _accept(
                    work=work, distance=distance, at=at, found=found, state=FORWARDER, only=2, accepted=accepted
                )
    layer = 0 if state == FORWARDER else state
    for pair in range(PAIRS):
        lower, upper = LOWER[pair], UPPER[pair]
        if not relations[4 * pair] or (lower == 0 and port >= 0 and port != pair) or layer not in (lower, upper):
            continue
        upward, other = (1, upper) if layer == lower else (0, lower)
        if other == 0 and forwarding != ANY:
            other = RECEIVER
        found = link_moves(parts=parts, code=code, pair=pair, upward=upward, links=parallel[pair], moves=moves)
        accepted = _accept(work=work, distance=distance, at=at, found=found, state=other, only=0, accepted=accepted)
    return accepted


def spread(
    parts: Parts, network: tuple[Ints, Floats], distance: Ints, way: tuple[int, int, int], steps: int, work: Work
) -> None:
    """Move all flows to the root on shortest paths, and add the loads of the links to the entries.

    Parameters
    ----------
    parts : as in `Parts`.
    network : relations as in `evo_libra.network.fabrics.bits.tied_bits`, and their parallel links.
    distance : as `evo_libra.network.fabrics.masks.distances` sets them.
    way : port and forwarding, as there, and the place of the distances of the way.
    steps : the longest distance of a flow.
    work : as in `Work`.
    """
    flow, nodes, masks, ends, end_links, size = work[0], work[1], work[2], work[5], work[6], work[9]
    first = way[2]
    while steps > 0:
        place = 0
        while place < size[NODES]:
            node, mask = nodes[place], masks[place]
            state, code = node // MAX_CODES, node % MAX_CODES
            place += 1
            if flow[node] == 0.0 or distance[first + state * MASKS + mask] != steps:
                continue
            accepted, ways = (
                _moves_of(
                    parts=parts, network=network, distance=distance, way=way, node=(state, code, steps), work=work
                ),
                0.0,
            )
            for end in range(accepted):
                ways += end_links[end]
            for end in range(accepted):
                part = flow[node] * end_links[end] / ways
                _enter(work, ends[3 * end + 2], part)
                put(work, ends[3 * end], ends[3 * end + 1], part)
            flow[node] = 0.0
        steps -= 1
    for place in range(size[NODES]):
        flow[nodes[place]] = 0.0
    size[NODES] = 0


FUNCTIONS = (_take, _key, _free, link_moves, put, _enter, _accept, _moves_of, spread)
"""Functions to compile, each after those that it calls."""
