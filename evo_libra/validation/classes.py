"""Errors of steps and of served requests by what is bought: accelerator, precision, kind of model and schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evo_libra.problem.measured import measured_classes
from evo_libra.validation.source import Basis, Errors, PublishedRow, PublishedSource, errors_of
from evo_libra.workload.plans.step_class import TIME, StepClass


@dataclass(frozen=True)
class ClassErrors:
    """Errors of the rows of a figure of a class.

    Attributes
    ----------
    figure : kind of the figure, such as ``time``.
    years : of the first and of the last row.
    band : factors on computed figures between which four of five measured ones lie, as designs show it; None of a class
        that is not in the table.
    bases : whether constants were fitted to the rows; both if they were fitted to some.
    """

    of: StepClass
    figure: str
    years: tuple[int, int]
    errors: Errors
    band: tuple[float, float] | None
    bases: tuple[Basis, ...]

    @property
    def title(self) -> str:
        """The class, and the figure unless that is the time."""
        return str(self.of) if self.figure == TIME else f"{self.of}, {self.figure}"


def by_class(computed: Mapping[PublishedSource, Sequence[PublishedRow]]) -> list[ClassErrors]:
    """Return the errors of each class that rows are of, the newest first."""
    rows: dict[tuple[StepClass, str], list[tuple[PublishedRow, Basis]]] = {}
    for source, found in computed.items():
        for row in found:
            if row.step is not None:
                rows.setdefault((row.step, row.figure), []).append((row, source.basis))
    classes = [_errors_of(step, figure, pairs) for (step, figure), pairs in rows.items()]
    return sorted(classes, key=lambda one: (-one.years[1], one.of, one.figure))


def _errors_of(step: StepClass, figure: str, pairs: Sequence[tuple[PublishedRow, Basis]]) -> ClassErrors:
    rows, years = [row for row, _ in pairs], [row.year for row, _ in pairs]
    bases = tuple(basis for basis in Basis if basis in {basis for _, basis in pairs})
    return ClassErrors(
        of=step, figure=figure, years=(min(years), max(years)), errors=errors_of(rows),
        band=band_of(step, figure), bases=bases,
    )  # fmt: skip


def band_of(step: StepClass, figure: str) -> tuple[float, float] | None:
    """Return the band of a class in the table that ships."""
    return next(((one.low, one.high) for one in measured_classes() if (one.of, one.figure) == (step, figure)), None)
