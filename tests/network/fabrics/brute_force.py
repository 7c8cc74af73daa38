"""A fabric node by node and link by link, in plain Python: the reference of what the package computes by digits."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from evo_libra.network.fabrics.layered import Between, LayeredFabric, Within

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
        yield from ((kind, one, other, joined.rate, joined.parallel, False) for one, other in _between(fabric, joined))
    for kind, within in enumerate(fabric.within, len(fabric.between)):
        found = {(min(pair), max(pair)) for pair in _within(within) if pair[0] != pair[1]}
        yield from ((kind, (within.layer, one), (within.layer, other), within.rate, 1, False) for one, other in found)
    for npu in range(fabric.npus):
        for mate in range(npu + 1, npu - npu % fabric.server + fabric.server):
            yield -1, (0, npu), (0, mate), fabric.server_rate, 1, True


def _between(fabric: LayeredFabric, joined: Between) -> Iterator[tuple[Node, Node]]:
    block = fabric.layers[joined.lower] // joined.lower_blocks
    other = fabric.layers[joined.upper] // joined.upper_blocks
    for k, p, m in product(range(joined.lower_blocks), range(block), range(joined.links)):
        target = (k % joined.upper_blocks) * other + (joined.links * p + m) % other
        yield (joined.lower, k * block + p), (joined.upper, target)


def _within(within: Within) -> Iterator[tuple[int, int]]:
    places = [prod(within.sizes[:t]) for t in range(len(within.sizes))]
    for node, one in product(range(prod(within.sizes)), within.maps):
        grid = [node // place % size for place, size in zip(places, within.sizes, strict=True)]
        for m in range(1, one.links + 1):
            moved = [
                one.step[t] * m + sum(a * x for a, x in zip(one.matrix[t], grid, strict=True)) + one.offset[t]
                for t in range(len(grid))
            ]
            yield node, sum(x % s * place for x, s, place in zip(moved, within.sizes, places, strict=True))


@dataclass(frozen=True)
class Rules:
    """The receiver of a message, and the rules that it goes by."""

    target: Node
    server: int
    forwarding: str
    port: int | None


def moves(graph: dict[Node, list[Link]], state: State, rules: Rules) -> Iterator[tuple[State, Link]]:
    """Yield where a message may go next."""
    phase, node = state
    for link in graph[node] if phase != "end" else ():
        following = _next(phase, node, link, rules)
        if following:
            yield (following, link.target), link


def _next(phase: str, node: Node, link: Link, rules: Rules) -> str:
    """Return what a link makes of a message; empty where the rules forbid it."""
    arrives, own = link.target == rules.target, rules.port is None or link.kind == rules.port
    if rules.forwarding == "any":
        return "end" if arrives else "start"
    if phase == "arrived":
        return "end" if link.inside and arrives else ""
    if link.target[0] > 0:
        return "switch" if node[0] > 0 or own else ""
    if arrives:
        return "end" if phase != "handed" and (own or node[0] == 0) else ""
    return _handed(phase, link, rules, own=own) if rules.forwarding == "server" else ""


def _handed(phase: str, link: Link, rules: Rules, *, own: bool) -> str:
    if phase == "start" and link.inside:
        return "handed"
    near = link.target[1] // rules.server == rules.target[1] // rules.server
    return "arrived" if phase == "switch" and own and near else ""


def fractions(
    fabric: LayeredFabric,
    graph: dict[Node, list[Link]],
    pair: tuple[int, int],
    forwarding: str,
    port: int | None = None,
) -> dict[Link, float] | None:
    """Return the part of a message that each link carries; None where there is no path."""
    start, rules = ("start", (0, pair[0])), Rules((0, pair[1]), fabric.server, forwarding, port)
    queue, steps, arcs = deque([start]), {start: 0}, []
    while queue:
        state = queue.popleft()
        for following, link in moves(graph, state, rules):
            arcs.append((state, following, link))
            if following not in steps:
                steps[following] = steps[state] + 1
                queue.append(following)
    end = ("end", rules.target)
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
