"""First populations of fabrics, and steps between fabrics that keep what they have in common."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, columns
from evo_libra.network.fabrics.bits import LAYERS, LOWER, PAIRS, UPPER
from evo_libra.problem.protocol import Genome
from evo_libra.problem.switch_fabrics.genes import GENES, MAX_PARALLEL, MAX_RATE, SWITCH_LAYERS, Fields, repaired

_LOWER, _UPPER = np.array(LOWER), np.array(UPPER)
_MOST_STEPS = 4
_RANDOM = 0.25
"""Share of a first population that is random all over; the others are some steps from a named fabric."""


@dataclass(frozen=True)
class SeededGenome(Genome):
    """A genome whose samples begin with known designs.

    Attributes
    ----------
    seeds : (`GENES`, s) genes of them, without a plan.
    npus : power of two of the NPUs.
    """

    seeds: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    npus: int = 0

    def __len__(self) -> int:
        return len(self.names)

    def sample(self, random: np.random.Generator, count: int) -> FloatArray:
        """Return (g, count) genes: the known designs, fabrics that are some steps from them, and random ones."""
        found = super().sample(random, count)
        known = self.seeds.shape[1]
        if not known:
            return found
        whole = min(known, count)
        found[:GENES, :whole] = self.seeds[:, :whole]
        near = whole + np.flatnonzero(random.random(count - whole) >= _RANDOM)
        genes = columns(self.seeds, random.integers(0, known, len(near)))
        steps = random.integers(1, _MOST_STEPS + 1, len(near))
        for step in range(1, _MOST_STEPS + 1):
            moving = np.flatnonzero(steps >= step)
            genes[:, moving] = stepped(columns(genes, moving), self.npus, random)
        found[:GENES, near] = genes
        return found


def stepped(genes: FloatArray, npus: int, random: np.random.Generator) -> FloatArray:
    """Return (g, n) genes of fabrics one random step from others, under the same plans.

    Steps are: a pair of layers is joined or parted, a layer has half or twice as many switches, of a pair blocks are
    halved or joined, links of a node halve or double, rates and numbers of parallel links change, and two layers swap
    their links to the NPUs.
    """
    fields = repaired(Fields.of(genes), npus)
    count = genes.shape[1]
    whole = {name: values.copy() for name, values in vars(fields).items()}
    whole["npus"] = np.full((1, count), npus)
    every, kind = np.arange(count), random.integers(0, len(_STEPS), count)
    pair = _joined_pair(fields.joined.astype(np.bool_), random)
    for index, step in enumerate(_STEPS):
        mine = every[kind == index]
        if len(mine):
            step(whole, mine, pair[mine], random)
    del whole["npus"]
    whole["layers"] = np.clip(whole["layers"], 1, npus)
    whole["rate"] = np.clip(whole["rate"], 1, MAX_RATE)
    whole["parallel"] = np.clip(whole["parallel"], 0, MAX_PARALLEL)
    for name in ("lower_blocks", "upper_blocks", "links"):
        whole[name] = np.clip(whole[name], 0, npus)
    return np.concatenate([Fields(**whole).genes(), genes[GENES:]])


Whole = dict[str, IntArray]
"""Fields by name, and the power of two of the NPUs."""


def _joined_pair(joined: BoolArray, random: np.random.Generator) -> IntArray:
    """Return (n,) a random one of the joined pairs of each fabric."""
    return np.asarray((joined + random.random(joined.shape)).argmax(axis=0))


def _sign(count: int, random: np.random.Generator) -> IntArray:
    return np.asarray(2 * random.integers(0, 2, count) - 1)


def _join(whole: Whole, mine: IntArray, _pair: IntArray, random: np.random.Generator) -> None:
    """Join or part two layers; where they are joined now, in one block of all nodes, or in blocks one to one."""
    pair = random.integers(0, PAIRS, len(mine))
    new = whole["joined"][pair, mine] == 0
    whole["joined"][pair, mine] ^= 1
    at = pair[new], mine[new]
    bits = np.concatenate([whole["npus"], whole["layers"]])
    lower, upper = bits[_LOWER[pair[new]], mine[new]], bits[_UPPER[pair[new]], mine[new]]
    tied = np.rint(random.random(len(lower)) * np.minimum(lower, upper)).astype(np.int64)
    top = np.rint(random.random(len(lower)) * tied).astype(np.int64)
    whole["upper_blocks"][at], whole["lower_blocks"][at] = top, np.maximum(top, lower - (tied - top))
    whole["links"][at], whole["rate"][at], whole["parallel"][at] = upper - tied, 1, 0


def _resize(whole: Whole, mine: IntArray, _pair: IntArray, random: np.random.Generator) -> None:
    """Halve or double a layer, and the blocks and links that make up for it."""
    layer, sign = random.integers(1, LAYERS, len(mine)), _sign(len(mine), random)
    whole["layers"][layer - 1, mine] += sign
    how = random.integers(0, 2, len(mine))
    for pair in range(PAIRS):
        joined = whole["joined"][pair, mine] > 0
        down = mine[joined & (_LOWER[pair] == layer)]
        whole["lower_blocks"][pair, down] += sign[joined & (_LOWER[pair] == layer)]
        up = joined & (_UPPER[pair] == layer)
        whole["upper_blocks"][pair, mine[up & (how == 0)]] += sign[up & (how == 0)]
        whole["lower_blocks"][pair, mine[up & (how == 0)]] += sign[up & (how == 0)] * (_LOWER[pair] == 0)
        whole["links"][pair, mine[up & (how == 1)]] += sign[up & (how == 1)]


def _blocks(whole: Whole, mine: IntArray, pair: IntArray, random: np.random.Generator) -> None:
    """Halve or join blocks, at one end or at both."""
    sign, ends = _sign(len(mine), random), random.integers(1, 4, len(mine))
    whole["lower_blocks"][pair, mine] += sign * (ends & 1)
    whole["upper_blocks"][pair, mine] += sign * (ends >> 1)


def _move(whole: Whole, mine: IntArray, pair: IntArray, random: np.random.Generator) -> None:
    """Move a tied bit from the number of a block to the place in it, or back."""
    sign = _sign(len(mine), random)
    whole["lower_blocks"][pair, mine] += sign
    whole["upper_blocks"][pair, mine] += sign
    whole["links"][pair, mine] -= sign


def _links(whole: Whole, mine: IntArray, pair: IntArray, random: np.random.Generator) -> None:
    whole["links"][pair, mine] += _sign(len(mine), random)


def _rate(whole: Whole, mine: IntArray, pair: IntArray, random: np.random.Generator) -> None:
    whole["rate"][pair, mine] = random.integers(1, MAX_RATE + 1, len(mine))


def _parallel(whole: Whole, mine: IntArray, pair: IntArray, random: np.random.Generator) -> None:
    whole["parallel"][pair, mine] += _sign(len(mine), random)


def _swap(whole: Whole, mine: IntArray, _pair: IntArray, random: np.random.Generator) -> None:
    """Swap the links of two layers to the NPUs."""
    one = random.integers(0, SWITCH_LAYERS, len(mine))
    other = (one + random.integers(1, SWITCH_LAYERS, len(mine))) % SWITCH_LAYERS
    for name in ("joined", "lower_blocks", "upper_blocks", "links", "rate", "parallel"):
        values = whole[name]
        values[one, mine], values[other, mine] = values[other, mine], values[one, mine]


_STEPS = (_join, _resize, _blocks, _move, _links, _rate, _parallel, _swap)
