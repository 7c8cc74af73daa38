"""A source of published or measured figures, and how far this program is from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"


@cache
def published(name: str) -> Any:  # noqa: ANN401 - plain data
    """Return the figures of a file next to this one."""
    return json.loads((DATA / name).read_text())


class Basis(Enum):
    """The relation between the rows of a source and the constants that figures are computed with."""

    FITTED = "fitted"
    """Constants were fitted to these rows, or chosen when the errors of these rows were known."""
    UNSEEN = "unseen"
    """No constant was fitted to any of them."""
    EQUATIONS = "by construction"
    """The program computes with the equations or the prices of the source, so that the figures should be equal."""


@dataclass(frozen=True, order=True)
class StepClass:
    """The hardware, precision, model and schedule of a measured step or request.

    Attributes
    ----------
    npu, precision : the accelerator, and the precision of its products.
    model : dense or routed.
    schedule : pipeline, FSDP, replicas or serving.
    """

    npu: str
    precision: str
    model: str
    schedule: str

    def __str__(self) -> str:
        return f"{self.npu}, {self.precision}, {self.model}, {self.schedule}"


@dataclass(frozen=True)
class PublishedRow:
    """A figure, as it was published and as this program computes it, in the unit of its source.

    Attributes
    ----------
    step : the class of a measured step or request; None for other figures.
    year : in which such a row was measured, or 0.
    """

    id: str
    published: float
    ours: float
    unit: str
    step: StepClass | None = None
    year: int = 0

    @property
    def error(self) -> float:
        """Relative difference of the computed value."""
        return self.ours / self.published - 1.0

    @property
    def is_rate(self) -> bool:
        """Whether more is faster."""
        return self.unit.endswith("/s")


@dataclass(frozen=True)
class PublishedSource:
    """Published or measured figures.

    Attributes
    ----------
    name : what ``--group`` calls it.
    group : kind of figures.
    title : what they are, and where they come from.
    rows : computes them.
    anchor : the other program that computed the same rows, and its distance from them; "" without one.
    note : what the comparison assumes; "" for nothing.
    basis : what its figures are of the program's constants.
    """

    name: str
    group: str
    title: str
    rows: Callable[[], Iterable[PublishedRow]]
    anchor: str = ""
    note: str = ""
    basis: Basis = Basis.UNSEEN


@dataclass(frozen=True)
class Errors:
    """Relative errors of some rows: of their size the mean and the maximum, and the mean with its sign."""

    count: int
    mean: float
    maximum: float
    bias: float


def errors_of(rows: Iterable[PublishedRow]) -> Errors:
    """Return the errors of at least one row."""
    errors = np.array([row.error for row in rows])
    return Errors(len(errors), float(np.abs(errors).mean()), float(np.abs(errors).max()), float(errors.mean()))
