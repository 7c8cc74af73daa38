"""A picture of an order as SVG: a row for each tier and one for the systems, with the links between them, and totals.

A row has few boxes with the numbers of their devices; counts are in the texts next to it. Lines are where links are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from evo_libra.explain.drawn_order import DrawnOrder, DrawnTier
from evo_libra.explain.order_captions import (
    apart_text,
    between_text,
    cable_text,
    groups_text,
    links_text,
    ports_text,
    ratio_title,
    subtitle,
    systems_texts,
    systems_title,
    tier_title,
    totals,
)
from evo_libra.explain.order_sketch import SLOTS, Box

# Okabe and Ito's colours, as of pictures of designs.
SYSTEM, LINE = "#0072B2", "#8a8f98"
SWITCHES = {"leaf": "#E69F00", "spine": "#D55E00", "core": "#CC79A7", "switch": "#E69F00", "circuit": "#009E73"}
_WIDTH, _MARGIN, _TEXTS, _RIGHT = 1120.0, 32.0, 250.0, 360.0
_TITLE, _ROW, _BETWEEN, _TOTALS = 84.0, 62.0, 96.0, 84.0
_GAP, _SHIFT, _SHADOWS = 8.0, 5.0, 3
_SLOT = (_WIDTH - 2 * _MARGIN - _TEXTS - _RIGHT + _GAP) / SLOTS - _GAP
_DARK = (SYSTEM, "#D55E00")
_FONT = "system-ui, 'DejaVu Sans', Arial, sans-serif"


@dataclass(frozen=True)
class _Row:
    """A row of boxes with its height on the picture; planes lie behind it."""

    y: float
    boxes: tuple[Box, ...]
    fill: str
    behind: int

    def left(self, box: Box) -> float:
        """Return the left edge of a box."""
        return _MARGIN + _TEXTS + box.slot * (_SLOT + _GAP)

    def middle(self, box: Box) -> float:
        """Return the middle of a box."""
        return self.left(box) + self.width(box) / 2

    def width(self, box: Box) -> float:
        """Return the width of a box."""
        return box.slots * (_SLOT + _GAP) - _GAP


def order_svg(order: DrawnOrder, *, standalone: bool = True) -> str:
    """Return the picture of an order.

    Parameters
    ----------
    standalone : with a background and a colour of its own for a file; else it takes the text colour of its page.
    """
    rows = list(_rows(order))
    height = rows[0].y + _ROW + _TOTALS + 2 * _MARGIN
    body = [
        _text(_MARGIN, _MARGIN + 16, order.notation, size=22, bold=True),
        _text(_MARGIN, _MARGIN + 42, subtitle(order), size=15),
        *(_lines(*pair, lines) for pair, lines in zip(pairwise(rows), order.sketch.lines, strict=True)),
        _arcs(rows[-1], order.sketch.arcs), *(text for row in rows for text in _boxes(row)),
        *_block(rows[0].y, systems_title(order), systems_texts(order)), *_tiers(order, rows[1:]),
        *_footer(order, height),
    ]  # fmt: skip
    ground = f'<rect width="{_n(_WIDTH)}" height="{_n(height)}" fill="#ffffff"/>' if standalone else ""
    colour = ' color="#22262c"' if standalone else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(_WIDTH)} {_n(height)}" width="{_n(_WIDTH)}" '
        f'height="{_n(height)}" font-family="{_FONT}" font-size="14"{colour} role="img" '
        f'aria-label="{escape(order.notation)}">{ground}{"".join(body)}</svg>'
    )


def _rows(order: DrawnOrder) -> Iterator[_Row]:
    """Yield the row of systems, and those of the tiers from the leaves up."""
    y = _TITLE + _MARGIN + len(order.tiers) * (_ROW + _BETWEEN)
    fills = (SYSTEM, *(SWITCHES[tier.name] for tier in order.tiers))
    behind = min(order.groups.trees - 1, _SHADOWS)
    for place, (boxes, fill) in enumerate(zip(order.sketch.rows, fills, strict=True)):
        yield _Row(y - place * (_ROW + _BETWEEN), boxes, fill, behind if place else 0)


def _lines(below: _Row, above: _Row, lines: Sequence[tuple[int, int]]) -> str:
    """Return the lines between the boxes of two rows that links join."""
    path = ""
    for low, up in lines:
        start, end = below.middle(below.boxes[low]), above.middle(above.boxes[up])
        if below.boxes[low].slots > 1:  # a box as wide as the leaves above it
            start = end
        path += f"M{_n(start)} {_n(below.y)}L{_n(end)} {_n(above.y + _ROW)}"
    return f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="0.9" stroke-opacity="0.6"/>'


def _arcs(row: _Row, arcs: Sequence[tuple[int, int]]) -> str:
    """Return the lines above a row between boxes that links join; the farther apart, the higher."""
    path = ""
    for one, other in arcs:
        start, end = row.middle(row.boxes[one]), row.middle(row.boxes[other])
        path += f"M{_n(start)} {_n(row.y)}Q{_n((start + end) / 2)} {_n(row.y - 16 - 0.16 * (end - start))} "
        path += f"{_n(end)} {_n(row.y)}"
    return f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="0.9" stroke-opacity="0.6"/>' if path else ""


def _boxes(row: _Row) -> Iterator[str]:
    for box in row.boxes:
        if not box.first:
            yield _text(row.middle(box), row.y + _ROW / 2 + 4, "…", size=22, anchor="middle")
            continue
        for behind in range(row.behind, -1, -1):
            shift = behind * _SHIFT
            yield (
                f'<rect x="{_n(row.left(box) + shift)}" y="{_n(row.y - shift)}" width="{_n(row.width(box))}" '
                f'height="{_n(_ROW)}" rx="5" fill="{row.fill}" stroke="#ffffff" stroke-width="1.5"/>'
            )
        yield from _labels(row, box)


def _labels(row: _Row, box: Box) -> Iterator[str]:
    """Yield the numbers of the devices of a box, in lines of their own where it is narrow."""
    numbers = [f"{box.first:,}"] if box.first == box.last else [f"{box.first:,}", "to", f"{box.last:,}"]
    lines = [" ".join(numbers)] if box.slots > 1 else numbers
    size = 15 if len(lines) == 1 and len(lines[0]) * 10 < row.width(box) else 13
    fill = "#ffffff" if row.fill in _DARK else "#22262c"
    y = row.y + _ROW / 2 + 5 - (len(lines) - 1) * size * 0.6
    for place, line in enumerate(lines):
        yield _text(row.middle(box), y + place * size * 1.2, line, size=size, anchor="middle", fill=fill, bold=True)


def _tiers(order: DrawnOrder, rows: Sequence[_Row]) -> Iterator[str]:
    for tier, row in zip(order.tiers, rows, strict=True):
        texts = [
            tier.product,
            ports_text(tier),
            apart_text(order, tier),
            groups_text(order) if tier is order.tiers[0] else "",
        ]
        yield from _block(row.y, tier_title(tier), [text for text in texts if text])
        yield from _beside(tier, row)


def _beside(tier: DrawnTier, row: _Row) -> Iterator[str]:
    """Yield the ratio of a tier, and the links and cables below it."""
    x = _WIDTH - _MARGIN - _RIGHT + 34
    if ratio := ratio_title(tier):
        yield _text(x, row.y + 30, ratio, size=22, bold=True, fill=row.fill)
        yield _text(x, row.y + 50, "down over up", size=13)
    texts = [text for one in tier.between for text in (between_text(one), *map(cable_text, one.cables))]
    heads = [between_text(one) for one in tier.between]
    for place, text in enumerate(reversed(texts)):
        yield _text(x, row.y + _ROW - 17 * place, text, size=14 if text in heads else 13, bold=text in heads)
    y = row.y + _ROW + _BETWEEN / 2 - 8 * len(tier.cables)
    yield _text(x, y, links_text(tier), bold=True)
    for place, cable in enumerate(tier.cables, start=1):
        yield _text(x, y + 18 * place, cable_text(cable), size=13)


def _block(y: float, title: str, texts: Sequence[str]) -> Iterator[str]:
    """Yield the texts at the left of a row."""
    yield _text(_MARGIN, y + 14, title, size=18, bold=True)
    for place, text in enumerate(texts, start=1):
        yield _text(_MARGIN, y + 14 + 19 * place, text)


def _footer(order: DrawnOrder, height: float) -> Iterator[str]:
    found = totals(order)
    y = height - _TOTALS
    yield (
        f'<path d="M{_n(_MARGIN)} {_n(y)}H{_n(_WIDTH - _MARGIN)}" stroke="{LINE}" stroke-opacity="0.6" fill="none"/>'
    )
    for place, (figure, name) in enumerate(found):
        x = _MARGIN + place * (_WIDTH - 2 * _MARGIN) / len(found)
        yield _text(x, y + 36, figure, size=22, bold=True)
        yield _text(x, y + 58, name, size=13)


def _text(
    x: float, y: float, text: str, *, size: int = 14, bold: bool = False, anchor: str = "", fill: str = "currentColor"
) -> str:  # fmt: skip
    more = (' font-weight="600"' if bold else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{_n(x)}" y="{_n(y)}" font-size="{size}" fill="{fill}"{more}>{escape(text)}</text>'


def _n(value: float) -> str:
    """Return a coordinate, to a hundredth."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
