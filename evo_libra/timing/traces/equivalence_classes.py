"""NPUs that do the same at the same times: they need to be executed only once.

NPUs are of one class when their traces say the same but for names, and they meet NPUs of the same classes in the same
roles: in collectives, in messages, at memories that they share. That is found by refining a partition until nothing
changes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum


class Order(Enum):
    """How the seats of a meeting differ: not at all, by who sits next to whom around a ring, or all of them."""

    ANY = "any"
    RING = "ring"
    LINE = "line"


@dataclass(frozen=True)
class Meeting:
    """Where NPUs meet: a group that runs collectives, a memory.

    Attributes
    ----------
    order : how seats differ.
    seats : the NPUs, each with the number that it knows the meeting by; -1 for one that never comes.
    labels : of each seat: what tells the link to the next seat from others.
    label : what tells the meeting from others.
    """

    order: Order
    seats: tuple[tuple[int, int], ...]
    labels: tuple[Hashable, ...]
    label: Hashable = None

    def signature(self, colours: Sequence[int]) -> tuple[Hashable, int]:
        """Return what meetings of the same colours have in common, and after how many seats the colours repeat."""
        rows = [(colours[npu], number, label) for (npu, number), label in zip(self.seats, self.labels, strict=True)]
        if self.order is Order.ANY:
            return (self.order, self.label, len(rows), frozenset(rows)), 1
        period = len(rows) if self.order is Order.LINE else _period(rows)
        return (self.order, self.label, len(rows), tuple(rows[:period])), period


def _period(rows: Sequence[Hashable]) -> int:
    """Return the least number of seats after which a ring repeats itself."""
    count = len(rows)
    # The longest proper prefix that is also a suffix, as in string matching by Knuth, Morris and Pratt.
    border = [0] * count
    for place in range(1, count):
        length = border[place - 1]
        while length and rows[place] != rows[length]:
            length = border[length - 1]
        border[place] = length + (rows[place] == rows[length])
    period = count - border[-1]
    return period if count % period == 0 else count


@dataclass(frozen=True)
class Partition:
    """The class of each NPU, numbered by their first NPUs, and the kind of each meeting.

    Meetings of one kind are the same to their classes.
    """

    colours: tuple[int, ...]
    kinds: tuple[int, ...]


def partition(
    initial: Sequence[Hashable], meetings: Sequence[Meeting], peers: Sequence[Sequence[tuple[int, Hashable]]]
) -> Partition:
    """Return the coarsest partition in which NPUs of a class do the same.

    Of each NPU there is what its trace says, and the other ends of its channels with what tells those channels from
    others.
    """
    at: list[list[tuple[int, int]]] = [[] for _ in initial]
    for number, meeting in enumerate(meetings):
        for place, (npu, known_by) in enumerate(meeting.seats):
            if known_by >= 0:
                at[npu].append((number, place))
    for npu, mine in enumerate(at):
        at[npu] = sorted(mine, key=lambda seat: meetings[seat[0]].seats[seat[1]][1])
    colours = _numbered(initial)
    while True:
        signatures = [meeting.signature(colours) for meeting in meetings]
        kinds = _numbered([key for key, _ in signatures])
        rows = [
            (
                colours[npu],
                tuple((kinds[number], meetings[number].seats[place][1], place % signatures[number][1])
                      for number, place in at[npu]),
                tuple((colours[other], label) for other, label in peers[npu]),
            )
            for npu in range(len(initial))
        ]  # fmt: skip
        refined = _numbered(rows)
        if max(refined, default=0) == max(colours, default=0):
            return Partition(tuple(colours), tuple(kinds))
        colours = refined


def _numbered(rows: Sequence[Hashable]) -> list[int]:
    """Return a number for each row, the same for the same rows, in the order of first appearance."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(row, len(numbers)) for row in rows]
