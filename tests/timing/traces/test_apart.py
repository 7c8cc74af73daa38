"""Members of collectives that begin apart, against a plain simulation of all NPUs, chunks and messages."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from math import prod
from random import Random

import pytest
from astra_simulation import Dimension, Rules, Simulation

from evo_libra.chakra.trace import CollectiveType, Node
from evo_libra.chakra.write import collective_node, compute_node
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.timing.collectives.phase import Implementation, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.machine import ComputeModel, Machine
from evo_libra.timing.traces.apart import equal_views
from evo_libra.timing.traces.execute import execute
from evo_libra.validation.astra import links_of

WORLDS = [(2,), (3,), (4,), (5,), (8,), (2, 2), (4, 2), (3, 4), (2, 6), (2, 2, 2), (2, 3, 2), (4, 2, 2)]
KINDS = ("Ring", "FullyConnected", "Switch")


@dataclass(frozen=True)
class Step:
    """A collective after computations of some ns of each NPU; some dimensions take part, or listed members."""

    collective: str
    size: int
    computing: tuple[int, ...]
    used: tuple[int, ...]
    members: tuple[int, ...] | None


@dataclass(frozen=True)
class Chain:
    """What all NPUs of a network do one after the other."""

    network: tuple[Dimension, ...]
    rules: Rules
    steps: tuple[Step, ...]

    @property
    def npus(self) -> int:
        return prod(dimension.npus for dimension in self.network)

    def simulated(self) -> list[int]:
        """Return when each NPU is done, message by message; an AssertionError says that some never are."""
        now = [0] * self.npus
        for step in self.steps:
            now = [at + ns for at, ns in zip(now, step.computing, strict=True)]
            who = range(self.npus) if step.members is None else step.members
            simulation = Simulation(self.network, self.rules, step.members)
            done = simulation.run(step.collective, step.size, step.used, [now[npu] for npu in who])
            for npu in who:
                assert done[npu] >= 0
                now[npu] = done[npu]
        return now

    def traces(self) -> list[list[Node]]:
        """Return the trace of each NPU."""
        found: list[list[Node]] = [[] for _ in range(self.npus)]
        for number, step in enumerate(self.steps):
            for npu, trace in enumerate(found):
                data = [trace[-1].id] if trace else []
                if step.computing[npu]:
                    trace.append(compute_node(2 * number, "", duration=step.computing[npu] // 1000, data=data))
                    data = [trace[-1].id]
                if step.members is None or npu in step.members:
                    trace.append(self.node(2 * number + 1, number, step, data))
        return [trace or [compute_node(0, "", duration=0)] for trace in found]

    def node(self, number: int, place: int, step: Step, data: list[int]) -> Node:
        kind = CollectiveType[Collective(step.collective).name]
        if step.members is not None:
            return collective_node(number, "", kind, step.size, group=str(place + 1), data=data)
        involved = [d in step.used for d in range(len(self.network))]
        return collective_node(number, "", kind, step.size, involved=involved, data=data)

    def groups(self) -> dict[str, tuple[int, ...]]:
        return {str(at + 1): step.members for at, step in enumerate(self.steps) if step.members is not None}

    def machine(self) -> Machine:
        rules, rows = self.rules, tuple(map(Implementation.read, self.rules.algorithms))
        overheads = Overheads(float(rules.endpoint), rules.memory)
        system = System(
            dict.fromkeys(Collective, rows), rules.splits, rules.active, rules.shrinking, overheads, rules.queues
        )
        names = {"topology": "topology", "npus_count": "npus", "bandwidth": "bandwidth", "latency": "latency"}
        links = links_of({key: [getattr(d, name) for d in self.network] for key, name in names.items()})
        return Machine(links, system, ComputeModel())


def random_chain(random: Random, steps: int) -> Chain:
    network = tuple(
        Dimension(
            random.choice(KINDS), npus, random.choice([12.5, random.uniform(0.01, 1), random.uniform(1, 500)]),
            random.choice([0.0, 500.0, 12.5, random.uniform(0, 2000)]),
        )
        for npus in random.choice(WORLDS)
    )  # fmt: skip
    collectives = ["all-reduce", "all-gather", "reduce-scatter"]
    algorithms = []
    for dimension in network:
        names = ["ring", "direct", f"direct{random.randint(1, dimension.npus)}"]
        power = dimension.npus & (dimension.npus - 1) == 0
        algorithms.append(random.choice([*names, "halvingDoubling"] if power else names))
    if "halvingDoubling" not in algorithms:
        collectives.append("all-to-all")
    rules = Rules(
        random.choice([1, 10, random.randint(1, 99)]), random.choice([50.0, 1600.0, random.uniform(1, 100)]),
        random.randint(1, 6), random.randint(1, 4), random.random() < 0.7, tuple(algorithms),
        random.choice([1, 1, 2, 3, 4]),
    )  # fmt: skip
    npus, scale = prod(dimension.npus for dimension in network), random.choice([1000, 10**4, 10**6])
    found = []
    for _ in range(steps):
        share = random.choice([0.1, 0.5, 1.0])
        computing = tuple(random.randint(0, 9) * scale if random.random() < share else 0 for _ in range(npus))
        members = None
        if len(network) > 1 and rules.queues == 1 and random.random() < 0.3:
            members = tuple(random.sample(range(npus), random.randint(2, npus - 1)))
        used = tuple(sorted(random.sample(range(len(network)), random.randint(1, len(network)))))
        size = random.choice([random.randint(rules.splits, 999), random.randint(1000, 2**26)])
        found.append(Step(random.choice(collectives), size, computing, used, members))
    return Chain(network, rules, tuple(found))


def check(seed: int) -> bool:
    """Compare a chain; return whether its members began some collective apart."""
    chain = random_chain(Random(seed), 3)  # noqa: S311 - no secret
    try:
        expected = chain.simulated()
    except AssertionError:
        with pytest.raises(InputError, match="never ends in ASTRA-sim"):
            execute(chain.traces(), chain.groups(), chain.machine())
        return True
    found = execute(chain.traces(), chain.groups(), chain.machine())
    assert not found.late
    # A trace without any node gets one, which takes 1 ns.
    assert found.finish.tolist() == [ns or 1 for ns in expected], (seed, chain)
    return bool(found.apart)


@pytest.mark.slow
def test_members_that_begin_apart_end_as_their_messages_do() -> None:
    assert sum(map(check, range(40))) > 25


@pytest.mark.slow
@pytest.mark.parametrize("share", range(10))
def test_many_members_that_begin_apart(share: int) -> None:
    for seed in range(1000 + 30 * share, 1030 + 30 * share):
        check(seed)


def test_members_end_one_after_the_other_behind_a_late_one() -> None:
    """Direct all-gathers over FC(2) and FC(2), two chunks at a time, by hand, where NPU 3 comes 5 us late.

    A message waits 10 ns before it leaves, and another 10 ns follow the message that comes in exchange. Dimension 1
    comes first, with 1,000 bytes at 1 byte per ns, then dimension 0 with 2,000.
    - NPU 3 finds the message of NPU 1 at 5,010 and goes on at 5,020, finds that of NPU 2 at 5,030, and ends at 5,040.
    - NPU 1 has the message of NPU 3 at 6,010 and goes on at 6,020, finds that of NPU 0 at 6,030, and ends at 6,040.
    - NPU 2 has that of NPU 3 in dimension 0 at 5,030 + 2,000, and ends at 7,040.
    - NPU 0 has that of NPU 1 in dimension 0 at 6,030 + 2,000, and ends at 8,040, as all do that begin at 5,000.
    """
    network = {"topology": ["FullyConnected"] * 2, "npus_count": [2, 2], "bandwidth": [1e9 / 2**30] * 2}
    row = [Implementation.read("direct")] * 2
    system = System(dict.fromkeys(Collective, row), 2, 2, shrinking=True, overheads=Overheads(10.0, 1600.0))
    machine = Machine(links_of({**network, "latency": [0.0, 0.0]}), system)
    gather = collective_node(1, "", CollectiveType.ALL_GATHER, 2000)
    traces = [[gather], [gather], [gather], [compute_node(0, "", duration=5), replace(gather, control=(0,))]]
    assert execute(traces, {}, machine).finish.tolist() == [8040, 6040, 7040, 5040]
    assert execute(traces, {}, machine, waiting=True).finish.tolist() == [8040] * 4


def test_what_members_see_of_each_other() -> None:
    numbers: dict[Hashable, int] = {}
    one = equal_views("aabaab", [6], [False], numbers)
    assert one[:3] == one[3:]
    assert len(set(one)) == 3
    # Members of another ring see the same from other places on.
    assert equal_views("abaaba", [6], [False], numbers) == [*one[1:], one[0]]
