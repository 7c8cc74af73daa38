"""Identity against the graph: settings with equal rows are isomorphic, and isomorphic settings have equal rows."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from evo_libra import load_problem
from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.fabrics.graph import edges_of
from evo_libra.network.fabrics.layered import LayeredFabric
from evo_libra.network.fabrics.population import Fabrics
from evo_libra.problem.switch_fabrics.bill import copper_cables, fabric_parts
from evo_libra.problem.switch_fabrics.genes import Fields, decoded, repaired
from evo_libra.problem.switch_fabrics.identity import identity_rows
from evo_libra.problem.switch_fabrics.problem import FabricProblem

PROBLEM = load_problem("fabric-256", ["npus=64", "workloads[0].parallelism={tp: 8, pp: 4, vp: 3}"])


def rows_of(designs: list[str]) -> FloatArray:
    assert isinstance(PROBLEM, FabricProblem)
    return PROBLEM.design_rows(PROBLEM.genes_of(designs))


@pytest.mark.parametrize(("one", "other"), [
    # the order of layers
    ("64, 16, 8 | 0-1 H16/16 E1 200G | 0-2 H1/1 E1 400G", "64, 8, 16 | 0-1 H1/1 E1 400G | 0-2 H16/16 E1 200G"),
    # a tied bit in the number of a block or in the place in it: with 4 switches of all, both bits are those of the NPU
    ("64, 64 | 0-1 H1/1 E1 200G", "64, 64 | 0-1 H64/64 E1 200G"),
    # numbers of NPUs inside a server: its lower two bits are tied, or its upper two
    ("64, 32 | 0-1 H8/8 E1 200G", "64, 32 | 0-1 H32/32 E1 200G"),
    # two planes as two layers, and as one
    ("64, 8, 8 | 0-1 H1/1 E1 200G | 0-2 H1/1 E1 200G", "64, 16 | 0-1 H1/1 E2 200G"),
    # three layers of planes, 8 and 8 and 16 switches, in two orders
    ("64, 8, 8, 16 | 0-1 H1/1 E1 200G | 0-2 H1/1 E1 200G | 0-3 H1/1 E2 200G", "64, 32 | 0-1 H1/1 E4 200G"),
])  # fmt: skip
def test_one_graph_is_one_design(one: str, other: str) -> None:
    rows = rows_of([one, other])
    assert np.array_equal(rows[:, 0], rows[:, 1])


@pytest.mark.parametrize(("one", "other"), [
    ("64, 16 | 0-1 H1/1 E2 200G", "64, 16 | 0-1 H2/2 E2 200G"),
    ("64, 16 | 0-1 H1/1 E2 200G", "64, 16 | 0-1 H1/1 E2 400G"),
    ("64, 16 | 0-1 H1/1 E2 200G", "64, 16 | 0-1 H1/1 E2 2x200G"),
    # the NICs of a server go to one switch in one of these, and to two in the other, which has longer cables
    ("64, 8, 8 | 0-1 H8/8 E1 200G | 0-2 H8/8 E1 200G", "64, 16 | 0-1 H8/8 E2 200G"),
])  # fmt: skip
def test_other_graphs_are_other_designs(one: str, other: str) -> None:
    rows = rows_of([one, other])
    assert not np.array_equal(rows[:, 0], rows[:, 1])


def colours(fabric: LayeredFabric) -> tuple[tuple[int, int], ...]:
    """Return counts of colours of nodes: their servers and distances, then those of their neighbours, step by step.

    Isomorphic fabrics have the same. The layers of switches have no names.
    """
    nodes = sum(fabric.layers)
    kind = [1 + npu // fabric.server if npu < fabric.npus else 0 for npu in range(nodes)]
    colour = [hash(tuple(sorted(zip(kind, row, strict=True)))) for row in distances(fabric).tolist()]
    ends: list[list[tuple[int, float, int]]] = [[] for _ in range(nodes)]
    for one in edges_of(fabric):
        for lower, upper in zip(one.lower.tolist(), one.upper.tolist(), strict=True):
            ends[lower].append((upper, one.rate, one.parallel))
            ends[upper].append((lower, one.rate, one.parallel))
    for _ in range(4):
        near = [tuple(sorted((colour[end], rate, many) for end, rate, many in mine)) for mine in ends]
        colour = [hash(pair) for pair in zip(colour, near, strict=True)]
    return tuple(sorted(Counter(colour).items()))


def distances(fabric: LayeredFabric) -> IntArray:
    """Return (n, n) links between nodes, 99 without a path."""
    nodes = sum(fabric.layers)
    joined = np.zeros((nodes, nodes), dtype=np.bool_)
    for one in edges_of(fabric):
        joined[one.lower, one.upper] = joined[one.upper, one.lower] = True
    found, reached = np.where(np.eye(nodes, dtype=np.bool_), 0, 99), np.eye(nodes, dtype=np.bool_)
    for steps in range(1, 12):
        reached |= reached @ joined
        found = np.minimum(found, np.where(reached, steps, 99))
    return found


@pytest.mark.slow
def test_rows_and_graphs_agree() -> None:
    """Of random settings of 32 NPUs in servers of 2, with small layers, many are one graph: equal rows, equal colours.

    A row also knows of cables, so that unequal rows may have equal colours only where cables differ.
    """
    random = np.random.default_rng(3)
    layers = random.integers(1, 3, (3, 400))
    joined = (random.random((6, 400)) < [[0.8], [0.5], [0.2], [0.4], [0.2], [0.2]]).astype(np.int64)
    joined[0] |= ~joined[:3].any(axis=0)
    fields = Fields(
        layers, joined, *(random.integers(0, 6, (6, 400)) for _ in range(3)), np.ones((6, 400), dtype=np.int64),
        np.zeros((6, 400), dtype=np.int64),
    )  # fmt: skip
    fabrics = decoded(fields.genes(), 5, 1)
    fixed = repaired(fields, 5)
    rows = identity_rows(fabrics, fixed.genes())
    regular = np.flatnonzero(rows[0])
    graphs = [colours(fabrics.fabric(design)) for design in regular.tolist()]
    keys = [row.tobytes() for row in rows[:, regular].T]
    of_row: dict[bytes, set[object]] = defaultdict(set)
    of_graph: dict[object, set[bytes]] = defaultdict(set)
    for key, graph, copper in zip(keys, graphs, copper_of(fabrics)[regular], strict=True):
        of_row[key].add(graph)
        of_graph[graph, int(copper)].add(key)
    assert 1.1 * len(of_row) < len(keys)
    assert {len(one) for one in of_row.values()} == {1}
    assert {len(one) for one in of_graph.values()} == {1}


def copper_of(fabrics: Fabrics) -> IntArray:
    return np.asarray((fabric_parts(fabrics).cables * copper_cables(fabrics)).sum(axis=0))
