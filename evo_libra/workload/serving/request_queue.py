"""A clock of events, and stages that work one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

Done: TypeAlias = Callable[[], None]
Begin: TypeAlias = Callable[[], tuple[Sequence[float], Done]]
"""Start of a job: it returns its seconds in each stage, and the action at its end."""


class Clock:
    """Events in the order of their times; those of the same time in the order in which they were said."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Done]] = []
        self._places = count()

    def at(self, time: float, done: Done) -> None:
        """Let something happen at a time that is not over."""
        heappush(self._events, (time, next(self._places), done))

    def advance(self) -> bool:
        """Let the next event happen; return whether there was one."""
        if not self._events:
            return False
        self.now, _, done = heappop(self._events)
        done()
        return True


class RequestQueue:
    """Stages, each of which does one thing at a time, in the order in which things come to the first one.

    A request waits in front of the queue and begins when the first stage is free. Nothing overtakes, so that the
    times in all further stages are known then.
    """

    def __init__(self, clock: Clock, stages: int) -> None:
        self._clock, self._free, self._busy = clock, [0.0] * stages, False
        self._queue = deque[Begin]()
        self.left = 0

    def __len__(self) -> int:
        """Return the number of stages; `left` is the number of jobs that have not ended."""
        return len(self._free)

    def enter(self, begin: Begin) -> None:
        """Let something come to the line."""
        self.left += 1
        self._queue.append(begin)
        self._next()

    def _next(self) -> None:
        if self._busy or not self._queue:
            return
        self._busy = True
        seconds, done = self._queue.popleft()()
        at = self._clock.now
        for stage, time in enumerate(seconds):
            at = self._free[stage] = max(at, self._free[stage]) + time

        def through() -> None:
            self.left -= 1
            done()

        self._clock.at(at, through)
        self._clock.at(self._free[0], self._release)

    def _release(self) -> None:
        self._busy = False
        self._next()
