"""Random inputs of ASTRA-sim, and a plain simulation of them: every NPU, node, chunk and message, one at a time.

Nothing of the simulation comes from the package; the rules are those of the congestion-unaware backend. An NPU runs one
operation at a time on its CPU, one on its compute units and one on its links. Whenever something ends, its nodes that
wait for nothing are tried by id.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import floor, prod
from pathlib import Path
from random import Random

from astra_simulation import Dimension, Event, Npu, Rules, Simulation, chunks_of, phases_of, queued

from evo_libra.chakra.trace import CollectiveType, Kind, Node
from evo_libra.chakra.write import (
    collective_node,
    compute_node,
    load_node,
    receive_node,
    send_node,
    store_node,
    write_traces,
)

WORLDS = [(2,), (3,), (4,), (5,), (8,), (2, 2), (4, 2), (3, 4), (2, 6), (2, 2, 2), (2, 3, 2), (4, 2, 2)]
KINDS = ("Ring", "FullyConnected", "Switch")
COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")


@dataclass(frozen=True)
class Task:
    """A node of a trace; what it does not have is 0 or empty. An involved mask of nothing is no mask."""

    number: int
    kind: str
    after: tuple[int, ...]
    size: int = 0
    micros: int = 0
    work: int = 0
    group: str = ""
    involved: tuple[bool, ...] = ()
    source: int = 0
    target: int = 0
    tag: int = 0

    def node(self) -> Node:
        """Return it as the package writes it."""
        number, data, ends = self.number, list(self.after), {"source": self.source, "destination": self.target}
        if self.kind in COLLECTIVES:
            kind = CollectiveType[self.kind.upper().replace("-", "_")]
            mask = list(self.involved) or None
            return collective_node(number, "", kind, self.size, group=self.group, involved=mask, data=data)
        if self.kind in ("send", "receive"):
            make = send_node if self.kind == "send" else receive_node
            return make(number, "", size=self.size, tag=self.tag, data=data, **ends)
        if self.kind in ("load", "store"):
            return (load_node if self.kind == "load" else store_node)(number, "", self.size, data=data)
        if self.kind == "metadata":
            return Node(number, kind=Kind.METADATA, data=self.after)
        if self.kind == "broadcast":
            return collective_node(number, "", CollectiveType.BROADCAST, self.size, data=data)
        on_cpu = self.kind == "cpu"
        figures = {"operations": self.work, "size": self.size} if self.work else {}
        return compute_node(number, "", duration=self.micros, on_cpu=on_cpu, data=data, **figures)


@dataclass(frozen=True)
class Memory:
    """A remote memory: ns, and bytes per ns; how many NPUs share one, 0 for none."""

    kind: str
    latency: float
    bandwidth: float
    shared: int


@dataclass(frozen=True)
class Folder:
    """Inputs of a run, with the options of the command line; `own` are algorithms of collectives, by place."""

    network: tuple[Dimension, ...]
    rules: Rules
    traces: tuple[tuple[Task, ...], ...]
    groups: dict[str, tuple[int, ...]]
    memory: Memory | None
    peak: float
    injection: float
    speeds: dict[int, float]
    own: dict[str, tuple[tuple[Task, ...], ...]] = field(default_factory=dict)

    @property
    def npus(self) -> int:
        """All NPUs."""
        return prod(dimension.npus for dimension in self.network)

    def write(self, folder: Path) -> list[str]:
        """Write the files; return the words of the command line."""
        write_traces(folder / "trace", [[task.node() for task in trace] for trace in self.traces])
        columns = {"topology": "topology", "npus_count": "npus", "bandwidth": "bandwidth", "latency": "latency"}
        network = {key: [getattr(d, name) for d in self.network] for key, name in columns.items()}
        rules = self.rules
        system = {
            "endpoint-delay": rules.endpoint, "local-mem-bw": rules.memory, "preferred-dataset-splits": rules.splits,
            "active-chunks-per-dimension": rules.active,
            "collective-optimization": "localBWAware" if rules.shrinking else "baseline",
            **{f"{name}-implementation": list(rules.algorithms) for name in COLLECTIVES},
        }  # fmt: skip
        for name, places in self.own.items():
            write_traces(folder / f"own-{name}", [[task.node() for task in place] for place in places])
            system[f"{name}-implementation-custom"] = [f"own-{name}"]
        if self.peak:
            system |= {"roofline-enabled": 1, "peak-perf": self.peak}
        contents = {"network": network, "system": system, "comm-group": self.groups or None, "remote-memory": None}
        if self.memory is not None:
            memory = self.memory
            contents["remote-memory"] = {
                "memory-type": memory.kind, "remote-mem-latency": memory.latency, "remote-mem-bw": memory.bandwidth,
                **({"num-nodes": self.npus // of, "num-npus-per-node": of} if (of := memory.shared) else {}),
            }  # fmt: skip
        words = ["simulate", f"--workload-configuration={folder / 'trace'}"]
        for name, content in contents.items():
            if content is not None:
                path = folder / f"{name}.json"
                path.write_text(json.dumps(content))
                words.append(f"--{name}-configuration={path}")
        words += [f"--num-queues-per-dim={rules.queues}", f"--injection-scale={self.injection:g}"]
        if self.speeds:
            (folder / "speeds.json").write_text(json.dumps(self.speeds))
            words.append(f"--npu-speeds={folder / 'speeds.json'}")
        return words


@dataclass
class Rank:
    """An NPU: what each node still waits for, the nodes that wait for nothing, and what is busy."""

    tasks: dict[int, Task]
    waits: dict[int, int] = field(default_factory=dict)
    children: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    ready: list[int] = field(default_factory=list)
    busy: set[str] = field(default_factory=set)
    done: int = 0
    finish: int = 0


class Instance(Simulation):
    """A collective of members that come to it one by one."""

    def __init__(self, run: Run, task: Task, rules: Rules, members: Sequence[int] | None) -> None:
        super().__init__(run.folder.network, rules, members)
        self.whole, self.task = run, task
        depth = len(rules.algorithms)
        mask = task.involved or (True,) * len(run.folder.network)
        used = [d for d in range(depth) if mask[d]]
        chunks, chunk = chunks_of(task.kind, task.size, self.total, rules.splits)
        sizes = {0: len(members)} if members else {d: self.network[d].npus for d in used}
        phases = phases_of(task.kind, chunk, sizes, shrinking=rules.shrinking)
        back = task.kind == "all-reduce" and rules.shrinking
        self.ways = [queued(phases, n, rules.queues, there_and_back=back) for n in range(chunks)]
        self.nodes: dict[int, int] = {}

    def at(self, time: int, event: Event) -> None:
        self.whole.at(time, event)

    def come(self, number: int, node: int, now: int) -> None:
        """Let an NPU begin, in a node of its trace."""
        npu = self.npus[number]
        self.nodes[number] = node
        npu.ways = [deque(way) for way in self.ways]
        self.issue(npu, now)

    def end(self, npu: Npu, chunk: int, now: int) -> None:
        super().end(npu, chunk, now)
        if npu.finish >= 0:
            self.whole.end(npu.number, self.nodes[npu.number], now)


class OwnInstance:
    """A collective by an algorithm of the user's own: steps that take nothing, each as soon as it waits for nothing."""

    def __init__(self, run: Run, task: Task, members: Sequence[int]) -> None:
        self.whole, self.task, self.members = run, task, members
        self.nodes: dict[int, int] = {}
        self.left: dict[int, int] = {}
        self.waits: dict[tuple[int, int], int] = {}
        self.arrived: defaultdict[tuple[int, ...], int] = defaultdict(int)
        self.expected: defaultdict[tuple[int, ...], deque[tuple[int, Task]]] = defaultdict(deque)

    def steps(self, number: int) -> tuple[Task, ...]:
        """Return the steps of an NPU: those of its place among the members by number."""
        return self.whole.folder.own[self.task.kind][sorted(self.members).index(number)]

    def come(self, number: int, node: int, now: int) -> None:
        """Let an NPU begin."""
        self.nodes[number], self.left[number] = node, len(self.steps(number))
        for step in self.steps(number):
            self.waits[number, step.number] = len(step.after)
        for step in self.steps(number):
            if not step.after:
                self.begin(number, step, now)

    def begin(self, number: int, step: Task, now: int) -> None:
        """Begin a step; messages go to places in the order of the list of members."""
        run = self.whole
        if step.kind == "compute":
            run.at(now + max(step.micros * 1000, 1), lambda when: self.end(number, step, when))
        elif step.kind == "send":
            target = self.members[step.target]
            took = Simulation(run.folder.network, run.folder.rules).transfer(number, target, step.size)
            run.at(now + took, lambda when: self.deliver(number, target, step, when))
        else:
            key = self.members[step.source], number, step.size, step.tag
            if self.arrived[key]:
                self.arrived[key] -= 1
                run.at(now, lambda when: self.end(number, step, when))
            else:
                self.expected[key].append((number, step))

    def deliver(self, number: int, target: int, step: Task, now: int) -> None:
        key = number, target, step.size, step.tag
        self.end(number, step, now)
        if self.expected[key]:
            self.end(*self.expected[key].popleft(), now)
        else:
            self.arrived[key] += 1

    def end(self, number: int, step: Task, now: int) -> None:
        self.left[number] -= 1
        for other in self.steps(number):
            if step.number in other.after:
                self.waits[number, other.number] -= 1
                if not self.waits[number, other.number]:
                    self.begin(number, other, now)
        if not self.left[number]:
            self.whole.end(number, self.nodes[number], now)


