"""Genes of fabrics: switches of three layers, and for each pair of layers whether and how they are joined.

Any genes are legal: blocks and links are cut to what can be joined evenly. Layers without a way to the NPUs are left
out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.errors import InputError
from evo_libra.network.fabrics.bits import LAYERS, LOWER, PAIRS, SLOTS, UPPER
from evo_libra.network.fabrics.named import PORT
from evo_libra.network.fabrics.population import Fabrics
from evo_libra.problem.protocol import Gene, Genome, genome_of

MAX_RATE = 4
"""Rate of a link in ports of 200 Gb/s, as in ATOP."""

MAX_PARALLEL = 4
"""Power of two of the links that join two nodes."""

FIELDS = ("joined", "lower_blocks", "upper_blocks", "links", "rate", "parallel")
"""Genes of a pair of layers."""

SWITCH_LAYERS = LAYERS - 1
GENES = SWITCH_LAYERS + PAIRS * len(FIELDS)
"""Genes of a fabric, which come before that of a plan."""

_LOWER, _UPPER = np.array(LOWER), np.array(UPPER)


def genome(npus: int, plans: int = 1) -> Genome:
    """Return the genes of fabrics of a power of two of NPUs, and of a plan; those of a pair of layers are a segment.

    Crossover may pass on a segment as a whole. A plan is a place in a list.
    """
    largest = min(npus, SLOTS - 1)
    sections = [(0, [Gene(f"layer{layer}", 1, largest, ordered=True) for layer in range(1, LAYERS)])]
    for pair, (lower, upper) in enumerate(zip(LOWER, UPPER, strict=True)):
        most = {"joined": 1, "rate": MAX_RATE, "parallel": MAX_PARALLEL}
        genes = [
            Gene(f"{field}{lower}{upper}", int(field == "rate"), most.get(field, largest), ordered=field != "joined")
            for field in FIELDS
        ]
        sections.append((pair + 1, genes))
    return genome_of([*sections, (PAIRS + 1, [Gene("plan", 0, plans - 1)])])


@dataclass(frozen=True)
class Fields:
    """Genes by their meaning: (3, n) layers and (6, n) of pairs, as whole numbers."""

    layers: IntArray
    joined: IntArray
    lower_blocks: IntArray
    upper_blocks: IntArray
    links: IntArray
    rate: IntArray
    parallel: IntArray

    @staticmethod
    def of(genes: FloatArray) -> Fields:
        """Return the fields of (g, n) genes."""
        whole = np.rint(genes).astype(np.int64)
        pairs = whole[SWITCH_LAYERS:GENES].reshape(PAIRS, len(FIELDS), -1)
        return Fields(whole[:SWITCH_LAYERS], *np.moveaxis(pairs, 1, 0))

    def genes(self) -> FloatArray:
        """Return (g, n) genes."""
        pairs = np.stack([vars(self)[field] for field in FIELDS], axis=1)
        return np.concatenate([self.layers, pairs.reshape(PAIRS * len(FIELDS), -1)]).astype(np.float64)


def decoded(genes: FloatArray, npus: int, server: int) -> Fabrics:
    """Return the fabrics of genes.

    Parameters
    ----------
    genes : (g, n) numbers within the bounds of the genome.
    npus, server : powers of two of the NPUs, and of those of a server.
    """
    fields = repaired(Fields.of(genes), npus)
    return Fabrics(
        npus=npus, server=server, layers=fields.layers, joined=fields.joined, lower_blocks=fields.lower_blocks,
        upper_blocks=fields.upper_blocks, links=fields.links, parallel=1 << fields.parallel,
        rate=PORT * np.maximum(fields.rate, 1),
    )  # fmt: skip


def encoded(fabrics: Fabrics) -> FloatArray:
    """Return the genes of fabrics; an `InputError` says that links have no genes."""
    parallel = np.rint(np.log2(fabrics.parallel)).astype(np.int64)
    rate = np.clip(np.rint(fabrics.rate / PORT).astype(np.int64), 1, MAX_RATE)
    differs = (rate * PORT != fabrics.rate) | (1 << parallel != fabrics.parallel) | (parallel > MAX_PARALLEL)
    if (differs & (fabrics.joined > 0)).any():
        pair, design = np.argwhere(differs & (fabrics.joined > 0))[0]
        found = f"{fabrics.parallel[pair, design]} parallel links of {fabrics.rate[pair, design] * 8e-9:g} Gb/s"
        raise InputError(f"{found}; allowed: 1, 2, 4, 8 or 16 links of 200, 400, 600 or 800 Gb/s")
    return Fields(
        layers=np.maximum(fabrics.layers, 1), joined=fabrics.joined, lower_blocks=fabrics.lower_blocks,
        upper_blocks=fabrics.upper_blocks, links=fabrics.links, rate=rate, parallel=parallel,
    ).genes()  # fmt: skip


def repaired(fields: Fields, npus: int) -> Fields:
    """Return fields of fabrics that can be wired; what has no effect is 0, so that it tells no designs apart."""
    joined = fields.joined * _reached_pairs(fields.joined.astype(np.bool_))
    used = np.zeros((LAYERS, joined.shape[1]), dtype=np.bool_)
    for pair in range(PAIRS):
        used[LOWER[pair]] |= joined[pair] > 0
        used[UPPER[pair]] |= joined[pair] > 0
    layers = fields.layers * used[1:]
    bits = np.concatenate([np.full((1, layers.shape[1]), npus), layers])
    lower, upper = bits[_LOWER], bits[_UPPER]
    lower_blocks = np.minimum(fields.lower_blocks, lower)
    upper_blocks = np.minimum(np.minimum(fields.upper_blocks, lower_blocks), upper)
    in_block = upper - upper_blocks
    links = np.clip(fields.links, np.maximum(in_block - (lower - lower_blocks), 0), in_block)
    return Fields(
        layers=layers, joined=joined, lower_blocks=joined * lower_blocks, upper_blocks=joined * upper_blocks,
        links=joined * links, rate=joined * fields.rate, parallel=joined * fields.parallel,
    )  # fmt: skip


def _reached_pairs(joined: BoolArray) -> IntArray:
    """Return (6, n) 1 for pairs of layers that have a way to the NPUs."""
    reached = np.zeros((LAYERS, joined.shape[1]), dtype=np.bool_)
    reached[0] = True
    for _ in range(LAYERS):
        for pair in range(PAIRS):
            both = joined[pair] & (reached[LOWER[pair]] | reached[UPPER[pair]])
            reached[LOWER[pair]] |= both
            reached[UPPER[pair]] |= both
    return np.asarray(reached[_LOWER] & reached[_UPPER], dtype=np.int64)
