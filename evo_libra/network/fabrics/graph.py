"""The links of a fabric one by one, and the fabric as seen from an NPU as a plain graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.fabrics.layered import AffineMap, Between, LayeredFabric, Within
from evo_libra.network.fabrics.rooted import Orbits, Rooted


@dataclass(frozen=True)
class Edges:
    """The joined pairs of nodes of one kind; nodes are counted through all layers.

    Attributes
    ----------
    lower, upper : (e,) the two ends.
    rate : B/s of a link, one way.
    parallel : links of a pair.
    is_server : whether the links are those inside servers.
    """

    lower: IntArray
    upper: IntArray
    rate: float
    parallel: int
    is_server: bool


def edges_of(fabric: LayeredFabric) -> list[Edges]:
    """Return the links of a fabric: between layers, within layers, then inside servers."""
    first = np.concatenate([[0], np.cumsum(fabric.layers)])
    found = []
    for one in fabric.between:
        lower, upper = between_pairs(fabric, one)
        found.append(Edges(lower + first[one.lower], upper + first[one.upper], one.rate, one.parallel, is_server=False))
    for other in fabric.within:
        pairs = within_pairs(other) + first[other.layer]
        found.append(Edges(pairs[0], pairs[1], other.rate, 1, is_server=False))
    if fabric.server > 1:
        pairs = _server_pairs(fabric)
        found.append(Edges(pairs[0], pairs[1], fabric.server_rate, 1, is_server=True))
    return found


def between_pairs(fabric: LayeredFabric, between: Between) -> tuple[IntArray, IntArray]:
    """Return the nodes of the lower and of the upper layer of each joined pair."""
    lower = fabric.layers[between.lower] // between.lower_blocks
    upper = fabric.layers[between.upper] // between.upper_blocks
    nodes = np.repeat(np.arange(fabric.layers[between.lower], dtype=np.int64), between.links)
    link = np.tile(np.arange(between.links, dtype=np.int64), fabric.layers[between.lower])
    block, place = nodes // lower, nodes % lower
    return nodes, block % between.upper_blocks * upper + (between.links * place + link) % upper


def within_pairs(within: Within) -> IntArray:
    """Return (2, e) nodes of a layer that links within it join, each pair once."""
    ends = [pair for one in within.maps for pair in _mapped(within, one)]
    pairs = np.sort(np.concatenate(ends, axis=1), axis=0) if ends else np.zeros((2, 0), dtype=np.int64)
    return np.unique(pairs[:, pairs[0] != pairs[1]], axis=1)


def _mapped(within: Within, one: AffineMap) -> Iterator[IntArray]:
    """Yield the nodes with the node that link m of each leads to, for all m."""
    sizes = np.array(within.sizes, dtype=np.int64)
    places = np.concatenate([[1], np.cumprod(sizes)])
    nodes = np.arange(places[-1], dtype=np.int64)
    grid = nodes // places[:-1, None] % sizes[:, None]
    still = np.array(one.matrix, dtype=np.int64) @ grid + np.array(one.offset, dtype=np.int64)[:, None]
    step = np.array(one.step, dtype=np.int64)[:, None]
    for link in range(1, one.links + 1):
        moved = (still + step * link) % sizes[:, None]
        yield np.stack([nodes, places[:-1] @ moved])


def _server_pairs(fabric: LayeredFabric) -> IntArray:
    one, other = np.triu_indices(fabric.server, k=1)
    first = np.arange(0, fabric.npus, fabric.server, dtype=np.int64)[:, None]
    return np.stack([(first + one).ravel(), (first + other).ravel()])


def graph_orbits(edges: list[Edges]) -> Orbits:
    """Return the directed links, each of them a kind of its own."""
    parts = [one for one in edges for _ in range(2)]
    counts = [len(one.lower) for one in parts]
    return Orbits(
        links=np.repeat([float(one.parallel) for one in parts], counts),
        rate=np.repeat([one.rate for one in parts], counts),
        is_server=np.repeat([one.is_server for one in parts], counts),
    )


def graph(fabric: LayeredFabric, edges: list[Edges], digits: tuple[tuple[int, int], ...]) -> Rooted:
    """Return the fabric as seen from NPU 0, as a plain graph.

    Parameters
    ----------
    fabric, edges : the fabric and its links.
    digits : place and size of each digit of an NPU that traffic tells apart.
    """
    source = np.concatenate([end for one in edges for end in (one.lower, one.upper)])
    target = np.concatenate([end for one in edges for end in (one.upper, one.lower)])
    npus = np.arange(fabric.npus, dtype=np.int64)
    return Rooted(
        npus=fabric.npus, size=np.ones(sum(fabric.layers)), source=source, target=target,
        links=graph_orbits(edges).links, orbit=np.arange(len(source), dtype=np.int64),
        relation=np.repeat(np.arange(len(edges), dtype=np.int64), [2 * len(one.lower) for one in edges]),
        root=0, weight=1.0,
        values=np.stack([npus // place % size for place, size in digits], axis=1),
    )  # fmt: skip


def graph_roots(seen: Rooted) -> Iterator[Rooted]:
    """Yield the graph as seen from each NPU."""
    for root in range(seen.npus):
        yield replace(seen, root=root)


def distance_roots(seen: Rooted) -> Iterator[Rooted]:
    """Yield the graph as seen from one of each set of NPUs with the same neighbours, with their number as its weight.

    NPUs with the same neighbours, or the same but for each other, can be exchanged, so that their distances are alike.
    """
    for root, weight in zip(*_twins(seen), strict=True):
        yield replace(seen, root=int(root), weight=float(weight))


def _twins(seen: Rooted) -> tuple[IntArray, FloatArray]:
    order = np.lexsort((seen.relation, seen.target, seen.source))
    source, target = seen.source[order], seen.target[order]
    ends = np.searchsorted(source, np.arange(seen.npus + 1))
    sets: dict[bytes, list[int]] = {}
    for npu in range(seen.npus):
        near = target[ends[npu] : ends[npu + 1]]
        # With itself among them, two NPUs of one server have the same set.
        closed = np.sort(np.append(near, npu)) if len(near) and near[0] < seen.npus else near
        sets.setdefault(closed.tobytes(), []).append(npu)
    return np.array([members[0] for members in sets.values()]), np.array([float(len(one)) for one in sets.values()])
