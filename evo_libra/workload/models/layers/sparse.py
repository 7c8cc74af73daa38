"""Latent attention to the few tokens that an index picks from the whole context."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.workload.models.kernels import Array
from evo_libra.workload.models.layers.attention import MultiheadLatentAttention, attended
from evo_libra.workload.models.layers.sublayer import Attention, Cell, Core, Matrix, Scan, Share, Size, StepWork

_KEY, _SCALE = 1.0, 4.0
"""Bytes of an element of a key of the index, which has 8 bits, and of its scale."""


@dataclass(frozen=True)
class SparseLatentAttention(MultiheadLatentAttention):
    """Multi-head latent attention to the best tokens of an index (DeepSeek Sparse Attention, arXiv 2512.02556).

    The index scores all tokens before with narrow heads. Attention then works on the narrow keys themselves, as in
    decoding. Every NPU of a tensor parallel group has the whole index.

    Attributes
    ----------
    index_heads, index_width : heads of queries of the index, and their width; there is one head of keys.
    top_k : tokens that one attends to.
    """

    index_heads: Size
    index_width: Size
    top_k: Size

    @property
    def vectors(self) -> int:
        """Norms of the narrow layers, and weights and biases of that of the index's keys."""
        return super().vectors + 2 * self.index_width

    @property
    def _index(self) -> tuple[Matrix, ...]:
        """Return the matrices of queries, and of keys with the weights of heads."""
        return (
            Matrix(n=self.index_heads * self.index_width, k=self.query_rank or self.hidden),
            Matrix(n=self.index_width + self.index_heads, k=self.hidden),
        )

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return those of latent attention and of the index."""
        return *super().matrices(share), *self._index

    def step_matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return those of latent attention and of the index."""
        return *super().step_matrices(share), *self._index

    def cores(self, share: Share, sequence: int) -> tuple[Core, ...]:
        """Return the attention to the best tokens, and the scores of all, of 4 bytes, written and read once."""
        widths = 2 * self.kv_rank + self.rope_width
        seen, length = attended(sequence, self.top_k), min(sequence, self.top_k)
        index = Scan(work=float(sequence) * self.index_heads * self.index_width, moved=4.0 * sequence)
        return Attention(self.heads / share.tp, widths, sequence, seen, length), index

    def kept(self, share: Share) -> Array:
        """Return those of latent attention, and queries and keys of the index of 2 bytes."""
        return super().kept(share) + 2.0 * (self.index_heads + 1) * self.index_width

    def cache(self, share: Share, tokens: Array, cell: Cell) -> Array:
        """Return the narrow keys, and those of the index."""
        return super().cache(share, tokens, cell) + tokens * (_KEY * self.index_width + _SCALE)

    def step(self, share: Share, context: Array, cell: Cell) -> StepWork:
        """Return the scores of the whole context, and attention to the best of its tokens."""
        best = super().step(share, np.minimum(context, self.top_k), cell)
        chosen = MultiheadLatentAttention.cache(self, share, np.minimum(context, self.top_k), cell)
        keys = context * (_KEY * self.index_width + _SCALE)
        return StepWork(best.flop + 2.0 * context * self.index_heads * self.index_width, chosen + keys)

    def gathered(self, share: Share, tokens: Array, sequences: Array, npus: Array) -> Array:
        """Return the narrow keys, and those of the index."""
        return super().gathered(share, tokens, sequences, npus) + tokens * (_KEY * self.index_width + _SCALE)
