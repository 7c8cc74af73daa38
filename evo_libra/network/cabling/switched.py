"""Links to and between switches: folded Clos networks, FRED's trees, optical rails, dragonflies and HyperX networks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.fat_tree import Ratios, down_ports, tree
from evo_libra.network.blocks.fred import LEAF
from evo_libra.network.blocks.routers import Plane, dragonfly, hyperx
from evo_libra.network.blocks.switch import tiers
from evo_libra.network.cabling.wiring import Wiring, equal_parts, planes, spread

_TWO, _THREE = 2, 3


@dataclass(frozen=True)
class _Levels:
    """A tree of switches: (leaf,) NPUs and uplinks of leaves, (u,) middle switch of each uplink, (v,) ends further up.

    Without middle switches, `middle` has the spines.
    """

    sizes: IntArray
    uplinks: IntArray
    middle: IntArray
    middles: int
    further: IntArray
    tops: int


def _tree(levels: _Levels) -> Wiring:
    """Return the links of a tree; uplinks of middle switches are dealt out to those at the top in turn."""
    leaves, npus = len(levels.sizes), int(levels.sizes.sum())
    leaf = spread(levels.sizes)
    down = np.stack([np.arange(npus), npus + leaf])
    up = np.stack([npus + spread(levels.uplinks), npus + leaves + levels.middle])
    above = npus + leaves + levels.middles
    top = np.stack([npus + leaves + levels.further, above + np.arange(len(levels.further)) % max(levels.tops, 1)])
    counts = (leaves, levels.middles, levels.tops)
    at = np.bincount(leaf, np.arange(npus), leaves) / levels.sizes
    position = np.concatenate([np.arange(npus), at, np.full(sum(counts[1:]), (npus - 1) / 2)])
    return Wiring(npus, np.repeat([1, 2, 3], counts), np.concatenate([down, up, top], axis=1), position)


def _single(npus: int) -> Wiring:
    ends = np.stack([np.arange(npus), np.full(npus, npus)])
    return Wiring(npus, np.ones(1, dtype=np.int64), ends, np.append(np.arange(npus), (npus - 1) / 2))


def _dealt(count: int, switches: int) -> IntArray:
    return np.arange(count) % switches


_NONE = np.empty(0, dtype=np.int64)


def clos(npus: int, kit: Kit, inside: int, ports: int, *, joined: bool) -> Wiring:
    """Return folded Clos networks, one for each port; a single switch may hold several of them."""
    reached, half = npus * inside if joined else npus, kit.radix // 2
    depth = int(tiers(np.array(reached), kit.radix))
    if depth == 1:
        return planes(_single(reached), ports, max(kit.radix // reached, 1))
    leaves = -(-reached // half)
    sizes, tops = equal_parts(reached, leaves), -(-leaves * half // kit.radix)
    if depth == _TWO:
        return planes(_tree(_Levels(sizes, sizes, _dealt(reached, tops), middles=tops, further=_NONE, tops=0)), ports)
    # Pods of as many leaves as a switch has uplinks, and as many switches above them; the last pod may be smaller.
    pod = [(start, min(half, leaves - start)) for start in range(0, leaves, half)]
    each = [int(sizes[start : start + count].sum()) for start, count in pod]
    middle = np.concatenate([start + _dealt(up, count) for (start, count), up in zip(pod, each, strict=True)])
    return planes(_tree(_Levels(sizes, sizes, middle, middles=leaves, further=np.sort(middle), tops=tops)), ports)


def fat_tree(npus: int, kit: Kit, inside: int, ports: int, *, ratios: Ratios, joined: bool) -> Wiring:
    """Return oversubscribed folded Clos networks, one for each port."""
    together = inside if joined else 1
    found, reached = tree(npus, together, kit.radix, ratios), npus * together
    sizes = equal_parts(reached, found.leaves)
    uplinks = -(-sizes // ratios[0])
    up = int(uplinks.sum())
    if found.tiers == _TWO:
        spines = found.switches - found.leaves
        return planes(_tree(_Levels(sizes, uplinks, _dealt(up, spines), middles=spines, further=_NONE, tops=0)), ports)
    tops = -(-(found.uplinks - up) // kit.radix)
    middles = found.switches - found.leaves - tops
    if ratios[1] == 1:
        middle = np.arange(up) // (kit.radix // 2)
        return planes(_tree(_Levels(sizes, uplinks, middle, middles=middles, further=middle, tops=tops)), ports)
    pods = equal_parts(found.leaves, found.pods)
    widest = int(uplinks.max()) * pods
    held, above = -(-widest // down_ports(kit.radix, ratios[1])), -(-widest // ratios[1])
    each = np.bincount(spread(pods), uplinks, found.pods).astype(np.int64)
    start = np.cumsum(held) - held
    below = zip(start.tolist(), each.tolist(), held.tolist(), above.tolist(), strict=True)
    dealt = [
        (first + _dealt(down, many), first + np.sort(_dealt(further, many))) for first, down, many, further in below
    ]
    middle, higher = (np.concatenate(some) for some in zip(*dealt, strict=True))
    return planes(_tree(_Levels(sizes, uplinks, middle, middles=middles, further=higher, tops=tops)), ports)


def fred(npus: int, kit: Kit, _inside: int, ports: int, *, upper: float) -> Wiring:
    """Return first-level switches and one above them, which hold all ports that the kit gives an NPU together."""
    if npus <= LEAF:
        return planes(_single(npus), ports, kit.ports)
    sizes = np.full(-(-npus // LEAF), LEAF)
    each = np.full(len(sizes), int(np.ceil(ports * LEAF * upper)))
    found = _tree(_Levels(sizes, each, np.zeros(int(each.sum()), dtype=np.int64), middles=1, further=_NONE, tops=0))
    down = np.tile(found.ends[:, :npus], ports)
    return Wiring(npus, found.tier, np.concatenate([down, found.ends[:, npus:]], axis=1), found.position)


def ocs_rail(npus: int, kit: Kit, _inside: int, ports: int) -> Wiring:
    """Return optical circuit switches, which hold as many ports of all NPUs as they have ports for their fibres."""
    return planes(_single(npus), ports, max(kit.radix // (kit.fibres * npus), 1))


def dragonfly_network(npus: int, kit: Kit, inside: int, ports: int) -> Wiring:
    """Return dragonflies, one for each port: groups deal out their links to other groups to their routers in turn."""
    plane = dragonfly(npus * inside, kit.radix)
    members = plane.leaf * plane.routers
    pair = members // (plane.pods - 1)
    links = [np.array(list(combinations(range(g * plane.routers, (g + 1) * plane.routers), 2))).T
             for g in range(plane.pods)]  # fmt: skip
    for one, other in combinations(range(plane.pods), 2):
        # A group's links are those to the first other group, then to the second, and so on.
        mine = ((other - 1) * pair + np.arange(pair)) // plane.leaf + one * plane.routers
        theirs = (one * pair + np.arange(pair)) // plane.leaf + other * plane.routers
        links.append(np.stack([mine, theirs]))
    return planes(_routers(plane, np.concatenate(links, axis=1)), ports)


def hyperx_network(npus: int, kit: Kit, inside: int, ports: int) -> Wiring:
    """Return HyperX networks of two dimensions, one for each port."""
    plane = hyperx(npus * inside, kit.radix)
    grid = np.arange(plane.routers * plane.pods).reshape(plane.pods, plane.routers)
    lines = [np.stack([line[i], line[j]]) for line in (grid.T, grid)
             for i, j in combinations(range(len(line)), 2)]  # fmt: skip
    return planes(_routers(plane, np.concatenate(lines, axis=1)), ports)


def _routers(plane: Plane, links: IntArray) -> Wiring:
    routers = plane.routers * plane.pods
    npus = plane.leaf * routers
    router = np.arange(npus) // plane.leaf
    ends = np.concatenate([np.stack([np.arange(npus), npus + router]), npus + links], axis=1)
    at = np.arange(routers) * plane.leaf + (plane.leaf - 1) / 2
    return Wiring(npus, np.ones(routers, dtype=np.int64), ends, np.concatenate([np.arange(npus), at]))
