"""Windows, sparse attention, recurrent layers and predictors: their figures worked by hand, for small sizes."""

from __future__ import annotations

import pytest

from evo_libra.workload.models.layers.attention import GroupedAttention, SparseLatentAttention, attended
from evo_libra.workload.models.layers.ends import Predictor
from evo_libra.workload.models.layers.recurrent import GatedDelta, SelectiveScan, StateSpace
from evo_libra.workload.models.layers.sublayer import WHOLE, Attention, Cell, Matrix, Scan, Share, StepWork

BF16 = Cell(2.0, 0.0)
WINDOW = GroupedAttention(64, 8, 2, 16, window=4)
CHUNKS = GroupedAttention(64, 8, 2, 16, window=4, chunked=True)
SPARSE = SparseLatentAttention(64, 4, 24, 16, 8, 4, 10, index_heads=2, index_width=6, top_k=4)
MAMBA2 = StateSpace(hidden=64, heads=8, head_width=16, groups=2, state_width=32, chunk=16)
MAMBA = SelectiveScan(hidden=64, width=128, state_width=16, rank=4)
DELTA = GatedDelta(hidden=64, key_heads=2, value_heads=4, key_width=8, value_width=16, chunk=16)
KIMI = GatedDelta(hidden=64, key_heads=4, value_heads=4, key_width=8, value_width=16, gate_rank=8, chunk=16)


def sizes(matrices: tuple[Matrix, ...]) -> list[tuple[float, float]]:
    return [(float(one.n), float(one.k)) for one in matrices]


def test_a_window_of_4_leaves_32_of_50_pairs() -> None:
    """W S - W^2 / 2 = 4 x 10 - 8 = 32 pairs of 10 tokens, twice which for each is 6.4; chunks have 8 + 8 + 2 = 18."""
    assert attended(10, 4) == 6.4
    assert attended(10, 4, chunked=True) == 3.6
    assert attended(4, 4) == attended(4, None) == 4.0
    assert WINDOW.cores(WHOLE, 10) == (Attention(8.0, 32, 10, 6.4, windowed=True),)
    assert CHUNKS.cores(WHOLE, 10) == (Attention(8.0, 32, 10, 3.6),)


def test_a_window_keeps_and_reads_its_tokens_alone() -> None:
    """128 bytes of a token (2 x 2 heads x 16 x 2): at most 4 of them; half a chunk is read of long contexts."""
    assert [float(WINDOW.cache(WHOLE, tokens, BF16)) for tokens in (3.0, 9.0)] == [384, 512]
    step = WINDOW.step(WHOLE, 9.0, BF16)
    assert (float(step.flop), float(step.moved)) == (4 * 8 * 16 * 4, 512)
    step = CHUNKS.step(WHOLE, 9.0, BF16)
    assert (float(step.flop), float(step.moved)) == (4 * 8 * 16 * 2, 256)
    assert WINDOW.gathered(WHOLE, 10.0, 1.0, 2.0) == 1_280  # all keys, as software gathers them


def test_sinks_and_gates_of_attention() -> None:
    """A sink is a logit of each of 8 heads. A gate is as wide as queries: 16 (2 x 8 + 4) = 320 columns."""
    assert GroupedAttention(64, 8, 2, 16, sinks=True).parameters() == 20_480 + 8
    gated = GroupedAttention(64, 8, 2, 16, gated=True)
    assert sizes(gated.matrices(WHOLE)) == [(320, 64), (64, 128)]
    assert gated.kept(WHOLE) == 640 + 2 * 128
    assert gated.moved(WHOLE) == (6 * 128, 10 * 128)


def test_products_and_weights_of_the_index() -> None:
    """Queries (2 x 6, 24), keys with weights of heads (6 + 2, 64); norms of 24, 16 and of keys twice 6."""
    assert sizes(SPARSE.matrices(Share(tp=2.0)))[-2:] == [(12, 24), (8, 64)]
    assert SPARSE.parameters() == 7_720 + 288 + 512 + 12


def test_work_of_sparse_attention() -> None:
    """Of 10 tokens: the best 4 by 4 heads of 2 x 16 + 4, 6.4 x 4 x 36, and an index of 10 x 2 x 6 for all."""
    best, index = SPARSE.cores(WHOLE, 10)
    assert best == Attention(4.0, 36, 10, 6.4)
    assert index == Scan(work=120.0, moved=40.0)
    assert SPARSE.kept(WHOLE) == 512 + 2 * 3 * 6


def test_cache_of_sparse_attention() -> None:
    """40 bytes of a narrow key and 6 + 4 of the index's: 500 for 10 tokens, of which 4 x 40 + 10 x 10 are read."""
    assert SPARSE.cache(WHOLE, 10.0, BF16) == 500
    step = SPARSE.step(WHOLE, 10.0, BF16)
    assert (float(step.flop), float(step.moved)) == (2 * 4 * 4 * 36 + 2 * 10 * 12, 260)
    assert SPARSE.gathered(WHOLE, 10.0, 1.0, 2.0) == 500


