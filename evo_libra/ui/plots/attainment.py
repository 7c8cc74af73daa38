"""Figures of attainment surfaces: the median as a line, the quartiles as an area; the same bytes for the same lines."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from evo_libra.arrays import FloatArray
from evo_libra.ui.plots.axes import Series, axes_of, in_unit, limits, tick_label, ticks, unit_of
from evo_libra.ui.plots.figure import COLOURS, DPI, METADATA, SETTINGS, put, suffix_of

_SIZE = (7.16, 4.0)
_X_CELLS, _Y_CELLS = 84, 24
_STYLES = ("-", "--", "-.", ":")


def attainment_figure(
    lines: Mapping[str, Sequence[FloatArray]], *, x_label: str, y_label: str, title: str, path: Path | BinaryIO
) -> None:
    """Write a figure of attainment surfaces on logarithmic axes, 7.16 x 4 inches, to a file.

    Parameters
    ----------
    lines : of each name, three (2, s) lines, across and up, from left to right or back: what a quarter, half and three
        quarters attain; a line may be empty.
    x_label, y_label : what the axes show, with the unit; ``[ms]`` becomes the one that suits the times.
    title : the title.
    path : where to write; the suffix .png, .pdf or .svg chooses the format, and an open file gets a PNG.
    """
    suffix = suffix_of(path)
    content = io.BytesIO()
    series = [Series(line[0], line[1], name) for name, three in lines.items() for line in three if line.shape[1]]
    x, y = axes_of(series, log_x=True, log_y=True)
    (x_label, across), (y_label, up) = unit_of(x_label, x), unit_of(y_label, y)
    x, y = in_unit(x, across), in_unit(y, up)
    lines = {name: [line / np.array([[across], [up]]) for line in three] for name, three in lines.items()}
    with mpl.rc_context():
        # The user's own settings would change the bytes.
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        figure = Figure(figsize=_SIZE, dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot(xlabel=x_label, ylabel=y_label, title=title)
        axes.set(xscale="log", yscale="log", xlim=limits(x), ylim=limits(y))
        for drawn, axis, cells, across in ((axes.xaxis, x, _X_CELLS, True), (axes.yaxis, y, _Y_CELLS, False)):
            shown = ticks(axis, cells, across=across)
            drawn.set_ticks(shown, labels=[tick_label(value) for value in shown])
            drawn.set_minor_formatter(NullFormatter())
        for place, (name, (best, middle, worst)) in enumerate(lines.items()):
            colour = COLOURS[place]
            if best.shape[1] and worst.shape[1]:
                around = np.concatenate([best, worst[:, ::-1]], axis=1)
                axes.fill(*around, color=colour, alpha=0.25, linewidth=0)
            axes.plot(*middle, color=colour, linewidth=1.2, linestyle=_STYLES[place % len(_STYLES)], label=name)
        axes.legend(loc="upper right")
        figure.savefig(content, format=suffix[1:], metadata=METADATA[suffix])
    put(path, content.getvalue())
