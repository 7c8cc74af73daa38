"""The study of RePurpose: that its page says what it prints, up to what processors round differently."""

from __future__ import annotations

from pathlib import Path

import pytest
import repurpose_digits as study

from evo_libra import load_problem

PAGE = Path(__file__).parents[2] / "docs" / "studies" / "repurpose.md"


def table() -> list[list[float]]:
    text = PAGE.read_text().partition("## At equal accuracy")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == list(study.HEAD)
    return [[float(cell) for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.slow
def test_the_page_has_the_baselines() -> None:
    problem = load_problem("repurpose", ["objectives=[traffic, error]", "slack_percent=[0]"])
    curves = study.baselines(problem)
    for place, row in enumerate(table()):
        assert row[0] == pytest.approx(100 * study.ERRORS[place])
        for column, name in ((1, "contiguous"), (2, "direct")):
            assert row[column] == pytest.approx(4 * curves[name][place].copies, rel=0.01)
            assert curves[name][place].error <= study.ERRORS[place]


@pytest.mark.slow
def test_the_page_has_the_table() -> None:
    even, loose = (
        load_problem("repurpose", ["objectives=[traffic, error]", f"slack_percent=[{slack}]"]) for slack in (0, 50)
    )
    found = study.rows(even, study.front_of(even), study.front_of(loose))
    for said, row in zip(table(), found, strict=True):
        assert [float(cell) for cell in row] == pytest.approx(said, rel=0.05, abs=2.0)
        assert float(row[4]) < min(float(cell) for cell in row[1:4])
