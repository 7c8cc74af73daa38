"""A front as a plot: series by structure, for the terminal and for a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np
from rich.console import Console

from evo_libra.front.front import Front
from evo_libra.problem.protocol import Objective
from evo_libra.ui.plots.axes import Series
from evo_libra.ui.plots.scatter import scatter

_MOST_SERIES = 6
_HEIGHT = 22
_MOST_POINTS = 250


def series_of(front: Front, objectives: Sequence[Objective]) -> list[Series]:
    """Return the front as series by structure (sizes and technologies of the dimensions); the rare ones are merged.

    The second objective is the horizontal axis, the first the vertical one; with one objective it is drawn over itself.
    """
    y = front.frame[front.objectives[0]].to_numpy()
    x = front.frame[front.objectives[min(1, len(objectives) - 1)]].to_numpy()
    if "design" not in front.frame.columns:
        return [Series(x, y, "front")]
    labels = np.array([" ".join(re.findall(r"\(([^:_]*)", text)).replace(")", "") for text in front.frame["design"]])
    names, counts = np.unique(labels, return_counts=True)
    common = names[np.argsort(-counts, kind="stable")][:_MOST_SERIES]
    series = [Series(x[labels == name], y[labels == name], str(name)) for name in common]
    rest = ~np.isin(labels, common)
    return [*series, Series(x[rest], y[rest], f"{len(names) - len(common)} more")] if rest.any() else series


def _labels(objectives: Sequence[Objective]) -> tuple[str, str]:
    return objectives[min(1, len(objectives) - 1)].label, objectives[0].label


def terminal_plot_of(front: Front, objectives: Sequence[Objective], console: Console) -> str:
    """Return the front as text as wide as the terminal."""
    return terminal_scatter(series_of(front, objectives), *_labels(objectives), console)


def terminal_scatter(series: Sequence[Series], x_label: str, y_label: str, console: Console) -> str:
    """Return points on logarithmic axes as text as wide as the terminal."""
    encoding = (console.encoding or "ascii").lower()
    return scatter(
        series,
        width=max(40, min(console.width, 110)),
        height=_HEIGHT,
        x_label=x_label,
        y_label=y_label,
        log_x=True,
        log_y=True,
        style=console.is_terminal and not console.no_color,
        ascii_only=not encoding.startswith("utf"),
    )


def figure_of(front: Front, objectives: Sequence[Objective], title: str, file: BinaryIO) -> None:
    """Draw the front to an open file as a PNG."""
    from evo_libra.ui.plots.figure import front_figure  # noqa: PLC0415 - Matplotlib takes a third of a second

    x_label, y_label = _labels(objectives)
    # Thousands of points on a line would hide each other's colours.
    thinned = Front(front.spread(_MOST_POINTS), front.objectives)
    front_figure(
        series_of(thinned, objectives), x_label=x_label, y_label=y_label, title=title, log_x=True, log_y=True, path=file
    )
