"""Tornado plots: the assumptions that move a verdict most as bars, as a figure and as text."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from evo_libra.pictures.plots.figure import DPI, METADATA, SETTINGS

if TYPE_CHECKING:
    from evo_libra.explain.tornado import Swing, Tornado

_SIZE = (7.16, 4.0)  # Inches; the text width of a two-column paper.
_LOW, _HIGH, _GREY = "#0072b2", "#d55e00", "#767676"
_MILLION = 1e6
_MOST_NAME, _LEAST_BAR = 34, 20
_HALF = 0.5


def tornado_png(found: Tornado) -> bytes:
    """Return the plot as a PNG: a bar of each assumption from its lead at one end to that at the other one.

    The dashed line is the lead as stated. Left of the line at 0 another design is to be bought.
    """
    import matplotlib as mpl  # noqa: PLC0415 - takes a second, and few commands draw
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - the same
    from matplotlib.figure import Figure  # noqa: PLC0415 - the same

    content = io.BytesIO()
    with mpl.rc_context({**mpl.rcParamsDefault, **SETTINGS, "axes.grid": False}):
        figure = Figure(figsize=_SIZE, layout="constrained", dpi=DPI)
        FigureCanvasAgg(figure)
        axes = figure.add_subplot(xlabel="lead over the best rival [MUSD]", title=f"#{found.id} {found.name}")
        lead = found.lead_usd / _MILLION
        for place, one in enumerate(found.swings):
            ends = ((one.low_usd, one.low, _LOW, "low"), (one.high_usd, one.high, _HIGH, "high"))
            for usd, value, colour, label in ends:
                end = usd / _MILLION
                axes.barh(place, end - lead, left=lead, color=colour, height=0.6, label="" if place else label)
                side = "left" if end > lead else "right"
                if end != lead:
                    axes.annotate(
                        one.text(value), (end, place), (3 if side == "left" else -3, 0), textcoords="offset points",
                        ha=side, va="center", fontsize=7,
                    )  # fmt: skip
        axes.set_yticks(range(len(found.swings)), labels=[_short(one) for one in found.swings])
        axes.invert_yaxis()
        axes.margins(x=0.18)
        axes.axvline(lead, color=_GREY, linestyle="--", linewidth=0.8)
        axes.axvline(0.0, color="black", linewidth=0.8)
        axes.legend(loc="lower right" if _leans_right(found) else "lower left")
        figure.savefig(content, format="png", metadata=METADATA[".png"])
    return content.getvalue()


def _leans_right(found: Tornado) -> bool:
    ends = [usd - found.lead_usd for one in found.swings for usd in (one.low_usd, one.high_usd)]
    return max(ends) > -min(ends)


def _short(one: Swing) -> str:
    return one.of if len(one.of) <= _MOST_NAME else f"{one.of[: _MOST_NAME - 1]}…"


def tornado_text(found: Tornado, width: int, *, ascii_only: bool = False) -> str:
    """Return the plot as lines of at most `width` columns: bars, and a mark at a lead of 0."""
    block, line = ("#", "|") if ascii_only else ("█", "│")
    names = [one.of[:_MOST_NAME] for one in found.swings]
    left = max(map(len, names)) + 1
    room = max(width - left, _LEAST_BAR)
    ends = [0.0, found.lead_usd, *(usd for one in found.swings for usd in (one.low_usd, one.high_usd))]
    low, high = min(ends), max(ends)

    def column(usd: float) -> int:
        return int((usd - low) / (high - low) * (room - 1) + _HALF) if high > low else 0

    lines = []
    for name, one in zip(names, found.swings, strict=True):
        first, last = sorted((column(one.low_usd), column(one.high_usd)))
        bar = [block if first <= at <= last else " " for at in range(room)]
        if not first <= column(0.0) <= last:
            bar[column(0.0)] = line
        lines.append(f"{name:<{left}}{''.join(bar)}".rstrip())
    ticks = f"{low / _MILLION:.3g} MUSD", f"{high / _MILLION:.3g} MUSD"
    lines.append(f"{'':<{left}}{ticks[0]}{ticks[1]:>{room - len(ticks[0])}}")
    return "\n".join(lines)
