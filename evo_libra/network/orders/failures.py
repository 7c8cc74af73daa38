"""Failures of a NIC, a link, a leaf, a rail, a plane or an NPU of an order, by how it is wired.

The scale-up network of a system takes the traffic of a NIC, a link or a rail that is gone to the others of the system.
The slowest system sets the pace of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evo_libra.network.catalog.failures import NPU
from evo_libra.network.orders.circuits import OCS_RAILS
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.racks import system_of
from evo_libra.network.orders.topology import Topology
from evo_libra.network.orders.tree import Tree

What = Literal["nic", "link", "leaf", "rail", "plane", "npu"]

_KINDS = {"nic": "nic", "link": "link", "leaf": "switch", "rail": "", "plane": ""}
"""The kinds of the catalogue of failures; a whole rail or plane has none."""
_BY_RAIL = ("rail-only", "rail-optimised")
_OTHERS = "the other {} of its system take its traffic"


@dataclass(frozen=True)
class OrderFailure:
    """A failure of a part of an order.

    Attributes
    ----------
    left : share of the scale-out bandwidth of the systems that it concerns; 0 where it cuts them off.
    pieces : that can fail; 0 where the order has no such part.
    kind : whose rate and repair are theirs; empty where no source gives them.
    says : what happens, as a clause.
    """

    left: float
    pieces: float
    kind: str
    says: str


def order_failure(order: Order, tree: Topology, products: ProductsSpec, what: What) -> OrderFailure:
    """Return what a failure takes of an order."""
    if what == NPU:
        return _of_npu(order, products)
    if order.switch is None:
        return OrderFailure(1.0, 0.0, _KINDS[what], "it has no network of its own")
    if what == "nic":
        return _taken(1.0 / order.active, order.active_npus, "nic", _OTHERS.format("NICs"))
    if what == "link":
        ports = order.active * order.ports
        return _taken(1.0 / ports, order.active_npus * order.ports, "link", _OTHERS.format("links"))
    if what == "leaf":
        return _of_leaf(order, tree, products)
    return _of_group(order, products, what)


def _taken(share: float, pieces: float, kind: str, says: str) -> OrderFailure:
    cut = share >= 1.0
    return OrderFailure(0.0 if cut else 1.0 - share, pieces, kind, "it cuts systems off" if cut else says)


def _of_npu(order: Order, products: ProductsSpec) -> OrderFailure:
    spare = order.npus - order.active
    part = part_of(order, products)
    says = f"one of the {spare} spare NPUs of its system takes its place" if spare else f"its {part} is out"
    return OrderFailure(1.0 if spare else 0.0, order.active_npus, NPU, says)


def part_of(order: Order, products: ProductsSpec) -> str:
    """Return what is taken out for the repair of an NPU: a server, or a tray of a rack."""
    return "tray" if order.npus > system_of(order.system, products).rails else "server"


def _of_leaf(order: Order, tree: Topology, products: ProductsSpec) -> OrderFailure:
    """Return that a leaf takes the part of the ports of a system that end in it."""
    rails = system_of(order.system, products).rails
    leaves = tree.leaves if isinstance(tree, Tree) else tree.switches
    if order.family == OCS_RAILS:
        return _taken(1.0 / order.ports, leaves, "ocs", _OTHERS.format("circuit switches"))
    if order.family in _BY_RAIL:
        return _taken(1.0 / (rails * order.planes), leaves, "switch", _OTHERS.format("rails and planes"))
    # A leaf that is filled with NPUs of several systems has a part of the ports of each.
    own = order.active * order.ports / order.planes
    inside = min(tree.down / own, 1.0) if isinstance(tree, Tree) else 1.0
    return _taken(inside / order.planes, leaves, "switch", _OTHERS.format("leaves"))


def _of_group(order: Order, products: ProductsSpec, what: What) -> OrderFailure:
    """Return that a whole rail or plane is gone, whose rate no source gives."""
    rails = system_of(order.system, products).rails
    if what == "rail" and order.family not in _BY_RAIL:
        return OrderFailure(1.0, 0.0, "", f"{order.family} has no rails")
    number, name = (rails, "rails") if what == "rail" else (order.planes, "planes")
    return _taken(1.0 / number, number, "", _OTHERS.format(name))
