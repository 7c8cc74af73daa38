"""Windows of messages, event by event: 5 ns before a message, 110 ns of a message, 150 ns to reduce one."""

from __future__ import annotations

import pytest

from evo_libra.collective import Collective
from evo_libra.timing.collectives.windowed import windowed_time

AR, RS, AG = Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER


def ns(collective: Collective, npus: int, window: int, reducing: int | None = None) -> float:
    return windowed_time(collective, npus, window, 5.0, lambda _: 110.0, 150.0, reducing or window)


@pytest.mark.parametrize(("collective", "npus", "window", "expected"), [
    # One place: sent at 5; there at 115 and reduced until 270; sent; there at 380, not reduced; sent at 385; and so on.
    (RS, 4, 1, 5 + 265 + 115 + 265),
    (RS, 5, 1, 5 + 265 + 115 + 265 + 115),
    (AG, 4, 1, 5 + 3 * 115),
    # Two places: messages 1 and 2 are reduced until 270, message 3 is not.
    (RS, 4, 2, 5 + 265 + 115),
    # All-reduce of 3: what is scattered is reduced, what is gathered is not.
    (AR, 3, 2, 5 + 265 + 115),
    # One place: message 1 is reduced; none of the second turn, 2 and 3, nor the first one of the third turn is.
    (AR, 3, 1, 5 + 265 + 115 + 115 + 115),
    (AR, 4, 1, 5 + 265 + 115 + 115 + 115 + 265 + 115),
])  # fmt: skip
def test_turns(collective: Collective, npus: int, window: int, expected: float) -> None:
    assert ns(collective, npus, window) == expected


def test_listed_members_reduce_longer_turns() -> None:
    # Of 4 with one place, each turn has one plain place and three that are reduced.
    assert ns(RS, 4, 1, 3) == 5 + 3 * 265
    assert ns(RS, 6, 1, 3) == 5 + 3 * 265 + 115 + 265


def test_the_second_half_waits_for_all_of_the_first() -> None:
    # Three messages of 110, 200 and 110 ns are sent at 5 and there at 115, 205 and 115; without reductions all of the
    # second half begin at 210: the last one is there at 410.
    took = {1: 110.0, 2: 200.0, 3: 110.0}
    assert windowed_time(AR, 4, 3, 5.0, took.__getitem__, 0.0, 3) == 415.0
    # With reductions, places are free again at 270, 270 and 360.
    assert windowed_time(AR, 4, 3, 5.0, took.__getitem__, 150.0, 3) == 475.0


def test_offsets_come_in_order() -> None:
    sent = list[int]()

    def transfer(offset: int) -> float:
        sent.append(offset)
        return 1.0

    windowed_time(AR, 4, 3, 0.0, transfer, 0.0, 3)
    assert sent == [1, 2, 3, 1, 2, 3]
