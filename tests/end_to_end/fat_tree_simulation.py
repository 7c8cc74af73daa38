"""Collectives on fat trees, step by step: every message of every NPU through the links between switches.

Nothing here comes from the package. All groups of a network run the same collective at the same time. An NPU begins a
step when its messages of the step before have arrived and so have those to it. Messages that leave a leaf at the same
time share the links above it equally, and so do those that leave a pod.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import ceil, floor

from block_simulation import Event, Simulation, Step, steps_of


@dataclass(frozen=True)
class Network:
    """Equal leaves and pods of one network: its NPUs, how many are under a leaf and in a pod, links down over up.

    Of routers, `parts` are what an NPU has of what leaves a router and a pod; `uniform` is the part that it has of all
    links when all NPUs send to all others.
    """

    npus: int
    leaf: int
    pod: int
    ratios: tuple[int, int] = (1, 1)
    parts: tuple[float, float] | None = None
    uniform: float = 0.0

    def crossed(self, source: int, target: int) -> list[tuple[str, int]]:
        """Return what a message leaves and enters."""
        found = []
        for kind, size in (("leaf", self.leaf), ("pod", self.pod)):
            if source // size != target // size:
                found += [(f"out of {kind}", source // size), (f"into {kind}", target // size)]
        return found

    def capacity(self, kind: str) -> float:
        """Return what leaves or enters a leaf or a pod, in bandwidths of an NPU."""
        if self.parts is not None:
            return self.leaf * self.parts[0] if kind.endswith("leaf") else self.pod * self.parts[1]
        if kind.endswith("leaf"):
            return self.leaf / self.ratios[0]
        return self.pod / (self.ratios[0] * self.ratios[1])


def build(npus: int, inside: int, radix: int, ratios: tuple[int, int]) -> Network | None:
    """Return the network of the fewest leaves and pods, found by trying all; None where these are not alike."""
    reached = npus * inside
    fits = [n for n in range(1, radix) if n + ceil(n / ratios[0]) <= radix]
    most = max(fits)
    most_at_one_to_one = ceil(reached / (radix // 2))
    servers = [n for n in fits if n % inside == 0] if inside <= most else fits
    leaves = [reached // n for n in servers if reached % n == 0 and reached // n <= most_at_one_to_one]
    if reached <= radix or not leaves:
        return None
    count = min(leaves)
    if count <= radix:
        return Network(reached, reached // count, reached, (ratios[0], 1)) if ratios[1] == 1 else None
    members = [n for n in range(1, radix) if n + ceil(n / ratios[1]) <= radix and count % n == 0]
    pods = [count // n for n in members if count // n <= min(radix, ceil(count / (radix // 2)))]
    if ratios[1] == 1 and ceil(count / (radix // 2)) <= radix:
        return Network(reached, reached // count, reached, ratios)
    return Network(reached, reached // count, reached // min(pods), ratios) if pods else None


@dataclass
class FatTreeSimulation(Simulation):
    """A network whose groups of `extent` NPUs, `stride` apart, run an algorithm.

    An NPU sends `rate` bytes per ns. Each message takes the way to the highest tier, of `latency` ns.
    """

    network: Network = field(default_factory=lambda: Network(1, 1, 1, (1, 1)))
    extent: int = 1
    stride: int = 1
    rate: float = 1.0
    latency: float = 0.0
    algorithm: str = "ring"

    def exchange(self, axis: int, collective: str, size: int, now: int, done: Event) -> None:
        del axis
        npus, arrived, sent = self.network.npus, Counter[tuple[int, int]](), dict[tuple[int, int], int]()
        programs = [steps_of(self.algorithm, collective, size, self.extent, place) for place in range(self.extent)]
        rates, left, begun = self.rates(programs), [npus], dict[tuple[int, tuple[str, int]], int]()

        def send(npu: int, step: int, now: int) -> None:
            place = npu // self.stride % self.extent
            targets, bytes_, _ = programs[place][step]
            others = [npu + (target - place) * self.stride for target in targets]
            for other in others:
                for where in self.network.crossed(npu, other):
                    assert begun.setdefault((step, where), now) == now, "messages that share a link begin together"
                arrival = floor(now + self.latency + bytes_ / rates[step, npu, other])
                sent[npu, step] = max(sent.get((npu, step), 0), arrival)
                self.at(arrival, lambda now, other=other: receive(other, step, now))  # type: ignore[misc]
            go_on(npu, step, now)

        def receive(npu: int, step: int, now: int) -> None:
            arrived[npu, step] += 1
            go_on(npu, step, now)

        def go_on(npu: int, step: int, now: int) -> None:
            program = programs[npu // self.stride % self.extent]
            targets, _, reduced = program[step]
            if (npu, step) not in sent or arrived[npu, step] < len(targets):
                return
            ready = max(now, sent[npu, step]) + self.endpoint + self.reduction(reduced)
            self.at(ready, (lambda now: send(npu, step + 1, now)) if step + 1 < len(program) else finish)

        def finish(now: int) -> None:
            left[0] -= 1
            for _ in range(0 if left[0] else self.extent):
                done(now)

        for npu in range(npus):
            self.at(now + self.endpoint, lambda now, npu=npu: send(npu, 0, now))  # type: ignore[misc]

    def rates(self, programs: list[list[Step]]) -> dict[tuple[int, int, int], float]:
        """Return bytes per ns of each message, by its step and its ends."""
        found, crossing = dict[tuple[int, int, int], float](), Counter[tuple[int, tuple[str, int]]]()
        for npu in range(self.network.npus):
            place = npu // self.stride % self.extent
            for step, (targets, _, _) in enumerate(programs[place]):
                for target in targets:
                    other = npu + (target - place) * self.stride
                    found[step, npu, other] = self.rate / len(targets)
                    crossing.update((step, where) for where in self.network.crossed(npu, other))
        for (step, npu, other), alone in found.items():
            parts = [
                self.network.capacity(where[0]) / crossing[step, where] for where in self.network.crossed(npu, other)
            ]
            found[step, npu, other] = min(alone, *(self.rate * part for part in parts)) if parts else alone
            if self.network.uniform and len(programs[0][step][0]) == self.network.npus - 1:
                found[step, npu, other] = alone * self.network.uniform
        return found
