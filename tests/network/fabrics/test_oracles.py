"""The simulation and the brute-force graph, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from brute_force import distance, fractions, links
from max_min import fair_rates, finish

from evo_libra.network.fabrics.named import parse_named


def test_fair_rates_of_three_flows_on_two_links() -> None:
    """Links of 1 and 2 B/s: flow 0 on both, 1 on the first, 2 on the second. The first is full at 1/2 each."""
    parts = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    assert fair_rates(parts, np.array([1.0, 2.0])) == pytest.approx([0.5, 0.5, 1.5])


def test_a_flow_is_faster_when_another_has_ended() -> None:
    """Two flows of 1 and 3 bytes share 2 B/s: 1 s at 1 B/s each, then the other 2 bytes at 2 B/s."""
    assert finish(np.array([1.0, 3.0]), np.ones((1, 2)), np.array([2.0])) == pytest.approx(2.0)


def test_links_and_paths_of_a_small_zcube() -> None:
    """NPUs 0 to 3 of ZCube(2, 2) are on switches 0, 0, 1, 1 of layer 1, and on 0, 1, 0, 1 of layer 2."""
    fabric = parse_named("zcube(2, 2)")
    graph = links(fabric)
    assert sorted(link.target for link in graph[0, 2]) == [(1, 1), (2, 0)]
    assert sorted(link.target for link in graph[1, 0]) == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert [distance(fabric, graph, (0, npu), "none") for npu in (1, 2, 3)] == [2, 2, 3]
    # From NPU 0 to 3: over either port, and then the link of the two switches. Through a third NPU it takes 4 links.
    found = fractions(fabric, graph, (0, 3), "none")
    assert found is not None
    assert {(link.source, link.target): part for link, part in found.items()} == {
        ((0, 0), (1, 0)): 0.5, ((1, 0), (2, 1)): 0.5, ((2, 1), (0, 3)): 0.5,
        ((0, 0), (2, 0)): 0.5, ((2, 0), (1, 1)): 0.5, ((1, 1), (0, 3)): 0.5,
    }  # fmt: skip


@pytest.mark.parametrize(("forwarding", "links_of"), [("none", 4), ("server", 3), ("any", 3)])
def test_servers_forward(forwarding: str, links_of: float) -> None:
    """NPU 9 is on another rail and in another server than NPU 0: up and down, or over the server to its rail."""
    fabric = parse_named("hpn(32, 8)")
    assert distance(fabric, links(fabric), (0, 9), forwarding) == pytest.approx(links_of)
