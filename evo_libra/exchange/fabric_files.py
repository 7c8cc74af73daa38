"""A fabric of switches as files: its layers as a graph for Graphviz, and all of its cables as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np

from evo_libra.errors import InputError
from evo_libra.network.fabrics.graph import edges_of
from evo_libra.network.fabrics.layered import LayeredFabric
from evo_libra.network.fabrics.parts import parts_of

_GIGABITS = 1e9 / 8
MAX_CABLES = 2_000_000
"""Cables that a file lists at most: 60 MB."""


def fabric_dot(fabric: LayeredFabric, title: str) -> str:
    """Return a graph with a node for each layer, and an edge for the links of each two."""
    parts = parts_of(fabric)
    lines = [f'graph "{title}" {{', "  rankdir=BT; node [shape=box];"]
    lines.append(f'  layer0 [label="{fabric.npus:,} NPUs\\nservers of {fabric.server}"];')
    lines += [
        f'  layer{one.layer} [label="{one.count:,} switches\\n{one.ports:,} ports, {one.throughput * 8e-12:g} Tb/s"];'
        for one in parts.switches
    ]
    lines += [
        f'  layer{one.lower} -- layer{one.upper} [label="{one.count:,} x {one.rate / _GIGABITS:g}G"];'
        for one in parts.cables
    ]
    return "\n".join([*lines, "}", ""])


def cable_list(fabric: LayeredFabric) -> str:
    """Return a row of CSV for each pair of nodes that cables join; an `InputError` says that they are too many.

    Nodes are counted within their layers; layer 0 is the NPUs. Links inside servers are no cables.
    """
    total = sum(one.count for one in parts_of(fabric).cables)
    if total > MAX_CABLES:
        raise InputError(f"{total:,} cables; a list of them has {MAX_CABLES:,} at most")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("lower_layer", "lower_node", "upper_layer", "upper_node", "cables", "Gbps"))
    writer.writerows(_rows(fabric))
    return text.getvalue()


def _rows(fabric: LayeredFabric) -> Iterator[tuple[int, int, int, int, int, str]]:
    first = np.concatenate([[0], np.cumsum(fabric.layers)])
    for edges in edges_of(fabric):
        if edges.is_server:
            continue
        for lower, upper in zip(edges.lower.tolist(), edges.upper.tolist(), strict=True):
            at, to = (int(np.searchsorted(first, node, side="right")) - 1 for node in (lower, upper))
            rate = f"{edges.rate / _GIGABITS:g}"
            yield at, lower - int(first[at]), to, upper - int(first[to]), edges.parallel, rate
