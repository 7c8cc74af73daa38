"""DeepSeek-V3's training: the row, and how far the program is from it, at most."""

from __future__ import annotations

from evo_libra.validation.deepseek import DEEPSEEK
from evo_libra.validation.source import Basis


def test_the_row_is_within_twelve_percent_without_a_fit() -> None:
    (source,) = DEEPSEEK
    (row,) = source.rows()
    # 180,000 hours of H800 for 1T tokens are 3.7 days of 2,048.
    assert abs(row.published - 180_000 / 2048 / 24) < 0.05
    assert abs(row.error) <= 0.12
    assert source.basis is Basis.UNSEEN