def test_products_and_weights_of_a_state_space() -> None:
    """In: 2 x 128 of gates and inputs, 2 x 2 x 32 of B and C, 8 steps: (392, 64); out (64, 128).

    Convolution with biases 5 x (128 + 128), norm 128, 3 x 8 of heads: 1,432.
    """
    assert sizes(MAMBA2.matrices(WHOLE)) == [(392, 64), (64, 128)]
    assert sizes(MAMBA2.matrices(Share(tp=4.0))) == [(64 + 64 + 2, 64), (64, 32)]  # a copy of a group
    assert MAMBA2.parameters() == 392 * 64 + 64 * 128 + 1_432


def test_work_and_state_of_a_state_space() -> None:
    """A state of 128 x 32 = 4,096 elements of 4 bytes, and 3 inputs of 256 channels of 2 bytes: 17,920 bytes.

    C (g N + h P) + 4 h P N = 16 (64 + 128) + 16,384 = 19,456 FLOP; bytes 2 (256 + 128) + 8 x 4,096 / 16 = 2,816.
    """
    assert MAMBA2.cache(WHOLE, 10.0, BF16) == MAMBA2.cache(WHOLE, 1e6, BF16) == 17_920
    assert MAMBA2.cores(WHOLE, 100) == (Scan(19_456.0, 2_816.0),)
    assert MAMBA2.step(WHOLE, 10.0, BF16) == StepWork(6.0 * 4_096, 35_840.0)
    assert MAMBA2.gathered(WHOLE, 10.0, 3.0, 2.0) == 2 * 3 * 4 * 4_096
    # Convolution 4 x 256, gate with norm 6 x 128; kept 2 (5 x 128 + 2 x 128 + 8).
    assert MAMBA2.moved(WHOLE) == (1_792, 3_584)
    assert MAMBA2.kept(WHOLE) == 1_808


def test_figures_of_a_selective_scan() -> None:
    """In (256, 64), steps with B and C (4 + 32, 128), steps (128, 4), out (64, 128).

    Vectors: 128 x (4 taps + 3 + 16) and norms of 4 + 32: 2,980. State 128 x 16: 9 x 2,048 FLOP, cache 8,192 + 768.
    """
    assert sizes(MAMBA.matrices(WHOLE)) == [(256, 64), (36, 128), (128, 4), (64, 128)]
    assert MAMBA.parameters() == 16_384 + 4_608 + 512 + 8_192 + 2_980
    assert MAMBA.cores(WHOLE, 100) == (Scan(18_432.0, 832.0),)
    assert MAMBA.cache(WHOLE, 10.0, BF16) == 8_960
    assert MAMBA.kept(WHOLE) == 2 * (6 * 128 + 36)
    assert MAMBA.moved(WHOLE) == (1_280, 2_560)


def test_products_and_weights_of_the_gated_delta_rule() -> None:
    """Queries and keys 2 x 16, values and gates 2 x 64, rates and decays 2 x 4: (168, 64); out (64, 64).

    Convolution 4 x (32 + 64), norm 16, decays and biases 8: 408.
    """
    assert sizes(DELTA.matrices(WHOLE)) == [(168, 64), (64, 64)]
    assert DELTA.parameters() == 168 * 64 + 4_096 + 408


def test_products_and_weights_of_kimi_delta_attention() -> None:
    """Queries, keys, values 32 + 32 + 64, rates 4 and two narrow layers of 8: (148, 64); up 4 (8 + 16) = 96.

    Convolution 4 x 128, norm 16, a decay of each head, a bias of each channel of keys: 564.
    """
    assert sizes(KIMI.matrices(WHOLE)) == [(148, 64), (96, 8), (64, 64)]
    assert KIMI.parameters() == 148 * 64 + 768 + 4_096 + 564


def test_work_and_state_of_the_gated_delta_rule() -> None:
    """4 heads: 16 (3 x 8 + 2 x 16) within a chunk, 6 x 8 x 16 with the state: 4 (896 + 768) = 6,656 FLOP.

    Bytes 2 (96 + 64) + 8 x 512 / 16 = 576. Cache: 4 x 512 + 2 x 3 x 96.
    """
    assert DELTA.cores(WHOLE, 100) == (Scan(6_656.0, 576.0),)
    assert DELTA.cache(WHOLE, 10.0, BF16) == 2_624
    assert DELTA.step(WHOLE, 10.0, BF16) == StepWork(6.0 * 512, 5_248.0)
    assert DELTA.moved(WHOLE) == (4 * 96 + 6 * 64, 2 * (4 * 96 + 6 * 64))
    assert DELTA.kept(WHOLE) == 2 * (2 * 96 + 3 * 64)


def test_a_predictor_projects_two_states_to_one() -> None:
    """(64, 128) and two norms of 64; over 2 NPUs a half each."""
    assert Predictor(64).parameters() == 8_192 + 128
    assert sizes(Predictor(64).matrices(Share(tp=2.0))) == [(64, 64)]
    assert Predictor(64).kept(WHOLE) == pytest.approx(128)
