"""Bandwidths, latencies and reductions are converted as ASTRA-sim does it: a last digit may be a nanosecond."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evo_libra import load_problem
from evo_libra.arrays import Population
from evo_libra.astra_sim.cluster import cluster_of, npu_bandwidth
from evo_libra.astra_sim.importing import read_cluster
from evo_libra.chakra.write import compute_node
from evo_libra.collective import Collective
from evo_libra.files.source import parse_source
from evo_libra.network.fabric import Dimension, Fabric
from evo_libra.problem.problem import Problem
from evo_libra.timing.collectives.phase import Overheads
from evo_libra.timing.fidelity import Fidelity
from evo_libra.timing.input_files.network_file import NetworkFile, network_text, parse_network
from evo_libra.timing.input_files.system_file import parse_system
from evo_libra.timing.trace_time import TraceAccelerator, traced_workload
from evo_libra.units import bandwidth_in_file, bandwidth_of_file, bytes_per_ns, nanoseconds, seconds
from evo_libra.workload.layers.iteration_time import Message

PACKAGE = Path(__file__).parents[1] / "evo_libra"
GIGABYTES = [float(gigabytes) for gigabytes in range(1, 2001)]
"""Of 2^30 bytes, as network files have them."""

SIMULATED = [gigabytes * 2**30 / 1_000_000_000 for gigabytes in GIGABYTES]
"""Bytes per ns, as the simulator makes them of a file's number."""

RING, FULLY_CONNECTED, SWITCH = range(3)
LINKS = {RING: 1, FULLY_CONNECTED: 15, SWITCH: 15}
"""Links that an NPU sends over at a time, in a dimension of 16."""

TECHNOLOGY = {RING: "chiplet", FULLY_CONNECTED: "chiplet", SWITCH: "pod"}

NPUS, LATENCY, ENDPOINT, SIZE = 16, 500.0, 10.0, 2**30


def timed(*assignments: str, **time: Any) -> tuple[Problem, Fidelity]:
    rows = {"model": "astra", "latency_ns": LATENCY, "chunks": 1, "algorithms": {"switch": "direct"}} | time
    workload = "workloads[0].parallelism={tp: 4}"
    problem = load_problem("gpt3-4k", [f"npus={NPUS}", workload, f"time={json.dumps(rows)}", *assignments])
    assert isinstance(problem, Problem)
    return problem, problem.time.fidelity_of(problem.name)


def networks(block: int, problem: Problem) -> Population:
    """Return networks of one dimension, read from their notation, of links of all bandwidths."""
    bandwidth = [gigabytes * 2**30 * LINKS[block] for gigabytes in GIGABYTES]
    return problem.read([str(Fabric((Dimension(block, NPUS, TECHNOLOGY[block], each),))) for each in bandwidth])


def test_every_bandwidth_of_a_file_is_that_of_the_simulator_and_comes_back() -> None:
    bandwidth = [bandwidth_of_file(gigabytes) for gigabytes in GIGABYTES]
    assert [bytes_per_ns(each) for each in bandwidth] == SIMULATED
    assert [bandwidth_in_file(each) for each in bandwidth] == GIGABYTES
    # A product with 1e-9 makes another last digit of two in five.
    assert sum(each * 1e-9 != exact for each, exact in zip(bandwidth, SIMULATED, strict=True)) > 700


@pytest.mark.slow
@pytest.mark.parametrize("block", LINKS)
def test_every_bandwidth_has_the_times_of_the_simulator(block: int) -> None:
    """An all-gather of messages of a GiB, many of which take a whole number of nanoseconds."""
    problem, fidelity = timed()
    designs = networks(block, problem)
    messages, hops = (15 if block == RING else 1), (2 if block == SWITCH else 1)
    each = [math.floor(hops * LATENCY + SIZE / bandwidth) for bandwidth in SIMULATED]
    found = fidelity.seconds(Collective.ALL_GATHER, SIZE, designs.npus, designs) * 1e9
    assert np.rint(found).tolist() == [ENDPOINT + messages * (ns + ENDPOINT) for ns in each]


def test_a_message_takes_what_it_takes_in_the_simulator() -> None:
    problem, fidelity = timed()
    found = fidelity.message_seconds(Message(0, 1, SIZE), networks(RING, problem)) * 1e9
    assert np.rint(found).tolist() == [math.floor(LATENCY + SIZE / bandwidth) for bandwidth in SIMULATED]


def test_a_ring_of_sixteen_loses_no_nanosecond_of_its_fifteen_messages() -> None:
    """A GiB at 125 GiB/s takes 8 ms; a last digit less, and each message loses a nanosecond, 15 in all."""
    problem, fidelity = timed()
    design = problem.read(f"RI(16)@chiplet:{125 * 2**30 / 1e9!r}")
    found = float(fidelity.seconds(Collective.ALL_GATHER, SIZE, design.npus, design)[0]) * 1e9
    assert round(found) == 10 + 15 * (500 + 8_000_000 + 10) == 120_007_660


