"""Statements of pages that were no longer so: what a page says of its space is what its script searches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STUDIES = sorted((ROOT / "docs" / "studies").glob("*.md"))
_SCRIPT = re.compile(r"python (experiments/\w+\.py)")


def with_imports(script: Path) -> str:
    """Return the text of a study and of the studies that it imports."""
    text = script.read_text()
    names = re.findall(r"^from (\w+) import", text, re.MULTILINE)
    beside = [script.parent / f"{name}.py" for name in names]
    return text + "".join(module.read_text() for module in beside if module.exists())


@pytest.mark.parametrize("page", STUDIES, ids=lambda page: page.stem)
def test_a_study_of_domains_that_nobody_sells_says_so(page: Path) -> None:
    text = page.read_text()
    code = "".join(with_imports(ROOT / name) for name in _SCRIPT.findall(text))
    if re.search(r"fabric\.domains=any|domains: any", code):
        assert "fabric.domains: any" in text
        assert not re.search(r"^For those who buy\b", text, re.MULTILINE)


def test_no_page_says_that_problem_files_do_not_train() -> None:
    for page in sorted((ROOT / "docs").rglob("*.md")):
        assert "Problem files do not use" not in " ".join(page.read_text().split()), page.name
