"""Replicas that answer requests, event by event: continuous batching, against which the closed form is held.

A prompt passes the stages of a replica before anything that comes later. The requests that have their first tokens are
shared out over as many groups as there are stages; a step of decoding takes a group through all stages, and gives each
of its requests a token. Replicas may get their prompts from others, which do nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import ceil

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.serving.request_queue import Clock, RequestQueue

Stages = Sequence[float]
"""Seconds of each stage."""


@dataclass(frozen=True)
class Replica:
    """Times of a replica.

    Attributes
    ----------
    prefill : of a prompt, by its tokens.
    decode : of a step, by its requests and their mean tokens of context, in which it is linear.
    room : requests that it answers at a time.
    shared : time of a prompt that shares the passes of decoding, over that of one alone.
    """

    prefill: Callable[[float], Stages]
    decode: Callable[[int, float], Stages]
    room: int
    shared: float = 1.0


@dataclass(frozen=True)
class PrefillPool:
    """Replicas that only process prompts.

    Attributes
    ----------
    replicas : the number of replicas, for the number that go on with their prompts: `served`.
    prefill : of a prompt, by its tokens.
    transfer : s for which the cache of a prompt, by its tokens, keeps the replica that sends it, and the other one.
    """

    replicas: int
    served: int
    prefill: Callable[[float], Stages]
    transfer: Callable[[float], tuple[float, float]]


@dataclass(frozen=True)
class Request:
    """A request: when it comes, its tokens, and those of its answer. Without a time it comes as another one ends."""

    prompt: int
    answer: int
    at: float | None = None


@dataclass(frozen=True)
class Seen:
    """Latencies of the users of (r,) requests, in the order of their ends.

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
        """Return the measurements after a number of requests, once the replicas are in a steady state."""
        return Seen(*(values[count:] for values in (self.first, self.last, self.answer, self.end)))

    @property
    def token(self) -> float:
        """Seconds of a further token, on average over tokens."""
        return float((self.last - self.first).sum() / (self.answer - 1.0).sum())


@dataclass(order=True)
class _Active:
    """A request that has its first token, by the step of its group after which it ends."""

    end: int
    place: int
    request: Request = field(compare=False)
    asked: float = field(compare=False)
    first: float = field(compare=False)


@dataclass
class _Group:
    """Requests that decode together.

    Attributes
    ----------
    members : as a heap; `joining` : from the next step on.
    steps : that it has made; `tokens` : of all its contexts; `busy` : whether it waits for a step or makes one.
    """

    members: list[_Active] = field(default_factory=list)
    joining: list[_Active] = field(default_factory=list)
    steps: int = 0
    tokens: float = 0.0
    busy: bool = False

    def __len__(self) -> int:
        return len(self.members) + len(self.joining)

    def join(self) -> None:
        for one in self.joining:
            one.end = self.steps + one.request.answer - 1
            self.tokens += one.request.prompt + 1
            heappush(self.members, one)
        self.joining.clear()

    def leave(self) -> list[_Active]:
        """Return the requests that have their answers."""
        done = []
        while self.members and self.members[0].end <= self.steps:
            done.append(heappop(self.members))
            self.tokens -= done[-1].request.prompt + done[-1].request.answer
        return done


class _Serving:
    """A replica at work."""

    def __init__(self, run: _Run) -> None:
        stages = len(run.replica.decode(1, 1.0))
        self.run, self.line = run, RequestQueue(run.clock, stages)
        self.groups = [_Group() for _ in range(ceil(run.replica.room / ceil(run.replica.room / stages)))]
        self.waiting, self.inside, self.free_at = deque[tuple[Request, float]](), 0, 0.0

    @property
    def on_their_way(self) -> int:
        """Requests that have not begun to decode."""
        return self.inside - sum(len(group.members) for group in self.groups)

    def prompt(self, tokens: float) -> Stages:
        """Return the time of a prompt that begins now: others may be decoding, whose passes it shares."""
        alone = self.run.replica.prefill(tokens)
        return [self.run.replica.shared * stage for stage in alone] if any(map(len, self.groups)) else alone

    def ask(self, request: Request, asked: float) -> None:
        if self.inside == self.run.replica.room:
            self.waiting.append((request, asked))
        else:
            self.inside += 1
            self.run.prefill(self, request, asked)

    def begin(self, request: Request, asked: float) -> None:
        """Let a request decode that has its first token."""
        now = self.run.clock.now
        one = _Active(0, next(self.run.places), request, asked, now - asked)
        if request.answer == 1:
            self.end([one])
            return
        group = min(self.groups, key=len)
        group.joining.append(one)
        self.enter(group)

    def enter(self, group: _Group) -> None:
        if not group.busy and len(group):
            group.busy = True
            self.line.enter(lambda: self.step(group))

    def step(self, group: _Group) -> tuple[Stages, Callable[[], None]]:
        """Return the time of a step of a group, or of as many as nothing can come between."""
        group.join()
        requests, times = len(group.members), 1
        if len(self.line) == 1 and not self.on_their_way and not self.run.timed:
            times = group.members[0].end - group.steps
        context = (group.tokens + requests * (times - 1) / 2.0) / requests
        seconds = [times * stage for stage in self.run.replica.decode(requests, context)]

        def done() -> None:
            group.steps += times
            group.tokens += requests * times
            group.busy = False
            self.end(group.leave())
            self.enter(group)

        return seconds, done

    def end(self, done: Sequence[_Active]) -> None:
        now = self.run.clock.now
        for one in done:
            self.inside -= 1
            self.run.rows.append((one.first, now - one.asked, float(one.request.answer), now))
            if self.waiting:
                self.ask(*self.waiting.popleft())
            self.run.another(self)


