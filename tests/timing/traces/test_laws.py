"""Laws of executions, on random traces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from effort import costly
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evo_libra.chakra.trace import Attribute, CollectiveType, Node
from evo_libra.chakra.write import collective_node, compute_node, load_node, receive_node, send_node
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, RING, SWITCH, Implementation, Link, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.machine import ComputeModel, Machine, MemoryKind, RemoteMemory
from evo_libra.timing.traces.compile import compile_program
from evo_libra.timing.traces.durations import durations
from evo_libra.timing.traces.execute import execute, execute_program
from evo_libra.timing.traces.operations import Action
from evo_libra.timing.traces.program import TraceProgram, arrays_of_program
from evo_libra.timing.traces.replay import replay_population

SEEDS = st.integers(0, 2**32 - 1)
KINDS = (CollectiveType.ALL_REDUCE, CollectiveType.ALL_GATHER, CollectiveType.ALL_TO_ALL)
Groups = dict[str, tuple[int, ...]]
Traces = list[list[Node]]


def link(block: int, npus: int, bandwidth: float = 50.0, latency: float = 100.0) -> Link:
    return Link(np.array([block]), np.array([npus]), np.array([bandwidth * 1e9]), np.array([latency]))


def machine(links: Sequence[Link], algorithm: str, memory: MemoryKind = MemoryKind.POOL, splits: int = 2) -> Machine:
    rows = [Implementation.read(algorithm)] * len(links)
    system = System(dict.fromkeys(Collective, rows), splits, 1, shrinking=True, overheads=Overheads(10.0, 1600.0))
    return Machine(links, system, ComputeModel(), RemoteMemory(memory, 250.0, 80.0, 2))


def random_traces(
    random: np.random.Generator, npus: int, groups: Groups, length: int, *, of_all: bool = True, ties: bool = True
) -> Traces:
    """Return traces whose collectives and messages come in one order everywhere, but depend on little.

    Without ties, sizes and durations are such that no two of them end together but by a chance of about 1e-7.
    """
    traces: Traces = [[] for _ in range(npus)]
    ids = [random.permutation(4 * length).tolist() for _ in range(npus)]
    chained = random.random() < 0.7
    last: list[int | None] = [None] * npus

    def span(most: int, least: int = 0) -> tuple[int, int]:
        return (least, most) if ties else (2**20, 2**40)

    def add(
        npu: int, make: Callable[..., Node], *arguments: object, communicates: bool = False, **named: object
    ) -> None:
        earlier = [node.id for node in traces[npu]]
        data = set(random.choice(earlier, min(len(earlier), random.integers(0, 3)), replace=False).tolist())
        if communicates and chained and last[npu] is not None:
            data.add(last[npu])
        node = make(ids[npu].pop(), "", *arguments, data=sorted(data), **named)
        last[npu] = node.id if communicates else last[npu]
        traces[npu].append(node)

    for step in range(length):
        npu, other = random.permutation(npus)[:2].tolist()
        what = random.integers(0, 6)
        if what < 2:
            add(npu, compute_node, duration=int(random.integers(*span(4))), on_cpu=bool(what))
        elif what == 2:
            add(npu, load_node, int(random.integers(*span(4, 1))) * 4000, communicates=True)
        elif what == 3:
            ends = {
                "source": npu,
                "destination": other,
                "size": 2**16 if ties else int(random.integers(*span(0))),
                "tag": 0 if chained else step,
            }
            add(npu, send_node, communicates=True, **ends)
            add(other, receive_node, communicates=True, **ends)
        else:
            name = str(random.choice([*[""][:of_all], *groups]))
            kind = KINDS[random.integers(0, 3)]
            size = 2 ** int(random.integers(14, 17)) if ties else int(random.integers(*span(0)))
            for member in groups[name] if name else range(npus):
                add(member, collective_node, kind, size, group=name, communicates=True)
    for npu in range(npus):
        add(npu, compute_node, duration=1)
    return traces


def finish_of(run: Callable[[], np.ndarray]) -> list[float] | None:
    try:
        return run().tolist()
    except InputError:
        return None


class Reference:
    """The rules of an execution, as plain as can be, for one design."""

    def __init__(self, program: TraceProgram, times: np.ndarray) -> None:
        self.program, self.times, self.now = program, times, 0.0
        schedule = arrays_of_program(program)
        sends = [at for at in np.flatnonzero(schedule.receive >= 0).tolist() if program.slot[at] >= 0]
        self.sender = {int(schedule.receives[schedule.receive[at]]): at for at in sends}
        base = [int(np.flatnonzero(program.owner == c)[0]) for c in program.owner]
        self.waits = [
            {first + other for other in o.waits_for} for first, o in zip(base, program.operations, strict=True)
        ]
        self.ended, self.begun, self.ends, self.free = ({} for _ in range(4))  # type: dict[int, float]

    def run(self) -> list[float]:
        program, everything = self.program, range(len(self.program))
        self.begin()
        while self.ends:
            at = min(self.ends, key=self.key)
            self.now = self.ended[at] = self.ends.pop(at)
            self.ended.update({r: self.now for r, send in self.sender.items() if send == at and r in self.begun})
            self.begin()
        if len(self.ended) < len(program):
            raise InputError("stuck")
        return [max(self.ended[at] for at in everything if program.owner[at] == c) for c in range(len(program.classes))]

    def key(self, at: int) -> tuple[float, bool, int, bool, float, int]:
        program = self.program
        collective = program.operations[at].action is Action.COLLECTIVE
        return self.ends[at], program.slot[at] < 0, int(program.owner[at]), collective, self.begun[at], at

    def begin(self) -> None:
        program = self.program
        for at in sorted(range(len(program)), key=lambda at: (program.owner[at], program.slot[at] < 0, at)):
            slot = program.slot[at]
            taken = slot >= 0 and any(program.slot[b] == slot and b not in self.ended for b in self.begun)
            if at in self.begun or taken or not self.waits[at] <= self.ended.keys():
                continue
            self.begun[at] = self.now
            if slot < 0:
                self.ends.update({at: self.now} if self.sender[at] in self.ended else {})
            elif program.communicator[at] >= 0:
                self.join(int(program.communicator[at]))
            else:
                server = int(program.server[at])
                start = max(self.now, self.free.get(server, 0.0)) if server >= 0 else self.now
                self.ends[at] = self.free[server] = start + self.times[at]

    def join(self, communicator: int) -> None:
        program = self.program
        came = [
            b
            for b in self.begun
            if program.communicator[b] == communicator and b not in self.ended and b not in self.ends
        ]
        if (
            len(came) == len(program.communicators[communicator].roles)
            and not program.communicators[communicator].absent
        ):
            if len({program.exchange[b] for b in came}) > 1:
                raise InputError("mismatch")
            self.ends.update(dict.fromkeys(came, self.now + max(self.times[b] for b in came)))


@st.composite
def programs(draw: st.DrawFn, *, memory: bool = True) -> tuple[TraceProgram, Machine]:
    """Programs whose collectives are barriers, so that populations are exact."""
    random = np.random.default_rng(draw(SEEDS))
    npus = draw(st.integers(2, 5))
    groups = {"1": tuple(range(npus - 1)), "2": (npus - 1, 0)} if npus > 2 else {}
    traces = random_traces(random, npus, groups, draw(st.integers(1, 14)))
    if draw(st.booleans()):
        traces = [traces[0]] * npus if not any(node.kind.name.startswith("COMM") for node in traces[0]) else traces
    kind = draw(st.sampled_from([MemoryKind.POOL, MemoryKind.PER_NODE])) if memory else MemoryKind.PER_NPU
    cluster = machine([link(FULLY_CONNECTED, npus)], "direct", kind)
    return compile_program(traces, groups, cluster), cluster


@given(programs())
@costly(150)
def test_populations_are_exact_where_collectives_are_barriers(given_: tuple[TraceProgram, Machine]) -> None:
    program, cluster = given_
    exact = finish_of(lambda: execute_program(program, cluster).finish)
    times = durations(program, cluster)[:, None]
    for compiled in (False, True):
        found = finish_of(
            lambda compiled=compiled: replay_population(program, times, compiled=compiled).classes[program.npus, 0]
        )
        assert found == exact


@pytest.mark.slow
@given(programs(), SEEDS)
@settings(max_examples=100)
def test_a_population_runs_as_the_plain_reference_does(given_: tuple[TraceProgram, Machine], seed: int) -> None:
    program, _ = given_
    # Small whole numbers tie, zeros among them; every design has its own order of events.
    times = np.random.default_rng(seed).integers(0, 5, (len(program), 3)).astype(np.float64)
    expected = [finish_of(lambda n=n: np.array(Reference(program, times[:, n]).run())) for n in range(3)]
    for compiled in (False, True):
        together = finish_of(lambda compiled=compiled: replay_population(program, times, compiled=compiled).classes.T)
        assert together == (None if None in expected else expected)


def chains(program: TraceProgram, times: np.ndarray) -> float:
    """Return the longest chain of operations that wait for each other, messages included."""
    schedule = arrays_of_program(program)
    receive_of = {
        s: int(schedule.receives[r]) for s, r in enumerate(schedule.receive) if r >= 0 and program.slot[s] >= 0
    }
    longest = np.array([t if slot >= 0 else 0.0 for t, slot in zip(times, program.slot, strict=True)])
    own = longest.copy()
    for _ in range(len(program)):
        for at in range(len(program)):
            for other in program.successors[program.first_successor[at] : program.first_successor[at + 1]]:
                longest[other] = max(longest[other], longest[at] + own[other])
            if at in receive_of:
                longest[receive_of[at]] = max(longest[receive_of[at]], longest[at])
    return float(longest.max())


@pytest.mark.slow
@given(programs(memory=False), SEEDS)
@settings(max_examples=60)
def test_bounds_and_scale(given_: tuple[TraceProgram, Machine], seed: int) -> None:
    program, _ = given_
    times = np.random.default_rng(seed).integers(0, 50, (len(program), 1)).astype(np.float64)
    # Members of a collective have one duration.
    for exchange in range(len(program.exchanges)):
        times[program.exchange == exchange] = 10.0 + exchange
    found = finish_of(lambda: replay_population(program, times).all)
    assume(found is not None)
    assert found is not None
    assert finish_of(lambda: replay_population(program, 3 * times).all) == [3 * found[0]]
    takes = program.slot >= 0
    of_slots = np.bincount(program.slot[takes], times[takes, 0], minlength=1)
    assert found[0] >= of_slots.max()
    assert found[0] >= chains(program, times[:, 0])
    assert found[0] <= times[takes].sum()


def test_shorter_operations_can_take_longer() -> None:
    """Graham's anomaly: what is ready sooner goes first, though something else would have been worth waiting for."""
    trace = [
        compute_node(0, "a", duration=2),
        compute_node(1, "b", duration=1, on_cpu=True),
        collective_node(2, "long", CollectiveType.ALL_REDUCE, 2**20, data=[0]),
        collective_node(3, "short", CollectiveType.ALL_REDUCE, 2**10, data=[1]),
        compute_node(4, "after short", duration=10, data=[3]),
    ]
    program = compile_program([trace], {}, 8)
    slow, quick = np.array([2.0, 1.5, 10.0, 1.0, 10.0]), np.array([1.0, 1.5, 10.0, 1.0, 10.0])
    assert replay_population(program, np.stack([slow, quick], axis=1)).all.tolist() == [12.5, 22.0]


