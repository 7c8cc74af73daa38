"""Intervals that hold the ratio of a measured figure to a computed one, from the rows of a class.

Errors of a class are a sample of logarithms of these ratios. Rows of one model and software have nearly one error, so a
series of them counts as one row. The interval is that of one further series, by Student's t (Hahn and Meeker,
Statistical Intervals, 1991, chapter 4). Samples are small: the variance is moderated by that of all classes of the same
schedule, as Smyth does (Linear models and empirical Bayes methods, 2004, section 3). Constants that were fitted to rows
made their errors smaller; each class of such rows spends one more degree of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

CHANCE = 0.8
"""Share of further rows that a band should hold."""
PRIOR = 4
"""Degrees of freedom that the variance of all classes of a schedule counts for."""

Ends = tuple[float, float]


@dataclass(frozen=True)
class Residual:
    """The error of a row.

    Attributes
    ----------
    log_ratio : logarithm of the measured figure over the computed one.
    series : of the row: source and model.
    fitted : whether constants were fitted to the row.
    """

    log_ratio: float
    series: tuple[str, str]
    fitted: bool


@dataclass(frozen=True)
class Sample:
    """Errors of a class.

    Attributes
    ----------
    mean : of the logarithms, each series counts as one.
    squares : sum of squares around it.
    series : their number; `spent` : degrees of freedom that fitted constants took.
    """

    mean: float
    squares: float
    series: int
    spent: int

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the sum of squares."""
        return max(self.series - 1 - self.spent, 0)


def used(rows: Iterable[Residual]) -> list[Residual]:
    """Return the rows that a band is from: those that no fit has seen if there are any, else all."""
    every = list(rows)
    return [row for row in every if not row.fitted] or every


def sample_of(rows: Sequence[Residual]) -> Sample:
    """Return the errors of at least one row.

    >>> a, b = ("a", "8b"), ("b", "8b")
    >>> sample_of([Residual(0.1, a, False), Residual(0.3, a, False), Residual(0.0, b, False)])
    Sample(mean=0.1, squares=0.03, series=2, spent=0)
    """
    series: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        series.setdefault(row.series, []).append(row.log_ratio)
    mean = float(np.mean([np.mean(errors) for errors in series.values()]))
    squares = float(sum(np.mean((np.array(errors) - mean) ** 2) for errors in series.values()))
    return Sample(round(mean, 12), round(squares, 12), len(series), int(any(row.fitted for row in rows)))


def pooled_variance(samples: Iterable[Sample]) -> float | None:
    """Return the variance within some classes; None where no class has a degree of freedom.

    >>> pooled_variance([Sample(0.1, 0.02, 2, 0), Sample(0.0, 0.06, 4, 0)])
    0.02
    """
    some = [one for one in samples if one.freedom]
    return sum(one.squares for one in some) / sum(one.freedom for one in some) if some else None


def interval_of(sample: Sample, prior: float) -> Ends:
    """Return the ends of the ratio of a further series, 1 among them, from a sample and the variance of all classes."""
    freedom = sample.freedom + PRIOR
    squares = sample.squares if sample.freedom else 0.0
    variance = (squares + PRIOR * prior) / freedom * (1.0 + (1.0 + sample.spent) / sample.series)
    half = _quantile(freedom) * math.sqrt(variance)
    return math.exp(min(sample.mean - half, 0.0)), math.exp(max(sample.mean + half, 0.0))


def _quantile(freedom: int) -> float:
    """Return the quantile of Student's t at whose two ends the rest of `CHANCE` lies."""
    from scipy.special import stdtrit  # noqa: PLC0415 - few commands need it

    return float(stdtrit(freedom, (1.0 + CHANCE) / 2.0))
