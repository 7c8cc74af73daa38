"""Predictions of ASTRA-sim's time on two NPUs by hand: an all-reduce of 100 B takes 120 ns, a message 110 ns."""

from __future__ import annotations

import numpy as np

from evo_libra.astra_sim.times import predict
from evo_libra.chakra.trace import CollectiveType
from evo_libra.chakra.write import collective_node, compute_node, receive_node, send_node
from evo_libra.collective import Collective
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, Implementation, Link, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.machine import Machine


def machine() -> Machine:
    """Return two NPUs with a link of 1 B/ns and 10 ns: 2 messages of 50 B in 60 ns each, without endpoint delay."""
    link = Link(np.array([FULLY_CONNECTED]), np.array([2]), np.array([1e9]), np.array([10.0]))
    rows = {kind: [Implementation.read("ring")] for kind in Collective}
    return Machine([link], System(rows, 1, 1, shrinking=True, overheads=Overheads(0.0, np.inf)))


def test_a_prediction_has_last_and_first_npu_and_each_communication() -> None:
    sender = [compute_node(1, "", duration=1), send_node(2, "send.pp", source=0, destination=1, size=100, tag=1)]
    receiver = [receive_node(1, "", source=0, destination=1, size=100, tag=1)]
    found = predict([sender, receiver], {}, machine())
    assert (found.last, found.first, found.late) == (1000, 110, 0)
    assert found.communication == {("pp", None, 100): 110}
    reduced = predict([[collective_node(1, "layer.tp", CollectiveType.ALL_REDUCE, 100)]] * 2, {}, machine())
    assert reduced.communication == {("tp", Collective.ALL_REDUCE, 100): 120}
