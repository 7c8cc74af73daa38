"""Kinds of attention: their figures worked by hand, for small sizes."""

from __future__ import annotations

import pytest

from evo_libra.workload.models.layers.attention import GroupedAttention, MultiheadLatentAttention
from evo_libra.workload.models.layers.sublayer import WHOLE, Attention, Cell, Matrix, Share

GROUPED = GroupedAttention(hidden=64, heads=8, kv_heads=2, head_width=16)
LATENT = MultiheadLatentAttention(
    hidden=64, heads=4, query_rank=24, kv_rank=16, nope_width=8, rope_width=4, value_width=10
)
BF16, INT8 = Cell(2.0, 0.0), Cell(1.0, 4.0)


def sizes(matrices: tuple[Matrix, ...]) -> list[tuple[float, float]]:
    return [(float(one.n), float(one.k)) for one in matrices]


def test_products_of_grouped_attention() -> None:
    """Queries, keys and values: n = d (h + 2 k) = 16 (8 + 4) = 192, k = 64. The way out: n = 64, k = h d = 128.

    Over 4 NPUs: d (h/4 + 2 max(k/4, 1)) = 16 (2 + 2) = 64, as each has a copy of a head of keys; out k = 32.
    """
    assert sizes(GROUPED.matrices(WHOLE)) == [(192, 64), (64, 128)]
    assert sizes(GROUPED.matrices(Share(tp=4.0))) == [(64, 64), (64, 32)]


def test_weights_of_grouped_attention() -> None:
    """192 x 64 + 64 x 128 = 20,480 weights; with biases 192 + 64 more."""
    assert GROUPED.parameters() == GROUPED.parameters(active=True) == 20_480
    biased = GroupedAttention(hidden=64, heads=8, kv_heads=2, head_width=16, biased=True)
    assert biased.parameters() == 20_480 + 256


def test_work_among_tokens_of_grouped_attention() -> None:
    """Causal: a token attends to s/2 others: 2 products of 2 h d s/2 FLOP = 2 h d s = 2 x 8 x 16 x 100 = 25,600."""
    (core,) = GROUPED.cores(WHOLE, 100)
    assert core == Attention(heads=8.0, widths=32, sequence=100, attended=100.0)
    assert core.work == 25_600
    # 4 bytes of a head for the sum of exponentials; 5 of a score where they are kept: 5 x 100 x 8.
    assert (core.kept(fused=True), core.kept(fused=False)) == (32, 4_000)


def test_activations_of_grouped_attention() -> None:
    """2 bytes of queries and results (2 x 8 x 16) and of keys and values (2 x 2 x 16): 2 x 320 = 640 for a token."""
    assert GROUPED.kept(WHOLE) == 640
    assert GROUPED.kept(Share(tp=4.0)) == 2 * (2 * 2 * 16 + 2 * 1 * 16)
    # Products of 8 bits: the way out keeps a copy of results of a byte each, 8 x 16.
    assert GROUPED.kept(WHOLE, 1.0) == 640 + 128


def test_cache_of_grouped_attention() -> None:
    """Keys and values of 2 heads of 16, 2 bytes each: 128 bytes of a token; in int8 2 x 2 x (16 + 4) = 80."""
    assert GROUPED.cache(WHOLE, 10, BF16) == 1_280
    assert GROUPED.cache(WHOLE, 10, INT8) == 800
    assert GROUPED.cache(Share(tp=8.0), 10, BF16) == 640  # a head is copied


def test_a_token_reads_the_cache_of_its_context() -> None:
    """4 h d FLOP for each token of the context: 4 x 8 x 16 x 10 = 5,120; the bytes are those of the cache."""
    step = GROUPED.step(WHOLE, 10.0, BF16)
    assert (step.flop, step.moved) == (5_120, 1_280)


def test_traffic_of_grouped_attention() -> None:
    """2 bytes of the keys and values of each token, 2 x 2 x 16 of them: 128 bytes; the outputs are reduced."""
    assert GROUPED.gathered(WHOLE, 10.0, 1.0, 2.0) == 1_280
    assert GROUPED.reduces


def test_products_of_latent_attention() -> None:
    """Out (64, 4 x 10); down (24 + 16 + 4, 64), which is not split; up (4 x 12, 24) and (4 x 18, 16)."""
    assert sizes(LATENT.matrices(WHOLE)) == [(64, 40), (44, 64), (48, 24), (72, 16)]
    assert sizes(LATENT.matrices(Share(tp=2.0))) == [(64, 20), (44, 64), (24, 24), (36, 16)]
    # In decoding keys (4 x 8) and values (4 x 10) are apart.
    assert sizes(LATENT.step_matrices(WHOLE))[3:] == [(32, 16), (40, 16)]


def test_queries_of_latent_attention_may_have_no_narrow_layer() -> None:
    """Queries then come from the width of the model: (4 x 12, 64), and down there are 16 + 4 columns."""
    plain = MultiheadLatentAttention(64, 4, None, 16, 8, 4, 10)
    assert sizes(plain.matrices(WHOLE)) == [(64, 40), (20, 64), (48, 64), (72, 16)]


def test_weights_of_latent_attention() -> None:
    """2,560 + 2,816 + 1,152 + 1,152 and norms of 24 and 16: 7,720."""
    assert LATENT.parameters() == 7_720


def test_work_cache_and_traffic_of_latent_attention() -> None:
    """A token of 100: (12 + 10) x 4 x 100 = 8,800 FLOP. It keeps 2 x 2 x 4 x 22 = 352 bytes, and the
    narrow layers of 24 and 16 before and after their norms, 2 x 2 x 40 = 160.

    The cache has one narrow key of 16 + 4, 40 bytes; a step of 10 tokens has 2 x 10 x 4 x (2 x 16 + 4) = 2,880 FLOP.
    """
    (core,) = LATENT.cores(WHOLE, 100)
    assert core.work == 8_800
    assert LATENT.kept(WHOLE) == 352 + 160
    assert LATENT.cache(Share(tp=4.0), 10.0, BF16) == 400
    assert LATENT.cache(WHOLE, 10.0, INT8) == 240
    step = LATENT.step(WHOLE, 10.0, BF16)
    assert (step.flop, step.moved) == (2_880, 400)
    assert LATENT.gathered(Share(tp=4.0), 10.0, 1.0, 2.0) == 400


@pytest.mark.parametrize("tokens", [1.0, 7.0])
def test_weights_that_are_no_experts_are_read_whole(tokens: float) -> None:
    assert [one.part_read(tokens) for one in GROUPED.matrices(WHOLE)] == [1.0, 1.0]
