"""What the studies share: LIBRA's models, Markdown tables, pictures in the look of the package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evo_libra.arrays import GIGA
from evo_libra.pictures.plots.axes import COLOURS
from evo_libra.pictures.plots.figure import DPI, METADATA, SETTINGS

_WIDTH = 7.16
_NUMERIC = frozenset("0123456789.-+e/% ")


@dataclass(frozen=True)
class Model:
    """A language model: its name, and the problem file that trains it on 4096 NPUs."""

    name: str
    problem: str


MODELS = (Model("GPT-3", "gpt3-4k"), Model("MSFT-1T", "msft-1t-4k"), Model("Turing-NLG", "turing-nlg-4k"))
GROUP = "language-models-4k"
LIBRA_RATE = 60 * 2**40 / 1e12
"""TFLOP/s behind the compute times of LIBRA's public workloads."""


def in_gigabytes(bandwidth: Iterable[float]) -> str:
    """Return bandwidths in B/s as GB/s, one after the other, to four digits."""
    return "/".join(f"{value / GIGA:.4g}" for value in bandwidth)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; columns of numbers are aligned right."""
    number = [all(set(row[c]) <= _NUMERIC for row in rows) for c in range(len(head))]
    width = [max(len(row[c]) for row in [head, *rows]) for c in range(len(head))]
    rule = ["-" * (w - 1) + ":" if n else "-" * w for w, n in zip(width, number, strict=True)]
    cells = [
        [text.rjust(w) if n else text.ljust(w) for text, w, n in zip(row, width, number, strict=True)]
        for row in [head, rule, *rows]
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def written_to(folder: str) -> Path:
    """Return a folder of the checkout that the scripts are in; outside of a checkout the current folder."""
    found = Path(__file__).parents[1] / folder
    return found if found.is_dir() else Path()


@contextmanager
def picture(name: str, height: float) -> Iterator[Figure]:
    """Give an empty figure and write it, in a checkout to its documentation; the same drawing gives the same bytes."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        figure = Figure(figsize=(_WIDTH, height), dpi=DPI, layout="constrained")
        yield figure
        figure.savefig(written_to("docs/studies") / f"{name}.png", metadata=METADATA[".png"])


def bars(axes: Axes, groups: Sequence[str], series: Sequence[tuple[str, Sequence[float]]]) -> None:
    """Draw a group of bars for each label, a bar for each series."""
    wide = 0.8 / len(series)
    for index, ((name, values), colour) in enumerate(zip(series, COLOURS, strict=False)):
        places = [place + (index + 0.5) * wide - 0.4 for place in range(len(groups))]
        axes.bar(places, values, wide, color=colour, edgecolor="black", linewidth=0.5, label=name)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(visible=False, axis="x")
