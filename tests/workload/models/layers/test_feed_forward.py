"""Feed-forward blocks and experts: their figures worked by hand, for small sizes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evo_libra.workload.models.layers.feed_forward import FeedForward, RoutedFeedForward
from evo_libra.workload.models.layers.sublayer import WHOLE, Matrix, Share

GATED = FeedForward(hidden=64, width=160, gated=True)
PLAIN = FeedForward(hidden=64, width=256, gated=False, biased=True)
ROUTED = RoutedFeedForward(hidden=64, width=32, count=8, chosen=2, shared_width=48, gated=True)


def figures(matrices: tuple[Matrix, ...]) -> list[tuple[float, ...]]:
    return [(float(one.n), float(one.k), float(one.rows), float(one.count)) for one in matrices]


def test_products_of_a_feed_forward_block() -> None:
    """Up with the gate n = 2 x 160, k = 64, down n = 64, k = 160; without a gate n = 256. Over 4 NPUs a quarter."""
    assert figures(GATED.matrices(WHOLE)) == [(320, 64, 1, 1), (64, 160, 1, 1)]
    assert figures(PLAIN.matrices(WHOLE)) == [(256, 64, 1, 1), (64, 256, 1, 1)]
    assert figures(GATED.matrices(Share(tp=4.0))) == [(80, 64, 1, 1), (64, 40, 1, 1)]


def test_weights_of_a_feed_forward_block() -> None:
    """3 x 64 x 160 = 30,720; without a gate 2 x 64 x 256 and biases of 256 and 64: 33,088."""
    assert (GATED.parameters(), PLAIN.parameters()) == (30_720, 33_088)


def test_activations_of_a_feed_forward_block() -> None:
    """SwiGLU reads gate and input and writes an output, 2 bytes each: 6 x 160; the gradient 10 x 160. GELU: 4 and 6."""
    assert GATED.moved(WHOLE) == (960, 1_600)
    assert PLAIN.moved(WHOLE) == (1_024, 1_536)
    assert (GATED.kept(WHOLE), PLAIN.kept(WHOLE), GATED.kept(Share(tp=4.0))) == (960, 1_024, 240)
    # Products of 8 bits keep the output of the activation in a byte: 5 x 160 and 3 x 256.
    assert (GATED.kept(WHOLE, 1.0), PLAIN.kept(WHOLE, 1.0)) == (800, 768)
    assert (GATED.per_token, GATED.experts, GATED.reduces) == (0, 1, True)


def test_products_of_experts() -> None:
    """Router (8, 64); 8 experts of (64, 64) and (64, 32), to each of which 2/8 of the tokens come; shared (96, 64)...

    Over tp 2 and ep 4: an NPU routes half of its group's tokens, has 2 experts, and each of them gets the tokens of
    4 NPUs, which share them with another one: 4/2 x 1/4 = 1/2 of an NPU's tokens.
    """
    assert figures(ROUTED.matrices(WHOLE)) == [
        (8, 64, 1, 1), (64, 64, 0.25, 8), (64, 32, 0.25, 8), (96, 64, 1, 1), (64, 48, 1, 1)
    ]  # fmt: skip
    split = ROUTED.matrices(Share(tp=2.0, ep=4.0, sequence=2.0))
    assert figures(split) == [
        (8, 64, 0.5, 1), (64, 64, 0.5, 2), (64, 32, 0.5, 2), (48, 64, 1, 1), (64, 24, 1, 1)
    ]  # fmt: skip
    assert [one.routed for one in split] == [False, True, True, False, False]
    assert split[0].precision == "bf16"


def test_weights_of_experts() -> None:
    """Router 512, experts 8 x 3 x 64 x 32 = 49,152, shared 3 x 64 x 48 = 9,216; a token passes 2 of 8: 12,288."""
    assert ROUTED.parameters() == 512 + 49_152 + 9_216
    assert ROUTED.parameters(active=True) == 512 + 12_288 + 9_216


def test_activations_and_traffic_of_experts() -> None:
    """2 copies of 8 x 64 bytes there and back, 2 x 6 x 32 of activations and 6 x 48 of the shared expert: 1,696.

    Backwards 1,024 + 2 x 10 x 32 + 10 x 48 = 2,144. Kept: 2 (4 x 64 + 6 x 32) + 6 x 48 = 1,184.
    """
    assert ROUTED.moved(WHOLE) == (1_696, 2_144)
    assert ROUTED.kept(WHOLE) == 1_184
    # Products of 8 bits: 2 x 3 x 64 of copies, 2 x 5 x 32 and 5 x 48; with inputs of activations 2 x 3 x 32 and 3 x 48.
    assert ROUTED.kept(WHOLE, 1.0) == 384 + 320 + 240
    assert ROUTED.kept(WHOLE, 1.0, 1.0) == 384 + 192 + 144
    # Biases do not commute with the router's weight: the outputs, 2 x 2 x 64 bytes, always wait.
    assert [one.width for one in ROUTED.tensors(WHOLE) if one.outputs] == [128]
    assert not any(one.outputs for one in replace(ROUTED, biased=True).tensors(WHOLE))
    assert (ROUTED.experts, ROUTED.per_token, ROUTED.reduces) == (8, 2, True)
    assert not RoutedFeedForward(64, 32, 8, 2, 0, gated=True).reduces


def test_tokens_read_the_experts_that_they_come_to() -> None:
    """Of 8 experts, 3 tokens that choose 2 each miss one with (3/4)^3: 1 - 27/64 = 37/64 are read."""
    expert = ROUTED.matrices(WHOLE)[1]
    assert expert.part_read(3.0) == pytest.approx(37 / 64, rel=1e-15)
    assert expert.part_read(0.1) == 0.25  # less than a token is one
