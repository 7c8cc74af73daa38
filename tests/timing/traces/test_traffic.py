"""Bytes on links: those that a plain simulation of every message counts, and none are lost."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from astra_simulation import Dimension, Rules, Running, Simulation
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.chakra.trace import CollectiveType
from evo_libra.chakra.write import collective_node, receive_node, send_node
from evo_libra.collective import Collective
from evo_libra.timing.collectives.phase import Implementation, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.machine import Machine
from evo_libra.timing.traces.compile import compile_program
from evo_libra.timing.traces.traffic import Traffic, links_of_npu, sent_by_offset, traffic_of
from evo_libra.validation.astra import links_of

SHAPES = [(2,), (4,), (8,), (2, 4), (4, 2), (2, 2, 2)]


def machine_of(network: list[Dimension], rules: Rules) -> Machine:
    rows = tuple(map(Implementation.read, rules.algorithms))
    overheads = Overheads(float(rules.endpoint), rules.memory)
    system = System(dict.fromkeys(Collective, rows), rules.splits, rules.active, rules.shrinking, overheads)
    names = {"topology": "topology", "npus_count": "npus", "bandwidth": "bandwidth", "latency": "latency"}
    return Machine(links_of({key: [getattr(d, name) for d in network] for key, name in names.items()}), system)


def sums(network: list[Dimension], machine: Machine, size: int, collective: str, members: Any) -> Traffic:
    """Return the bytes of all NPUs together, by dimension."""
    total = prod(dimension.npus for dimension in network)
    name = CollectiveType[Collective(collective).name]
    node = collective_node(0, "", name, size, group="1" if members else "")
    ends = {"source": 0, "destination": 1, "size": 1, "tag": 0}
    traces = [[node] if members is None or npu in members else [] for npu in range(total)]
    traces[0].append(send_node(1, "", **ends))
    traces[1].append(receive_node(1, "", **ends))
    for npu, trace in enumerate(traces):
        if not trace:
            trace.append(send_node(2, "", source=npu, destination=0, size=0, tag=1))
    program = compile_program(traces, {"1": members} if members else {}, machine)
    found = traffic_of(program, machine)
    count = np.array([len(npus) for npus in program.classes])[program.owner]
    return Traffic((count @ found.sent)[None], (count @ found.carried)[None])


@pytest.mark.slow
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_collectives_send_what_every_message_of_them_has(data: st.DataObject) -> None:
    shape = data.draw(st.sampled_from(SHAPES))
    topologies = st.sampled_from(["Ring", "FullyConnected", "Switch"])
    network = [Dimension(data.draw(topologies), npus, 50.0, 500.0) for npus in shape]
    collective = data.draw(st.sampled_from([one.value for one in Collective]))
    algorithms = ["ring", "direct", "direct2"] + ["halvingDoubling"] * (collective != "all-to-all")
    rules = Rules(
        10, 1600.0, data.draw(st.integers(1, 4)), 1, data.draw(st.booleans()),
        tuple(data.draw(st.sampled_from(algorithms)) for _ in shape),
    )  # fmt: skip
    members = None
    if len(shape) > 1 and data.draw(st.booleans()):
        members = tuple(data.draw(st.permutations(range(prod(shape))))[: data.draw(st.integers(2, prod(shape) - 1))])
    size = data.draw(st.integers(16, 10**6))
    sent, carried = np.zeros(len(shape)), np.zeros(len(shape))
    send = Running.send

    def counted(self: Running, now: int) -> None:
        to, _, bytes_ = self.ready[0]
        source, target = self.npu.number, self.ring[to]
        for d, dimension in enumerate(network):
            if offset := (target - source) % dimension.npus:
                sent[d] += bytes_
                carried[d] += bytes_ * (dimension.hops(offset) if dimension.topology == "Ring" else 1)
                break
            source, target = source // dimension.npus, target // dimension.npus
        send(self, now)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Running, "send", counted)
        Simulation(network, rules, members).run(collective, size, range(len(shape)))
    found = sums(network, machine_of(network, rules), size, collective, members)
    message = np.zeros(len(shape))  # the one of a byte, which every run has
    message[0] = 1
    assert found.sent[0].tolist() == (sent + message).tolist()
    assert found.carried[0].tolist() == (carried + message).tolist()


def test_a_double_binary_tree_counts_its_mean() -> None:
    """Each of n - 1 edges carries the message up and down: 2 (n - 1) / n of it from a mean NPU."""
    assert sent_by_offset(Implementation.read("doubleBinaryTree"), Collective.ALL_REDUCE, 4, 100).tolist() == [
        0, 150, 0, 0,
    ]  # fmt: skip


def test_links_of_an_npu() -> None:
    network = [Dimension(t, n, 50.0, 0.0) for t, n in [("Ring", 4), ("Ring", 2), ("FullyConnected", 4), ("Switch", 4)]]
    rules = Rules(10, 1600.0, 1, 1, shrinking=True, algorithms=("ring",) * 4)
    assert links_of_npu(machine_of(network, rules)).tolist() == [2, 1, 3, 1]
