"""The links of an order one by one, each with the port of a system or switch at its two ends.

Devices of a kind are counted from 0, trees of planes and rails one after the other. A port of an NPU belongs to the
plane of its number. Uplinks are dealt out to the switches above in turn, and each leaf has equally many to each spine.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.racks import system_of
from evo_libra.network.orders.runs import Run, Tier
from evo_libra.network.orders.tree import Tree


@dataclass(frozen=True)
class Wires:
    """The links below the switches of a tier.

    Attributes
    ----------
    lower, upper : (n,) the devices that links join: systems or switches below, switches of the tier above.
    lower_port, upper_port : (n,) ports there; those of a system count NPU by NPU.
    """

    tier: Tier
    lower: IntArray
    lower_port: IntArray
    upper: IntArray
    upper_port: IntArray

    def __len__(self) -> int:
        return len(self.lower)


KINDS: dict[Tier, tuple[Tier | Literal["system"], Tier]] = {
    "circuit": ("system", "circuit"),
    "leaf": ("system", "leaf"), "spine": ("leaf", "spine"), "core": ("spine", "core"), "switch": ("system", "switch"),
    "group": ("switch", "switch"), "groups": ("switch", "switch"), "line": ("switch", "switch"),
    "column": ("switch", "switch"),
}  # fmt: skip
"""Kinds of devices at the lower and the upper end of links of each tier."""


@dataclass(frozen=True)
class Groups:
    """Networks that nothing joins, and in each of them the systems that share leaves, with the number of these."""

    trees: int
    systems: int
    leaves: int


@dataclass(frozen=True)
class _Trees:
    """Numbers of an order's trees: sides have leaves apart in a tree, a group of systems shares leaves."""

    order: Order
    tree: Tree
    rails: int

    @property
    def by_tree(self) -> int:
        return self.rails if self.order.family == "rail-only" else 1

    @property
    def sides(self) -> int:
        return self.rails if self.order.family == "rail-optimised" else 1

    @property
    def count(self) -> int:
        return self.order.planes * self.by_tree

    @property
    def ports(self) -> int:
        """Ports of an NPU in a plane."""
        return self.order.ports // self.order.planes

    @property
    def ends(self) -> int:
        """Ports of a system on one side of a tree."""
        return -(-self.order.npus // (self.by_tree * self.sides)) * self.ports

    @property
    def leaves(self) -> int:
        """Leaves of a group in a tree."""
        return self.tree.leaves // self.count // -(-self.order.count // self.tree.group_systems)

    @property
    def groups(self) -> Groups:
        return Groups(trees=self.count, systems=self.tree.group_systems, leaves=self.leaves)


def wires_of(order: Order, tree: Tree, products: ProductsSpec) -> tuple[Wires, ...]:
    """Return the links of each tier, the lowest first; none of an order without switches."""
    if not tree.tiers:
        return ()
    trees = _trees(order, tree, products)
    leaf = _circuit(order, tree) if tree.rings else _leaf(trees)
    if tree.tiers == 1:
        return (leaf,)
    spine = _spine(trees, first=_used(leaf))
    return (leaf, spine, _core(trees, first=_used(spine))) if tree.cores else (leaf, spine)


def _trees(order: Order, tree: Tree, products: ProductsSpec) -> _Trees:
    return _Trees(order, tree, system_of(order.system, products).rails)


def groups_of(order: Order, tree: Tree, products: ProductsSpec) -> Groups:
    """Return the groups of an order with switches; planes and rails that share switches are one network."""
    if tree.tiers == 1:
        return Groups(trees=1, systems=order.count, leaves=tree.leaves)
    return _trees(order, tree, products).groups


def links_of_leaves(order: Order, tree: Tree, products: ProductsSpec) -> tuple[tuple[int, int], ...]:
    """Return how many links to systems a leaf has, and how many leaves have so; those of the last ones are fewer."""
    if tree.tiers == 1:
        each, more = divmod(tree.links, tree.leaves)
        return ((each, tree.leaves - more), (each + 1, more))
    trees, found = _trees(order, tree, products), Counter[int]()
    groups, rest = divmod(order.count, tree.group_systems)
    for systems, times in ((tree.group_systems, groups), (rest, 1)):
        full, last = divmod(systems * trees.ends, tree.down)
        found[tree.down] += full * times * trees.sides * trees.count
        found[last] += times * trees.sides * trees.count if last else 0
    return tuple((+found).items())


def links_of_system(order: Order, tree: Tree, products: ProductsSpec) -> int:
    """Return the links of a system to a leaf that holds whole systems of a tree; 1 of others."""
    trees = _trees(order, tree, products)
    return trees.ends if tree.tiers > 1 and tree.down % trees.ends == 0 else 1


def runs_of(wires: Wires, runs: tuple[Run, ...], metres: FloatArray) -> IntArray:
    """Return (n,) the run that each link is of: the shortest cables join the devices that stand nearest.

    Parameters
    ----------
    metres : (n,) the way between the devices that each link joins.
    """
    mine = sorted((at for at, run in enumerate(runs) if run.tier == wires.tier), key=lambda at: runs[at].metres)
    found = np.empty(len(wires), dtype=np.int64)
    found[np.argsort(metres, kind="stable")] = np.repeat(mine, [runs[at].links for at in mine])
    return found


def _circuit(order: Order, tree: Tree) -> Wires:
    """Return the links to circuit switches: a port of NPUs of one place is a ring, which one switch has whole."""
    system, ring = np.indices((order.count, order.npus * order.ports)).reshape(2, -1)
    return _wires("circuit", system, ring, ring // tree.rings)


def _leaf(trees: _Trees) -> Wires:
    order, tree = trees.order, trees.tree
    system, npu, port = np.indices((order.count, order.npus, order.ports)).reshape(3, -1)
    rail, plane = npu % trees.rails, port % order.planes
    number = plane * trees.by_tree + (rail if trees.by_tree > 1 else 0)
    if tree.tiers == 1:
        leaf = number // -(-trees.count // tree.leaves)
    else:
        group, inside = np.divmod(system, trees.tree.group_systems)
        side = rail if trees.sides > 1 else 0
        end = npu // (trees.by_tree * trees.sides) * trees.ports + port // order.planes
        mine = side * (trees.leaves // trees.sides) + (inside * trees.ends + end) // tree.down
        leaf = number * (tree.leaves // trees.count) + group * trees.leaves + mine
    return _wires("leaf", system, npu * order.ports + port, leaf)


def _spine(trees: _Trees, first: int) -> Wires:
    """Return the links of leaves to the spines of their pod; first: the first port of a leaf that leads up."""
    leaf, up = np.indices((trees.tree.leaves, trees.tree.up)).reshape(2, -1)
    pods = pods_of(trees.tree, trees.groups)
    pod = pods.leaf[leaf]
    return _wires("spine", leaf, first + up, pods.first[pod] + up % pods.spines[pod])


def _core(trees: _Trees, first: int) -> Wires:
    spine, core = core_ends(trees.tree, trees.groups)
    each = trees.tree.core_links // trees.tree.spines
    return _wires("core", spine, first + np.arange(len(spine)) % each, core)


@dataclass(frozen=True)
class Pods:
    """The pods of all trees, one tree after the other; a tree without cores is one pod.

    Attributes
    ----------
    leaf, spine : (n,) the pod of each leaf and of each spine.
    first, spines : (p,) the first spine of each pod, and how many it has.
    each : (p,) links of each of its leaves to each of its spines.
    """

    leaf: IntArray
    spine: IntArray
    first: IntArray
    spines: IntArray
    each: IntArray


def pods_of(tree: Tree, groups: Groups) -> Pods:
    """Return the pods of an order with spines; all but the last have as many spines as a leaf has uplinks."""
    number, mine = np.divmod(np.arange(tree.leaves), tree.leaves // groups.trees)
    leaf = number * tree.pods + mine // groups.leaves * groups.systems // tree.pod_systems
    spines, full = tree.spines // groups.trees, (tree.pods - 1) * tree.up
    number, pod = np.divmod(np.arange(groups.trees * tree.pods), tree.pods)
    wide = np.where(pod < tree.pods - 1, tree.up, spines - full)
    spine = np.repeat(np.arange(len(wide)), wide)
    return Pods(leaf, spine, number * spines + pod * tree.up, wide, tree.up // wide)


def core_ends(tree: Tree, groups: Groups) -> tuple[IntArray, IntArray]:
    """Return (n,) the spine and the core of each link; the links of a tree are dealt out to its cores in turn."""
    each, cores = tree.core_links // tree.spines, tree.cores // groups.trees
    spine = np.repeat(np.arange(tree.spines), each)
    number, turn = np.divmod(np.arange(len(spine)), tree.core_links // groups.trees)
    return spine, number * cores + turn % cores


def _wires(tier: Tier, lower: IntArray, lower_port: IntArray, upper: IntArray) -> Wires:
    """Return links whose ports above are taken in turn."""
    order = np.argsort(upper, kind="stable")
    starts = np.cumsum(np.bincount(upper)) - np.bincount(upper)
    port = np.empty(len(upper), dtype=np.int64)
    port[order] = np.arange(len(upper)) - starts[upper[order]]
    return Wires(tier, lower, lower_port, upper, port)


def _used(wires: Wires) -> int:
    return int(wires.upper_port.max()) + 1
