"""Times of kernels on a made-up accelerator of round numbers: each formula worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evo_libra.network.catalog.accelerator import Accelerator, AttentionConstants, DecodeConstants, GemmConstants
from evo_libra.workload.models.kernels import Kernels, Product, scaled

NPU = Accelerator(
    name="round", peak={"bf16": 100e12, "fp8": 200e12, "mxfp8": 200e12}, memory_capacity=80e9, memory_bandwidth=1e12,
    gemm={
        "bf16": GemmConstants(plateau=0.8, fixed_us=3.0),
        "fp8": GemmConstants(plateau=0.5, fixed_us=4.0, quantisation=5.0),
        "mxfp8": GemmConstants(plateau=0.5, fixed_us=4.0, quantisation=3.0),
    },
    decode=DecodeConstants(bandwidth=0.5, fixed_us=1.0),
    attention=AttentionConstants(plateau=0.6, half_tokens=1000.0, backward=0.5),
    ports={}, port_bandwidth={}, bus={}, power=None, price=None, sources={},
)  # fmt: skip
KERNELS = Kernels(NPU, gemm_factor=0.5, memory_factor=0.25, gradient_bytes=4)
"""Products run at 100e12 x 0.8 x 0.5 = 40e12 FLOP/s, element-wise kernels move 1e12 x 0.25 = 0.25e12 B/s."""


def times(product: Product) -> list[float]:
    return [float(np.ravel(one)[0]) for one in (product.forward, product.inputs, product.weights)]


def test_a_large_product_takes_its_flop() -> None:
    # T = 2 m n k / rate + fixed, for the product and both of its gradients: 2 x 4000^3 / 40e12 = 3.2 ms, and 3 us.
    found = KERNELS.product(4000.0, 4000.0, 4000.0, "bf16")
    assert times(found) == pytest.approx([3.203e-3] * 3, rel=1e-12)
    assert float(found.backward) == pytest.approx(6.406e-3, rel=1e-12)


def test_a_thin_product_takes_its_bytes() -> None:
    # m 1, n 2000, k 3000: forwards 2 m k + 2 k n + 2 m n = 6e3 + 12e6 + 4e3 bytes; the gradient of the input as many;
    # the gradient of the weight reads both and adds to 6e6 gradients of 4 bytes: 6e3 + 4e3 + 48e6.
    found = KERNELS.product(1.0, 2000.0, 3000.0, "bf16")
    bytes_ = np.array([12.01e6, 12.01e6, 48.01e6])
    assert times(found) == pytest.approx((bytes_ / 0.25e12 + 3e-6).tolist(), rel=1e-12)


def test_a_product_in_8_bits_quantises_its_inputs() -> None:
    # As before with operands of 1 byte and outputs of 2: 3e3 + 6e6 + 2 x 2e3, and 2e3 + 6e6 + 2 x 3e3 backwards, and
    # 3e3 + 2e3 + 48e6. Quantising moves 5 bytes for each element: 5 x 3e3 and 5 x 2e3, at 1e12 B/s.
    found = KERNELS.product(1.0, 2000.0, 3000.0, "fp8")
    bytes_, quantised = np.array([6.007e6, 6.008e6, 48.005e6]), np.array([15e3, 10e3, 0.0]) / 1e12
    assert times(found) == pytest.approx((bytes_ / 0.25e12 + quantised + 4e-6).tolist(), rel=1e-12)


def test_a_product_with_scales_of_blocks_reads_them_too() -> None:
    # 32 elements share a scale of a byte, m 32, n 2048, k 3200: operands of 33/32 bytes, outputs of 2. Forwards
    # 105.6e3 + 6758.4e3 + 2 x 65.536e3 bytes, and 3 x 102.4e3 of the quantisation at 1e12 B/s.
    found = KERNELS.product(32.0, 2048.0, 3200.0, "mxfp8")
    forward = (105.6e3 + 6758.4e3 + 131.072e3) / 0.25e12 + 307.2e3 / 1e12 + 4e-6
    assert times(found)[0] == pytest.approx(forward, rel=1e-12)


def test_a_forward_pass_reads_weights_of_their_own_precision() -> None:
    # Weights of half a byte: 6e3 + 0.5 x 6e6 + 4e3 forwards; the gradient of the input has those of the product, 2.
    found = Kernels(NPU, 0.5, 0.25, 4, weight_bytes=0.5).product(1.0, 2000.0, 3000.0, "bf16")
    assert times(found)[:2] == pytest.approx([3.01e6 / 0.25e12 + 3e-6, 12.01e6 / 0.25e12 + 3e-6], rel=1e-12)


def test_times_of_flop_bytes_and_inner_size_are_joined_by_a_norm() -> None:
    # m 1,000, n 2,000, k 500: 2e9 FLOP at 100e12 x 0.8 x 0.5 take 50 us; 2 x (0.5e6 + 1e6 + 2e6) = 7e6 bytes at half
    # of 1e12 B/s 14 us; 500 steps of 20 ns 10 us: root of 2,500 + 196 + 100, and 3 us. The gradient of the input walks
    # along n, which is split beyond 800: 16 us. That of the weight walks along m, split as well, and moves
    # 2 x (0.5e6 + 2e6) + 8 x 1e6 bytes: 26 us.
    own = GemmConstants(plateau=0.8, bandwidth=0.5, k_step_ns=20.0, split_k=800.0, exponent=2.0, fixed_us=3.0)
    found = Kernels(replace(NPU, gemm={"bf16": own}), 0.5, 0.25, 4).product(1000.0, 2000.0, 500.0, "bf16")
    squares = np.array([2500 + 14**2 + 10**2, 2500 + 14**2 + 16**2, 2500 + 26**2 + 16**2])
    assert times(found) == pytest.approx(((np.sqrt(squares) + 3) * 1e-6).tolist(), rel=1e-12)


@pytest.mark.parametrize(("exponent", "us"), [(1.0, 60.0), (3.0, 41850.0 ** (1 / 3)), (None, 33.0)])
def test_a_larger_exponent_is_nearer_to_the_longest_of_the_times(exponent: float | None, us: float) -> None:
    # 17 us of FLOP, 10 us of bytes and 33 us of 3,300 steps: 4,913 + 1,000 + 35,937 = 41,850 in cubes.
    own = GemmConstants(plateau=0.8, k_step_ns=10.0, exponent=exponent, fixed_us=3.0)
    assert float(own.joined(17e-6, 10e-6, 3300.0)) == pytest.approx(us * 1e-6, rel=1e-12)


def test_fused_attention_computes_scores_again() -> None:
    # Rate 100e12 x 0.6 x 3000 / (3000 + 1000) = 45e12; 45e9 FLOP take 1 ms. Backwards 2.5 times at half the rate: 5 ms
    # (Dao 2023, FlashAttention-2, section 2.3: 5 products for 2).
    forward, backward = KERNELS.fused_attention(45e9, 3000)
    assert [float(forward), float(backward)] == pytest.approx([1.003e-3, 5.003e-3], rel=1e-12)


def test_narrow_heads_are_slower() -> None:
    # With 0.8 at heads of 64 those of 32 have 0.64 of the rate of 45e12, and those of 256 all of it.
    narrow = NPU.attention_constants().model_copy(update={"narrow": 0.8})
    kernels = replace(KERNELS, accelerator=replace(NPU, attention=narrow))
    seconds = [float(kernels.fused_attention(45e9, 3000, width)[0]) for width in (32, 64, 128, 256)]
    assert seconds == pytest.approx([1e-3 / 0.64 + 3e-6, 1e-3 / 0.8 + 3e-6, 1.003e-3, 1.003e-3], rel=1e-12)


def test_attention_walks_through_the_tokens_of_a_head() -> None:
    # 1 ms as above, and 3,000 tokens of 20 ns are 60 us; backwards 2.5 times 1.06 ms at half the rate. A kernel of half
    # the rate takes 2.12 ms. A window that lets a token attend to 1,500 of its twice 3,000 tokens, with 500 at edges:
    # 45e9 / 60e12 x (1500 + 1000 + 500) / 1500 = 1.5 ms, and 1,500 tokens of 20 ns.
    own = NPU.attention_constants().model_copy(update={"token_ns": 20.0, "edge_tokens": 500.0})
    kernels = replace(KERNELS, accelerator=replace(NPU, attention=own))
    found = kernels.fused_attention(45e9, 3000.0)
    slow = replace(kernels, attention_factor=0.5).fused_attention(45e9, 3000.0)[0]
    within = kernels.fused_attention(45e9, 1500.0, windowed=True)[0]
    assert [float(one) for one in (*found, slow, within)] == pytest.approx([1.063e-3, 5.303e-3, 2.123e-3, 1.533e-3])


def test_unfused_attention_writes_its_scores() -> None:
    # Batched products run at 0.75 x 40e12 = 30e12; 30e9 FLOP take 1 ms, twice as long backwards. A million scores move
    # 9 bytes forwards (4 scaled, masked and normalised, 5 dropped out) and 11 backwards: 36 and 44 us.
    # Two products forwards, four backwards, each with 3 us.
    forward, backward = KERNELS.unfused_attention(30e9, 1e6)
    assert [float(forward), float(backward)] == pytest.approx([1e-3 + 36e-6 + 6e-6, 2e-3 + 44e-6 + 12e-6], rel=1e-12)


@pytest.mark.parametrize(("work", "moved", "seconds"), [(30e9, 1e6, 1e-3), (30e6, 1e9, 4e-3)])
def test_batched_products_take_the_longer_of_flop_and_bytes(work: float, moved: float, seconds: float) -> None:
    assert float(KERNELS.batched(work, moved)) == pytest.approx(seconds + 3e-6, rel=1e-12)


def test_products_add_up_and_multiply() -> None:
    one, two = (Product(np.array([a]), np.array([10.0 * a]), np.array([100.0 * a])) for a in (1.0, 2.0))
    assert times(one + two) == [3.0, 30.0, 300.0]
    assert times(two * 3.0) == [6.0, 60.0, 600.0]
    assert scaled(one.forward, 1.0) is one.forward
    assert scaled(one.forward, np.array([1.0])) is not one.forward
