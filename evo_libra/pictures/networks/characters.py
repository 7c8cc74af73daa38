"""A picture of a network in characters: tiers of switches, cables and ends, one block of lines for each dimension."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evo_libra.explain.drawn_network import DrawnDimension, DrawnNetwork, bandwidth_text
from evo_libra.pictures.networks.captions import ends_text, heading, tier_labels

MIN_WIDTH = 24
"""Columns that a picture needs at least."""
_INDENT = 2


@dataclass(frozen=True)
class _Signs:
    """Characters for an NPU, a domain of NPUs, a switch, a cable and what is left out; links by code of a block."""

    npu: str
    domain: str
    switch: str
    cable: str
    more: str
    links: dict[str, tuple[str, str, str]]


# Before the first end, between two ends, after the last one.
_UNICODE = _Signs("■", "▣", "▬", cable="│", more="…", links={
    "RI": ("╶", "─", "╴"), "FC": ("", "\u2573", ""), "HC": ("", "┼", ""), "ME": ("", "─", ""), "TO": ("╶", "─", "╴"),
    "TC": ("╶", "─", "╴"),
})  # fmt: skip
_ASCII = _Signs("#", "@", "=", cable="|", more="..", links={
    "RI": ("<", "-", ">"), "FC": ("", "x", ""), "HC": ("", "+", ""), "ME": ("", "-", ""), "TO": ("<", "-", ">"),
    "TC": ("<", "-", ">"),
})  # fmt: skip


def network_lines(network: DrawnNetwork, width: int, *, ascii_only: bool = False) -> list[str]:
    r"""Return the picture of a network in lines of at most `width` characters, the outermost dimension first.

    A row that is too long ends with dots; its caption has the whole number.

    >>> from evo_libra.explain.drawn_network import drawn_network
    >>> print("\n".join(network_lines(drawn_network("RI(4)@package:250_SW(8)@pod:20"), 40)))
    32 NPUs = 4 x 8
    <BLANKLINE>
    dimension 1: SW(8) pod
      ▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬ switch
      │ │ │ │ │ │ │ │
      ▣ ▣ ▣ ▣ ▣ ▣ ▣ ▣
      8 domains of 4 NPUs, on 4 rails
      20 GB/s per NPU
    <BLANKLINE>
    dimension 0: RI(4) package, 8 times
      ╶■─■─■─■╴
      4 NPUs
      250 GB/s per NPU
    """
    width, signs = max(width, MIN_WIDTH), _ASCII if ascii_only else _UNICODE
    lines = [heading(network)]
    for place, dimension in reversed(list(enumerate(network.dimensions))):
        copies = f", {dimension.copies:,} times" if dimension.copies > 1 else ""
        lines += ["", f"dimension {place}: {dimension.name}{copies}"]
        drawn = _switched if dimension.switched else _linked
        texts = (*drawn(dimension, width - _INDENT, signs), ends_text(dimension), bandwidth_text(dimension))
        lines += [" " * _INDENT + text for text in texts if text]
    return [line if len(line) <= width else line[: width - len(signs.more)] + signs.more for line in lines]


def _switched(dimension: DrawnDimension, room: int, signs: _Signs) -> Iterator[str]:
    """Yield the tiers from the top, with cables below each, and the ends."""
    levels = dimension.levels or (1,)
    labels = tier_labels(dimension)
    across = room - max(map(len, labels)) - 1
    ends, wide = _row(dimension.npus, _end(dimension, signs), " ", room=min(across, room), signs=signs)
    for count, label in reversed(list(zip(levels, labels, strict=True))):
        row = signs.switch * wide if count == 1 else _row(count, signs.switch, " ", room=across, signs=signs)[0]
        yield f"{row:<{wide}} {label}"
        yield " ".join([signs.cable] * ((wide + 1) // 2))
    yield ends


def _linked(dimension: DrawnDimension, room: int, signs: _Signs) -> Iterator[str]:
    before, between, after = signs.links.get(dimension.code, ("", " ", ""))
    inner = room - len(before) - len(after)
    yield before + _row(dimension.npus, _end(dimension, signs), between, room=inner, signs=signs)[0] + after


def _end(dimension: DrawnDimension, signs: _Signs) -> str:
    return signs.npu if dimension.inside == 1 else signs.domain


def _row(count: int, sign: str, between: str, *, room: int, signs: _Signs) -> tuple[str, int]:
    """Return a row of signs, cut to its room, and the columns that it takes without the dots."""
    whole = between.join([sign] * count)
    if len(whole) <= room:
        return whole, len(whole)
    most = max((room - len(signs.more) + len(between)) // 2, 1)
    cut = between.join([sign] * most)
    return cut + signs.more, len(cut)
