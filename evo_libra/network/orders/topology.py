"""The scale-out network of an order: a tree of switches, or switches that are linked to each other."""

from __future__ import annotations

from typing import TypeAlias

from evo_libra.network.orders.direct import DIRECT, Direct, direct_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.tree import Tree, tree_of

Topology: TypeAlias = Tree | Direct
"""Both have switches, links, and the systems and the shares of switches and of units."""


def topology_of(order: Order, products: ProductsSpec) -> Topology:
    """Return the network of an order; an InputError where its switches have too few ports."""
    return direct_of(order, products) if order.family in DIRECT else tree_of(order, products)
