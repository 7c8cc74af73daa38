"""Captions of pictures of networks."""

from __future__ import annotations

from evo_libra.explain.drawn_network import DrawnDimension, DrawnNetwork

_LEAVES, _PODS = ("leaf", "spine"), ("leaf", "aggregation", "core")


def heading(network: DrawnNetwork) -> str:
    """Return the NPUs of a network as the product of its dimensions.

    >>> from evo_libra.explain.drawn_network import drawn_network
    >>> heading(drawn_network("RI(4)_SW(512)"))
    '2,048 NPUs = 4 x 512'
    """
    product = " x ".join(f"{one.npus:,}" for one in network.dimensions)
    return f"{network.npus:,} NPUs" + (f" = {product}" if len(network.dimensions) > 1 else "")


def ends_text(dimension: DrawnDimension) -> str:
    """Return what a dimension connects.

    >>> from evo_libra.explain.drawn_network import drawn_network
    >>> [ends_text(one) for one in drawn_network("RI(4)_SW(512)").dimensions]
    ['4 NPUs', '512 domains of 4 NPUs, on 4 rails']
    """
    if dimension.inside == 1:
        return f"{dimension.npus:,} NPUs"
    rails = f", on {dimension.rails:,} rails" if dimension.rails > 1 else ""
    return f"{dimension.npus:,} domains of {dimension.inside:,} NPUs{rails}"


def tier_labels(dimension: DrawnDimension) -> tuple[str, ...]:
    """Return how many switches each tier has, those next to the NPUs first; `switch` where they are not known."""
    if not dimension.switched or len(dimension.levels) < len(_LEAVES):
        return tuple(counted(count, "switch") for count in dimension.levels) or ("switch",) * dimension.switched
    names = _LEAVES if len(dimension.levels) == len(_LEAVES) else _PODS
    return tuple(f"{count:,} {name}" for count, name in zip(dimension.levels, names, strict=True))


def tiers_text(dimension: DrawnDimension) -> str:
    """Return the switches of one plane, tier by tier; empty where they are not known, or there are none."""
    counts = " + ".join(f"{count:,}" for count in dimension.levels)
    return f"{counts} {'switch' if dimension.levels == (1,) else 'switches'} per plane" if counts else ""


def pieces_text(dimension: DrawnDimension) -> list[str]:
    """Return what the whole network takes of each item for a dimension, one text each."""
    return [counted(count, item) for item, count in (dimension.pieces or {}).items()]


def counted(count: int, what: str) -> str:
    """Return a number of things.

    >>> counted(1, "switch"), counted(2048, "switch"), counted(3, "link")
    ('1 switch', '2,048 switches', '3 links')
    """
    plural = {"switch": "switches", "nic": "NICs"}.get(what, f"{what}s")
    return f"{count:,} {what if count == 1 else plural}"
