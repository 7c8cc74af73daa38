"""Errors of steps and of served requests by what is bought: accelerator, precision, kind of model and schedule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.validation.source import Basis, Errors, PublishedRow, PublishedSource, StepClass, errors_of
from evo_libra.workload.plans.plans import Plans

_MANY = 10
"""Rows from which a band leaves out a tenth of them, half at each end."""

FSDP, PIPELINE, REPLICAS, SERVING = "FSDP", "pipeline", "replicas", "serving"
_SHARDED_WEIGHTS = 3
"""ZeRO's stage from which weights are sharded."""


@dataclass(frozen=True)
class ClassErrors:
    """Errors of the rows of a class.

    Attributes
    ----------
    years : of the first and of the last row.
    band : what measured times are of computed ones, at least and at most: of all rows if they are few, else of nine of
        ten.
    bases : whether constants were fitted to the rows; both if they were fitted to some.
    """

    of: StepClass
    years: tuple[int, int]
    errors: Errors
    band: tuple[float, float]
    bases: tuple[Basis, ...]


def schedule_of(plan: Plans) -> str:
    """Return how a plan divides a model, as buyers call it."""
    if plan.zero[0] >= _SHARDED_WEIGHTS:
        return FSDP
    return PIPELINE if plan.pp[0] > 1 else REPLICAS


def by_class(computed: Mapping[PublishedSource, Sequence[PublishedRow]]) -> list[ClassErrors]:
    """Return the errors of each class that rows are of, the newest first."""
    rows: dict[StepClass, list[tuple[PublishedRow, Basis]]] = {}
    for source, found in computed.items():
        for row in found:
            if row.step is not None:
                rows.setdefault(row.step, []).append((row, source.basis))
    classes = [_errors_of(step, pairs) for step, pairs in rows.items()]
    return sorted(classes, key=lambda one: (-one.years[1], one.of))


def _errors_of(step: StepClass, pairs: Sequence[tuple[PublishedRow, Basis]]) -> ClassErrors:
    rows, years = [row for row, _ in pairs], [row.year for row, _ in pairs]
    bases = tuple(basis for basis in Basis if basis in {basis for _, basis in pairs})
    return ClassErrors(step, (min(years), max(years)), errors_of(rows), band_of(rows), bases)


def band_of(rows: Iterable[PublishedRow]) -> tuple[float, float]:
    """Return the least and the largest ratio of a measured time to the computed one, as `ClassErrors` has it.

    A rate counts as the inverse of a time.

    >>> band_of([PublishedRow("a", 9.0, 10.0, "s"), PublishedRow("b", 10.0, 8.0, "tokens/s")])
    (0.8, 0.9)
    """
    ratios = np.array([row.ours / row.published if row.is_rate else row.published / row.ours for row in rows])
    least = 0.05 if len(ratios) >= _MANY else 0.0
    low, high = np.quantile(ratios, [least, 1.0 - least])
    return float(low), float(high)
