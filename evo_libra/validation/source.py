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

from evo_libra.workload.plans.step_class import FIRST_TOKEN, MEMORY, TIME, StepClass

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


@dataclass(frozen=True)
class PublishedRow:
    """A figure, as it was published and as this program computes it, in the unit of its source.

    Attributes
    ----------
    step : the class of a measured step or request; None for other figures.
    year : in which such a row was measured, or 0.
    model : that was trained or served, by which rows whose errors are alike are known.
    """

    id: str
    published: float
    ours: float
    unit: str
    step: StepClass | None = None
    year: int = 0
    model: str = ""

    @property
    def error(self) -> float:
        """Relative difference of the computed value."""
        return self.ours / self.published - 1.0

    @property
    def ratio(self) -> float:
        """The measured time, or bytes, over the computed one; a rate counts as the inverse of a time."""
        return self.ours / self.published if self.is_rate else self.published / self.ours

    @property
    def figure(self) -> str:
        """The kind of the figure of a class: the time, that to the first token, or the memory."""
        if self.unit == "GB":
            return MEMORY
        return FIRST_TOKEN if self.id.endswith(FIRST_TOKEN) else TIME

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
