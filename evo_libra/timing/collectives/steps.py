"""Messages of one chunk in one dimension, in the order in which a member sends them.

Every member sends the same messages to members at the same places from its own: that many places further around, or,
where pairs exchange, at the place whose bits differ in one. The first messages of a window are made at once, and each
later one when a message comes; it may leave an endpoint delay after that, and a reduction where the algorithm has one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.collective import Collective
from evo_libra.timing.collectives.phase import Implementation, Link, Overheads
from evo_libra.timing.names import CollectiveAlgorithm


@dataclass(frozen=True)
class Steps:
    """The messages of each of n members.

    Attributes
    ----------
    moves : (s,) places to the target, 1 to n - 1.
    sizes, transfers : (s,) bytes and ns of each message.
    delays : (s + window,) ns from making a message until it may leave; the last ones, a window, only end the phase.
    window : messages under way at a time.
    paired : whether the target of a member is the place whose bits differ by the move, and not that many places
        further.
    half : messages before the second half of a direct all-reduce, which waits for all of the first; 0 elsewhere.
    """

    members: int
    moves: tuple[int, ...]
    sizes: tuple[int, ...]
    transfers: tuple[float, ...]
    delays: tuple[float, ...]
    window: int
    paired: bool
    half: int

    def target(self, place: int, move: int) -> int:
        """Return the place to which a member at a place sends."""
        return place ^ move if self.paired else (place + move) % self.members

    def source(self, place: int, move: int) -> int:
        """Return the place from which a member at a place receives in exchange for what it sends."""
        return place ^ move if self.paired else (place - move) % self.members


def steps_of(row: Implementation, collective: Collective, size: int, link: Link, overheads: Overheads) -> Steps:
    """Return the messages of a phase that some bytes enter; a ValueError refuses a double binary tree.

    >>> link = Link(np.array([1]), np.array([4]), np.array([1e9]), np.array([5.0]))
    >>> found = steps_of(Implementation.read("halvingDoubling"), Collective.REDUCE_SCATTER, 40, link, Overheads(10, 3))
    >>> found.moves, found.transfers, found.delays
    ((1, 2), (25.0, 15.0), (10.0, 19.0, 10.0))
    """
    if row.algorithm is CollectiveAlgorithm.DOUBLE_BINARY_TREE:
        raise ValueError(f"members of {row.algorithm.value} that begin apart: no exact time is known of it")
    npus, direct = int(link.npus[0]), row.algorithm is CollectiveAlgorithm.DIRECT
    paired = row.algorithm is CollectiveAlgorithm.HALVING_DOUBLING
    moves, sizes = (
        _halving_doubling(collective, npus, size) if paired else _around(collective, npus, size, direct=direct)
    )
    window = min(row.window or npus, npus - 1) if direct else 1
    reduced = npus - 1
    if direct:
        reduced = window * (npus - 1) if overheads.listed else window
    elif paired:
        reduced = npus.bit_length() - 2
    delays = [
        overheads.endpoint + (float(overheads.reduction(np.array([float(bytes_)]))[0]) if reduces else 0.0)
        for bytes_, reduces in zip(
            [*sizes, *sizes[-1:] * window], _reduces(collective, len(sizes) + window, window, reduced), strict=True
        )
    ]
    transfers = link.transfer(np.array(sizes, dtype=np.float64), link.hops(np.array(moves, dtype=np.float64)))
    return Steps(
        members=npus, moves=tuple(moves), sizes=tuple(sizes), transfers=tuple(transfers.tolist()),
        delays=tuple(delays), window=window, paired=paired,
        half=npus - 1 if direct and collective is Collective.ALL_REDUCE else 0,
    )  # fmt: skip


def _around(collective: Collective, npus: int, size: int, *, direct: bool) -> tuple[list[int], list[int]]:
    """Return moves and bytes of the messages of a ring, or of all to each other."""
    count = (npus - 1) * (2 if collective is Collective.ALL_REDUCE else 1)
    if collective is Collective.ALL_TO_ALL and not direct:
        count = npus * (npus - 1) // 2
    moves = [at % (npus - 1) + 1 if direct else 1 for at in range(count)]
    return moves, [size if collective is Collective.ALL_GATHER else size // npus] * count


def _halving_doubling(collective: Collective, npus: int, size: int) -> tuple[list[int], list[int]]:
    """Return moves and bytes: what an all-reduce gathers first is what one halving too many leaves, twice."""
    steps, moves, sizes = npus.bit_length() - 1, list[int](), list[int]()
    if collective is not Collective.ALL_GATHER:
        moves = [2**at for at in range(steps)]
        sizes = [size // 2 ** (at + 1) for at in range(steps)]
    if collective is not Collective.REDUCE_SCATTER:
        shard = size if collective is Collective.ALL_GATHER else 2 * (size // (2 * npus))
        moves += [2**at for at in reversed(range(steps))]
        sizes += [shard * 2**at for at in range(steps)]
    return moves, sizes


def _reduces(collective: Collective, count: int, window: int, reduced: int) -> list[bool]:
    """Return of each message whether it is made with a reduction: in turns of a window without and of others with.

    A reduce-scatter reduces in every turn, an all-reduce in every second one.
    """
    turns = {Collective.REDUCE_SCATTER: 1, Collective.ALL_REDUCE: 2}.get(collective, 0)
    found = []
    for made in range(count):
        turn, place = divmod(made, window + reduced)
        found.append(bool(turns) and place >= window and turn % turns == 0)
    return found
