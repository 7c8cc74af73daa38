"""Layers of a decoder in order, each a tuple of sublayers, and those of the largest stage of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.models.layers.registry import part_text
from evo_libra.workload.models.layers.sublayer import WHOLE, Cell, Sublayer

DecoderLayer = tuple[Sublayer, ...]
"""Sequence of sublayers in a layer, each with a norm before it."""

Counted = tuple[FloatArray, Sublayer]
"""(n,) how many there are of a sublayer, and what it is."""

_LONG, _CELL = 1e6, Cell(2.0, 0.0)
"""Tokens of a context, and bytes of its cache, by which layers of as many weights are compared."""


@dataclass(frozen=True)
class Stack:
    """Layers of a decoder.

    Attributes
    ----------
    kinds : layers that differ, in order of appearance.
    order : of each layer, the place of its kind.
    """

    kinds: tuple[DecoderLayer, ...]
    order: tuple[int, ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.kinds, self.order))

    @classmethod
    def of(cls, layers: Sequence[DecoderLayer]) -> Stack:
        """Return the stack of some layers."""
        places = {layer: place for place, layer in enumerate(dict.fromkeys(layers))}
        return cls(tuple(places), tuple(places[layer] for layer in layers))

    def texts(self) -> dict[str, int]:
        """Return the number of layers of each kind by the names of its parts."""
        found: dict[str, int] = {}
        for place, kind in enumerate(self.kinds):
            text = " + ".join(part_text(part) for part in kind)
            found[text] = found.get(text, 0) + self.order.count(place)
        return found

    def counts(self, layers: Sequence[int]) -> tuple[FloatArray, ...]:
        """Return for each kind how many of some layers, given by their places, are of it, as (1,) arrays."""
        chosen = np.asarray(self.order)[np.asarray(layers, dtype=np.int64)]
        return tuple(np.bincount(chosen, minlength=len(self.kinds)).astype(float)[:, None])

    def parts(self, layers: Sequence[FloatArray]) -> list[Counted]:
        """Return the sublayers of (n,) layers of each kind, each with the (n,) layers that have it."""
        found: dict[Sublayer, FloatArray] = {}
        for count, kind in zip(layers, self.kinds, strict=True):
            for part in kind if count.any() else ():
                found[part] = found[part] + count if part in found else count
        return [(count, part) for part, count in found.items()]

    def largest(self, lengths: FloatArray) -> tuple[FloatArray, ...]:
        """Return for each kind its (n,) layers in stages of some (n,) lengths; see `_stage`."""
        if len(self.kinds) == 1:
            return (lengths,)
        places, table = lengths.astype(np.int64), self._stages
        for length in np.unique(places[np.isnan(table[0][places])]):
            table[:, length] = self._stage(int(length))
        return tuple(counts[places] for counts in table)

    @cached_property
    def _stages(self) -> FloatArray:
        """(kinds, layers + 1) layers of each kind in a stage, by its length; nan for a length of no stage so far."""
        return np.full((len(self.kinds), len(self.order) + 1), np.nan)

    def _stage(self, length: int) -> FloatArray:
        """Return the kinds of the adjacent layers with the most weights, then the most cache; of equal ones the last.

        A pipeline has such a stage, or is as long as one that has.
        """
        kinds = np.eye(len(self.kinds))[np.asarray(self.order)]
        sums = np.concatenate([np.zeros((1, len(self.kinds))), kinds.cumsum(axis=0)])
        stages = np.asarray(sums[length:] - sums[:-length])
        weights = [sum(part.parameters() for part in kind) for kind in self.kinds]
        cache = [sum(float(part.cache(WHOLE, _LONG, _CELL)) for part in kind) for kind in self.kinds]
        return np.asarray(stages[np.lexsort((np.arange(len(stages)), stages @ cache, stages @ weights))[-1]])
