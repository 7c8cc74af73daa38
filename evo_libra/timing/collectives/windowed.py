"""A direct algorithm with a window: one NPU, message by message, as all do the same."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from evo_libra.collective import Collective


def windowed_time(
    collective: Collective,
    npus: int,
    window: int,
    endpoint: float,
    transfer: Callable[[int], float],
    reduction: float,
    reducing: int,
) -> float:
    """Return the ns of one phase with a window of messages under way.

    There are ``endpoint`` ns before each message, ``transfer`` gives the ns of a message to the NPU at an offset from 1
    to ``npus - 1``, and a received message takes some ns to reduce. Messages come in turns: a window of them that is
    not reduced, then as many that are (`reducing`).
    """
    peers = npus - 1
    twice = collective is Collective.ALL_REDUCE
    left = 2 * peers if twice else peers
    free = sent = received = 0
    events = [(endpoint, order, True) for order in range(window)]
    order = tokens = window
    while True:
        now, _, is_token = heapq.heappop(events)
        if not is_token:
            received += 1
            reduces = _reduces(collective, tokens, window, reducing)
            tokens += 1
            heapq.heappush(events, (now + endpoint + (reduction if reduces else 0.0), order, True))
            order += 1
            continue
        free += 1
        second_half = twice and left <= peers
        if second_half and received < peers:
            continue
        for _ in range(window if second_half else 1):
            if left and free:
                heapq.heappush(events, (now + transfer(sent % peers + 1), order, False))
                order, sent, left, free = order + 1, sent + 1, left - 1, free - 1
        if not left and free == window:
            return now


def _reduces(collective: Collective, tokens: int, window: int, reducing: int) -> bool:
    """Return whether a message is reduced when it arrives; an all-reduce does so in every second turn."""
    turn, place = divmod(tokens, window + reducing)
    if place < window:
        return False
    return collective is Collective.REDUCE_SCATTER or (collective is Collective.ALL_REDUCE and turn % 2 == 0)
