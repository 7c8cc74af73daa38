"""All cables of a design: every dimension's networks, on all NPUs, with the items of the bill that they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.errors import InputError
from evo_libra.network.blocks import ITEMS, Block, Kit
from evo_libra.network.blocks.direct import FullyConnected, Hypercube
from evo_libra.network.blocks.fat_tree import FatTree
from evo_libra.network.blocks.fred import FredTree
from evo_libra.network.blocks.grid import Ring, Torus
from evo_libra.network.blocks.mesh import Mesh
from evo_libra.network.blocks.ocs_rail import OcsRail
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.blocks.routers import Dragonfly, HyperX
from evo_libra.network.blocks.scale_out import ScaleOut
from evo_libra.network.blocks.switch import Clos
from evo_libra.network.cabling import direct, switched
from evo_libra.network.cabling.wiring import Wiring

Wire = Callable[[int, Kit, int, int], Wiring]
"""Returns a network from its NPUs, the kit, the NPUs inside each of them, and the ports of each."""

_WIRES: Mapping[type[Block], Callable[..., Wire]] = {
    Ring: lambda _: direct.ring,
    FullyConnected: lambda _: direct.fully_connected,
    Hypercube: lambda _: direct.hypercube,
    Torus: lambda block: partial(direct.torus, axes=block.axes),
    Mesh: lambda block: partial(direct.mesh, axes=block.axes),
    Clos: lambda block: partial(switched.clos, joined=block.joined),
    FatTree: lambda block: partial(switched.fat_tree, ratios=block.ratios, joined=block.joined),
    FredTree: lambda block: partial(switched.fred, upper=block.upper),
    OcsRail: lambda _: switched.ocs_rail,
    ScaleOut: lambda _: partial(switched.clos, joined=True),  # of parts; that of an order is in its layout
    Dragonfly: lambda _: switched.dragonfly_network,
    HyperX: lambda _: switched.hyperx_network,
}
"""Wiring of the cables of blocks, by their classes."""


@dataclass(frozen=True)
class Cables:
    """The cables of a whole design. NPUs come first in the numbers of ends, the switches of all dimensions behind them.

    Attributes
    ----------
    npus : how many there are.
    switch_dimension, switch_tier : (s,) of each switch, its dimension from 0, and its tier from 1.
    ends : (2, m) what each cable connects.
    dimension, item : (m,) of each cable, its dimension from 0, and its index into `ITEMS`.
    port : (2, m) which port of its end each cable is in: from 0 for each dimension of an NPU and each switch.
    """

    npus: int
    switch_dimension: IntArray
    switch_tier: IntArray
    ends: IntArray
    dimension: IntArray
    item: IntArray
    port: IntArray


def cables(kits: Sequence[Kit], npus: Sequence[int], ports: Sequence[int], items: FloatArray) -> Cables:
    """Return the cables of a design.

    Parameters
    ----------
    kits, npus, ports : of each dimension: what it is built of, its size (1 where it is unused), ports of an NPU.
    items : (item, d) pieces of the bill; as many of the shortest cables as it says are the short ones.

    Raises
    ------
    InputError : nothing says how the cables of a block run.
    """
    total = int(np.prod(npus))
    tiers, ends, dimensions, kinds, switches = [], [], [], [], 0
    for d in [d for d, size in enumerate(npus) if size > 1]:
        inside = int(np.prod(npus[:d]))
        wiring, members = wire(kits[d])(npus[d], kits[d], inside, ports[d]), _members(kits[d], npus, d)
        found = _placed(wiring, members, total + switches)
        tier = np.tile(wiring.tier, len(members))
        switches += len(tier)
        tiers.append(np.stack([np.full(len(tier), d), tier]))
        kinds.append(_kinds(found, _lengths(wiring, members), total, items[:, d]))
        ends.append(found)
        dimensions.append(np.full(found.shape[1], d))
    none = np.empty((2, 0), dtype=np.int64)
    where, both = np.concatenate([none, *tiers], axis=1), np.concatenate([none, *ends], axis=1)
    dimension, kind = (np.concatenate([none[0], *some]) for some in (dimensions, kinds))
    return Cables(
        npus=total, switch_dimension=where[0], switch_tier=where[1], ends=both, dimension=dimension, item=kind,
        port=_ports(both, dimension, total, len(npus)),
    )  # fmt: skip


def wire(kit: Kit) -> Wire:
    """Return how the cables of a kit's block run; an `InputError` says that nothing knows it."""
    block = BLOCKS[kit.block]
    found = _WIRES.get(type(block))
    if found is None:
        raise InputError(f"the cables of block '{block.name}' are not known one by one, only their number")
    return found(block)


def _members(kit: Kit, npus: Sequence[int], d: int) -> IntArray:
    """Return (network, npu) the NPUs of each network of a dimension."""
    numbers = np.arange(int(np.prod(npus))).reshape(-1, npus[d], int(np.prod(npus[:d])))
    if BLOCKS[kit.block].joined:
        return numbers.reshape(len(numbers), -1)
    return np.asarray(np.moveaxis(numbers, 2, 1).reshape(-1, npus[d]))


def _placed(wiring: Wiring, members: IntArray, first: int) -> IntArray:
    """Return (2, m) ends of the links of all networks, whose switches have the numbers from `first` on."""
    switches = first + np.arange(len(members) * len(wiring.tier)).reshape(len(members), -1)
    numbers = np.concatenate([members, switches], axis=1)
    return np.moveaxis(numbers[:, wiring.ends], 1, 0).reshape(2, -1)


def _lengths(wiring: Wiring, members: IntArray) -> FloatArray:
    """Return (m,) how far apart the ends of links are, in places of NPUs."""
    apart = np.abs(np.subtract(*wiring.position[wiring.ends]))
    return np.asarray(np.tile(apart, len(members)))


def _kinds(ends: IntArray, lengths: FloatArray, npus: int, items: FloatArray) -> IntArray:
    """Return (m,) the item of each cable."""
    found = np.where(ends[0] < npus, ITEMS.index("link"), ITEMS.index("uplink"))
    for item in ("link", "uplink"):
        mine = np.flatnonzero(found == ITEMS.index(item))
        short = round(float(items[ITEMS.index(f"short {item}")]))
        found[mine[np.argsort(lengths[mine], kind="stable")][:short]] = ITEMS.index(f"short {item}")
    return found


def _ports(ends: IntArray, dimension: IntArray, npus: int, dimensions: int) -> IntArray:
    """Return (2, m) the port of each end: its place among the cables of the same NPU and dimension, or switch."""
    owner = np.where(ends < npus, ends * dimensions + dimension, npus * dimensions + ends).ravel(order="F")
    order = np.argsort(owner, kind="stable")
    ranked = owner[order]
    first = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if len(ranked) else ranked
    found = np.empty(len(owner), dtype=np.int64)
    found[order] = np.arange(len(owner)) - np.repeat(first, np.diff(np.append(first, len(owner))))
    return found.reshape(-1, 2).T
