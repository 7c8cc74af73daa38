"""Networks as graphs for Graphviz."""

from __future__ import annotations

import pytest
from designs import design_file

from evo_libra import load_problem
from evo_libra.exchange.graphviz import network_dot
from evo_libra.explain.drawn_network import drawn_network

DESIGN = "SW(8)@nvlink4:450_CL(2048)@optics-400g:100 | tp8 dp2048 mb1 zero3 overlap-tp order-tp-cp-dp-pp"


@pytest.mark.slow
def test_counts_of_switches_and_cables_are_those_of_the_bill() -> None:
    problem = load_problem(design_file("llama3-405b-16k"))
    text = network_dot(drawn_network(DESIGN, problem))
    rows = [row for row in problem.pricing.bill(problem.read(DESIGN)) if row["item"] in {"link", "uplink", "switch"}]
    assert rows
    for row in rows:
        assert f"{row['pieces']:,} x {row['item']}" in text
    assert text.count("{") == text.count("}") == 1
