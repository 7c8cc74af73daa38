"""Dragonflies and HyperX networks: switches (routers) with NPUs of their own, which are linked to each other directly.

There is one network over all NPUs of the dimension and of those inside it, in their order, and one for each port. Only
full networks are built: other numbers of NPUs are refused, and so are those that a single switch joins.

* Dragonfly (Kim, Dally, Scott and Abts, ISCA 2008), balanced: p NPUs at a router, 2 p routers in a group, each linked
  to each other and with p links to other groups. With radix k, p is at most (k + 1) / 4. Each two groups have as many
  links as their routers can have equally. Messages that leave a router are spread evenly over all NPUs first and go to
  their targets from there (Valiant 1982). Both halves are all-to-alls of the whole network, so that an NPU has half of
  the share of these.
* HyperX (Ahn et al., SC 2009) of two dimensions: p NPUs at each router of a grid, whose lines and columns are fully
  linked. Both sides are p at least, so that halves are linked as a folded Clos of 2:1 is, or better. Messages along a
  line go straight or by way of each third router, likewise.

An all-to-all of all NPUs goes straight, as it is spread evenly by itself. Halves of either network are joined by a
quarter of the NPUs' bandwidth at least.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from typing import Any

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.network.blocks.blast import Blast, switched_blast
from evo_libra.network.blocks.block import Counts, Hops, Levels, assemble
from evo_libra.network.blocks.grid import on_axes
from evo_libra.network.blocks.kit import Kit
from evo_libra.network.blocks.levelled import Levelled


@dataclass(frozen=True)
class Plane:
    """One network of some NPUs: those at a router, routers of a pod, pods, links, and an NPU's parts of these.

    A pod is a group or a line. `upper` and `top` are the parts of what leaves a router and a pod, and `uniform` the
    share of an all-to-all of all NPUs, all over the bandwidth of an NPU. There are no NPUs where none can be built.
    """

    leaf: int = 0
    routers: int = 0
    pods: int = 0
    links: int = 0
    upper: float = 1.0
    top: float = 1.0
    uniform: float = 0.0


def spread(parts: int) -> float:
    """Return what each of some fully linked parts can send to another one, over all its links.

    Twice as much goes straight as by way of each third part, so that all links carry the same.

    >>> spread(2), spread(3)
    (1.0, 0.75)
    """
    return parts / (2 * (parts - 1))


def line_share(leaf: float, side: int, links: float = 1.0) -> float:
    """Return the part of its bandwidth that an NPU has along a line of a HyperX: L K / (2 T) of Ahn et al., at most 1.

    Each of `side` routers has `leaf` NPUs, and some links to each other one.

    >>> line_share(16, 16), line_share(16, 8, links=2)
    (0.5, 0.5)
    """
    return min((side - 1) * links / leaf * spread(side), 1.0)


def group_share(leaf: float, routers: int, groups: float, *, pair: float, links: float = 1.0) -> float:
    """Return the share of an all-to-all of all NPUs that goes straight in a dragonfly.

    Each router has `leaf` NPUs, and some links to each other one of its group; each two groups have `pair` links. The
    last group may be a part of one. If m of n NPUs are in a group, m^2 / (n - 1) of an NPU's bandwidth goes from a
    group to another one. A link between two routers has the traffic of their own NPUs, and an equal part of what goes
    out of their group and into it: leaf^2 (2 g - 1) / (n - 1).

    >>> round(group_share(2, 4, 9, pair=1), 4), round(group_share(16, 32, 74, pair=4), 4)
    (0.9861, 0.5781)
    """
    members = leaf * routers
    others = members * groups - 1
    near = links * others / (leaf**2 * (2 * groups - 1))
    return min(pair * others / members**2, near, others / (others + 1))


def halved(parts: int) -> int:
    """Return the pairs between two halves of some parts."""
    return (parts // 2) * (parts - parts // 2)


@lru_cache(maxsize=1 << 14)
def dragonfly(npus: int, radix: int) -> Plane:
    """Return the dragonfly with the most NPUs at a router.

    >>> found = dragonfly(1024, 64)
    >>> found.leaf, found.routers, found.pods, found.links
    (16, 32, 2, 1504)
    >>> dragonfly(1001, 64).leaf
    0
    """
    for p in range((radix + 1) // 4, 0, -1):
        members, groups = 2 * p * p, npus // (2 * p * p)
        if npus <= radix or npus % members or not 1 < groups <= members + 1:
            continue
        pair = members // (groups - 1)
        if 4 * halved(groups) * pair < npus:
            continue
        uniform = group_share(p, 2 * p, groups, pair=pair)
        links = groups * p * (2 * p - 1) + groups * (groups - 1) // 2 * pair
        return Plane(p, 2 * p, groups, links=links, upper=uniform / 2, top=uniform / 2, uniform=uniform)
    return Plane()


@lru_cache(maxsize=1 << 14)
def hyperx(npus: int, radix: int) -> Plane:
    """Return the HyperX with the most NPUs at a router, whose sides are nearest to a square.

    >>> found = hyperx(4096, 64)
    >>> found.leaf, found.routers, found.pods, found.links
    (16, 16, 16, 3840)
    """
    for p in range(radix, 0, -1):
        if npus <= radix or npus % p:
            continue
        line = next(side for side in range(isqrt(npus // p), 0, -1) if npus // p % side == 0)
        sides = line, npus // p // line
        if line == 1 or p + sum(sides) - 2 > radix or any(4 * halved(side) < p * side for side in sides):
            continue
        upper, top = (line_share(p, side) for side in sides)
        links = npus // p * (sum(sides) - 2) // 2
        return Plane(p, sides[0], sides[1], links=links, upper=upper, top=min(upper, top), uniform=(npus - 1) / npus)
    return Plane()


class RouterNetwork(Levelled):
    """Routers that are linked to each other, with all NPUs in their order on them."""

    algorithm = "halving-doubling"
    switch_kind = "switch"
    timed_as = "switch"
    joined = True
    passed: int

    @abstractmethod
    def plane(self, npus: int, radix: int) -> Plane:
        """Return one network of some NPUs."""

    @abstractmethod
    def lost(self, routers: IntArray, pods: IntArray) -> FloatArray:
        """Return what all links together take of a network by their failures, each alone, from `Plane`'s figures."""

    def _planes(self, npus: IntArray, kit: Kit, inside: IntArray | None) -> dict[str, Any]:
        """Return the figures of the networks that (n,) dimensions are on, by the names of `Plane`'s fields."""
        reached = np.asarray(npus, dtype=np.int64) * np.asarray(1 if inside is None else inside)
        sizes, case = np.unique(reached, return_inverse=True)
        found = [vars(self.plane(size, kit.radix)) for size in sizes.tolist()]
        names = Plane.__annotations__
        return {name: np.array([one[name] for one in found])[case].reshape(reached.shape) for name in names}

    def allowed(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> BoolArray:
        """Return whether there is a full network of (n,) NPUs."""
        return np.asarray(self._planes(npus, kit, inside)["leaf"] > 0)

    def levels(self, extent: IntArray, stride: IntArray, npus: IntArray) -> Levels:
        kit, inside = self.site()
        groups = (np.asarray(some, np.int64) for some in (extent, stride, npus, inside))
        extent, stride, npus, inside = np.broadcast_arrays(*groups)
        found = self._planes(npus, kit, inside)
        tiers = np.stack([found[name] for name in ("leaf", "routers", "pods")])
        lie, _, regular = on_axes(extent, stride * inside, tiers)
        whole = (extent == npus) & (inside == 1)
        leaf, pod = np.where(regular, lie[0], 1), np.where(regular, lie[0] * lie[1], 1)
        return Levels(leaf, pod, found["upper"], found["top"], np.where(whole, found["uniform"], 0.0))

    def cut(self, npus: IntArray) -> FloatArray:
        """Return what the links between two halves of the pods carry at least."""
        return np.asarray(npus) / 4

    def hops(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Hops:
        """Return the longest way by third pods and routers."""
        return np.full(np.shape(npus), self.passed + 1.0), np.full(np.shape(npus), float(self.passed))

    def counts(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Counts:
        found, ends = self._planes(npus, kit, inside), np.asarray(npus, dtype=np.float64)
        part = 1 / np.asarray(1 if inside is None else inside, dtype=np.int64)
        routers = found["routers"] * found["pods"] * part, np.ones(ends.shape)
        return assemble(npus, kit, links=ends, uplinks=found["links"] * part, switches=routers)

    def near(self, npus: IntArray, kit: Kit, inside: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the links to routers that are within reach, where these stand amid their NPUs, and no others."""
        found, ends = self._planes(npus, kit, inside), np.asarray(npus, dtype=np.float64)
        return np.where(found["leaf"] <= kit.room, ends, 0.0), np.zeros(ends.shape)

    def blast(self, npus: IntArray, kit: Kit, inside: IntArray | None = None) -> Blast:
        """Return that a router cuts its NPUs off, and that a link between routers only takes bandwidth.

        Traffic of the link goes over its neighbours, as routes are spread anyway.
        """
        found = self._planes(npus, kit, inside)
        lost, links = self.lost(found["routers"], found["pods"]), found["links"]
        uplink = np.divide(lost, links, out=np.zeros(links.shape), where=links > 0)
        return switched_blast(npus, leaves=1.0, uplink=uplink, upper=0.0)


class Dragonfly(RouterNetwork):
    """Groups of routers, fully linked inside and between: a balanced dragonfly over all NPUs of the dimension."""

    code, name, passed = "DF", "dragonfly", 7

    def plane(self, npus: int, radix: int) -> Plane:
        return dragonfly(npus, radix)

    def lost(self, routers: IntArray, pods: IntArray) -> FloatArray:
        """Return it where a link takes its part of those of a router to its group, or of a group to others."""
        return np.asarray(pods * (routers + 1) / 2)


class HyperX(RouterNetwork):
    """Routers on a grid whose lines and columns are fully linked, over all NPUs of the dimension."""

    code, name, passed = "HX", "hyperx", 5

    def plane(self, npus: int, radix: int) -> Plane:
        return hyperx(npus, radix)

    def lost(self, routers: IntArray, pods: IntArray) -> FloatArray:
        """Return it where a link takes its part of those of a router along its line or column."""
        return np.asarray(routers * pods, dtype=np.float64)


BLOCKS = (Dragonfly(), HyperX())
