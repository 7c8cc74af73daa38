"""Seconds of kernels that are measured alone, by hand."""

from __future__ import annotations

import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.validation.kernels import decode_seconds, product_seconds
from evo_libra.validation.sources import chosen


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


@pytest.mark.parametrize("name", ["a100-80gb", "h100-80gb", "b200"])
def test_collectives_that_no_fit_has_seen_are_as_fast_as_measured(name: str) -> None:
    (source,) = chosen([f"collectives-{name}"])
    errors = [abs(row.error) for row in source.rows()]
    assert len(errors) > 40
    assert sum(errors) / len(errors) < 0.15
