"""Points beside the line on which they would lie if two ways to get a figure agreed, as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console

from evo_libra.pictures.plots.scatter import terminal_scatter
from evo_libra.pictures.plots.series import Series

_STEPS = 200  # Points of the line: more than a terminal has dots across.


def line_of(series: Sequence[Series]) -> Series:
    """Return the line of equal values, as far as the points of series reach; empty without points."""
    values = np.concatenate([np.concatenate([one.x, one.y]) for one in series])
    low, high = (values.min(), values.max()) if values.size else (1.0, 1.0)
    line = np.geomspace(low, high, _STEPS if values.size else 0)
    return Series(line, line, "equal")


def terminal_parity(series: Sequence[Series], x_label: str, y_label: str, console: Console) -> str:
    """Return points over the line of equal values, on logarithmic axes, as text as wide as the terminal."""
    return terminal_scatter([line_of(series), *series], x_label, y_label, console)
