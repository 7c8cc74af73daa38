"""Intervals of ratios of measured to computed figures, by hand."""

from __future__ import annotations

from math import exp, log, sqrt

import pytest

from evo_libra.validation.intervals import (
    CHANCE,
    PRIOR,
    Residual,
    Sample,
    interval_of,
    pooled_variance,
    sample_of,
    used,
)


def rows(*errors: float, fitted: bool = False) -> list[Residual]:
    """Return rows of a model each."""
    return [Residual(error, ("source", f"model {n}"), fitted) for n, error in enumerate(errors)]


def test_a_band_by_hand() -> None:
    """Series 0.02, 0.04 and 0.06: mean 0.04, squares 0.0008, 2 degrees of freedom, and 4 of a variance of 0.0004.

    (0.0008 + 4 * 0.0004) / 6 = 0.0004; times 1 + 1/3 it is 0.00053333, the root 0.0230940. The 90 % quantile of
    Student's t with 6 degrees of freedom is 1.43976 (tables): half of the width is 0.0332497.
    """
    assert (CHANCE, PRIOR) == (0.8, 4)
    low, high = interval_of(sample_of(rows(0.02, 0.04, 0.06)), 0.0004)
    assert log(high) == pytest.approx(0.04 + 0.0332497, abs=1e-6)
    assert log(low) == pytest.approx(min(0.04 - 0.0332497, 0.0), abs=1e-6)


def test_a_computed_figure_is_in_its_band() -> None:
    low, high = interval_of(Sample(mean=-0.5, squares=0.0, series=3, spent=0), 0.0001)
    assert low < 1.0
    assert high == 1.0


def test_fitted_rows_spend_a_degree_of_freedom() -> None:
    """Of the same three errors 1 degree is left: (0.0008 + 0.0016) / 5 = 0.00048, times 1 + 2/3, t of 5 is 1.47588."""
    low, high = interval_of(sample_of(rows(0.02, 0.04, 0.06, fitted=True)), 0.0004)
    half = 1.47588 * sqrt(0.00048 * (1 + 2 / 3))
    assert high == pytest.approx(exp(0.04 + half), rel=1e-5)
    assert low == pytest.approx(exp(min(0.04 - half, 0.0)), rel=1e-5)


def test_rows_of_one_model_count_as_one() -> None:
    one = [Residual(0.1, ("a", "70b"), fitted=False)] * 6
    assert sample_of([*one, Residual(0.0, ("b", "8b"), fitted=False)]) == Sample(0.05, 0.005, 2, 0)
    # A series alone says nothing of the variance between series: that of all classes stands for it.
    assert interval_of(sample_of(one), 0.0004) == interval_of(sample_of(one[:1]), 0.0004)


def test_rows_that_no_fit_has_seen_come_first() -> None:
    unseen, fitted = rows(0.1), rows(0.0, 0.01, fitted=True)
    assert used([*fitted, *unseen]) == unseen
    assert used(fitted) == fitted


def test_the_variance_of_all_classes() -> None:
    assert pooled_variance([Sample(0.0, 0.5, 1, 0)]) is None
    assert pooled_variance([Sample(0.0, 0.5, 1, 0), Sample(0.0, 0.06, 4, 1)]) == pytest.approx(0.03)
