"""Messages of an imported cluster: each takes what the engine of traces says, which is exact against ASTRA-sim."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from command import call
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.chakra.trace import Metadata, Node
from evo_libra.chakra.write import receive_node, send_node, write_trace
from evo_libra.collective import Collective
from evo_libra.problem.problem import Problem
from evo_libra.timing.input_files.system_file import read_machine
from evo_libra.timing.traces.execute import execute

BLOCKS = ("Ring", "FullyConnected", "Switch")
ALGORITHMS = ("ring", "direct", "direct1", "direct3", "halvingDoubling", "doubleBinaryTree")
SIZE = 2**20 + 1


def network_of(*dimensions: tuple[str, int, float, float]) -> dict[str, Any]:
    keys = ("topology", "npus_count", "bandwidth", "latency")
    return dict(zip(keys, map(list, zip(*dimensions, strict=True)), strict=True))


def system_of(algorithms: list[str]) -> dict[str, Any]:
    """Return a system file whose collectives all run the algorithms, but those that have no such all-to-all."""
    rows = {f"{collective.value}-implementation": algorithms for collective in Collective}
    rows["all-to-all-implementation"] = [
        name if name.startswith(("ring", "direct")) else "direct" for name in algorithms
    ]
    # A double binary tree has an all-reduce alone.
    others = [name if name != "doubleBinaryTree" else "ring" for name in algorithms]
    rows["all-gather-implementation"] = rows["reduce-scatter-implementation"] = others
    return {"preferred-dataset-splits": 1, "collective-optimization": "localBWAware", "endpoint-delay": 10, **rows}


def chain_of(order: Sequence[int], size: int) -> list[list[Node]]:
    """Return traces in which each NPU sends a message to the next one in the order when it has that of the last one."""
    traces: list[list[Node]] = [[] for _ in order]
    for source, destination in pairwise(order):
        after = (1,) if traces[source] else ()
        ends: Any = {"source": source, "destination": destination, "size": size, "tag": 0}
        traces[source].append(send_node(2, "send", **ends, data=after))
        traces[destination].append(receive_node(1, "receive", **ends))
    return traces


def imported_and_engine_ns(network: dict[str, Any], system: dict[str, Any], traces: list[list[Node]]) -> list[int]:
    """Return the ns of traces on an imported cluster, and those of the engine of traces on the files."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        files = folder / "network.json", folder / "system.json", folder / "a.yaml"
        for path, data in zip(files, (network, system), strict=False):
            path.write_text(json.dumps(data))
        assert call("import", "--network", files[0], "--system", files[1], "--problem", files[2]) == 0
        for npu, nodes in enumerate(traces):
            write_trace(folder / f"chain.{npu}.et", Metadata(), nodes)
        text = files[2].read_text()
        comments = [line for line in text.splitlines() if "--design" in line]
        problem = load_problem(str(files[2]), ["workloads=[{trace: chain}]"])
        machine, _ = read_machine(files[0], files[1], None)
    assert isinstance(problem, Problem)
    design = comments[0].split("'")[1]
    seconds = problem.evaluate(design).objectives[0, 0]
    return [round(seconds * 1e9), int(execute(traces, {}, machine).finish.max())]


@pytest.mark.parametrize("npus", [2, 4, 8, 16])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("block", BLOCKS)
def test_a_chain_of_messages_takes_the_time_of_the_engine(block: str, algorithm: str, npus: int) -> None:
    if block == "Ring" and algorithm == "doubleBinaryTree":
        algorithm = "ring"
    network, system = network_of((block, npus, 50, 500)), system_of([algorithm])
    found, engine = imported_and_engine_ns(network, system, chain_of(range(npus), SIZE))
    hops = 2 if block == "Switch" else 1
    assert engine == (npus - 1) * int(hops * 500 + SIZE / (50 * 2**30 / 1e9))
    assert found == engine


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    dimensions, algorithms = [], []
    for _ in range(draw(st.integers(1, 3))):
        block = draw(st.sampled_from(BLOCKS))
        npus = draw(st.integers(2, 8))
        powers = () if npus & (npus - 1) else ("halvingDoubling",)
        dimensions.append((block, npus, draw(st.floats(1.0, 900.0)), draw(st.just(0.0) | st.floats(1e-15, 5000.0))))
        algorithms.append(draw(st.sampled_from(("ring", "direct", "direct2", *powers))))
    return network_of(*dimensions), system_of(algorithms)


@given(st.data(), clusters(), st.integers(1, 2**28))
@settings(max_examples=15, deadline=None)
def test_chains_over_several_dimensions_take_the_time_of_the_engine(
    data: st.DataObject, cluster: tuple[dict[str, Any], dict[str, Any]], size: int
) -> None:
    network, system = cluster
    order = data.draw(st.permutations(range(prod(network["npus_count"]))))
    found, engine = imported_and_engine_ns(network, system, chain_of(order, size))
    assert found == engine