@pytest.mark.slow
def test_every_bandwidth_goes_into_a_file_and_comes_back() -> None:
    bandwidth = [gigabytes * 2**30 for gigabytes in GIGABYTES]
    for some in (slice(start, start + 25) for start in range(0, len(bandwidth), 25)):
        network = NetworkFile((RING,) * 25, (2,) * 25, tuple(bandwidth[some]), (LATENCY,) * 25)
        written = parse_network(parse_source(network_text(network), "network.yml"))
        assert written == network
        assert [link.rate[0] for link in written.links] == SIMULATED[some]


@pytest.mark.slow
@pytest.mark.parametrize("block", LINKS)
def test_a_design_becomes_links_of_these_bandwidths_and_comes_back(block: int) -> None:
    problem, fidelity = timed()
    designs = networks(block, problem)
    algorithm = 0 if block == RING else 1
    links = [gigabytes * 2**30 for gigabytes in GIGABYTES]
    back = [npu_bandwidth(bandwidth, block, NPUS, algorithm) for bandwidth in links]
    assert back == designs.bandwidth[0].tolist()
    for n in range(0, len(designs), 40):
        cluster = cluster_of(fidelity, designs.select([n]))
        assert cluster.network.bandwidth[0] == links[n]
        assert read_cluster(cluster.network, cluster.system).fabric.dimensions[0].bandwidth == back[n]


@pytest.mark.slow
def test_bandwidths_of_any_digits_go_into_a_file_and_come_back() -> None:
    random, (problem, fidelity) = np.random.default_rng(1), timed()
    for bandwidth in random.uniform(1e9, 2e12, 100).tolist():
        design = problem.read(str(Fabric((Dimension(FULLY_CONNECTED, NPUS, "chiplet", bandwidth),))))
        cluster = cluster_of(fidelity, design)
        (back,) = read_cluster(cluster.network, cluster.system).fabric.dimensions
        assert back.bandwidth is not None
        assert back.bandwidth / 15 == bandwidth / 15 == cluster.network.bandwidth[0]


def test_reductions_divide_as_the_simulator_does() -> None:
    """It counts the local memory's bandwidth in B/s, and its times in s."""
    for gigabytes in range(1, 3001, 7):
        _, fidelity = timed(local_memory_GBps=gigabytes) if gigabytes % 500 == 1 else (None, None)
        overheads = Overheads(0.0, float(gigabytes)) if fidelity is None else fidelity.overheads
        assert overheads.memory == gigabytes
        message = np.arange(1.0, 301.0) * gigabytes
        expected = [3 * int(size / (gigabytes * 1e9) * 1e9) for size in message.tolist()]
        assert overheads.reduction(message).tolist() == expected


def test_computations_of_a_trace_are_rounded_as_the_simulator_does() -> None:
    """At 1 TFLOP/s a thousand operations take a nanosecond, or none where the quotient is a last digit less."""
    operations = range(1000, 2_000_001, 1000)
    nodes = tuple(compute_node(n, "", operations=work, size=1) for n, work in enumerate(operations))
    found = traced_workload("many", [nodes], {}, 4, TraceAccelerator(1e12, 2e12)).computing * 1e9
    expected = [math.floor(work / min(2e12 * (work / 1), 1e12) * 1e9) for work in operations]
    assert np.rint(found).tolist() == expected


def test_memories_are_written_as_they_are_given() -> None:
    text = '{"preferred-dataset-splits": 1, "collective-optimization": "baseline", "local-mem-bw": 1555.2}'
    network = NetworkFile((RING,), (4,), (2.0**30,), (500.0,))
    assert parse_system(parse_source(text, "system.json"), network).system.overheads.memory == 1555.2


def test_latencies_of_a_catalogue_come_back() -> None:
    for latency in [*range(1, 5001), 0.1, 12.5, 33.3, 1234.567]:
        assert nanoseconds(seconds(latency)) == latency


@pytest.mark.slow
def test_each_conversion_is_in_one_place() -> None:
    """Of network files' GB, and of B/s, GB/s of memories and s that ASTRA-sim counts in bytes per ns and ns."""
    lines = {path.name: path.read_text().splitlines() for path in PACKAGE.rglob("*.py")}
    rooms = {name for name, rows in lines.items() if any(re.search(r"\bGIBI\b|2 ?\*\* ?30", row) for row in rows)}
    assert rooms == {"units.py"}
    multiplied = re.compile(r"(bandwidth|memory|per_npu|GBps|latency)\w*(\[[^]]*\])? [*/] (NANO|1e-9)")
    found = [(name, row) for name, rows in lines.items() for row in rows if multiplied.search(row)]
    assert [name for name, _ in found] == []