class Run:
    """A run of a folder."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.number = folder, count()
        self.events: list[tuple[int, int, Event]] = []
        self.ranks = [Rank({task.number: task for task in trace}) for trace in folder.traces]
        self.instances: dict[tuple[object, ...], Instance | OwnInstance] = {}
        self.counted: defaultdict[tuple[object, ...], int] = defaultdict(int)
        self.arrived: defaultdict[tuple[int, ...], int] = defaultdict(int)
        self.expected: defaultdict[tuple[int, ...], deque[Callable[[int], None]]] = defaultdict(deque)
        self.free: defaultdict[int, int] = defaultdict(int)
        self.coming: defaultdict[int, list[tuple[int, Task]]] = defaultdict(list)
        self.asked: dict[int, int] = {}
        self.tied = False

    def finish(self) -> list[int]:
        """Return when each NPU has done everything; -1 for one that never has."""
        for rank in self.ranks:
            for task in rank.tasks.values():
                rank.waits[task.number] = len(task.after)
                for other in task.after:
                    rank.children[other].append(task.number)
            for number, waits in rank.waits.items():
                if not waits:
                    heappush(rank.ready, number)
        for npu in range(len(self.ranks)):
            self.issue(npu, 0)
        while self.events:
            now, _, event = heappop(self.events)
            event(now)
        return [rank.finish if rank.done == len(rank.tasks) else -1 for rank in self.ranks]

    def at(self, time: int, event: Event) -> None:
        """Let something happen."""
        heappush(self.events, (time, next(self.number), event))

    def end(self, npu: int, number: int, now: int) -> None:
        """End a node."""
        rank = self.ranks[npu]
        rank.busy.discard(resource_of(rank.tasks[number]))
        self.complete(npu, number, now)
        self.issue(npu, now)

    def complete(self, npu: int, number: int, now: int) -> None:
        """Note the end of a node."""
        rank = self.ranks[npu]
        rank.done += 1
        if rank.tasks[number].kind != "metadata":
            rank.finish = now
        for child in rank.children[number]:
            rank.waits[child] -= 1
            if not rank.waits[child]:
                heappush(rank.ready, child)

    def issue(self, npu: int, now: int) -> None:
        """Try all nodes that wait for nothing, by id."""
        rank, left = self.ranks[npu], list[int]()
        while rank.ready:
            number = heappop(rank.ready)
            task = rank.tasks[number]
            resource = resource_of(task)
            if task.kind == "metadata":
                self.complete(npu, number, now)
            elif resource and resource in rank.busy:
                left.append(number)
            else:
                rank.busy |= {resource} - {""}
                self.begin(npu, task, now)
        for number in left:
            heappush(rank.ready, number)

    def begin(self, npu: int, task: Task, now: int) -> None:
        """Begin a node."""
        if task.kind in COLLECTIVES:
            self.join(npu, task, now)
        elif task.kind == "receive":
            self.expect(npu, task, now)
        else:
            self.work(npu, task, now)

    def work(self, npu: int, task: Task, now: int) -> None:
        """Begin a node that takes its own time; those that come to a shared memory at the same ns are served by NPU."""
        memory = self.folder.memory
        kind = memory.kind if memory is not None and task.kind in ("load", "store") else ""
        server = {"MEMORY_POOL": 0, "PER_NODE_MEMORY_EXPANSION": npu // max(memory.shared, 1) if memory else 0}.get(
            kind
        )
        if server is not None:
            self.coming[server].append((npu, task))
            self.tied |= self.asked.get(server) == now
            self.asked[server] = now
            self.at(now, lambda when: self.serve(server, when))
            return
        end = now + self.takes(npu, task)
        event = self.deliver if task.kind == "send" else lambda npu, task, when: self.end(npu, task.number, when)
        self.at(end, lambda when: event(npu, task, when))

    def serve(self, server: int, now: int) -> None:
        """Serve those that have come to a memory."""
        for npu, task in sorted(self.coming.pop(server, []), key=lambda row: row[0]):
            self.free[server] = max(now, self.free[server]) + self.takes(npu, task)
            self.at(self.free[server], lambda when, npu=npu, task=task: self.end(npu, task.number, when))

    def takes(self, npu: int, task: Task) -> int:
        """Return the ns of a node, of memory without the wait for it."""
        if task.kind in ("load", "store"):
            assert self.folder.memory is not None
            return int(self.folder.memory.latency) + floor(task.size / self.folder.memory.bandwidth)
        if task.kind == "send":
            return Simulation(self.folder.network, self.folder.rules).transfer(npu, task.target, task.size)
        if task.kind == "compute" and self.folder.peak:
            intensity = task.work / task.size
            roof = min(self.folder.rules.memory * 1e9 * intensity, self.folder.peak * 1e12)
            took = floor(1e9 * task.work / roof)
        else:
            took = max(task.micros * 1000, 1)
        return floor(took / self.folder.speeds.get(npu, 1.0)) if task.kind == "compute" else took

    def join(self, npu: int, task: Task, now: int) -> None:
        """Come to a collective: of those of the same members, all NPUs come to the n-th one together."""
        folder, members = self.folder, None
        small = task.group and len(folder.groups[task.group]) < folder.npus
        rules = Rules(**{**vars(folder.rules), "endpoint": floor(folder.rules.endpoint * folder.injection)})
        if small:
            members = folder.groups[task.group]
        own = task.kind in folder.own
        key = (own, task.group if own or small else "", () if own else task.involved)
        place = self.counted[npu, *key]
        self.counted[npu, *key] += 1
        if (*key, place) not in self.instances:
            everyone = folder.groups[task.group] if task.group else range(folder.npus)
            new = OwnInstance(self, task, everyone) if own else Instance(self, task, rules, members)
            self.instances[*key, place] = new
        instance = self.instances[*key, place]
        if (instance.task.kind, instance.task.size) != (task.kind, task.size):
            raise MismatchError
        instance.come(npu, task.number, now)

    def expect(self, npu: int, task: Task, now: int) -> None:
        key = task.source, task.target, task.tag, task.size
        if self.arrived[key]:
            self.arrived[key] -= 1
            self.at(now, lambda when: self.end(npu, task.number, when))
        else:
            self.expected[key].append(lambda when: self.end(npu, task.number, when))

    def deliver(self, npu: int, task: Task, now: int) -> None:
        key = task.source, task.target, task.tag, task.size
        self.end(npu, task.number, now)
        if self.expected[key]:
            self.expected[key].popleft()(now)
        else:
            self.arrived[key] += 1


class MismatchError(Exception):
    """Members of a group come to different collectives."""


def resource_of(task: Task) -> str:
    """Return what a node takes; "" for nothing."""
    return {"cpu": "cpu", "compute": "compute", "receive": "", "metadata": ""}.get(task.kind, "links")


def random_folder(seed: int) -> Folder:
    """Return random inputs."""
    return _Maker(Random(seed)).folder()  # noqa: S311 - no secret


class _Maker:
    """Makes one folder; nodes are made in one order for all NPUs, so that most folders never deadlock."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.network = self.dimensions()
        self.npus = prod(dimension.npus for dimension in self.network)
        self.traces: list[list[Task]] = [[] for _ in range(self.npus)]
        self.last: list[int | None] = [None] * self.npus
        self.own = self.some_own() if random.random() < 0.25 else {}
        self.groups = self.some_groups()
        self.chained = random.random() < 0.85
        self.roofline = random.random() < 0.3

    def dimensions(self) -> tuple[Dimension, ...]:
        random = self.random
        return tuple(
            Dimension(
                random.choice(KINDS), npus, random.choice([12.5, random.uniform(0.01, 1), random.uniform(1, 500)]),
                random.choice([0.0, 500.0, 12.5, random.uniform(0, 2000)]),
            )
            for npus in random.choice(WORLDS)
        )  # fmt: skip

    def some_groups(self) -> dict[str, tuple[int, ...]]:
        if self.random.random() < 0.4 or self.own or self.npus < 3:
            return {}
        return {
            str(at + 1): tuple(self.random.sample(range(self.npus), self.random.randint(2, self.npus)))
            for at in range(self.random.randint(1, 4))
        }

    def some_own(self) -> dict[str, tuple[tuple[Task, ...], ...]]:
        """Return an algorithm of one collective: rounds of messages, with reductions after some."""
        places: list[list[Task]] = [[] for _ in range(self.npus)]

        def add(place: int, kind: str, **figures: int) -> None:
            steps = places[place]
            after = self.random.sample(range(len(steps)), min(len(steps), self.random.choice([0, 1, 1, 2])))
            steps.append(Task(len(steps), kind, tuple(sorted(after)), **figures))

        for tag in range(self.random.randint(1, 4)):
            for source in range(self.npus):
                target = self.random.choice([other for other in range(self.npus) if other != source])
                ends = {"source": source, "target": target, "size": self.random.randint(1, 10**6), "tag": tag}
                add(source, "send", **ends)
                add(target, "receive", **ends)
                if self.random.random() < 0.5:
                    add(target, "compute", micros=self.random.randint(0, 9))
        return {self.random.choice(COLLECTIVES): tuple(map(tuple, places))}

    def folder(self) -> Folder:
        random, rules = self.random, self.rules()
        memory = self.some_memory()
        for _ in range(random.randint(2, 10)):
            self.step(rules, memory)
        for npu in range(self.npus):
            if not self.traces[npu]:
                self.add(npu, "compute")
        speeds = {npu: round(random.uniform(0.3, 1.5), 3) for npu in range(self.npus) if random.random() < 0.3}
        return Folder(
            network=self.network, rules=rules, traces=tuple(map(tuple, self.traces)), groups=self.groups, memory=memory,
            peak=random.choice([1.0, 312.0]) if self.roofline else 0.0, injection=random.choice([1.0, 1.0, 2.5]),
            speeds=speeds if random.random() < 0.3 else {}, own=self.own,
        )  # fmt: skip

    def rules(self) -> Rules:
        random, algorithms = self.random, list[str]()
        for dimension in self.network:
            names = ["ring", "direct", f"direct{random.randint(1, dimension.npus)}"]
            power = dimension.npus & (dimension.npus - 1) == 0
            algorithms.append(random.choice([*names, "halvingDoubling"] if power else names))
        return Rules(
            random.choice([1, 10, random.randint(1, 99)]), random.choice([50.0, 1600.0, random.uniform(1, 100)]),
            1 if self.own else random.randint(1, 6), random.randint(1, 4), random.random() < 0.7, tuple(algorithms),
            1 if self.groups else random.choice([1, 1, 2, 3, 4]),
        )  # fmt: skip

    def some_memory(self) -> Memory | None:
        random = self.random
        kind = random.choice([None, None, "PER_NPU_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL"])
        if kind is None:
            return None
        shared = self.network[0].npus if kind == "PER_NODE_MEMORY_EXPANSION" else 0
        return Memory(kind, float(random.randint(0, 900)), random.choice([1.0, 100.0]), shared)

    def step(self, rules: Rules, memory: Memory | None) -> None:
        random = self.random
        kind = random.choice(["compute", "collective", "collective", "messages", "memory", "other"])
        if kind == "compute":
            share = random.choice([0.3, 1.0])
            for npu in range(self.npus):
                if random.random() < share:
                    self.add(npu, random.choice(["compute", "compute", "cpu"]))
        elif kind == "collective":
            self.collective(rules)
        elif kind == "messages":
            self.messages()
        elif kind == "memory" and memory is not None:
            for npu in random.sample(range(self.npus), random.randint(1, self.npus)):
                self.add(npu, random.choice(["load", "store"]), size=random.randint(1, 10**6))
        else:
            for npu in range(self.npus):
                if random.random() < 0.3:
                    self.add(npu, random.choice(["metadata", "broadcast"]))

    def collective(self, rules: Rules) -> None:
        random = self.random
        kinds = COLLECTIVES[:3] if "halvingDoubling" in rules.algorithms else COLLECTIVES
        kind, size = (
            random.choice(kinds),
            random.choice([random.randint(rules.splits, 999), random.randint(1000, 2**26)]),
        )
        group, involved = "", tuple[bool, ...]()
        if self.groups and random.random() < 0.5:
            group = random.choice([*self.groups])
        elif random.random() < 0.5:
            used = random.sample(range(len(self.network)), random.randint(1, len(self.network)))
            involved = tuple(d in used for d in range(len(self.network)))
        for npu in self.groups[group] if group else range(self.npus):
            number = self.add(npu, kind, size=size, group=group, involved=involved)
            self.last[npu] = number if self.chained else None

    def messages(self) -> None:
        random = self.random
        for _ in range(random.randint(1, self.npus)):
            source, target = random.sample(range(self.npus), 2)
            ends = {
                "source": source,
                "target": target,
                "tag": random.randint(0, 1),
                "size": random.choice([1, 10**4, 10**7]),
            }
            self.add(source, "send", **ends)
            self.add(target, "receive", **ends)

    def add(self, npu: int, kind: str, **figures: object) -> int:
        """Add a node that waits for some of the earlier ones; collectives wait for the one before."""
        random, trace = self.random, self.traces[npu]
        before = [task.number for task in trace]
        after = set(random.sample(before, min(len(before), random.choice([0, 1, 1, 2]))))
        if random.random() < 0.6 and before:
            after.add(before[-1])
        if kind in COLLECTIVES and self.last[npu] is not None:
            after.add(self.last[npu])
        number = (before[-1] if before else -1) + random.randint(1, 3)
        if kind == "compute" and self.roofline:
            figures |= {"work": random.randint(1, 10**10), "size": random.randint(1, 10**8)}
        if kind in ("compute", "cpu"):
            figures |= {"micros": random.choice([0, random.randint(1, 99), random.randint(1, 5000)])}
        trace.append(Task(number, kind, tuple(sorted(after)), **figures))  # type: ignore[arg-type]
        return number
