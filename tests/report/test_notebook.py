"""Fronts and results in a notebook."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import polars as pl
import pytest
from command import run

from evo_libra import Front, Result
from evo_libra.report.data import Source


@pytest.mark.slow
def test_a_front_is_a_page_in_a_frame(source: Source) -> None:
    text = source.front._repr_html_()
    assert text.startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts' in text
    assert f'"id":{list(range(len(source.front)))}'.replace(" ", "") in unescape(text)


def test_an_empty_front_says_so() -> None:
    empty = Front(pl.DataFrame({"id": [], "time_ms": []}), ("time_ms",))
    assert empty._repr_html_() == "<p>there is no design to report: every front is empty</p>"


@pytest.mark.slow
def test_a_result_has_the_details_of_its_designs(tmp_path: Path) -> None:
    run(tmp_path, "search", "turing-nlg-4k", "--evaluations", "500", "--population", "50")
    result = Result.load("turing", tmp_path / "results")
    text = unescape(result._repr_html_())
    assert '"waterfalls":[{' in text
    assert "evo-libra explain" in text