@pytest.mark.slow
@given(SEEDS, st.integers(3, 5))
@settings(max_examples=40)
def test_permuting_npus_permutes_results(seed: int, npus: int) -> None:
    random = np.random.default_rng(seed)
    groups: Groups = {"1": tuple(range(npus - 1)), "2": (npus - 1, 0)}
    # Of what ends together on two NPUs, that of the lower number ends first: a message may come before
    # or after what its receiver does next.
    traces = random_traces(random, npus, groups, 12, of_all=False, ties=False)
    to = random.permutation(npus).tolist()
    moved: Traces = [[] for _ in traces]
    for npu, trace in enumerate(traces):
        moved[to[npu]] = [renamed(node, to) for node in trace]
    moved_groups = {name: tuple(to[npu] for npu in members) for name, members in groups.items()}
    # All NPUs are alike on one switch. Their numbers order only the ring of all of them, and who comes first to memory.
    cluster = machine([link(SWITCH, npus)], "ring", MemoryKind.PER_NPU)
    before = finish_of(lambda: execute(traces, groups, cluster).finish)
    after = finish_of(lambda: execute(moved, moved_groups, cluster).finish[to])
    assume(before is not None)
    assert after == before


def renamed(node: Node, to: Sequence[int]) -> Node:
    ends = {name: Attribute("int32", to[int(str(node.attributes[name].value))])
            for name in ("comm_src", "comm_dst") if name in node.attributes}  # fmt: skip
    return replace(node, attributes=MappingProxyType({**node.attributes, **ends}))


