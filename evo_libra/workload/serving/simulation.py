"""A replica that answers requests, event by event: continuous batching, against which the closed form is held.

Prompts are processed one after the other, as soon as there is room for one more request. Between them a decoding step
gives every request that has its first token one more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray


@dataclass(frozen=True)
class Replica:
    """What a replica takes.

    Attributes
    ----------
    prefill : s of a prompt of so many tokens.
    decode : s of a step for so many requests with so many tokens of context on average.
    room : requests that it answers at a time.
    """

    prefill: Callable[[float], float]
    decode: Callable[[int, float], float]
    room: int


@dataclass(frozen=True)
class Request:
    """A request: when it comes, its tokens, and those of its answer. Without a time it comes as another one ends."""

    prompt: int
    answer: int
    at: float | None = None


@dataclass(frozen=True)
class Seen:
    """What the users of (r,) requests saw, in the order of their ends.

    Attributes
    ----------
    first : s to the first token; `last` : s to the last one, both since the request.
    answer : tokens of the answer.
    end : s at which it ended.
    """

    first: FloatArray
    last: FloatArray
    answer: FloatArray
    end: FloatArray

    def later(self, count: int) -> Seen:
        """Return what was seen after so many requests, once the replica runs as it goes on."""
        return Seen(*(values[count:] for values in (self.first, self.last, self.answer, self.end)))

    @property
    def token(self) -> float:
        """Seconds of a further token, on average over tokens."""
        return float((self.last - self.first).sum() / (self.answer - 1.0).sum())

    @property
    def rate(self) -> float:
        """Tokens a second, from the end of the first request on."""
        return float(self.answer[1:].sum() / (self.end[-1] - self.end[0]))


@dataclass
class _Active:
    """A request that has its first token."""

    request: Request
    asked: float
    first: float
    given: int = 1


def simulate(replica: Replica, requests: Iterable[Request], ends: int | None = None) -> Seen:
    """Return what users see until so many requests have ended, or all of them.

    Requests without a time wait for another one to end; as many as there is room for begin at time 0.
    """
    return _Run(replica, requests).until(ends)


class _Run:
    """The state of a simulation."""

    def __init__(self, replica: Replica, requests: Iterable[Request]) -> None:
        self.replica, self.left = replica, iter(requests)
        self.now, self.upcoming = 0.0, next(self.left, None)
        self.waiting, self.active = deque[tuple[Request, float]](), list[_Active]()
        self.rows: list[tuple[float, float, float, float]] = []
        for _ in range(replica.room):
            self.another()

    def until(self, ends: int | None) -> Seen:
        while ends is None or len(self.rows) < ends:
            self.arrive()
            if self.waiting and len(self.active) < self.replica.room:
                self.process_prompt()
            elif self.active:
                self.step()
            elif self.upcoming is not None and self.upcoming.at is not None:
                self.now = max(self.now, self.upcoming.at)
            else:
                break
        return Seen(*np.array(self.rows, dtype=np.float64).reshape(-1, 4).T)

    def another(self) -> None:
        """Let a request come that waits for another one to end."""
        if self.upcoming is not None and self.upcoming.at is None:
            self.waiting.append((self.upcoming, self.now))
            self.upcoming = next(self.left, None)

    def arrive(self) -> None:
        """Let the requests come whose time has come."""
        while self.upcoming is not None and self.upcoming.at is not None and self.upcoming.at <= self.now:
            self.waiting.append((self.upcoming, self.upcoming.at))
            self.upcoming = next(self.left, None)

    def process_prompt(self) -> None:
        request, asked = self.waiting.popleft()
        self.now += self.replica.prefill(request.prompt)
        self.active.append(_Active(request, asked, self.now - asked))
        self.leave()

    def step(self) -> None:
        context = sum(one.request.prompt + one.given for one in self.active) / len(self.active)
        self.now += self.replica.decode(len(self.active), context)
        for one in self.active:
            one.given += 1
        self.leave()

    def leave(self) -> None:
        """Let the requests end that have their answers."""
        done = [one for one in self.active if one.given >= one.request.answer]
        if not done:
            return
        self.active = [one for one in self.active if one.given < one.request.answer]
        for one in done:
            self.rows.append((one.first, self.now - one.asked, float(one.request.answer), self.now))
            self.another()


def staggered(prompts: Sequence[int], answers: Sequence[int], room: int, random: np.random.Generator) -> list[Request]:
    """Return requests one after the other; the first ones are shorter, so that they do not all end at once."""
    shorter = [max(int(answer * random.random()), 2) for answer in answers[:room]]
    return [Request(*pair) for pair in zip(prompts, [*shorter, *answers[room:]], strict=True)]