def simulate(
    replica: Replica, requests: Iterable[Request], ends: int | None = None, pool: PrefillPool | None = None
) -> Seen:
    """Return the latencies of users until a number of requests have ended, or all of them.

    Requests without a time wait for another one to end; as many as there is room for begin at time 0. Without a `pool`
    there is one replica.
    """
    return _Run(replica, requests, pool).until(ends)


class _Run:
    """The state of a simulation."""

    def __init__(self, replica: Replica, requests: Iterable[Request], pool: PrefillPool | None) -> None:
        self.replica, self.pool, self.left, self.clock, self.places = replica, pool, iter(requests), Clock(), count()
        self.rows: list[tuple[float, float, float, float]] = []
        self.upcoming = next(self.left, None)
        self.serving = [_Serving(self) for _ in range(1 if pool is None else pool.served)]
        self.ahead: list[tuple[RequestQueue, list[float]]] = []
        if pool is not None:
            self.ahead = [(RequestQueue(self.clock, len(pool.prefill(1.0))), [0.0]) for _ in range(pool.replicas)]

    @property
    def timed(self) -> bool:
        """Whether a request comes at a time of its own."""
        return self.upcoming is not None and self.upcoming.at is not None

    def until(self, ends: int | None) -> Seen:
        for _ in range(self.replica.room):
            for one in self.serving:
                self.another(one)
        self.arrive()
        while (ends is None or len(self.rows) < ends) and self.clock.advance():
            pass
        return Seen(*np.array(self.rows, dtype=np.float64).reshape(-1, 4).T)

    def another(self, serving: _Serving) -> None:
        """Let a request come that waits for another one to end."""
        if self.upcoming is not None and self.upcoming.at is None:
            request, self.upcoming = self.upcoming, next(self.left, None)
            serving.ask(request, self.clock.now)

    def arrive(self) -> None:
        """Let the next request come at its time."""
        request = self.upcoming
        if request is None or request.at is None:
            return
        at = request.at

        def come() -> None:
            self.upcoming = next(self.left, None)
            min(self.serving, key=lambda one: one.inside + len(one.waiting)).ask(request, at)
            self.arrive()

        self.clock.at(at, come)

    def prefill(self, serving: _Serving, request: Request, asked: float) -> None:
        """Let a prompt be processed by the replica itself, or by that of the pool that has the least to do."""
        if self.pool is None:
            serving.line.enter(lambda: (serving.prompt(request.prompt), lambda: serving.begin(request, asked)))
            return
        pool, (line, sends_at) = self.pool, min(self.ahead, key=lambda one: one[0].left)
        seconds = pool.prefill(request.prompt)

        def send() -> None:
            sent, received = pool.transfer(request.prompt)
            at = max(self.clock.now, sends_at[0], serving.free_at)
            sends_at[0], serving.free_at = at + sent, at + received
            self.clock.at(at + max(sent, received), lambda: serving.begin(request, asked))

        line.enter(lambda: (seconds, send))


def staggered(prompts: Sequence[int], answers: Sequence[int], room: int, random: np.random.Generator) -> list[Request]:
    """Return requests one after the other; the first ones are shorter, so that they do not all end at once."""
    shorter = [max(int(answer * random.random()), 2) for answer in answers[:room]]
    return [Request(*pair) for pair in zip(prompts, [*shorter, *answers[room:]], strict=True)]
