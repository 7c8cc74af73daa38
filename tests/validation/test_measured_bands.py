"""The table of bands that ships: equal to what the rows give, and honest of rows that are left out."""

from __future__ import annotations

from functools import cache
from math import log

import pytest

from evo_libra.problem.measured import TABLE
from evo_libra.validation.coverage import share, without_row, without_series
from evo_libra.validation.measured_bands import Members, members_of, offsets_of, samples_of, table_of, text_of
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource
from evo_libra.validation.sources import SOURCES
from evo_libra.workload.plans.step_class import StepClass


@cache
def computed() -> dict[PublishedSource, tuple[PublishedRow, ...]]:
    return {
        source: tuple(source.rows()) for source in SOURCES if source.group in {"training", "serving", "measured memory"}
    }


def members() -> Members:
    return members_of(computed())


@pytest.mark.slow
def test_the_table_is_what_the_rows_give() -> None:
    """`python -m evo_libra.validation.measured_bands` makes it again."""
    assert text_of(table_of(computed())) == TABLE.read_text()


@pytest.mark.slow
def test_bands_hold_rows_that_they_were_made_without() -> None:
    """Bands of 80 % hold 90 % of single rows that are left out, and of whole series."""
    rows, series = without_row(members()), without_series(members())
    assert len(rows) > 200
    assert 0.70 <= share(rows) <= 0.95
    assert 0.70 <= share(series) <= 0.95


@pytest.mark.slow
def test_bands_hold_steps_of_2024_to_2026_of_models_that_are_left_out() -> None:
    """Of MLPerf, DGX Cloud and torchtitan: 93 % of the rows of models that the band was made without."""
    recent = [one for one in without_series(members()) if one.row.id.startswith(("mlperf", "dgxc", "titan"))]
    assert len(recent) >= 30
    assert 0.70 <= share(recent) <= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("figure", ["time", "memory"])
def test_bands_of_training_hold_rows_that_are_left_out(figure: str) -> None:
    mine = [one for one in without_row(members()) if one.row.figure == figure and one.row.step is not None]
    trained = [one for one in mine if one.row.step is not None and not one.row.step.is_served]
    assert 0.70 <= share(trained) <= 0.95


def row(name: str, measured: float, of: StepClass, model: str = "m") -> PublishedRow:
    return PublishedRow(name, measured, 1.0, "s", of, 2025, model)


def test_offsets_by_hand() -> None:
    """Two classes differ in precision alone by ln 1.2 = 0.182322; 80 % lie within exp(1.2816 * 0.182322) = 1.26320."""
    one, two = (StepClass("h100-80gb", precision, "dense", "pipeline") for precision in ("fp8", "bf16"))
    source = PublishedSource("a", "training", "a", tuple, basis=Basis.UNSEEN)
    samples = samples_of(members_of({source: [row("a", 1.2, one), row("b", 1.0, two)]}))
    assert samples["time", one].mean == pytest.approx(log(1.2))
    (found,) = offsets_of(samples)
    assert found["factors"]["precision"] == pytest.approx(1.2632, abs=1e-4)
    # Nothing says how accelerators differ: the largest difference that is known stands for it.
    assert found["factors"]["npu"] == found["factors"]["precision"]
    assert found["without_pairs"] == ["npu", "model", "schedule"]
