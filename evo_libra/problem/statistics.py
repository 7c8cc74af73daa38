"""Statistics of a figure over scenarios: one table says all that there is to know of each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.network.bill import SCENARIOS

NAMED = SCENARIOS
"""Scenarios in which all that is uncertain is at the same place of its range; they come before those that are drawn."""

_VALUE = NAMED.index("value")
_HALF = 0.5


@dataclass(frozen=True)
class Statistic:
    """A row of the table.

    Attributes
    ----------
    name : what follows the dot in the name of an objective, such as ``p95``.
    meaning : one line for the reference.
    of : (n,) from (s, n), the scenarios of `NAMED` first. It is the common value where all scenarios have the same.
    """

    name: str
    meaning: str
    of: Callable[[FloatArray], FloatArray]


def _mean(values: FloatArray) -> FloatArray:
    # About the stated figure, so that figures that do not vary keep every bit. One scenario after the other: a mean
    # next to an axis of length 1 rounds otherwise, so that a design alone would have another one.
    stated, drawn = values[_VALUE], values[len(NAMED) :]
    return np.asarray(stated + reduce(np.add, drawn - stated) / len(drawn))


def _quantile(values: FloatArray, share: float) -> FloatArray:
    """Return the (n,) quantiles over the scenarios that are drawn, between two of them in proportion."""
    # NumPy's quantile takes four times as long.
    ordered = np.array(values[len(NAMED) :].T, order="C")
    ordered.sort(axis=1)
    place = share * (ordered.shape[1] - 1)
    below = int(place)
    low, high = ordered[:, below], ordered[:, min(below + 1, ordered.shape[1] - 1)]
    part = place - below
    return np.asarray(low + (high - low) * part if part < _HALF else high - (high - low) * (1.0 - part))


_TABLE = (
    Statistic("mean", "mean over the drawn scenarios", _mean),
    Statistic("p50", "median over the drawn scenarios", partial(_quantile, share=0.5)),
    Statistic("p95", "95 % quantile over the drawn scenarios", partial(_quantile, share=0.95)),
    Statistic(
        "worst", "largest over all scenarios, that with everything at its upper end included",
        lambda values: values.max(axis=0),
    ),
)  # fmt: skip
STATISTICS: Mapping[str, Statistic] = {statistic.name: statistic for statistic in _TABLE}
"""All statistics, by name."""
