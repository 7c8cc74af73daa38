"""Statements of pages that were no longer so."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_no_page_says_that_problem_files_do_not_train() -> None:
    pages = sorted(DOCS.rglob("*.md"))
    assert pages
    assert not [page.name for page in pages if "Problem files do not use" in " ".join(page.read_text().split())]
