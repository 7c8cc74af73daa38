"""The embedding and the head: their figures worked by hand."""

from __future__ import annotations

from evo_libra.workload.models.layers.ends import Embedding, Head
from evo_libra.workload.models.layers.sublayer import WHOLE, Share


def test_an_embedding_has_rows_for_tokens_and_positions_and_no_product() -> None:
    """1,000 x 64 weights, and 128 x 64 of positions."""
    assert Embedding(64, 1000).parameters() == 64_000
    assert Embedding(64, 1000, positions=128).parameters() == 72_192
    assert [one.flop for one in Embedding(64, 1000).matrices(WHOLE)] == [0]


def test_a_head_has_a_logit_of_each_token() -> None:
    """A product of (n, k) = (1,000, 64), split over 4 NPUs by its outputs."""
    assert Head(64, 1000).parameters() == 64_000
    (matrix,) = Head(64, 1000).matrices(Share(tp=4.0))
    assert (matrix.n, matrix.k, matrix.flop) == (250, 64, 2 * 250 * 64)


def test_the_loss_moves_20_bytes_of_a_logit() -> None:
    """Forwards it is written, read for the maximum and read for the sum; backwards it is read, its gradient written."""
    assert Head(64, 1000).moved(WHOLE) == (12_000, 8_000)
    assert sum(Head(64, 1000).moved(Share(tp=4.0))) == 20 * 250
    assert (Head(64, 1000).logits(WHOLE), Head(64, 1000).logits(Share(tp=4.0))) == (1_000, 250)
