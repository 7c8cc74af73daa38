"""ASTRA-sim 2.0's own times of single collectives and of whole traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evo_libra.chakra.trace import Attribute, Kind, Node
from evo_libra.collective import Collective
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import Implementation, Link, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.input_files.network_file import TOPOLOGIES
from evo_libra.timing.machine import ComputeModel, Machine, MemoryKind, RemoteMemory
from evo_libra.timing.names import Policy, Scheduler
from evo_libra.timing.traces.execute import Execution, execute
from evo_libra.units import GIBI
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource, published

Case = Mapping[str, Any]

_SHARED = "congestion_aware"
"""The network model in which messages share links."""


def links_of(network: Mapping[str, Any], *, shared: bool = False) -> list[Link]:
    """Return the dimensions of a network; links have GiB/s and ns."""
    names = ("topology", "npus_count", "bandwidth", "latency")
    return [
        Link(
            np.array([BLOCK_NAMES.index(TOPOLOGIES[block])]),
            np.array([npus]),
            np.array([bandwidth * GIBI]),
            np.array([latency]),
            shared,
        )
        for block, npus, bandwidth, latency in zip(*(network[name] for name in names), strict=True)
    ]


def system_of(case: Case) -> System:
    """Return how NPUs run collectives."""
    given = case["system"]
    names = {collective: given.get(f"{collective.value}-implementation") for collective in Collective}
    return System(
        implementations={key: [Implementation.read(name) for name in some] for key, some in names.items() if some},
        splits=given["preferred-dataset-splits"], active=given["active-chunks-per-dimension"],
        shrinking=given["collective-optimization"] == "localBWAware",
        overheads=Overheads(float(given["endpoint-delay"]), float(given["local-mem-bw"])), queues=case["queues"],
        scheduler=Scheduler.of(given.get("inter-dimension-scheduling", "baseline")),
        policy=Policy.of(given.get("intra-dimension-scheduling", "FIFO")),
    )  # fmt: skip


def collective_ns(case: Case) -> float:
    """Return the ns of a single collective."""
    links = links_of(case["network"], shared=case["backend"] == _SHARED)
    return float(
        collective_time(Collective[case["collective"]], case["bytes"], links, system_of(case), case["involved"])[0]
    )


def machine_of(case: Case) -> Machine:
    """Return what a trace runs on."""
    given = case["system"]
    compute = ComputeModel(given.get("peak-perf", 0.0) * 1e12, roofline=bool(given.get("roofline-enabled", 0)))
    return Machine(links_of(case["network"]), system_of(case), compute, _memory_of(case.get("memory")))


def _memory_of(given: Mapping[str, Any] | None) -> RemoteMemory:
    if given is None:
        return RemoteMemory()
    return RemoteMemory(MemoryKind(given["memory-type"]), given["remote-mem-latency"], given["remote-mem-bw"])


def _node(
    number: int, kind: str, control: Sequence[int], data: Sequence[int], duration: int, attributes: Mapping[str, Any]
) -> Node:
    given = {name: Attribute(type_, value) for name, (type_, value) in attributes.items()}
    return Node(
        id=number, name="", kind=Kind[kind], control=tuple(control), data=tuple(data), start=0, duration=duration,
        attributes=given,
    )  # fmt: skip


def traces_of(golden: Mapping[str, Any], case: Case) -> list[list[Node]]:
    """Return the nodes of each NPU; traces share the nodes of a file."""
    return [[_node(*golden["nodes"][place]) for place in trace] for trace in golden["traces"][case["trace"]]]


def groups_of(case: Case) -> dict[str, tuple[int, ...]]:
    """Return the members of the communicators that a trace names."""
    return {name: tuple(members) for name, members in case["groups"].items()}


def run_trace(golden: Mapping[str, Any], case: Case) -> Execution:
    """Return how a trace is executed."""
    return execute(traces_of(golden, case), groups_of(case), machine_of(case))


def label(case: Case) -> str:
    """Return what a collective runs on, in words."""
    network = case["network"]
    sizes = " ".join(f"{block}({n})" for block, n in zip(network["topology"], network["npus_count"], strict=True))
    return f"{case['id']}: {case['collective'].lower().replace('_', '-')} of {case['bytes']} B, {sizes}"


def _collectives(*, shared: bool) -> Iterator[PublishedRow]:
    for case in published("astra_collectives_sample.json"):
        if (case["backend"] == _SHARED) == shared:
            yield PublishedRow(label(case), case["finish_ns"], collective_ns(case), "ns")


def _traces() -> Iterator[PublishedRow]:
    golden = published("astra_traces_sample.json")
    for case in golden["cases"]:
        found, theirs = run_trace(golden, case), case["result"]
        yield PublishedRow(f"{case['id']}: {case['name']}", theirs["finish_ns"], float(found.finish.max()), "ns")
        exposed = theirs.get("exposed_comm_ns_max")
        if exposed:
            yield PublishedRow(f"{case['id']}: exposed communication", exposed, float(found.exposed.max()), "ns")


_EXACT = "exact by construction"

ASTRA = (
    PublishedSource(
        name="astra-sim-collectives", group="networks", title="ASTRA-sim 2.0: single collectives",
        rows=lambda: _collectives(shared=False), anchor=_EXACT, note="recorded runs; its network without congestion",
        basis=Basis.EQUATIONS,
    ),
    PublishedSource(
        name="astra-sim-shared-links", group="networks", title="ASTRA-sim 2.0: collectives whose messages share links",
        rows=lambda: _collectives(shared=True), anchor=_EXACT, note="recorded runs; one dimension, one chunk at a time",
        basis=Basis.EQUATIONS,
    ),
    PublishedSource(
        name="astra-sim-traces", group="networks", title="ASTRA-sim 2.0: whole traces", rows=_traces, anchor=_EXACT,
        note="recorded runs, to the nanosecond; small traces", basis=Basis.EQUATIONS,
    ),
)  # fmt: skip
