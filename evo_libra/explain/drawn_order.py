"""Contents of a picture of an order: systems, tiers of switches, the links between them, and totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.errors import InputError
from evo_libra.explain.order_sketch import Sketch, sketch_of
from evo_libra.network.orders.bill import OrderBill, bill_of
from evo_libra.network.orders.check import violations
from evo_libra.network.orders.circuits import OCS_RAILS
from evo_libra.network.orders.direct import Direct
from evo_libra.network.orders.direct_layout import topology_layout
from evo_libra.network.orders.direct_wiring import topology_groups, topology_wires
from evo_libra.network.orders.layout import Layout
from evo_libra.network.orders.limits import Limits
from evo_libra.network.orders.modes import modes_of
from evo_libra.network.orders.notation import read_order, written
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec, Status
from evo_libra.network.orders.racks import system_of
from evo_libra.network.orders.runs import Tier
from evo_libra.network.orders.slices import shape_text, slice_optics
from evo_libra.network.orders.topology import Topology, topology_of
from evo_libra.network.orders.tree import Tree
from evo_libra.network.orders.wiring import Groups, Wires


@dataclass(frozen=True)
class DrawnCable:
    """The cables of one kind below a tier, with the shortest and the longest."""

    name: str
    kind: str
    pieces: int
    low_m: float
    high_m: float


@dataclass(frozen=True)
class DrawnLinks:
    """Links between switches of one tier: what they join, their number and rate, and their cables."""

    tier: Tier
    links: int
    Gbps: float
    cables: tuple[DrawnCable, ...]


@dataclass(frozen=True)
class DrawnTier:
    """A tier of switches, and the links below it.

    Attributes
    ----------
    count : switches over all planes; product : which they are.
    down, up : fewest and most links of a switch to what is below and above; up is (0, 0) of the highest tier.
    ratio : bandwidth down over bandwidth up of a switch with all its links; None of the highest tier.
    links, Gbps : links below the tier, and the rate of each.
    between : links between its switches, in a dragonfly or a HyperX; up has those.
    """

    name: Tier
    count: int
    product: str
    down: tuple[int, int]
    up: tuple[int, int]
    ratio: float | None
    links: int
    Gbps: float
    cables: tuple[DrawnCable, ...]
    between: tuple[DrawnLinks, ...] = ()


@dataclass(frozen=True)
class DrawnOrder:
    """An order to draw.

    Attributes
    ----------
    tiers : from the leaves up; none where there is no network.
    family, planes, rails : how switches join systems; rails are those whose leaves are apart, 1 where none are.
    groups : networks that nothing joins, and in each the systems that share leaves; pods : those of a plane.
    grid : groups and their switches of a dragonfly, switches of a line and of a column of a HyperX; empty of a tree.
    ports : ports of an NPU, and the rate of each in Gb/s.
    order_usd, network_usd, watts : totals; None where a product has no price or power.
    """

    notation: str
    system: str
    count: int
    npus: int
    active: int
    scale_up: str
    ports: tuple[int, float]
    family: str
    planes: int
    rails: int
    groups: Groups
    pods: int
    grid: tuple[int, ...]
    tiers: tuple[DrawnTier, ...]
    system_racks: int
    switch_racks: int
    order_usd: float | None
    network_usd: float | None
    watts: float | None
    sketch: Sketch


def drawn_order(design: str, products: ProductsSpec) -> DrawnOrder:
    """Return what to draw of an order in the notation, whose plans do not matter.

    An `InputError` says that it cannot be read, or which rule of vendors it breaks. Products may be rented or planned.

    >>> from evo_libra.network.orders.catalog import load_products
    >>> found = drawn_order("96 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1", load_products("products-2026"))
    >>> [(tier.count, tier.name, tier.down, tier.up, tier.links) for tier in found.tiers]
    [(24, 'leaf', (32, 32), (32, 32), 768), (16, 'spine', (48, 48), (0, 0), 768)]
    """
    order = read_order(design.split(" | ", maxsplit=1)[0], products)
    if broken := violations(order, products, Limits(order=get_args(Status))):
        raise InputError(broken[0])
    tree, bill, system = topology_of(order, products), bill_of(order, products), system_of(order.system, products)
    layout = topology_layout(order, tree, products)
    rails = {"rail-only": system.rails, "rail-optimised": system.rails, OCS_RAILS: order.npus}.get(order.family, 1)
    wires = topology_wires(order, tree, products)
    groups = topology_groups(order, tree, products) if tree.switches else Groups(trees=1, systems=1, leaves=0)
    return DrawnOrder(
        notation=written(order, products), system=order.system, count=order.count, npus=order.npus,
        active=order.active, scale_up=_scale_up(order, products),
        ports=(order.ports, order.Gbps), family=order.family, planes=order.planes, rails=rails,
        groups=groups, pods=tree.pods if isinstance(tree, Tree) else 1, grid=_grid(tree),
        tiers=tuple(_tiers(order, tree, wires, layout, products)),
        system_racks=layout.system_racks, switch_racks=layout.switch_racks, **_totals(bill),
        sketch=sketch_of(order.count, wires, groups),
    )  # fmt: skip


def _scale_up(order: Order, products: ProductsSpec) -> str:
    """Return the network within a system; of a slice its shape and its optical parts, too."""
    system = system_of(order.system, products)
    found = f"{system.scale_up.technology}, {system.scale_up.GBps:g} GB/s per NPU"
    if system.cubes is None:
        return found
    optics = slice_optics(order, system.cubes, products)
    switches = "" if optics.switches is None else f" over {optics.switches:,} {system.cubes.ocs}"
    return f"{shape_text(order, products)}, {found}, {optics.links:,} optical links{switches}"


def _totals(bill: OrderBill) -> dict[str, float | None]:
    priced = all(line.usd is not None for line in bill.lines)
    return {
        "order_usd": bill.order_usd().value if priced else None,
        "network_usd": bill.network_usd().value if priced else None,
        "watts": bill.watts() if all(line.watts is not None for line in bill.lines) else None,
    }


def _grid(topology: Topology) -> tuple[int, ...]:
    if isinstance(topology, Tree):
        return ()
    sides = topology.unit, topology.units
    return sides[::-1] if topology.family == "dragonfly" else sides


def _tiers(
    order: Order, tree: Topology, wires: Sequence[Wires], layout: Layout, products: ProductsSpec
) -> Iterator[DrawnTier]:  # fmt: skip
    if not wires:
        return
    if not isinstance(tree, Tree):
        yield _linked_tier(order, tree, wires, layout, products)
        return
    modes = modes_of(order, products)
    for place, one in enumerate(wires):
        rate = (modes.down if place == 0 else modes.up).Gbps
        down, up = _links(one.upper), (0, 0) if one is wires[-1] else _links(wires[place + 1].lower)
        full = tree.down if place == 0 else down[1]
        yield DrawnTier(
            name=one.tier, count=int(one.upper.max()) + 1, product=order.switch or "", down=down, up=up,
            ratio=full * rate / (up[1] * modes.up.Gbps) if up[1] else None, links=len(one), Gbps=rate,
            cables=_cables(one, layout, products),
        )  # fmt: skip


def _linked_tier(
    order: Order, found: Direct, wires: Sequence[Wires], layout: Layout, products: ProductsSpec
) -> DrawnTier:  # fmt: skip
    """Return the switches of a dragonfly or a HyperX."""
    (down, *between), rate = wires, modes_of(order, products).down.Gbps
    ends = np.concatenate([end for one in between for end in (one.lower, one.upper)])
    return DrawnTier(
        name="switch", count=found.switches, product=order.switch or "", down=_links(down.upper), up=_links(ends),
        ratio=None, links=len(down), Gbps=rate, cables=_cables(down, layout, products),
        between=tuple(DrawnLinks(one.tier, len(one), rate, _cables(one, layout, products)) for one in between),
    )  # fmt: skip


def _links(devices: IntArray) -> tuple[int, int]:
    """Return the fewest and the most links of a device."""
    links = np.bincount(devices)
    return int(links.min()), int(links.max())


def _cables(wires: Wires, layout: Layout, products: ProductsSpec) -> tuple[DrawnCable, ...]:
    runs = [run for run in layout.runs if run.tier == wires.tier]
    pieces = Counter[str]()
    for run in runs:
        pieces[run.cable] += run.pieces
    return tuple(
        DrawnCable(
            name, products.cables[name].kind, some,
            low_m=min(run.metres for run in runs if run.cable == name),
            high_m=max(run.metres for run in runs if run.cable == name),
        )
        for name, some in pieces.items()
    )  # fmt: skip
