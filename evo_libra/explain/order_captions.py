"""Captions of pictures of orders."""

from __future__ import annotations

from evo_libra.explain.drawn_order import DrawnCable, DrawnLinks, DrawnOrder, DrawnTier
from evo_libra.network.orders.notation import mode_text, rate_text, ratio_text
from evo_libra.network.orders.runs import Tier

MEGA = 1e6
_NAMES: dict[Tier, tuple[str, str]] = {
    "leaf": ("leaf", "leaves"), "spine": ("spine", "spines"), "core": ("core", "cores"),
    "switch": ("switch", "switches"), "circuit": ("circuit switch", "circuit switches"),
}  # fmt: skip
_KINDS = {
    "dac": "copper", "acc": "active copper", "aec": "active copper", "aoc": "active optical", "sr": "optical, SR",
    "dr": "optical, DR", "fr": "optical, FR",
}  # fmt: skip
_JOINED: dict[Tier, str] = {
    "group": "in groups", "groups": "between groups", "line": "in lines", "column": "in columns",
}  # fmt: skip
_FAMILIES = {
    "tor": "top of rack", "fat-tree": "fat tree", "none": "no network", "slice": "slice", "hyperx": "HyperX",
    "ocs-rails": "optical rails", "apart": "no network",
}  # fmt: skip


def tier_title(tier: DrawnTier) -> str:
    """Return the switches of a tier, such as ``24 leaves``."""
    return f"{tier.count:,} {_NAMES[tier.name][tier.count > 1]}"


def ports_text(tier: DrawnTier) -> str:
    """Return the links of a switch of a tier.

    >>> ports_text(DrawnTier("leaf", 24, "qm9700", (31, 32), (32, 32), 1.0, 768, 400.0, ()))
    '31 to 32 down, 32 up'
    """
    if tier.between:
        return f"{_between(*tier.down)} to NPUs, {_between(*tier.up)} to switches"
    return f"{_between(*tier.down)} down" + (f", {_between(*tier.up)} up" if tier.up[1] else "")


def groups_text(order: DrawnOrder) -> str:
    """Return how many leaves the systems of a group share; empty where all systems share all leaves."""
    groups = order.groups
    if not order.tiers or groups.systems >= order.count:
        return ""
    apart = ", one a rail" if groups.leaves == order.rails > 1 else ""
    systems = f"{groups.systems:,} systems" if groups.systems > 1 else "system"
    return f"{groups.leaves:,} per {systems}{apart}"


def apart_text(order: DrawnOrder, tier: DrawnTier) -> str:
    """Return the switches of a tier in each of the networks that nothing joins; empty of one network."""
    trees = order.groups.trees
    if trees == 1:
        return ""
    # Only rails of rail-only networks are apart: others meet in the spines of their plane.
    apart = {order.planes: "plane", order.rails: "rail"} if order.family == "rail-only" else {trees: "plane"}
    return f"{tier.count // trees:,} in each {apart.get(trees, 'plane of each rail')}"


def ratio_title(tier: DrawnTier) -> str:
    """Return the ratio of a tier; empty of the highest."""
    return "" if tier.ratio is None else ratio_text(round(tier.ratio, 2))


def links_text(tier: DrawnTier) -> str:
    """Return the links below a tier."""
    return f"{tier.links:,} links of {rate_text(tier.Gbps)}"


def between_text(links: DrawnLinks) -> str:
    """Return the links between the switches of a tier.

    >>> between_text(DrawnLinks("group", 992, 400.0, ()))
    '992 links of 400G in groups'
    """
    return f"{links.links:,} links of {rate_text(links.Gbps)} {_JOINED[links.tier]}"


def cable_text(cable: DrawnCable) -> str:
    """Return the cables of a kind, with their lengths.

    >>> cable_text(DrawnCable("dac-400", "dac", 768, 2.0, 2.0))
    '768 x dac-400 (copper), 2 m'
    """
    return f"{cable.pieces:,} x {cable.name} ({_KINDS[cable.kind]}), {_between(cable.low_m, cable.high_m)} m"


def systems_title(order: DrawnOrder) -> str:
    """Return the systems of an order."""
    return f"{order.count:,} {order.system}"


def systems_texts(order: DrawnOrder) -> list[str]:
    """Return what each system is, and its ports."""
    spare = f", {order.active} in use" if order.active < order.npus else ""
    ports = [f"{mode_text(*order.ports)} per NPU"] if order.ports[0] else []
    return [f"{order.npus} NPUs each{spare}", order.scale_up, *ports]


def subtitle(order: DrawnOrder) -> str:
    """Return NPUs, family, planes, rails and pods of an order."""
    bought, active = order.count * order.npus, order.count * order.active
    parts = [f"{active:,} NPUs" + (f" in use of {bought:,}" if active < bought else "")]
    parts.append(_FAMILIES.get(order.family, order.family) + _grid(order))
    parts += [
        f"{number:,} {what}"
        for number, what in (
            (order.planes, "planes"),
            (order.rails, "rails"),
            (order.pods, "pods in a plane" if order.planes > 1 else "pods"),
        )
        if number > 1
    ]
    return ", ".join(parts)


def _grid(order: DrawnOrder) -> str:
    if not order.grid:
        return ""
    one, other = order.grid
    return f" of {one:,} groups of {other:,}" if order.family == "dragonfly" else f" of {one:,} x {other:,}"


def totals(order: DrawnOrder) -> list[tuple[str, str]]:
    """Return the totals of an order, each with its name; those that are not known are left out."""
    racks = order.system_racks + order.switch_racks
    found = [] if order.order_usd is None else [(f"{order.order_usd / MEGA:,.1f} MUSD", "whole order")]
    if order.order_usd and order.network_usd:
        share = order.network_usd / order.order_usd
        found.append((f"{order.network_usd / MEGA:,.1f} MUSD", f"network, {100.0 * share:.1f} % of the order"))
    if order.watts:
        found.append((f"{order.watts / MEGA:,.2f} MW", "under load"))
    if racks:
        switches = f", {order.switch_racks:,} with switches" if order.switch_racks else ""
        found.append(
            (f"{racks:,} {'rack' if racks == 1 else 'racks'}", f"{order.system_racks:,} with systems{switches}")
        )
    return found


def _between(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
