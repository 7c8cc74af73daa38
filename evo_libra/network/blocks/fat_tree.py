"""Fat trees that are oversubscribed: fewer links between switches than NPUs.

A tier with the ratio r has a link upwards for every r links downwards. With radix k, a leaf takes up to k r / (r + 1)
NPUs; spines join up to k leaves. If these are not enough, pods of leaves, with a ratio of their own, are joined by
cores. Whatever stays under a leaf has all its bandwidth; what leaves it shares 1 / r of the bandwidth of the leaf's
NPUs, and what leaves a pod 1 / (r s) of it, where s is the ratio of the pods. Ratios of 1 are those of
`evo_libra.network.blocks.switch`.

Leaves and pods are as few as can be, and are all alike where the NPUs can be divided among no more of them than at 1:1.
The uplinks of a leaf and of a pod come in whole numbers, switches as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, cases
from evo_libra.network.blocks.block import Counts, Hops, Levels, assemble
from evo_libra.network.blocks.grid import on_axes
from evo_libra.network.blocks.kit import Kit
from evo_libra.network.blocks.levelled import Levelled
from evo_libra.network.blocks.switch import Clos
from evo_libra.network.routing import ROUTINGS, Slowdown, slowdown

Ratios = tuple[int, int]
"""Of the leaves and of the pods: links downwards over links upwards."""

_THREE = 3


@dataclass(frozen=True)
class Tree:
    """One plane of a fat tree: its tiers, 0 where three are not enough, its leaves and pods, and what joins them."""

    tiers: int
    leaves: int
    pods: int
    uplinks: int
    switches: int


@cache
def tree(npus: int, inside: int, radix: int, ratios: Ratios) -> Tree:
    """Return the fat tree of (n,) NPUs, with (n,) NPUs inside each of them, that are on the same network.

    A leaf takes none of those inside an NPU without the others, where it has ports for all of them.

    >>> tree(2048, 1, 64, (1, 1))
    Tree(tiers=2, leaves=64, pods=1, uplinks=2048, switches=96)
    >>> tree(2048, 1, 64, (4, 1))
    Tree(tiers=2, leaves=64, pods=1, uplinks=512, switches=72)
    """
    reached, most = npus * inside, down_ports(radix, ratios[0])
    if reached <= radix:
        return Tree(1, 1, 1, 0, 1)
    whole, room = (npus, most // inside) if inside <= most else (reached, most)
    leaves = parts_of(whole, -(-whole // room), -(-reached // (radix // 2)))
    up = sum(count * -(-size // ratios[0]) for size, count in sizes(reached, leaves))
    if leaves <= radix:
        return Tree(2, leaves, 1, up, leaves + -(-up // radix))
    pods = parts_of(leaves, -(-leaves // down_ports(radix, ratios[1])), -(-leaves // (radix // 2)))
    fullest = -(-reached // leaves)
    each = -(-fullest // ratios[0])
    further, middle = 0, 0
    for size, count in sizes(leaves, pods):
        further += count * -(-(size * each) // ratios[1])
        middle += count * -(-(size * each) // down_ports(radix, ratios[1]))
    if ratios[1] == 1:
        # Pods that are not full share their switches: nothing that passes them has to wait.
        further, middle = up, -(-up // (radix // 2))
    switches = leaves + middle + -(-further // radix)
    return Tree(_THREE if pods <= radix else 0, leaves, pods, up + further, switches)


def down_ports(radix: int, ratio: int) -> int:
    """Return the most links down of a switch, with one up for every `ratio` of them.

    >>> [down_ports(64, ratio) for ratio in (1, 2, 4, 8)]
    [32, 42, 51, 56]
    """
    return radix * ratio // (ratio + 1)


def parts_of(whole: int, least: int, most: int) -> int:
    """Return the fewest equal parts of a whole between two numbers of them; the fewest of any where there are none.

    >>> parts_of(1024, 25, 32), parts_of(86, 3, 3), parts_of(100, 40, 30)
    (32, 3, 30)
    """
    return next((parts for parts in range(least, most + 1) if whole % parts == 0), min(least, most))


def sizes(whole: int, parts: int) -> list[tuple[int, int]]:
    """Return the two sizes of parts that are as equal as can be, and how many there are of each.

    >>> sizes(10, 4)
    [(2, 2), (3, 2)]
    """
    size, rest = divmod(whole, parts)
    return [(size, parts - rest), (size + 1, rest)]


class FatTree(Levelled, Clos):
    """A folded Clos with fewer links upwards than downwards: rails of their own, or one network of all NPUs in order.

    Of a group, e0 NPUs are under a leaf, e0 e1 in a pod, and e in all. Collectives that shrink run under leaves first,
    in pods next, and between pods last, so that (e1 e2 - 1) / e of a message leaves each leaf, and (e2 - 1) / e each
    pod. Of an all-to-all, (e - e0) / e and (e - e0 e1) / e do. A group that leaves and pods cut unevenly is taken with
    one NPU under each leaf, each in a pod of its own.
    """

    def __init__(self, code: str, name: str, ratios: Ratios, *, joined: bool) -> None:
        super().__init__(code, name, (), joined=joined)
        self.ratios = ratios

    def _trees(self, npus: IntArray, kit: Kit, inside: IntArray | None) -> dict[str, IntArray]:
        """Return the figures of the networks that (n,) dimensions are on, by the names of `Tree`'s fields."""
        sizes_, together = np.broadcast_arrays(np.asarray(npus), self._sharing(inside))
        first, case = cases(sizes_.ravel(), together.ravel())
        some = zip(sizes_.ravel()[first].tolist(), together.ravel()[first].tolist(), strict=True)
        found = np.array([list(vars(tree(n, i, kit.radix, self.ratios)).values()) for n, i in some], dtype=np.int64)
        figures = found.reshape(-1, len(Tree.__annotations__))[case].reshape(*sizes_.shape, -1)
        return dict(zip(Tree.__annotations__, np.moveaxis(figures, -1, 0), strict=True))

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether two or three tiers are enough and needed: with fewer, the ratio is that of no tier."""
        found = self._trees(npus, kit, inside)["tiers"]
        return np.asarray(found >= (2 if self.ratios[1] == 1 else _THREE))

    def levels(self, extent: IntArray, stride: IntArray, npus: IntArray) -> Levels:
        (kit, inside), extents = self.site(), (extent, stride, npus)
        extent, stride, npus = np.broadcast_arrays(*(np.asarray(some, np.int64) for some in extents))
        together, found = self._sharing(inside), self._trees(npus, kit, inside)
        reached, leaves, pods = npus * together, found["leaves"], found["pods"]
        alike = reached % leaves == 0
        if self.ratios[1] == 1:
            pods = np.ones_like(leaves)
        alike &= leaves % pods == 0
        # Unequal leaves do not matter in groups of one NPU, which lie on any grid.
        tiers = np.stack([reached // leaves, leaves // pods, pods])
        lie, _, regular = on_axes(extent, stride * together, tiers)
        leaf = np.where(alike & regular, lie[0], 1)
        pod = np.where(alike & regular, lie[0] * lie[1], 1)
        parts = (np.full(leaf.shape, 1 / self.ratios[0]), np.full(leaf.shape, 1 / (self.ratios[0] * self.ratios[1])))
        even = Levels(leaf, np.where(self.ratios[1] == 1, extent, pod), *parts, np.zeros(leaf.shape))
        if not (kit.routing and ROUTINGS[kit.routing].hashed):
            return even
        under = np.maximum(reached // np.maximum(leaves, 1), 1)
        return hashed(even, extent, under, leaves, ratio=self.ratios[0], flows=kit.flows)

    def crowds(self, npus: int, kit: Kit, inside: int) -> tuple[Crowd, ...]:
        """Return the collectives between leaves of groups with one member under each; none under a single leaf.

        They are those of `crowds`, but for the exchange, which is that of all NPUs.
        """
        together = int(self._sharing(np.asarray(inside)))
        leaves = tree(npus, together, kit.radix, self.ratios).leaves
        under = npus * together // leaves
        if leaves == 1:
            return ()
        some = {"under": under, "leaves": leaves, "ratio": self.ratios[0], "flows": kit.flows}
        ring, _, pairs = crowds(leaves, 1, **some)
        return ring, crowds(npus, max(npus // leaves, 1), **some)[1], pairs

    def cut(self, npus: IntArray) -> FloatArray:
        """Return what half of the NPUs have of the highest tier, or a little less where its parts are odd."""
        return super().cut(npus) / (self.ratios[0] * self.ratios[1])

    def hops(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Hops:
        """Return the way to the highest tier and back: 3 or 5 switches."""
        depth = self._trees(npus, kit, inside)["tiers"].astype(np.float64)
        return 2 * depth, 2 * depth - 1

    def leaves(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> IntArray:
        return self._trees(npus, kit, inside)["leaves"]

    def pods(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> IntArray:
        found = self._trees(npus, kit, inside)
        return np.where(found["tiers"] == _THREE, found["pods"], 0)

    def tier_switches(self, npus: int, kit: Kit, inside: int = 1) -> tuple[int, ...]:
        together = int(self._sharing(np.asarray(inside)))
        found = tree(npus, together, kit.radix, self.ratios)
        if found.tiers != _THREE:
            return (1,) if found.tiers == 1 else (found.leaves, found.switches - found.leaves)
        up = sum(count * -(-size // self.ratios[0]) for size, count in sizes(npus * together, found.leaves))
        cores = -(-(found.uplinks - up) // kit.radix)
        return found.leaves, found.switches - found.leaves - cores, cores

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        found, ends = self._trees(npus, kit, inside), np.asarray(npus, dtype=np.float64)
        part = 1 / self._sharing(inside)
        switches = found["switches"] * part, np.ones(ends.shape)
        return assemble(npus, kit, links=ends, uplinks=found["uplinks"] * part, switches=switches)


def hashed(even: Levels, extent: IntArray, under: IntArray, leaves: IntArray, *, ratio: int, flows: int) -> Levels:
    """Return the levels of (n,) groups whose flows are hashed by leaves, from those of even links.

    Each of (n,) leaves has (n,) NPUs under it, and all of them send at a time. The links of a leaf have the rate of an
    NPU; those above pods are taken to be as crowded.
    """
    rows = [one.ravel() for one in np.broadcast_arrays(extent, even.leaf, under, leaves)]
    first, case = cases(*rows)
    some = zip(*(row[first].tolist() for row in rows), strict=True)
    found = np.array([_slowdowns(*row, ratio=ratio, flows=flows) for row in some]).reshape(-1, 3)
    ring, exchange, pair = (found[case, at].reshape(np.shape(extent)) for at in range(3))
    return replace(even, ring_slowdown=ring, exchange_slowdown=exchange, pair_slowdown=pair)


@dataclass(frozen=True)
class Crowd:
    """A kind of collective between leaves: arguments of `slowdown`."""

    flows: int
    links: int
    sets: int
    sent: float
    splits: int

    @property
    def slowdown(self) -> Slowdown:
        """The time that it takes, over that with even links."""
        return slowdown(
            flows=self.flows, links=self.links, sets=self.sets, sent=self.sent, capacity=1.0, splits=self.splits
        )


def crowds(extent: int, leaf: int, under: int, leaves: int, *, ratio: int, flows: int) -> tuple[Crowd, ...]:
    """Return the collectives of groups as a ring, as an exchange of all, and where pairs exchange.

    One link out of a leaf for each ring; to each member elsewhere a message of each NPU; or a message of each.
    """
    kinds = ((under // leaf, 1, 1.0), (under * (extent - leaf), 2, 1 / (extent - 1)), (under, 1, 1.0))
    return tuple(
        Crowd(max(count, 1), links=-(-under // ratio), sets=ways * leaves, sent=sent, splits=flows)
        for count, ways, sent in kinds
    )


@cache
def _slowdowns(extent: int, leaf: int, under: int, leaves: int, *, ratio: int, flows: int) -> tuple[float, ...]:
    """Return the slowdowns of a ring, of an exchange of all and of pairs."""
    if leaf >= extent or leaves < 2:  # noqa: PLR2004 - a single leaf has no way up
        return 1.0, 1.0, 1.0
    found = crowds(extent, leaf, under, leaves, ratio=ratio, flows=flows)
    return tuple(crowd.slowdown.expected for crowd in found)


def even_tree(name: str) -> FatTree | None:
    """Return the block of 1:1 of a name with the levels of its tree, for hashed flows; None for others."""
    return _EVEN.get(name)


_EVEN = {
    name: FatTree(code, name, (1, 1), joined=joined)
    for name, (code, joined) in {"switch": ("SW", False), "fat-tree": ("CL", True)}.items()
}

RATIOS = (*((leaf, 1) for leaf in range(2, 9)), *((1, pod) for pod in range(2, 9)), (2, 2), (4, 4))
"""Ratios of leaves and pods that there are blocks of: up to 8:1 at one of them, and alike at both."""

FAMILIES = {"switch": ("SW", False), "fat-tree": ("CL", True)}
"""Blocks of 1:1 by their names: the codes, and whether one network is over all NPUs."""


def oversubscribed(name: str, ratios: Ratios) -> str:
    """Return the name of a block with some ratios; of codes, too, without the dashes.

    >>> oversubscribed("switch", (4, 1)), oversubscribed("switch", (1, 7))
    ('switch-4', 'switch-1-7')
    """
    return "-".join([name, *(str(ratio) for ratio in (ratios if ratios[1] > 1 else ratios[:1]))])


def base_of(name: str) -> str:
    """Return the name of the block of 1:1 of an oversubscribed block; any other block is its own.

    >>> base_of("switch-1-7"), base_of("fat-tree-2"), base_of("torus-2d")
    ('switch', 'fat-tree', 'torus-2d')
    """
    return _BASES.get(name, name)


_BASES = {oversubscribed(name, ratios): name for name in FAMILIES for ratios in RATIOS}

BLOCKS = tuple(
    FatTree(oversubscribed(code, ratios).replace("-", ""), oversubscribed(name, ratios), ratios, joined=joined)
    for name, (code, joined) in FAMILIES.items()
    for ratios in RATIOS
)
