"""A fabric node by node and link by link, in plain Python: the reference of what the package computes by digits."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from evo_libra.network.fabrics.layered import LayeredFabric

Node = tuple[int, int]
"""Layer and index."""

State = tuple[str, Node]
"""Where a message is, and what has been done with it."""


@dataclass(frozen=True)
class Link:
    """One direction of the links of a joined pair."""

    kind: int
    source: Node
    target: Node
    rate: float
    parallel: int
    inside: bool


def links(fabric: LayeredFabric) -> dict[Node, list[Link]]:
    """Return the links that leave each node."""
    found: dict[Node, list[Link]] = {
        (layer, node): [] for layer, size in enumerate(fabric.layers) for node in range(size)
    }
    for kind, one, other, rate, parallel, inside in _pairs(fabric):
        found[one].append(Link(kind, one, other, rate, parallel, inside))
        found[other].append(Link(kind, other, one, rate, parallel, inside))
    return found


def _pairs(fabric: LayeredFabric) -> Iterator[tuple[int, Node, Node, float, int, bool]]:
    for kind, joined in enumerate(fabric.between):
        block = fabric.layers[joined.lower] // joined.lower_blocks
        other = fabric.layers[joined.upper] // joined.upper_blocks
        for k, p, m in product(range(joined.lower_blocks), range(block), range(joined.links)):
            target = (k % joined.upper_blocks) * other + (joined.links * p + m) % other
            yield kind, (joined.lower, k * block + p), (joined.upper, target), joined.rate, joined.parallel, False
    for kind, within in enumerate(fabric.within, len(fabric.between)):
        seen = set()
        for node in range(fabric.layers[within.layer]):
            grid, rest = [], node
            for size in within.sizes:
                grid.append(rest % size)
                rest //= size
            for one in within.maps:
                for m in range(1, one.links + 1):
                    moved = [
                        (one.step[t] * m + sum(one.matrix[t][r] * grid[r] for r in range(len(grid))) + one.offset[t])
                        % size
                        for t, size in enumerate(within.sizes)
                    ]
                    target, place = 0, 1
                    for value, size in zip(moved, within.sizes, strict=True):
                        target, place = target + value * place, place * size
                    seen.add((min(node, target), max(node, target)))
        for one, other in seen:
            if one != other:
                yield kind, (within.layer, one), (within.layer, other), within.rate, 1, False
    for npu in range(fabric.npus):
        for mate in range(npu + 1, npu - npu % fabric.server + fabric.server):
            yield -1, (0, npu), (0, mate), fabric.server_rate, 1, True


def moves(
    graph: dict[Node, list[Link]], state: State, target: Node, server: int, forwarding: str, port: int | None
) -> Iterator[tuple[State, Link]]:
    """Yield where a message may go next."""
    phase, node = state
    for link in graph[node]:
        own = port is None or link.kind == port
        to_switch = link.target[0] > 0
        if phase == "end":
            return
        if forwarding == "any":
            yield ("end" if link.target == target else "start", link.target), link
        elif phase == "arrived":
            if link.inside and link.target == target:
                yield ("end", target), link
        elif to_switch:
            if node[0] > 0 or own:
                yield ("switch", link.target), link
        elif link.target == target:
            if phase != "handed" and (own or node[0] == 0):
                yield ("end", target), link
        elif forwarding == "server" and phase == "start" and link.inside:
            yield ("handed", link.target), link
        elif forwarding == "server" and phase == "switch" and own and link.target[1] // server == target[1] // server:
            yield ("arrived", link.target), link


def fractions(
    fabric: LayeredFabric,
    graph: dict[Node, list[Link]],
    pair: tuple[int, int],
    forwarding: str,
    port: int | None = None,
) -> dict[Link, float] | None:
    """Return the part of a message that each link carries; None where there is no path."""
    start, target = ("start", (0, pair[0])), (0, pair[1])
    queue, steps, arcs = deque([start]), {start: 0}, []
    while queue:
        state = queue.popleft()
        for following, link in moves(graph, state, target, fabric.server, forwarding, port):
            arcs.append((state, following, link))
            if following not in steps:
                steps[following] = steps[state] + 1
                queue.append(following)
    end = ("end", target)
    if end not in steps:
        return None
    left = {end: 0}
    for state, following, _ in sorted(arcs, key=lambda arc: -steps[arc[0]]):
        if following in left and steps[following] == steps[state] + 1:
            left[state] = left[following] + 1
    return _spread(
        start, [arc for arc in arcs if arc[0] in left and arc[1] in left and steps[arc[1]] == steps[arc[0]] + 1]
    )


def _spread(start: State, arcs: list[tuple[State, State, Link]]) -> dict[Link, float]:
    """Return the loads of links if each state shares what it gets evenly over the links of the shortest paths."""
    by_state: dict[State, list[tuple[State, Link]]] = {}
    for state, following, link in arcs:
        by_state.setdefault(state, []).append((following, link))
    level, found = {start: 1.0}, {}
    while level:
        below: dict[State, float] = {}
        for state, flow in level.items():
            ways = sum(link.parallel for _, link in by_state.get(state, ()))
            for following, link in by_state.get(state, ()):
                found[link] = found.get(link, 0.0) + flow * link.parallel / ways
                below[following] = below.get(following, 0.0) + flow * link.parallel / ways
        level = below
    return found


def distance(fabric: LayeredFabric, graph: dict[Node, list[Link]], pair: tuple[int, int], forwarding: str) -> float:
    """Return the links between two NPUs."""
    found = fractions(fabric, graph, pair, forwarding)
    return float("inf") if found is None else sum(found.values())
