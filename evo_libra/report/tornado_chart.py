"""The tornado of a report: a bar of each assumption that moves a verdict, as SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from evo_libra.explain.tornado import Swing, Tornado
from evo_libra.quantities import money_text
from evo_libra.report.records import Chart

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _BAR = 800.0, 320.0, 90.0, 8.0, 24.0, 12.0
_LOW, _HIGH = "#0072b2", "#d55e00"
_NAME = 36
"""Characters of a name that fit before the bars."""


def tornado_chart(found: Tornado, result: str = "") -> Chart:
    """Return the chart of the assumptions that move a verdict most, the widest first.

    Parameters
    ----------
    result : the name of the result, where a report has several.
    """
    ends = [0.0, found.lead_usd, *(usd for one in found.swings for usd in (one.low_usd, one.high_usd))]
    low, high = min(ends), max(ends)

    def across(usd: float) -> float:
        return _LEFT + (usd - low) / ((high - low) or 1.0) * (_WIDTH - _LEFT - _RIGHT)

    height = _TOP + _ROW * (len(found.swings) + 1)
    body = [part for place, one in enumerate(found.swings) for part in _bar(one, place, across(found.lead_usd), across)]
    body += [_line(across(found.lead_usd), height, ' stroke-dasharray="4 3"'), _line(across(0.0), height, "")]
    body.append(_text(across(0.0), height - 4, "0", "middle"))
    drawing = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {height:g}" width="{_WIDTH:g}" '
        f'height="{height:g}" font-family="system-ui, \'DejaVu Sans\', Arial, sans-serif" font-size="12" role="img" '
        f'aria-label="assumptions that move the verdict">{"".join(body)}</svg>'
    )
    title = "Assumptions that move the verdict most" + (f": {result}" if result else "")
    return Chart(title, drawing, _caption(found), printed=True)


def _caption(found: Tornado) -> str:
    return (
        f"#{found.id} {found.name} is {money_text(found.lead_usd, 3)} better than its best rival (dashed line). "
        "Each bar is this lead between the low value of an assumption (blue) and its high value (orange). "
        "Left of 0 another design is to be bought."
    )


def _bar(one: Swing, place: int, lead: float, across: Callable[[float], float]) -> Iterator[str]:
    y = _TOP + place * _ROW
    name = one.of if len(one.of) <= _NAME else f"{one.of[: _NAME - 1]}…"
    yield f'<text x="{_LEFT - 80:.1f}" y="{y + _BAR:.1f}" fill="currentColor" text-anchor="end">{escape(name)}</text>'
    for usd, value, colour in ((one.low_usd, one.low, _LOW), (one.high_usd, one.high, _HIGH)):
        end = across(usd)
        if end == lead:
            continue
        start, width = min(end, lead), abs(end - lead)
        yield f'<rect x="{start:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BAR:g}" fill="{colour}"/>'
        at, anchor = (end + 4, "start") if end > lead else (end - 4, "end")
        yield _text(at, y + _BAR - 1, one.text(value), anchor)


def _line(x: float, height: float, dashes: str) -> str:
    return f'<path d="M{x:.1f} {_TOP:g}V{height - _ROW + 4:.1f}" stroke="currentColor" stroke-width="1"{dashes}/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="currentColor" text-anchor="{anchor}">{escape(text)}</text>'
