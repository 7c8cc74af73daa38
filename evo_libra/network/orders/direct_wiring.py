"""The links of a dragonfly or a HyperX one by one; its switches are counted from 0, plane by plane."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.network.orders.direct import Direct
from evo_libra.network.orders.direct_ways import Pairs, pairs_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.topology import Topology
from evo_libra.network.orders.tree import Tree
from evo_libra.network.orders.wiring import Groups, Wires, groups_of, wires_of


def topology_wires(order: Order, topology: Topology, products: ProductsSpec) -> tuple[Wires, ...]:
    """Return the links of each tier, the lowest first; none of an order without switches."""
    if isinstance(topology, Tree):
        return wires_of(order, topology, products)
    (near, far), first = pairs_of(topology), topology.down
    return _down(order, topology), _between(topology, near, first), _between(topology, far, first + topology.near)


def topology_groups(order: Order, topology: Topology, products: ProductsSpec) -> Groups:
    """Return the groups of an order with switches."""
    if isinstance(topology, Tree):
        return groups_of(order, topology, products)
    return Groups(trees=topology.planes, systems=topology.leaf_systems, leaves=topology.spread)


def _down(order: Order, found: Direct) -> Wires:
    """Return the links of systems, whose NPUs are dealt out to their switches one after the other."""
    system, npu, port = np.indices((order.count, order.npus, order.ports)).reshape(3, -1)
    each, more = divmod(order.npus, found.spread)
    part = np.where(npu < more * (each + 1), npu // (each + 1), more + (npu - more * (each + 1)) // each)
    switch = system // found.leaf_systems * found.spread + part + port % order.planes * found.unit * found.units
    return Wires("switch", system, npu * order.ports + port, switch, _turn(switch))


def _between(found: Direct, pairs: Pairs, first: int) -> Wires:
    """Return the links between switches of all planes; first: the first of their ports."""
    planes = np.arange(found.planes)[:, None] * found.unit * found.units
    lower, upper = ((planes + one).ravel() for one in np.repeat(pairs.switches, pairs.together, axis=1))
    ports = first + _turn(np.stack((lower, upper), axis=1).ravel())
    return Wires(pairs.tier, lower, ports[::2], upper, ports[1::2])


def _turn(devices: IntArray) -> IntArray:
    """Return the number of each link at its device, from 0.

    >>> _turn(np.array([7, 3, 7, 7])).tolist()
    [0, 0, 1, 2]
    """
    order, each = np.argsort(devices, kind="stable"), np.bincount(devices)
    turn = np.empty(len(devices), dtype=np.int64)
    turn[order] = np.arange(len(devices)) - (np.cumsum(each) - each)[devices[order]]
    return turn
