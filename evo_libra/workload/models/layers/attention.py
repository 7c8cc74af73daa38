"""Attention to the tokens before, with a cache of keys and values that grows with the context."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.workload.models.kernels import Array
from evo_libra.workload.models.layers.sublayer import Attention, Cell, Core, Matrix, Share, StepWork, Sublayer


@dataclass(frozen=True)
class GroupedAttention(Sublayer):
    """Attention whose heads of queries share heads of keys and values in groups.

    Attributes
    ----------
    heads, kv_heads, head_width : heads of queries, heads of keys and values, width of a head.
    biased : whether its linear layers have biases.
    """

    heads: int
    kv_heads: int
    head_width: int
    biased: bool = False

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return queries with keys and values, and the way out."""
        heads = self.heads / share.tp
        width = self.head_width * (heads + 2.0 * share.heads(self.kv_heads))
        return (
            Matrix(n=width, k=self.hidden, biased=self.biased),
            Matrix(n=self.hidden, k=heads * self.head_width, biased=self.biased),
        )

    def cores(self, share: Share, sequence: int) -> tuple[Core, ...]:
        """Return the attention of its heads."""
        return (Attention(self.heads / share.tp, 2 * self.head_width, sequence, float(sequence), sequence),)

    def kept(self, share: Share) -> Array:
        """Return queries, keys, values and results of 2 bytes."""
        return 2.0 * 2 * self.head_width * (self.heads / share.tp + share.heads(self.kv_heads))

    def cache(self, share: Share, tokens: Array, cell: Cell) -> Array:
        """Return the keys and values of each token."""
        return tokens * share.heads(self.kv_heads) * 2.0 * (self.head_width * cell.element + cell.scale)

    def step(self, share: Share, context: Array, cell: Cell) -> StepWork:
        """Return the scores of the context and the sum of its values."""
        flop = 2.0 * context * (self.heads / share.tp) * 2 * self.head_width
        return StepWork(flop, self.cache(share, context, cell))

    def gathered(self, share: Share, tokens: Array, sequences: Array, npus: Array) -> Array:  # noqa: ARG002 - by tokens
        """Return the keys and values of each token, of 2 bytes."""
        return 2.0 * tokens * 2 * self.head_width * share.heads(self.kv_heads)


@dataclass(frozen=True)
class MultiheadLatentAttention(Sublayer):
    """Attention whose queries, and keys with values, pass through narrow layers (DeepSeek-V2, arXiv 2405.04434).

    Attributes
    ----------
    heads : of queries.
    query_rank, kv_rank : widths of the narrow layers; None where queries have none.
    nope_width, rope_width : widths of a head of queries and keys without and with a position; all heads share one key
        with a position.
    value_width : width of a head of values.
    """

    heads: int
    query_rank: int | None
    kv_rank: int
    nope_width: int
    rope_width: int
    value_width: int

    @property
    def key_width(self) -> int:
        """Width of a head of queries and keys."""
        return self.nope_width + self.rope_width

    @property
    def vectors(self) -> int:
        """Norms of the narrow layers."""
        return (self.query_rank or 0) + self.kv_rank

    def _outer(self, share: Share) -> tuple[Matrix, ...]:
        """Return the ways down, which are not split, up to the queries, and out."""
        heads = self.heads / share.tp
        return (
            Matrix(n=self.hidden, k=heads * self.value_width),
            Matrix(n=(self.query_rank or 0) + self.kv_rank + self.rope_width, k=self.hidden),
            Matrix(n=heads * self.key_width, k=self.query_rank or self.hidden),
        )

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return the ways down, up and out."""
        width = self.heads / share.tp * (self.nope_width + self.value_width)
        return *self._outer(share), Matrix(n=width, k=self.kv_rank)

    def step_matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return the matrices of keys and of values apart, so that the cache stays narrow.

        The first one is multiplied with queries, and the second one with results.
        """
        heads = self.heads / share.tp
        up = (Matrix(n=heads * width, k=self.kv_rank) for width in (self.nope_width, self.value_width))
        return *self._outer(share), *up

    def cores(self, share: Share, sequence: int) -> tuple[Core, ...]:
        """Return the attention of its heads."""
        widths = self.key_width + self.value_width
        return (Attention(self.heads / share.tp, widths, sequence, float(sequence), sequence),)

    def kept(self, share: Share) -> Array:
        """Return queries, keys, values and results of 2 bytes; each head has keys and values of its own."""
        return 2.0 * (self.key_width + self.value_width) * 2.0 * np.maximum(self.heads / share.tp, 1.0)

    def cache(self, share: Share, tokens: Array, cell: Cell) -> Array:  # noqa: ARG002 - every NPU has all of it
        """Return the narrow key of each token, which all heads share."""
        return tokens * ((self.kv_rank + self.rope_width) * cell.element + cell.scale)

    def step(self, share: Share, context: Array, cell: Cell) -> StepWork:
        """Return the scores of the context and the sum of its narrow keys."""
        flop = 2.0 * context * (self.heads / share.tp) * (2 * self.kv_rank + self.rope_width)
        return StepWork(flop, self.cache(share, context, cell))

    def gathered(self, share: Share, tokens: Array, sequences: Array, npus: Array) -> Array:  # noqa: ARG002 - by tokens
        """Return the narrow key of each token, of 2 bytes."""
        return 2.0 * tokens * (self.kv_rank + self.rope_width)
