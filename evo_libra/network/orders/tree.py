"""The switches, links and groups of the network of an order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from evo_libra.errors import InputError
from evo_libra.network.orders.circuits import OCS_RAILS
from evo_libra.network.orders.lengths import half_row
from evo_libra.network.orders.modes import modes_of
from evo_libra.network.orders.order import APART, Family, Order
from evo_libra.network.orders.ports import Ports, leaves_of_system, ports_of
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.racks import system_of
from evo_libra.network.orders.tor_racks import systems_of_rack


@dataclass(frozen=True)
class Tree:
    """The scale-out network of an order, over all planes and rails.

    Attributes
    ----------
    tiers : tiers of switches: 0 of no network, 1 to 3.
    down, up : ports of a leaf towards NPUs and towards spines.
    leaves, spines, cores : switches of each tier; spines are the aggregation switches of pods where there are cores.
    pods : pods of leaves in a plane, each with spines of its own; 1 of two tiers.
    links : links between NPUs and leaves; uplinks : between leaves and spines; core_links : between spines and cores.
    leaf_systems, pod_systems : systems whose NPUs of one rail are under one leaf, and in one pod; at least 1.
    group_systems : systems that have leaves of their own together.
    leaf_share, pod_share : what an NPU has of its bandwidth beyond its leaf, and beyond its pod, at most 1.
    uneven : whether leaves or pods hold different numbers of systems.
    rings : those that a circuit switch holds, of one port of the NPUs that have one place in each system; 0 of others.
        Circuit switches are leaves without spines.
    """

    tiers: int
    down: int
    up: int
    leaves: int
    spines: int
    cores: int
    pods: int
    links: int
    uplinks: int
    core_links: int
    leaf_systems: int
    group_systems: int
    pod_systems: int
    leaf_share: float
    pod_share: float
    uneven: bool = False
    rings: int = 0

    @property
    def stages(self) -> tuple[tuple[str, int], ...]:
        """The switches of each tier that there is, by its name."""
        if self.rings:
            return (("optical circuit switches", self.leaves),)
        tiers = (("leaf", self.leaves), ("spine", self.spines), ("core", self.cores))
        return tuple((f"{tier} switches", pieces) for tier, pieces in tiers if pieces)

    @property
    def all_links(self) -> int:
        """Links of all tiers."""
        return self.links + self.uplinks + self.core_links

    @property
    def passed(self) -> int:
        """Switches on the way to the highest tier and back."""
        return max(2 * self.tiers - 1, 0)

    @property
    def switches(self) -> int:
        """Switches of all tiers."""
        return self.leaves + self.spines + self.cores


def tree_of(order: Order, products: ProductsSpec) -> Tree:
    """Return the network of an order; an InputError where its ports do not exist or three tiers are not enough.

    Leaves hold whole systems where the ports of one fit, and have all uplinks of a full leaf, whatever is plugged in;
    some more where these divide among fewer spines, but `leaf_share` stays that of the ratio.
    Those of a fat tree that would hold one system or less are filled with NPUs of several: no path gets longer. Each
    leaf has equally many links to each spine of its plane or pod, and all ports of its NPUs in a plane.
    """
    if order.family in ("none", "slice", APART):
        return _no_network(order.count)
    if order.family == OCS_RAILS:
        return _circuits(order, products)
    leaf, pod = ports_of(order, products)
    return _tree(
        _Needs(
            switch=order.switch or "", family=order.family, count=order.count, npus=order.npus, active=order.active,
            rails=system_of(order.system, products).rails, planes=order.planes, ports=order.ports // order.planes,
            rack=systems_of_rack(order, products) if order.family == "tor" else order.count, leaf=leaf, pod=pod,
            near=half_row(products.room.racks_per_row) if products.room else order.count,
        )
    )  # fmt: skip


@dataclass(frozen=True)
class _Needs:
    """All that a network depends on: ports are those of an NPU in each plane, rack the systems of one.

    near : racks that may share filled leaves, which stand in the middle of them.
    """

    switch: str
    family: Family
    count: int
    npus: int
    active: int
    rails: int
    planes: int
    ports: int
    rack: int
    leaf: Ports
    pod: Ports
    near: int

    @property
    def by_rail(self) -> int:
        """Rails whose leaves are apart."""
        return self.rails if self.family in ("rail-only", "rail-optimised") else 1

    @property
    def by_tree(self) -> int:
        """Rails whose trees are apart."""
        return self.rails if self.family == "rail-only" else 1


@dataclass(frozen=True)
class _Group:
    """Systems and the leaves of a tree that they have for themselves; active: ports of active NPUs on a leaf."""

    systems: int
    leaves: int
    down: int
    leaf_systems: int
    active: Fraction


@dataclass(frozen=True)
class _Upper:
    """The tiers above the leaves of a tree."""

    tiers: int
    spines: int
    cores: int
    pods: int
    core_links: int
    pod_groups: int
    pod_links: int

    @property
    def switches(self) -> int:
        """Spines and cores."""
        return self.spines + self.cores


@lru_cache(maxsize=65536)
def _tree(needs: _Needs) -> Tree:
    ends = needs.count * -(-needs.npus // needs.by_tree) * needs.ports
    trees = needs.planes * needs.by_tree
    if ends <= needs.leaf.down:
        return _one_tier(needs, trees, sharing=needs.leaf.down // ends)
    return _tiers(needs, trees)


def _one_tier(needs: _Needs, trees: int, sharing: int) -> Tree:
    """Return switches that each join a whole rail or plane, or several."""
    leaves, links = -(-trees // sharing), needs.count * needs.npus * needs.ports * needs.planes
    return Tree(
        tiers=1, down=-(-links // leaves), up=0, leaves=leaves, spines=0, cores=0, pods=1, links=links, uplinks=0,
        core_links=0, leaf_systems=needs.count, group_systems=needs.count, pod_systems=needs.count, leaf_share=1.0,
        pod_share=1.0,
    )  # fmt: skip


def _tiers(needs: _Needs, trees: int) -> Tree:
    group = _group(needs)
    groups = -(-needs.count // group.systems)
    up, upper = _fewest(needs, group, groups)
    leaf_systems = min(group.leaf_systems, needs.count)
    pod_systems = min(upper.pod_groups * group.systems, needs.count)
    # That of the uplinks of the ratio, as times are of what an order names.
    leaf_share = min(float(needs.leaf.ups(group.down) * needs.leaf.rate / group.active), 1.0)
    # Ports of active NPUs of a system in one tree.
    ends = Fraction(needs.active * needs.ports, needs.by_tree)
    pod_share = float(upper.pod_links * needs.leaf.rate / (pod_systems * ends))
    leaves = groups * group.leaves
    return Tree(
        tiers=upper.tiers, down=group.down, up=up, leaves=leaves * trees, spines=upper.spines * trees,
        cores=upper.cores * trees, pods=upper.pods, links=needs.count * needs.npus * needs.ports * needs.planes,
        uplinks=leaves * up * trees, core_links=upper.core_links * trees, leaf_systems=leaf_systems,
        group_systems=min(group.systems, needs.count), pod_systems=pod_systems, leaf_share=leaf_share,
        pod_share=min(pod_share, leaf_share) if upper.tiers > _TWO else leaf_share,
        uneven=bool(needs.count % leaf_systems or needs.count % pod_systems),
    )  # fmt: skip


def _fewest(needs: _Needs, group: _Group, groups: int) -> tuple[int, _Upper]:
    """Return the uplinks of a leaf whose tiers above have the fewest switches, and these; of equals the fewest uplinks.

    Some uplinks more may divide among fewer spines: 22 among 11, where 21 need 21.
    """
    up = needs.leaf.ups(group.down)
    best = up, _upper(needs, group, groups, up, _dividing)
    for more in needs.leaf.more_up(group.down):
        # The switches that take the links rise with them, so that no later number is better.
        if _upper(needs, group, groups, more, _taking).switches >= best[1].switches:
            break
        upper = _upper(needs, group, groups, more, _dividing)
        best = (more, upper) if upper.switches < best[1].switches else best
    return best


def _group(needs: _Needs) -> _Group:
    """Return systems that share leaves: those of a rack, or those that fill a leaf of each rail."""
    npus = -(-needs.npus // needs.by_rail)
    ends = npus * needs.ports
    active = Fraction(needs.active * needs.ports, needs.by_rail)
    down = needs.leaf.split
    sides = needs.by_rail // needs.by_tree
    held = down // ends
    if held <= 1 and needs.family == "fat-tree":
        return _filled(needs, down)
    if not held:
        spread = leaves_of_system(npus, needs.ports, down)
        return _Group(1, sides * spread, -(-npus // spread) * needs.ports, 1, active / spread)
    if needs.family != "tor":
        return _Group(held, sides, held * ends, held, min(held, needs.count) * active)
    leaves = -(-needs.rack // held)
    held = -(-needs.rack // leaves)
    return _Group(needs.rack, leaves, held * ends, held, min(held, needs.count) * active)


def _filled(needs: _Needs, down: int) -> _Group:
    """Return systems whose NPUs fill leaves: those that take the fewest leaves and pods, and of these the fewest.

    More racks than half a row of them share no leaves, whose cables would be too long for copper.

    A leaf may have ports of active NPUs alone, as the spare ones of a system are on others.
    """
    sizes = np.arange(1, max(min(needs.near, needs.count), 1) + 1)
    groups, leaves = -(-needs.count // sizes), -(-sizes * needs.npus // max(down // needs.ports, 1))
    pods = np.ones_like(sizes)
    if (groups * leaves).min() > needs.pod.up:
        inside = leaves <= needs.pod.split
        sizes, groups, leaves = sizes[inside], groups[inside], leaves[inside]
        pods = -(-groups // (needs.pod.split // leaves))
    if not len(sizes):
        raise _too_few(needs)
    best = np.lexsort((sizes, pods, groups * leaves))[0]
    systems, own = int(sizes[best]), int(leaves[best])
    plugged = -(-systems * needs.npus // own) * needs.ports
    return _Group(systems, own, plugged, 1, Fraction(min(plugged, needs.active * systems * needs.ports)))


def _upper(needs: _Needs, group: _Group, groups: int, up: int, fewest: Callable[[int, int, int], int]) -> _Upper:
    leaves, ports = groups * group.leaves, needs.pod.up
    if leaves <= ports:
        return _Upper(
            tiers=_TWO, spines=fewest(leaves * up, ports, up), cores=0, pods=1, core_links=0, pod_groups=groups,
            pod_links=0,
        )  # fmt: skip
    pod_groups = needs.pod.split // group.leaves
    pods = -(-groups // max(pod_groups, 1))
    if not pod_groups or pods > ports:
        raise _too_few(needs)
    rest = (groups - (pods - 1) * pod_groups) * group.leaves
    spines = (pods - 1) * up + fewest(rest * up, pod_groups * group.leaves, up)
    links = needs.pod.ups(pod_groups * group.leaves)
    return _Upper(
        tiers=3, spines=spines, cores=-(-spines * links // ports), pods=pods, core_links=spines * links,
        pod_groups=pod_groups, pod_links=up * links,
    )  # fmt: skip


def _too_few(needs: _Needs) -> InputError:
    return InputError(f"three tiers of {needs.switch} have no ports for {needs.count * needs.npus:,} NPUs")


def _dividing(links: int, ports: int, up: int) -> int:
    """Return the fewest switches of some ports that take the links, where each leaf has equally many links to each."""
    return next(spines for spines in range(_taking(links, ports, up), up + 1) if up % spines == 0)


def _taking(links: int, ports: int, _: int) -> int:
    """Return the fewest switches of some ports that take the links, equally many or not."""
    return -(-links // ports)


def _circuits(order: Order, products: ProductsSpec) -> Tree:
    """Return circuit switches, each with whole rings: an NPU has one for each of its ports."""
    ports = modes_of(order, products).down.ports
    if order.count > ports:
        many = f"{order.count:,} NPUs, one of each {order.system}"
        raise InputError(f"{order.switch} has ports for a ring of {ports:,} NPUs, and a rail has {many}")
    links = order.npus * order.ports
    rings = min(ports // order.count, links)
    return Tree(
        tiers=1, down=rings * order.count, up=0, leaves=-(-links // rings), spines=0, cores=0, pods=1,
        links=order.count * links, uplinks=0, core_links=0, leaf_systems=order.count, group_systems=order.count,
        pod_systems=order.count, leaf_share=1.0, pod_share=1.0, rings=rings,
    )  # fmt: skip


def _no_network(count: int) -> Tree:
    return Tree(
        tiers=0, down=0, up=0, leaves=0, spines=0, cores=0, pods=1, links=0, uplinks=0, core_links=0,
        leaf_systems=count, group_systems=count, pod_systems=count, leaf_share=1.0, pod_share=1.0,
    )  # fmt: skip


_TWO = 2
