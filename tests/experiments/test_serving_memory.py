"""The study of memories: where a faster one stops to help, and that its page says what it prints."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import serving_memory as study
from common import markdown

PAGE = Path(__file__).parents[2] / "docs" / "studies" / "serving_memory.md"


@pytest.mark.slow
def test_the_page_has_the_tables() -> None:
    head = ("case", "memory", "GB/s", "token [ms]", "over HBM2e", "software [%]")
    assert markdown(head, study.rows()) in PAGE.read_text()
    half = [[case.name, f"{study.half_gain(case):.0f}"] for case in study.CASES]
    assert markdown(("case", "half gain [GB/s]"), half) in PAGE.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("case", study.CASES, ids=lambda case: case.name)
def test_a_faster_memory_helps_less_and_less(case: study.Case) -> None:
    times = [sum(study.token(case, rate).values()) for rate in (500.0, 1000.0, 2000.0, 4000.0, 8000.0)]
    gains = [slow / fast for slow, fast in pairwise(times)]
    assert all(1.0 < gain < 2.0 for gain in gains)
    assert gains == sorted(gains, reverse=True)
    half = study.half_gain(case)
    below, above = (sum(study.token(case, rate).values()) for rate in (0.9 * half, 1.8 * half))
    assert below / above > 4 / 3
