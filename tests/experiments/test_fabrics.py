"""The study of fabrics of layers prints what its page shows."""

from __future__ import annotations

from pathlib import Path

import fabrics
import pytest
from common import markdown

PAGE = (Path(__file__).parents[2] / "docs" / "studies" / "fabrics.md").read_text()


def test_the_page_has_parts_and_path_lengths() -> None:
    assert markdown(("fabric", "switches", "copper", "fibre", "modules", "mean path"), fabrics.counted()) in PAGE


@pytest.mark.slow
def test_the_page_has_the_rates() -> None:
    columns = ("fabric", "paths", "forwarding", "data [GB/s]", "pipeline [GB/s]", "experts [GB/s]")
    assert markdown(columns, fabrics.rates()) in PAGE


@pytest.mark.slow
def test_the_page_has_the_failures() -> None:
    assert markdown(("fabric", "data", "pipeline", "experts"), fabrics.failures()) in PAGE
