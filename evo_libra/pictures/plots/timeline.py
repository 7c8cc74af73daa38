"""Timelines: a row of bars for each NPU, or for NPUs that do the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from evo_libra.pictures.plots.axes import COLOURS
from evo_libra.pictures.plots.figure import drawing

if TYPE_CHECKING:
    from matplotlib.artist import Artist

    from evo_libra.arrays import FloatArray

_FINEST = 2000
"""Bars nearer than this part of the whole time are drawn as one."""
_PLACES = {0: (0.0, 0.4), 1: (0.4, 0.4), 2: (0.4, 0.4), 3: (0.0, 0.2)}


@dataclass(frozen=True)
class TimelineRow:
    """A row: its label, and by the name of a kind the (2, n) starts and ends of its bars in ms."""

    label: str
    bars: Mapping[str, FloatArray]


def timeline_figure(rows: Sequence[TimelineRow], *, title: str, path: Path | BinaryIO) -> None:
    """Write a timeline, 7.16 x 4 inches, to a file; the suffix .png, .pdf or .svg chooses the format.

    Bars of the first kind are in the upper half of a row, those of the second one in the lower half. A ValueError
    refuses another suffix.
    """
    end = max((float(bars[1].max(initial=0.0)) for row in rows for bars in row.bars.values()), default=0.0)
    with drawing(path, "time [ms]", "", title) as (figure, axes):
        drawn: dict[str, Artist] = {}
        for place, row in enumerate(rows):
            for number, (kind, bars) in enumerate(row.bars.items()):
                if not bars.shape[1]:
                    continue
                starts, ends = merged(bars, end / _FINEST)
                low, height = _PLACES[number]
                spans = list(zip(starts.tolist(), (ends - starts).tolist(), strict=True))
                drawn[kind] = axes.broken_barh(
                    spans, (place - 0.4 + low, height), facecolors=COLOURS[number], linewidth=0, rasterized=True
                )
        axes.set(yticks=range(len(rows)), yticklabels=[row.label for row in rows], ylim=(len(rows) - 0.5, -0.5))
        axes.set_xlim(0.0, end or 1.0)
        if drawn:
            figure.legend([*drawn.values()], [*drawn], loc="outside lower right", ncols=len(drawn))


def merged(bars: FloatArray, gap: float) -> tuple[FloatArray, FloatArray]:
    """Return the starts and ends of bars; those that are nearer to each other than a gap are one.

    >>> [ends.tolist() for ends in merged(np.array([[5.0, 0.0, 2.5], [6.0, 2.0, 3.0]]), 1.0)]
    [[0.0, 5.0], [3.0, 6.0]]
    """
    order = np.argsort(bars[0], kind="stable")
    starts, ends = bars[0][order], np.maximum.accumulate(bars[1][order])
    first = np.concatenate([[True], starts[1:] > ends[:-1] + gap])
    last = np.concatenate([first[1:], [True]])
    return starts[first], ends[last]
