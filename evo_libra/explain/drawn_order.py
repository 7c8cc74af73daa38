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
from evo_libra.network.orders.layout import Layout, Tier, layout_of
from evo_libra.network.orders.limits import Limits
from evo_libra.network.orders.modes import modes_of
from evo_libra.network.orders.notation import read_order, written
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec, Status
from evo_libra.network.orders.racks import system_of
from evo_libra.network.orders.tree import Tree, tree_of
from evo_libra.network.orders.wiring import Groups, Wires, groups_of, wires_of


@dataclass(frozen=True)
class DrawnCable:
    """The cables of one kind below a tier, with the shortest and the longest."""

    name: str
    kind: str
    pieces: int
    low_m: float
    high_m: float


@dataclass(frozen=True)
class DrawnTier:
    """A tier of switches, and the links below it.

    Attributes
    ----------
    count : switches over all planes; product : which they are.
    down, up : fewest and most links of a switch to what is below and above; up is (0, 0) of the highest tier.
    ratio : bandwidth down over bandwidth up of a switch with all its links; None of the highest tier.
    links, Gbps : links below the tier, and the rate of each.
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


@dataclass(frozen=True)
class DrawnOrder:
    """An order to draw.

    Attributes
    ----------
    tiers : from the leaves up; none where there is no network.
    family, planes, rails : how switches join systems; rails are those whose leaves are apart, 1 where none are.
    groups : networks that nothing joins, and in each the systems that share leaves; pods : those of a plane.
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
    tree = tree_of(order, products)
    layout, bill, system = layout_of(order, tree, products), bill_of(order, products), system_of(order.system, products)
    by_rail = order.family in ("rail-only", "rail-optimised")
    wires = wires_of(order, tree, products)
    groups = groups_of(order, tree, products) if tree.tiers else Groups(trees=1, systems=1, leaves=0)
    return DrawnOrder(
        notation=written(order, products), system=order.system, count=order.count, npus=order.npus,
        active=order.active, scale_up=f"{system.scale_up.technology}, {system.scale_up.GBps:g} GB/s per NPU",
        ports=(order.ports, order.Gbps), family=order.family, planes=order.planes, rails=system.rails if by_rail else 1,
        groups=groups, pods=tree.pods, tiers=tuple(_tiers(order, tree, wires, layout, products)),
        system_racks=layout.system_racks, switch_racks=layout.switch_racks, **_totals(bill),
        sketch=sketch_of(order.count, wires, groups),
    )  # fmt: skip


def _totals(bill: OrderBill) -> dict[str, float | None]:
    priced = all(line.usd is not None for line in bill.lines)
    return {
        "order_usd": bill.order_usd().value if priced else None,
        "network_usd": bill.network_usd().value if priced else None,
        "watts": bill.watts() if all(line.watts is not None for line in bill.lines) else None,
    }


def _tiers(
    order: Order, tree: Tree, wires: Sequence[Wires], layout: Layout, products: ProductsSpec
) -> Iterator[DrawnTier]:  # fmt: skip
    for place, one in enumerate(wires):
        modes = modes_of(order, products)
        rate = (modes.down if place == 0 else modes.up).Gbps
        down, up = _links(one.upper), (0, 0) if one is wires[-1] else _links(wires[place + 1].lower)
        full = tree.down if place == 0 else down[1]
        yield DrawnTier(
            name=one.tier, count=int(one.upper.max()) + 1, product=order.switch or "", down=down, up=up,
            ratio=full * rate / (up[1] * modes.up.Gbps) if up[1] else None, links=len(one), Gbps=rate,
            cables=_cables(one, layout, products),
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
