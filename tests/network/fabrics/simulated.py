"""The throughput of traffic by a max-min fair simulation of all its messages, over the links of a brute-force graph."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from brute_force import Link, Node, fractions, links
from max_min import finish

from evo_libra.network.fabrics.layered import LayeredFabric
from evo_libra.network.fabrics.traffic import Policy, Traffic

Pairs = list[tuple[int, int]]


def simulated_rate(fabric: LayeredFabric, traffic: Traffic, policy: Policy) -> float | None:
    """Return B/s that each NPU sends; None where a message has no path."""
    graph, sent, seconds = links(fabric), 0.0, 0.0
    for pairs, size in _messages(fabric.npus, traffic):
        columns = [_parts(fabric, graph, pair, policy) for pair in pairs]
        if None in columns:
            return None
        seconds += _finish([column for column in columns if column is not None], size)
        sent += size * len(pairs) / fabric.npus
    return sent / seconds


def _messages(npus: int, traffic: Traffic) -> Iterator[tuple[Pairs, float]]:
    """Yield the senders and receivers of each step, and the bytes of a message."""
    place, members = traffic.place, traffic.members
    if traffic.kind == "data":
        for bit in range(members.bit_length() - 1):
            # A reduce-scatter, then the all-gather.
            yield [(npu, npu ^ place << bit) for npu in range(npus)], 0.5 / 2**bit
            yield [(npu, npu ^ place << bit) for npu in range(npus)], 0.5 / 2**bit
        return
    groups = [[npu - npu // place % members * place + k * place for k in range(members)] for npu in range(npus)]
    number = [npu // place % members for npu in range(npus)]
    if traffic.kind == "pipeline":
        yield [(npu, groups[npu][(number[npu] + 1) % members]) for npu in range(npus)], 1.0
    else:
        yield [(npu, mate) for npu in range(npus) for mate in groups[npu] if mate != npu], 1.0 / (members - 1)


def _parts(
    fabric: LayeredFabric, graph: dict[Node, list[Link]], pair: tuple[int, int], policy: Policy
) -> dict[Link, float] | None:
    """Return the part of a message on each link."""
    if policy.paths == "shortest":
        return fractions(fabric, graph, pair, policy.forwarding)
    rates = {kind: one.links * one.parallel * one.rate for kind, one in enumerate(fabric.between) if one.lower == 0}
    stripes = [(fractions(fabric, graph, pair, policy.forwarding, port), rate) for port, rate in rates.items()]
    there = [(stripe, rate) for stripe, rate in stripes if stripe is not None]
    found: dict[Link, float] = {}
    for stripe, rate in there:
        for link, part in stripe.items():
            found[link] = found.get(link, 0.0) + part * rate / sum(rate for _, rate in there)
    return found or None


def _finish(columns: list[dict[Link, float]], size: float) -> float:
    rows = {link: row for row, link in enumerate(dict.fromkeys(link for column in columns for link in column))}
    parts = np.zeros((len(rows), len(columns)))
    for column, found in enumerate(columns):
        for link, part in found.items():
            parts[rows[link], column] = part
    return finish(np.full(len(columns), size), parts, np.array([link.rate * link.parallel for link in rows]))
