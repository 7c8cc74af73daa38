"""A source of published or measured figures, and how far this program is from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"


@cache
def published(name: str) -> Any:  # noqa: ANN401 - plain data
    """Return the figures of a file next to this one."""
    return json.loads((DATA / name).read_text())


@dataclass(frozen=True)
class PublishedRow:
    """A figure, as it was published and as this program computes it, in the unit of its source."""

    id: str
    published: float
    ours: float
    unit: str

    @property
    def error(self) -> float:
        """Relative difference of the computed value."""
        return self.ours / self.published - 1.0


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
    """

    name: str
    group: str
    title: str
    rows: Callable[[], Iterable[PublishedRow]]
    anchor: str = ""
    note: str = ""


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
