"""Attention to the tokens before: grouped, latent, and latent to the few tokens that an index picks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.workload.models.kernels import Array
from evo_libra.workload.models.layers.kept import LATENT_UP, Kept
from evo_libra.workload.models.layers.sublayer import (
    Attention,
    Cell,
    Core,
    Matrix,
    Scan,
    Share,
    Size,
    StepWork,
    Sublayer,
)


def attended(sequence: int, window: int | None, *, chunked: bool = False) -> float:
    """Return twice the tokens that a token of a sequence attends to, on average.

    Of the S^2 / 2 pairs of S tokens, a window of W leaves W S - W^2 / 2; chunks of W leave W^2 / 2 each.

    >>> attended(4096, None), attended(4096, 1024), attended(10, 4, chunked=True)
    (4096.0, 1792.0, 3.6)
    """
    if window is None or sequence <= window:
        return float(sequence)
    if chunked:
        chunks, rest = divmod(sequence, window)
        return (chunks * window**2 + rest**2) / sequence
    return (2 * window * sequence - window**2) / sequence


@dataclass(frozen=True)
class GroupedAttention(Sublayer):
    """Attention whose heads of queries share heads of keys and values in groups.

    Attributes
    ----------
    heads, kv_heads, head_width : heads of queries, heads of keys and values, width of a head.
    biased : whether its linear layers have biases.
    window : tokens that a token attends to; None for all before it.
    chunked : whether a token attends to those of its chunk of `window` tokens, and not to the tokens before it.
    sinks : whether each head has a logit that takes a part of the attention of every token.
    gated : whether queries bring a gate of the results along.
    value_width : width of a head of values; `head_width` for None.
    shared_projection : whether values are keys before their norm and position, so that one matrix gives both.
    """

    heads: Size
    kv_heads: Size
    head_width: Size
    biased: bool = False
    window: Size | None = None
    chunked: bool = False
    sinks: bool = False
    gated: bool = False
    value_width: Size | None = None
    shared_projection: bool = False

    @property
    def _value_width(self) -> int:
        return self.head_width if self.value_width is None else self.value_width

    def _widths(self, share: Share) -> tuple[Array, Array, Array, Array]:
        """Return (n,) widths of queries, of their results, of keys and of values on an NPU."""
        heads, pairs = self.heads / share.tp, share.heads(self.kv_heads)
        return heads * self.head_width, heads * self._value_width, pairs * self.head_width, pairs * self._value_width

    @property
    def vectors(self) -> int:
        """Logits of sinks."""
        return self.heads * self.sinks

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return queries with keys and values, and the way out."""
        queries, results, keys, values = self._widths(share)
        width = queries + results * self.gated + keys + values * (not self.shared_projection)
        return (
            Matrix(n=width, k=self.hidden, biased=self.biased),
            Matrix(n=self.hidden, k=results, biased=self.biased),
        )

    def cores(self, share: Share, sequence: int) -> tuple[Core, ...]:
        """Return the attention of its heads."""
        seen = attended(sequence, self.window, chunked=self.chunked)
        slides = self.window is not None and self.window < sequence and not self.chunked
        return (Attention(self.heads / share.tp, self.head_width + self._value_width, sequence, seen, slides),)

    def tensors(self, share: Share) -> tuple[Kept, ...]:
        """Return queries, keys and values, the gates of results, and results, which the way out keeps, too."""
        queries, results, keys, values = self._widths(share)
        return Kept(queries + results * self.gated + keys + values), Kept(results, product=True, core=True)

    def outputs(self, share: Share) -> tuple[Array, ...]:
        """Return queries with their gates, keys, values, and the way out, a product each."""
        queries, results, keys, values = self._widths(share)
        pairs = (keys,) if self.shared_projection else (keys, values)
        return queries + results * self.gated, *pairs, self.hidden / share.sequence

    def moved(self, share: Share) -> tuple[Array, Array]:
        """Return what a gate of results reads and writes."""
        width = self.heads / share.tp * self._value_width * self.gated
        return 6.0 * width, 10.0 * width

    def cache(self, share: Share, tokens: Array, cell: Cell) -> Array:
        """Return the keys and values of each token that one attends to yet."""
        tokens = tokens if self.window is None else np.minimum(tokens, self.window)
        widths = self.head_width + self._value_width
        return tokens * share.heads(self.kv_heads) * (widths * cell.element + 2.0 * cell.scale)

    def step(self, share: Share, context: Array, cell: Cell) -> StepWork:
        """Return the scores of what a token sees of the context, and the sum of its values: half a chunk on average."""
        if self.window is not None:
            beyond = self.window / 2.0 if self.chunked else float(self.window)
            context = np.where(context > self.window, beyond, context)
        flop = 2.0 * context * (self.heads / share.tp) * (self.head_width + self._value_width)
        return StepWork(flop, self.cache(share, context, cell))

    def gathered(self, share: Share, tokens: Array, sequences: Array, npus: Array) -> Array:  # noqa: ARG002 - by tokens
        """Return the keys and values of each token, of 2 bytes."""
        return 2.0 * tokens * (self.head_width + self._value_width) * share.heads(self.kv_heads)

    @property
    def exchanged_heads(self) -> tuple[int, ...]:
        """Heads of queries, and those of keys and values."""
        return self.heads, self.kv_heads

    def exchanged(self, share: Share) -> tuple[Array, Array]:
        """Return queries, keys and values, and then the results, of 2 bytes."""
        queries, results, keys, values = self._widths(share)
        return 2.0 * (queries + keys + values), 2.0 * results


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

    heads: Size
    query_rank: Size | None
    kv_rank: Size
    nope_width: Size
    rope_width: Size
    value_width: Size

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
        return (Attention(self.heads / share.tp, widths, sequence, float(sequence)),)

    def tensors(self, share: Share) -> tuple[Kept, ...]:
        """Return queries, keys, values and results of each head, and narrow layers before and after their norms."""
        heads, ranks = np.maximum(self.heads / share.tp, 1.0), (self.query_rank or 0) + self.kv_rank
        return (
            Kept(heads * (2 * self.key_width + self.value_width), modules=(LATENT_UP,)),
            Kept(heads * self.value_width, product=True, core=True),
            Kept(ranks),
            Kept(ranks, activation=False, product=True),
        )

    def again(self, share: Share, module: str) -> tuple[tuple[Matrix, ...], Array]:
        """Return the ways up of queries, keys and values."""
        return (self.matrices(share)[2:4], 0.0) if module == LATENT_UP else super().again(share, module)

    def outputs(self, share: Share) -> tuple[Array, ...]:
        """Return the ways of queries down and up, those of keys and values, and the way out."""
        heads, down = self.heads / share.tp, () if self.query_rank is None else (float(self.query_rank),)
        pairs = float(self.kv_rank + self.rope_width), heads * (self.nope_width + self.value_width)
        return *down, heads * self.key_width, *pairs, self.hidden / share.sequence

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

    @property
    def exchanged_heads(self) -> tuple[int, ...]:
        """Heads of queries, for each of which keys and values are made before attention."""
        return (self.heads,)

    def exchanged(self, share: Share) -> tuple[Array, Array]:
        """Return queries, keys and values of each head, and then the results, of 2 bytes."""
        heads = self.heads / share.tp
        return 2.0 * heads * (2 * self.key_width + self.value_width), 2.0 * heads * self.value_width


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
        seen = attended(sequence, self.top_k)
        index = Scan(work=float(sequence) * self.index_heads * self.index_width, moved=4.0 * sequence)
        return Attention(self.heads / share.tp, widths, sequence, seen), index

    def tensors(self, share: Share) -> tuple[Kept, ...]:
        """Return those of latent attention, and queries and keys of the index."""
        return *super().tensors(share), Kept((self.index_heads + 1.0) * self.index_width)

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

    @property
    def exchanged_heads(self) -> tuple[int, ...]:
        """Nothing: each head needs the index of the whole sequence."""
        return ()
