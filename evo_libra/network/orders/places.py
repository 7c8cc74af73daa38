"""Places of the devices of an order: the rack of each system and switch, and the row and place of each rack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.orders.direct_ways import Placed, placed_of
from evo_libra.network.orders.ends import switches_per_rack
from evo_libra.network.orders.floor import (
    Block,
    Floor,
    Stock,
    groups_of_block,
    leaf_cells,
    system_cells,
    upper_cells,
)
from evo_libra.network.orders.lengths import Rows, rows_of, sold
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec, RoomSpec
from evo_libra.network.orders.racks import room_of, system_of
from evo_libra.network.orders.runs import Run, Tier
from evo_libra.network.orders.topology import Topology
from evo_libra.network.orders.tor_racks import systems_of_rack
from evo_libra.network.orders.tree import Tree
from evo_libra.network.orders.wiring import KINDS, Groups, Wires, groups_of, runs_of


@dataclass(frozen=True)
class Places:
    """The racks of an order.

    Attributes
    ----------
    cells : (racks, 2) row and place in it of each rack, from 0; racks with systems are the first.
    system_racks : racks with systems.
    systems : (n,) the rack of each system; switches : the same of leaves, spines and cores.
    together : the tiers whose links end in the racks that they begin in.
    """

    rows: Rows
    cells: IntArray
    system_racks: int
    systems: IntArray
    switches: dict[Tier, IntArray]
    together: tuple[Tier, ...] = ()

    def metres(self, wires: Wires) -> FloatArray:
        """Return (n,) the way between the racks that each link joins."""
        below, above = KINDS[wires.tier]
        racks = self.systems if below == "system" else self.switches[below]
        return self.between(racks[wires.lower], self.switches[above][wires.upper])

    def between(self, racks: IntArray, others: IntArray) -> FloatArray:
        """Return (n,) the way from each rack to the other one."""
        down, along = np.abs(self.cells[racks] - self.cells[others]).T
        return self.rows.metres(down, along)

    def short(self, wires: Wires, runs: tuple[Run, ...]) -> IntArray:
        """Return the links whose cable of the bill is shorter than the way, as bills spread those to leaves evenly."""
        if wires.tier in self.together:
            return np.empty(0, dtype=np.int64)
        metres = self.metres(wires)
        laid = np.array([run.metres for run in runs])[runs_of(wires, runs, metres)]
        return np.flatnonzero(laid < sold(metres))


def places_of(order: Order, tree: Topology, products: ProductsSpec) -> Places:
    """Return the places of an order that is not a slice; an `InputError` where the room is not known."""
    if not isinstance(tree, Tree):
        return _standing(placed_of(order, tree, products))
    rows, held = rows_of(room_of(products)), systems_of_rack(order, products)
    if not tree.tiers:
        filled = system_of(order.system, products).racks
        systems = np.arange(order.count) // held * filled
        racks = np.arange(-(-order.count // held) * filled)
        return Places(rows, np.column_stack(np.divmod(racks, rows.racks)), len(racks), systems, {})
    floor = floor_of(order, tree, products)
    return tree_places(floor, tree, groups_of(order, tree, products))


def floor_of(order: Order, tree: Tree, products: ProductsSpec) -> Floor:
    """Return the racks of an order with switches."""
    in_rack = switches_per_rack(order, products)
    return _floor(order, tree, room_of(products), systems_of_rack(order, products), in_rack)


def _floor(order: Order, tree: Tree, room: RoomSpec, held: int, in_rack: int) -> Floor:
    """Return the racks of an order; a block of `tor` is a rack."""
    inside = order.family == "tor" and (tree.tiers > 1 or order.count <= held)
    group = min(held if inside else tree.group_systems, order.count)
    leaves = tree.leaves // -(-order.count // group)
    groups = 1
    if not inside:
        groups = groups_of_block(group, leaves, held=held, in_rack=in_rack, row=room.racks_per_row)
    size = min(groups * group, order.count)
    blocks, rest = divmod(order.count, size)

    def block(systems: int) -> Block:
        some = -(-systems // group)
        return Block(Stock(systems, held), some, Stock(some * leaves, in_rack), inside)

    spines, cores = Stock(tree.spines, in_rack), Stock(tree.cores, in_rack)
    last = block(rest) if rest else None
    return Floor(rows=rows_of(room), block=block(size), blocks=blocks, last=last, spines=spines, cores=cores)


def _standing(placed: Placed) -> Places:
    """Return the places of a dragonfly or a HyperX."""
    found, floor = placed.found, placed.floor
    cells = np.concatenate((system_cells(floor), leaf_cells(floor)))
    racks = placed.switch_racks(np.arange(found.unit * found.units), np.arange(found.planes)[:, None]).ravel()
    return Places(
        floor.rows, cells - cells.min(axis=0), floor.system_racks, placed.system_racks(),
        {"switch": floor.system_racks + racks},
    )  # fmt: skip


def tree_places(floor: Floor, tree: Tree, groups: Groups) -> Places:
    """Return the places of the systems of a tree, and of its switches in the order of their planes and pods."""
    spines, cores = upper_cells(floor)
    leaves = leaf_cells(floor)[:0] if floor.block.inside else leaf_cells(floor)
    own = spines[:0] if floor.together else spines
    cells = np.concatenate((system_cells(floor), leaves, own, cores))
    first = floor.system_racks
    above, top = first + (0 if floor.together else len(leaves)), first + len(leaves) + len(own)
    switches: dict[Tier, IntArray] = {
        "circuit" if tree.rings else "leaf": _racks_of_leaves(floor, tree, groups),
        "spine": above + np.arange(tree.spines) // floor.spines.per_rack,
        "core": top + np.arange(tree.cores) // floor.cores.per_rack,
    }  # fmt: skip
    stock = floor.block.systems
    block, within = np.divmod(np.arange(sum(one.systems.pieces * times for one, _, times in floor.kinds)), stock.pieces)
    systems = block * stock.racks + within // stock.per_rack
    together: tuple[Tier, ...] = ("leaf",) if floor.block.inside else ("spine",) if floor.together else ()
    return Places(floor.rows, cells - cells.min(axis=0), first, systems, switches, together=together)


def _racks_of_leaves(floor: Floor, tree: Tree, groups: Groups) -> IntArray:
    """Return the rack of each leaf: those of a block's groups stand one group after the other."""
    number, mine = np.divmod(np.arange(tree.leaves), tree.leaves // groups.trees)
    group, own = np.divmod(mine, groups.leaves)
    block, within = np.divmod(group, floor.block.groups)
    if floor.block.inside:
        return block
    place = (within * groups.trees + number) * groups.leaves + own
    first = floor.system_racks + block * floor.block.leaf_racks
    return np.asarray(first + place // floor.block.leaves.per_rack)
