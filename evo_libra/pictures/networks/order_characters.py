"""A picture of an order in characters: tiers of switches from the top, the cables below each, systems, and totals."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

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
from evo_libra.pictures.networks.characters import MIN_WIDTH


def order_lines(order: DrawnOrder, width: int, *, ascii_only: bool = False) -> list[str]:
    r"""Return the picture of an order in lines of at most `width` characters; a text that is longer takes several.

    >>> from evo_libra.explain.drawn_order import drawn_order
    >>> from evo_libra.network.orders.catalog import load_products
    >>> order = drawn_order("2 hgx-h100 / 1 x 400G / qm9700 tor 1:1", load_products("products-2026"))
    >>> print("\n".join(order_lines(order, 60, ascii_only=True)[:8]))
    2 hgx-h100 / 1 x 400G / qm9700 tor 1:1
    16 NPUs, top of rack
    <BLANKLINE>
    [ 1 leaf qm9700: 16 down ]
      |  16 links of 400G
      |  8 x dac-400-split (copper), 2 m
    [ 2 hgx-h100: 8 NPUs each, nvlink4, 450 GB/s per NPU, 1 x
      400G per NPU ]
    """
    wide, cable = max(width, MIN_WIDTH), "|" if ascii_only else "│"
    lines = [*_wrapped(order.notation, wide), *_wrapped(subtitle(order), wide), ""]
    for tier in reversed(order.tiers):
        lines += _wrapped(f"[ {_tier(order, tier)} ]", wide)
        for links in tier.between:
            lines += _wrapped(f"  {between_text(links)}", wide)
            lines += [line for one in links.cables for line in _wrapped(f"    {cable_text(one)}", wide)]
        for text in (links_text(tier), *map(cable_text, tier.cables)):
            lines += [f"  {cable}  {line}" for line in textwrap.wrap(text, wide - 5)]
    lines += _wrapped(f"[ {systems_title(order)}: {', '.join(systems_texts(order))} ]", wide)
    sums = [line for text in _totals(order) for line in _wrapped(text, wide)]
    return [*lines, "", *sums] if sums else lines


def _tier(order: DrawnOrder, tier: DrawnTier) -> str:
    groups = groups_text(order) if tier is order.tiers[0] else ""
    texts = [ports_text(tier), ratio_title(tier), apart_text(order, tier), groups]
    return f"{tier_title(tier)} {tier.product}: {', '.join(text for text in texts if text)}"


def _totals(order: DrawnOrder) -> Iterator[str]:
    found = totals(order)
    wide = max((len(figure) for figure, _ in found), default=0)
    for figure, name in found:
        yield f"{figure:>{wide}}  {name}"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent="  ", drop_whitespace=True) if text.strip() else [""]
