"""A picture of a network as SVG: one panel for each dimension, in which one box stands for one end or one switch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from evo_libra.explain.drawn_network import DrawnDimension, DrawnNetwork, bandwidth_text
from evo_libra.pictures.networks.captions import ends_text, heading, pieces_text, tier_labels, tiers_text
from evo_libra.pictures.networks.layout import Layout, cells, layout_of

# Okabe and Ito's colours, which can be told apart in every kind of colour vision, on white and on black.
NPU, DOMAIN, SWITCH, LINE = "#0072B2", "#56B4E9", "#E69F00", "#8a8f98"
_PANEL, _GAP, _MARGIN = 250.0, 46.0, 16.0
_TOP, _PICTURE, _LINE = 34.0, 250.0, 15.0
_CAPTION_LINES = 7
_INSET, _TIER, _BETWEEN = 12.0, 26.0, 30.0
_ONE_BY_ONE, _BUNDLE, _SIDE_OF_DOMAIN = 400, 24, 24.0
_FEW, _SEEN = 8, 64  # Ends that show the NPUs inside, and NPUs that can be seen there.
_FONT = "system-ui, 'DejaVu Sans', Arial, sans-serif"


@dataclass(frozen=True)
class Box:
    """A rectangle of a picture."""

    x: float
    y: float
    width: float
    height: float


def network_svg(network: DrawnNetwork, *, standalone: bool = True) -> str:
    """Return the picture of a network.

    Counts are to scale: every end and every switch of a plane has a box of its own. Texts that differ between designs
    of one topology carry ``data-slot``: ``bandwidth-0`` for that of dimension 0, ``pieces-0-1`` for its second item.

    Parameters
    ----------
    standalone : with a background and a colour of its own for a file; else it takes the text colour of its page.
    """
    count = len(network.dimensions)
    width = 2 * _MARGIN + count * _PANEL + (count - 1) * _GAP
    height = _TOP + _PICTURE + _CAPTION_LINES * _LINE + _MARGIN
    body = [_text(_MARGIN, 22, heading(network), size=15, bold=True)]
    name = hashlib.sha256(repr([(one.name, one.levels) for one in network.dimensions]).encode()).hexdigest()[:8]
    shown: Box | None = None
    for place, dimension in enumerate(network.dimensions):
        frame = Box(_MARGIN + place * (_PANEL + _GAP), _TOP, _PANEL, _PICTURE)
        drawn, first = _panel(dimension, frame, f"{name}{place}")
        if shown is not None:
            body += _zoom(shown, first)
        body += [*drawn, *_captions(dimension, place, frame)]
        shown = frame
    ground = f'<rect width="{_n(width)}" height="{_n(height)}" fill="#ffffff"/>' if standalone else ""
    colour = ' color="#22262c"' if standalone else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" '
        f'height="{_n(height)}" font-family="{_FONT}" font-size="12"{colour} role="img" '
        f'aria-label="{escape(heading(network))}">{ground}{"".join(body)}</svg>'
    )


def _panel(dimension: DrawnDimension, frame: Box, name: str) -> tuple[list[str], Box]:
    """Return the picture of a dimension, and the box of its first end."""
    outline = (
        f'<rect x="{_n(frame.x)}" y="{_n(frame.y)}" width="{_n(frame.width)}" height="{_n(frame.height)}" rx="6" '
        f'fill="none" stroke="{LINE}" stroke-opacity="0.5"/>'
    )
    copies = f"x {dimension.copies:,}" if dimension.copies > 1 else ""
    drawn = [outline, _text(frame.x + frame.width - 8, frame.y + 16, copies, anchor="end", bold=True)]
    inner = Box(
        frame.x + _INSET, frame.y + _INSET + 12, frame.width - 2 * _INSET, frame.height - 2 * _INSET - 12
    )  # fmt: skip
    picture, first = (_switched if dimension.switched else _linked)(dimension, inner, name)
    return [*drawn, *picture], first


def _linked(dimension: DrawnDimension, area: Box, _name: str) -> tuple[list[str], Box]:
    """Return ends that are linked with each other, and the box of the first one."""
    layout: Layout = layout_of(dimension.code, dimension.npus)
    scale = min(area.width, area.height)
    left, top = area.x + (area.width - scale) / 2, area.y + (area.height - scale) / 2
    x, y = left + layout.ends[0] * scale, top + layout.ends[1] * scale
    path = "".join(
        f"M{_n(x[a])} {_n(y[a])}{_bend(x[a], y[a], x[b], y[b]) if bent else 'L'}{_n(x[b])} {_n(y[b])}"
        for (a, b), bent in zip(layout.links.T.tolist(), layout.around.tolist(), strict=True)
    )
    many = layout.links.shape[1] > 100  # noqa: PLR2004 - from there on lines would hide each other
    lines = f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="{0.5 if many else 1.2}"/>'
    side = layout.size * scale
    boxes = [Box(float(a) - side / 2, float(b) - side / 2, side, side) for a, b in zip(x, y, strict=True)]
    note = [] if layout.all_links else [_text(area.x, area.y + area.height, "links of one end", size=10)]
    return [lines, *_ends(dimension, boxes), *note], boxes[0]


def _bend(x: float, y: float, to_x: float, to_y: float) -> str:
    """Return the command of a curve that passes next to a straight line, and the point that draws it there."""
    return f"Q{_n((x + to_x) / 2 + 0.16 * (y - to_y))} {_n((y + to_y) / 2 + 0.16 * (to_x - x))} "


def _switched(dimension: DrawnDimension, area: Box, name: str) -> tuple[list[str], Box]:
    """Return ends below the tiers of their switches, and the box of the first end."""
    levels = dimension.levels or (1,)
    room = len(levels) * (_TIER + _BETWEEN)
    low = Box(area.x, area.y + room, area.width, area.height - room)
    ends, first, below = _cells(dimension.npus, low, name, NPU if dimension.inside == 1 else DOMAIN)
    picture = []
    for tier, (count, label) in enumerate(zip(levels, tier_labels(dimension), strict=True)):
        place = Box(area.x, area.y + room - (tier + 1) * (_TIER + _BETWEEN) + 12, area.width, _TIER - 12)
        boxes, _, there = _cells(count, place, f"{name}t{tier}", SWITCH, widest=60.0)
        cables = min(dimension.npus if tier == 0 else levels[tier - 1], _BUNDLE)
        picture += [_cables(below, there, cables), *boxes]
        picture.append(_text(area.x, place.y - 3, label, size=10))
        below = there
    return [*picture, *ends, *_inner(dimension, first)], first


def _cells(
    count: int, area: Box, name: str, fill: str, *, widest: float = 0.0
) -> tuple[list[str], Box, Box]:  # fmt: skip
    """Return `count` boxes in a rectangle, the first of them, and the rectangle around all.

    Many are a pattern. In one row they may be wider than high, up to `widest`.
    """
    columns, rows, side = cells(count, area.width, area.height)
    wide = max(side, min(area.width / count, widest)) if rows == 1 else side
    gap = 0.18 * side
    left = area.x + (area.width - wide * columns) / 2
    around = Box(left, area.y, wide * columns, side * rows)
    first = Box(left + gap / 2, area.y + gap / 2, wide - gap, side - gap)
    if count > _ONE_BY_ONE:
        return _pattern(count, columns, side=side, around=around, name=name, fill=fill), first, around
    places = [(left + (n % columns) * wide, area.y + n // columns * side) for n in range(count)]
    shapes = "".join(
        f"M{_n(x + gap / 2)} {_n(y + gap / 2)}h{_n(wide - gap)}v{_n(side - gap)}h{_n(gap - wide)}z" for x, y in places
    )
    return [f'<path d="{shapes}" fill="{fill}"/>'], first, around


def _pattern(count: int, columns: int, side: float, around: Box, name: str, fill: str) -> list[str]:
    full, rest = divmod(count, columns)
    x, y, unit = _n(around.x), _n(around.y), _n(0.82 * side)
    defined = (
        f'<pattern id="p{name}" x="{x}" y="{y}" width="{side:.4f}" height="{side:.4f}" patternUnits="userSpaceOnUse">'
        f'<rect width="{unit}" height="{unit}" fill="{fill}"/></pattern>'
    )
    parts = [f'<rect x="{x}" y="{y}" width="{columns * side:.4f}" height="{full * side:.4f}" fill="url(#p{name})"/>']
    if rest:
        parts.append(
            f'<rect x="{x}" y="{around.y + full * side:.4f}" width="{rest * side:.4f}" height="{side:.4f}" '
            f'fill="url(#p{name})"/>'
        )
    return [defined, *parts]


def _ends(dimension: DrawnDimension, boxes: Sequence[Box]) -> list[str]:
    fill = NPU if dimension.inside == 1 else DOMAIN
    shapes = "".join(f"M{_n(b.x)} {_n(b.y)}h{_n(b.width)}v{_n(b.height)}h{_n(-b.width)}z" for b in boxes)
    shown = boxes if len(boxes) <= _FEW else boxes[:1]
    return [f'<path d="{shapes}" fill="{fill}"/>', *(part for box in shown for part in _inner(dimension, box))]


def _inner(dimension: DrawnDimension, box: Box) -> list[str]:
    """Return the NPUs inside an end, where they can be seen."""
    if dimension.inside == 1 or dimension.inside > _SEEN or box.width < _SIDE_OF_DOMAIN:
        return []
    edge = 0.1 * box.width
    area = Box(box.x + edge, box.y + edge, box.width - 2 * edge, box.height - 2 * edge)
    return _cells(dimension.inside, area, "", NPU)[0]


def _cables(low: Box, high: Box, count: int) -> str:
    """Return cables from the upper edge of a row of boxes to the lower edge of the row above it."""
    steps = [(n + 0.5) / count for n in range(count)]
    path = "".join(
        f"M{_n(low.x + low.width * s)} {_n(low.y)}L{_n(high.x + high.width * s)} {_n(high.y + high.height)}"
        for s in steps
    )
    return f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="0.8"/>'


def _zoom(frame: Box, end: Box) -> Iterator[str]:
    """Yield the lines that say that a panel shows what is inside one end of the next panel."""
    right = frame.x + frame.width
    for y, corner in ((frame.y, end.y), (frame.y + frame.height, end.y + end.height)):
        yield (
            f'<path d="M{_n(right)} {_n(y)}L{_n(end.x)} {_n(corner)}" fill="none" stroke="currentColor" '
            'stroke-opacity="0.45" stroke-dasharray="3 3"/>'
        )
    yield (
        f'<rect x="{_n(end.x)}" y="{_n(end.y)}" width="{_n(end.width)}" height="{_n(end.height)}" fill="none" '
        'stroke="currentColor"/>'
    )


def _captions(dimension: DrawnDimension, place: int, frame: Box) -> Iterator[str]:
    y = frame.y + frame.height
    pieces = pieces_text(dimension)
    lines = [
        (f"dimension {place}: {dimension.name}", "", True),
        (bandwidth_text(dimension), f"bandwidth-{place}", False),
        (ends_text(dimension), "", False),
        (tiers_text(dimension) or dimension.block, "", False),
        *((", ".join(pieces[at : at + 2]), f"pieces-{place}-{at // 2}", False) for at in (0, 2, 4)),
    ]
    for row, (line, slot, bold) in enumerate(lines, start=1):
        yield _text(frame.x, y + row * _LINE + 2, line, slot=slot, bold=bold)


def _text(
    x: float, y: float, text: str, *, slot: str = "", size: int = 12, bold: bool = False, anchor: str = ""
) -> str:  # fmt: skip
    more = (
        (f' font-size="{size}"' if size != 12 else "")  # noqa: PLR2004 - that of the picture
        + (' font-weight="600"' if bold else "")
        + (f' text-anchor="{anchor}"' if anchor else "")
        + (f' data-slot="{slot}"' if slot else "")
    )
    return f'<text x="{_n(x)}" y="{_n(y)}" fill="currentColor"{more}>{escape(text)}</text>' if text or slot else ""


def _n(value: float) -> str:
    """Return a coordinate, to a hundredth."""
    return f"{float(value):.2f}".rstrip("0").rstrip(".")