def both_ways(trace: list[Node], times: Sequence[float]) -> list[float]:
    program = compile_program([trace], {}, 2)
    table = np.array(times)[:, None]
    return [float(replay_population(program, table, compiled=compiled).all[0]) for compiled in (False, True)]


def broadcast(number: int, data: Sequence[int] = (), duration: int = 0) -> Node:
    """Return what takes the links, and its recorded time."""
    return replace(collective_node(number, "", CollectiveType.BROADCAST, 1, data=data), duration=duration)


def test_of_ends_at_the_same_time_collectives_come_last() -> None:
    trace = [
        compute_node(0, "first", duration=0),
        collective_node(1, "until 1001", CollectiveType.ALL_GATHER, 2),
        compute_node(2, "until 1001, too, though it began later", duration=1, data=[0]),
        broadcast(3, data=[2], duration=1),
        broadcast(4, data=[1], duration=100),
        compute_node(5, "", duration=50, data=[3]),
    ]
    # When the collective ends, both that want the links next are there, and the least id begins.
    expected = 1001.0 + 1000.0 + 100_000.0
    assert both_ways(trace, [1.0, 1001.0, 1000.0, 1000.0, 100_000.0, 50_000.0]) == [expected] * 2
    cluster = machine([link(RING, 2, latency=981.0)], "ring", splits=1)
    found = execute([trace], {}, cluster)
    assert [span.end for span in found.timeline() if span.node in (1, 2)] == [1001.0, 1001.0]
    assert found.finish.tolist() == [expected] * 2


