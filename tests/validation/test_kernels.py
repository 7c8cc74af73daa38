"""Seconds of kernels that are measured alone, by hand."""

from __future__ import annotations

import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.validation.kernels import product_seconds
from evo_libra.validation.sources import chosen


@pytest.mark.parametrize(("precision", "one", "few_us"), [("bf16", 2, 3.5), ("fp8", 1, 3.5 + 11)])
def test_products_of_few_rows_read_their_weights(precision: str, one: int, few_us: float) -> None:
    # 16 rows by 8192 x 8192 on an H100: 0.85 of 3.35 TB/s, and a kernel that quantises in fp8, which moves 11
    # bytes an element.
    npu, m, n, k = accelerator("h100-80gb"), 16, 8192, 8192
    moved = one * m * k + one * n * k + 2 * m * n
    quantised = 11 * m * k / 3350e9 if precision == "fp8" else 0.0
    seconds = moved / (0.85 * 3350e9) + quantised + few_us * 1e-6
    assert product_seconds(npu, precision, m, n, k) == pytest.approx(seconds)


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
