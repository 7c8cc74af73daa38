"""Statements of pages that were no longer so, and figures of pages that a problem of the package gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from evo_libra import load_problem
from evo_libra.explain.system_views import SystemRow, system_rows
from evo_libra.problem.problem import Problem

DOCS = Path(__file__).parents[1] / "docs"


def test_no_page_says_that_problem_files_do_not_train() -> None:
    pages = sorted(DOCS.rglob("*.md"))
    assert pages
    assert not [page.name for page in pages if "Problem files do not use" in " ".join(page.read_text().split())]


@pytest.mark.slow
def test_racks_of_gb300_take_half_the_time_of_servers_for_the_same_money() -> None:
    """Each order of servers is next to the fastest racks that cost no more."""
    said = "racks of GB300 take about half the time of servers of B300 for the same money, or less"
    assert said in (DOCS / "how-to" / "train.md").read_text()
    problem = load_problem("buy-kimi-k2-8k")
    assert isinstance(problem, Problem)
    rows = system_rows(problem)
    racks, servers = ([row for row in rows if row.system == name] for name in ("gb300-nvl72", "hgx-b300"))
    shares = [fastest / _ms(server) for server in servers if (fastest := _fastest(racks, server.order_cost_usd))]
    assert shares
    assert 0.45 < max(shares) < 0.55


def _ms(row: SystemRow) -> float:
    return row.objectives["time_ms"]


def _fastest(rows: list[SystemRow], usd: float) -> float | None:
    return min((_ms(row) for row in rows if row.order_cost_usd <= usd), default=None)


@pytest.mark.parametrize(("words", "page"), [
    ("MFU", "train"), ("MFU", "../glossary"), ("NVL72", "order"), ("two NICs per GPU", "order"),
    ("two NICs per GPU", "choose"), ("second rail", "choose"), ("own accelerator", "train"),
    ("oversubscription", "order"), ("oversubscription", "../glossary"),
])  # fmt: skip
def test_words_of_a_buyer_are_on_the_page_that_answers_them(words: str, page: str) -> None:
    # The search of the pages finds a page by all words of the query, in any case.
    assert words.lower() in " ".join((DOCS / "how-to" / f"{page}.md").read_text().split()).lower()