def test_receives_of_messages_that_are_there_end_after_all_else() -> None:
    ends = {"source": 0, "destination": 1, "size": 10, "tag": 1}
    traces = [
        [send_node(0, "", **ends)],
        [
            compute_node(1, "until 5000", on_cpu=True, duration=5),
            broadcast(2, duration=5),
            broadcast(3, data=[9], duration=1),
            broadcast(4, data=[2], duration=100),
            compute_node(6, "", duration=50, data=[3]),
            receive_node(9, "", data=[1], **ends),
        ],
    ]
    # CPU and links are done at 5000; node 4 then begins, and only after that the receive lets node 3 begin.
    cluster = machine([link(RING, 2)], "ring")
    assert execute(traces, {}, cluster).finish[1] == 5000 + 100_000 + 1000 + 50_000
    program = compile_program(traces, {}, cluster)
    times = durations(program, cluster)[:, None]
    for compiled in (False, True):
        assert replay_population(program, times, compiled=compiled).all == [156_000.0]


def test_of_npus_that_come_to_a_memory_together_the_first_is_first() -> None:
    ends = {"source": 1, "destination": 0, "size": 10, "tag": 1}
    traces = [
        [receive_node(0, "", **ends), load_node(1, "", 8000, data=[0])],
        [send_node(0, "", **ends), load_node(1, "", 8000, data=[0])],
    ]
    cluster = machine([link(RING, 2)], "ring")
    found = execute(traces, {}, cluster).finish
    assert found.tolist() == [100 + 350, 100 + 700]


def test_breakdown() -> None:
    trace = [
        compute_node(0, "until 5", duration=5),
        broadcast(1, duration=3),
        compute_node(2, "until 10", on_cpu=True, duration=10),
        broadcast(3, data=[2], duration=4),
    ]
    found = execute([trace], {}, machine([link(RING, 2)], "ring"))
    assert found.finish.tolist() == [14_000.0] * 2
    rows = (found.compute, found.communication, found.cpu, found.exposed, found.idle)
    assert [row[0] for row in rows] == [5000.0, 7000.0, 10_000.0, 9000.0, 5000.0]
