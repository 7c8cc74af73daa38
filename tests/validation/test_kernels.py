"""Seconds of kernels that are measured alone, by hand."""

from __future__ import annotations

import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.validation.kernels import decode_seconds, product_seconds
from evo_libra.validation.sources import chosen
from evo_libra.workload.models.kernels import Kernels
from evo_libra.workload.models.layers.attention import attended

WINDOW = 128
WINDOW_ROWS = (
    (8, 10240, 96, 5700.4), (4, 10240, 96, 2702.2), (32, 4096, 96, 8926.4), (2, 4096, 96, 593.4), (1, 3072, 96, 323),
    (16, 2048, 96, 2032), (16, 2048, 96, 2013), (8, 2048, 96, 1217.7), (4, 2048, 96, 551.2), (8, 1536, 96, 781.1),
    (32, 1024, 96, 2267.2), (2, 1024, 96, 141.3), (1, 1024, 96, 93.8), (4, 16384, 64, 2997.9), (2, 16384, 64, 1546.8),
    (1, 16384, 64, 1070.8), (8, 12288, 64, 4289.6), (1, 10240, 64, 680.5), (1, 10240, 64, 677.1),
    (1, 10240, 64, 682.1), (8, 3072, 64, 1019.2), (64, 2048, 64, 5528.6), (8, 2048, 64, 805), (2, 1536, 64, 178),
    (1, 1024, 64, 66.1), (4, 4096, 48, 570.1), (2, 4096, 48, 340.2), (8, 3072, 48, 790.8), (4, 2048, 48, 287.8),
    (2, 2048, 48, 167.7), (4, 1536, 48, 249.9), (2, 1536, 48, 130.2), (128, 1024, 48, 3782.2), (4, 1024, 48, 136.4),
    (8, 8192, 40, 1886.3), (1, 8192, 40, 356.2), (16, 6144, 40, 2863.3), (4, 6144, 40, 696), (8, 4096, 40, 900.2),
    (16, 3072, 40, 1298.7), (4, 3072, 40, 357.9), (4, 2048, 40, 245.5), (2, 2048, 40, 143.5), (8, 1536, 40, 349.9),
    (4, 1536, 40, 188.2), (2, 1536, 40, 110.6), (128, 1024, 40, 3004.1), (8, 1024, 40, 217), (8, 12288, 32, 2305.7),
    (4, 12288, 32, 1068.4), (2, 12288, 32, 586.9), (2, 6144, 32, 338.2), (2, 6144, 32, 311.6), (16, 4096, 32, 1486.3),
    (32, 3072, 32, 2136.1), (16, 3072, 32, 1029.1), (2, 3072, 32, 166.9), (1, 1536, 32, 69.8), (2, 1024, 32, 59.3),
    (4, 12288, 24, 887.2), (2, 3072, 24, 131.4), (1, 3072, 24, 97.9), (64, 2048, 24, 2153.3), (64, 1536, 24, 1590.6),
    (16, 1024, 24, 258), (2, 1024, 24, 51.6), (2, 10240, 16, 270), (4, 8192, 16, 377), (2, 8192, 16, 215.9),
    (16, 6144, 16, 1142.2), (32, 4096, 16, 1585.8), (16, 4096, 16, 755.2), (8, 4096, 16, 373.5),
    (64, 2048, 16, 1401.9), (4, 2048, 16, 121.6), (2, 12288, 12, 239.3), (16, 6144, 12, 878.3), (32, 3072, 12, 870.8),
    (1, 1536, 12, 41), (8, 1024, 12, 84.5), (2, 10240, 8, 142.6), (4, 8192, 8, 209.9), (8, 4096, 8, 221.7),
    (2, 4096, 8, 73.5), (16, 3072, 8, 277.2), (1, 3072, 8, 47.1), (32, 1536, 8, 293.5), (32, 1024, 8, 176.2),
    (2, 16384, 4, 125.8), (8, 10240, 4, 272), (16, 6144, 4, 320.6), (2, 3072, 4, 38.2), (64, 2048, 4, 394.5),
    (16, 2048, 4, 111.6), (64, 1024, 4, 185.2), (16, 1024, 4, 64.2), (4, 10240, 2, 79.4), (16, 1536, 2, 56.8),
    (32, 1024, 2, 64.9), (4, 2048, 1, 25.8),
)  # fmt: skip
"""Batch, tokens, heads of 64 and us of attention in a window on an H100, the 100 rows that were kept from the fit
(TensorRT-LLM 1.2 measured by ai-dynamo/aiconfigurator, commit 095f58a, 2025)."""


def test_attention_in_a_window_is_as_fast_as_measured() -> None:
    kernels = Kernels(accelerator("h100-80gb"), 1.0, 1.0, 2)
    errors = [
        float(kernels.fused_attention(2.0 * b * tokens * seen * heads * 64, seen, 64, windowed=True)[0]) * 1e6 / us - 1
        for b, tokens, heads, us in WINDOW_ROWS
        for seen in [attended(tokens, WINDOW)]
    ]
    assert sum(map(abs, errors)) / len(errors) < 0.145


def test_products_of_few_rows_read_their_weights() -> None:
    # 16 rows by 8192 x 8192 on an H100 as serving has them: 0.85 of 3.35 TB/s and 3.5 us.
    moved = 2 * (16 * 8192 + 8192 * 8192 + 16 * 8192)
    seconds = moved / (0.85 * 3350e9) + 3.5e-6
    assert decode_seconds(accelerator("h100-80gb"), 16, 8192, 8192) == pytest.approx(seconds)


def test_a_product_alone_has_a_kernel_that_quantises_its_input() -> None:
    # 16 rows by 8192 x 8192 in fp8 on an H100: 0.705 of 1,979 TFLOP/s, 0.826 of 3.35 TB/s and 0.553 ns of each of 4,650
    # elements of k, whose squares add up; then 10.4 bytes an element of the input, and 14.2 us.
    compute = 2 * 16 * 8192 * 8192 / (0.705 * 1979e12)
    memory = (16 * 8192 + 8192 * 8192 + 2 * 16 * 8192) / (0.826 * 3350e9)
    steps = 4650 * 0.553e-9
    seconds = (compute**2 + memory**2 + steps**2) ** 0.5 + 10.4 * 16 * 8192 / 3350e9 + 14.2e-6
    assert product_seconds(accelerator("h100-80gb"), "fp8", 16, 8192, 8192) == pytest.approx(seconds)


def test_fp8_products_of_few_rows_are_as_fast_as_measured() -> None:
    (source,) = chosen(["decode-products-fp8-h100-80gb"])
    errors = [abs(row.error) for row in source.rows()]
    assert len(errors) == 80
    assert sum(errors) / len(errors) < 0.03
    assert max(errors) < 0.12


@pytest.mark.parametrize(("name", "mean"), [("l40s-48gb", 0.08), ("rtx-pro-6000", 0.045)])
def test_attention_that_no_fit_has_seen_is_as_fast_as_measured(name: str, mean: float) -> None:
    (source,) = chosen([f"attention-{name}"])
    errors = [abs(row.error) for row in source.rows()]
    assert len(errors) == 100
    assert sum(errors) / len(errors) < mean


@pytest.mark.parametrize("name", ["a100-80gb", "h100-80gb", "b200"])
def test_collectives_that_no_fit_has_seen_are_as_fast_as_measured(name: str) -> None:
    (source,) = chosen([f"collectives-{name}"])
    errors = [abs(row.error) for row in source.rows()]
    assert len(errors) > 40
    assert sum(errors) / len(errors) < 0.15
