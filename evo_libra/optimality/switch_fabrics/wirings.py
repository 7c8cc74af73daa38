"""All ways to join two layers of switches or NPUs, each graph once, with rates, ports and cables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.network.fabrics.bits import LAYERS, LOWER, PAIRS, UPPER
from evo_libra.network.fabrics.named import PORT
from evo_libra.network.fabrics.parts import Limits
from evo_libra.network.fabrics.population import Fabrics
from evo_libra.problem.switch_fabrics.bill import cable_cost, fabric_parts
from evo_libra.problem.switch_fabrics.genes import MAX_PARALLEL, MAX_RATE
from evo_libra.problem.switch_fabrics.problem import FabricSpace

FIELDS = ("lower_blocks", "upper_blocks", "links", "rate", "parallel")
"""Genes of a joined pair of layers: blocks, links and parallel links are powers of two."""

ROUNDING = 1.0 + 1e-12
"""Factor up to which rates keep a limit."""


@dataclass(frozen=True)
class Wirings:
    """m choices of links between two layers.

    Attributes
    ----------
    genes : (5, m) the `FIELDS`.
    tied : (m,) bits of the lower layer that are tied, as a mask.
    down, up : (m,) B/s of the links of a lower and of an upper node.
    ports : (m,) links of a lower node.
    cost : (m,) USD of the cables.
    """

    genes: IntArray
    tied: IntArray
    down: FloatArray
    up: FloatArray
    ports: IntArray
    cost: FloatArray

    def __len__(self) -> int:
        return len(self.tied)

    def select(self, which: IntArray) -> Wirings:
        """Return some of them."""
        return Wirings(*(values[..., which] for values in vars(self).values()))


@cache
def graphs(lower: int, upper: int) -> tuple[tuple[int, int, int, int], ...]:
    """Return blocks of both layers, links, and tied bits of the lower layer, one setting of each graph.

    Two settings are one graph if they tie the same bits to the same ones; layers have powers of two of nodes.

    >>> len(graphs(8, 1)), graphs(2, 1)
    (9, ((0, 0, 0, 1), (0, 0, 1, 0), (1, 1, 0, 2)))
    """
    found: dict[frozenset[tuple[int, int]], tuple[int, int, int, int]] = {}
    for lower_blocks in range(lower + 1):
        for upper_blocks in range(min(lower_blocks, upper) + 1):
            inner, block = upper - upper_blocks, lower - lower_blocks
            for links in range(max(inner - block, 0), inner + 1):
                ties = {(block + bit, inner + bit) for bit in range(upper_blocks)}
                ties |= {(bit, links + bit) for bit in range(inner - links)}
                tied = sum(1 << bit for bit, _ in ties)
                found.setdefault(frozenset(ties), (lower_blocks, upper_blocks, links, tied))
    return tuple(found.values())


def wirings(space: FabricSpace, pair: int, bits: tuple[int, int]) -> Wirings:
    """Return all links of a pair of layers of a power of two of nodes that keep the limits, each graph once.

    Parameters
    ----------
    space : the fabrics that are allowed.
    pair : of layers, as in `evo_libra.network.fabrics.bits.LOWER`; it decides about the kind of cables.
    bits : powers of two of the nodes of both layers.
    """
    shapes = np.array(graphs(*bits), dtype=np.int64)
    rates, parallel = np.arange(1, MAX_RATE + 1), np.arange(MAX_PARALLEL + 1)
    shape, rate, many = (one.ravel() for one in np.meshgrid(np.arange(len(shapes)), rates, parallel, indexing="ij"))
    found = _priced(space, pair, bits, np.concatenate([shapes[shape, :3].T, rate[None], many[None]]), shapes[shape, 3])
    return found.select(np.flatnonzero(_kept(found, space.limits, of_npus=LOWER[pair] == 0)))


def _kept(found: Wirings, limits: Limits, *, of_npus: bool) -> BoolArray:
    lower = limits.npu_throughput if of_npus else limits.switch_throughput
    kept = (found.down <= lower * ROUNDING) & (found.up <= limits.switch_throughput * ROUNDING)
    return np.asarray(kept & ((found.ports <= limits.nic_ports) | (not of_npus)))


def _priced(space: FabricSpace, pair: int, bits: tuple[int, int], genes: IntArray, tied: IntArray) -> Wirings:
    """Return the links of genes with their figures: those of fabrics that have no other links."""
    zeros = np.zeros((PAIRS, len(tied)), dtype=np.int64)
    rows = dict(zip(FIELDS, (zeros.copy() for _ in FIELDS), strict=True))
    for row, values in zip(rows.values(), genes, strict=True):
        row[pair] = values
    layers, joined = zeros[: LAYERS - 1].copy(), zeros.copy()
    for layer, size in zip((LOWER[pair], UPPER[pair]), bits, strict=True):
        layers[layer - 1 :][: int(layer > 0)] = size
    joined[pair] = 1
    rate = PORT * np.maximum(rows.pop("rate"), 1)
    rows["parallel"] = 1 << rows["parallel"]
    fabrics = Fabrics(
        npus=space.npus, server=space.server, layers=layers, joined=joined, rate=rate,
        lower_blocks=rows["lower_blocks"], upper_blocks=rows["upper_blocks"], links=rows["links"],
        parallel=rows["parallel"],
    )  # fmt: skip
    parts = fabric_parts(fabrics)
    cost = cable_cost(parts.cables, parts.copper, fabrics.rate, space.prices)[pair]
    down, up = (parts.throughput[layer] for layer in (LOWER[pair], UPPER[pair]))
    return Wirings(genes, tied, down=down, up=up, ports=parts.ports[LOWER[pair]], cost=cost)
