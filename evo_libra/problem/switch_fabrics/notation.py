"""Fabrics as text: nodes of each layer, then the links between each two.

``16384, 128, 128 | 0-1 H128/128 E1 200G | 0-2 H1/1 E1 200G | 1-2 H1/1 E128 200G`` is ZCube(128, 2). Blocks of both
layers follow H, the links of a lower node E, as in ATOP; ``4x200G`` is four links of a pair.
"""

from __future__ import annotations

import re

from evo_libra.errors import InputError
from evo_libra.network.fabrics.layered import Between, LayeredFabric
from evo_libra.network.fabrics.named import parse_named

_GBPS = 1e9 / 8
_LINKS = re.compile(r"(\d+)-(\d+)\s+H(\d+)/(\d+)\s+E(\d+)\s+(?:(\d+)x)?(\d+(?:\.\d+)?)G")


def fabric_text(fabric: LayeredFabric) -> str:
    """Return the notation of a fabric; an `InputError` says that links within a layer have none."""
    if fabric.within:
        raise InputError("links within a layer have no notation; allowed: links between layers")
    return " | ".join([", ".join(map(str, fabric.layers)), *map(_links, fabric.between)])


def _links(one: Between) -> str:
    parallel = f"{one.parallel}x" if one.parallel > 1 else ""
    blocks = f"H{one.lower_blocks}/{one.upper_blocks}"
    return f"{one.lower}-{one.upper} {blocks} E{one.links} {parallel}{one.rate / _GBPS:g}G"


def parse_fabric(text: str, server: int = 8) -> LayeredFabric:
    """Return the fabric of a text, in the notation or by a name such as ``zcube(128, 2)``.

    An `InputError` says what is wrong with it.

    >>> parse_fabric("64, 8 | 0-1 H8/8 E1 400G").layers
    (64, 8)
    """
    nodes, *links = (part.strip() for part in text.split("|"))
    if not links:
        return parse_named(text)
    layers = [part.strip() for part in nodes.split(",")]
    if not all(re.fullmatch(r"\d{1,8}", one) for one in layers):
        raise InputError(f"'{nodes}' are no nodes of layers; allowed: whole numbers, such as 16384, 128, 128")
    return LayeredFabric(tuple(map(int, layers)), tuple(map(_parsed, links)), server=server)


def _parsed(text: str) -> Between:
    found = _LINKS.fullmatch(text)
    if not found:
        raise InputError(f"'{text}' are no links of two layers; allowed: such as 0-1 H8/8 E1 400G")
    lower, upper, lower_blocks, upper_blocks, links = (int(found[index]) for index in range(1, 6))
    return Between(
        lower, upper, lower_blocks, upper_blocks, links, rate=float(found[7]) * _GBPS, parallel=int(found[6] or 1)
    )
