"""The page on Themis has the tables of training that its study prints."""

from __future__ import annotations

from pathlib import Path

import themis_speedups

PAGE = Path(__file__).parents[2] / "docs" / "studies" / "themis.md"


def test_the_page_has_the_tables_of_training() -> None:
    text = PAGE.read_text()
    assert themis_speedups.trained() in text
    assert themis_speedups.means() in text
