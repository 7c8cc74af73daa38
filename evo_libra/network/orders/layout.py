"""Places of the systems and switches of an order, and the cables and modules that join them.

A leaf of `tor` is in the rack of its systems. Other leaves are in racks in the middle of their systems. Spines and
cores are in racks in the middle of the room, or spines with the leaves, where one rack takes all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evo_libra.network.orders.ends import ends_between, ends_down, switch_kilowatts
from evo_libra.network.orders.floor import Floor, lengths_to_leaves
from evo_libra.network.orders.laid import (
    Laid,
    in_whole_pieces,
    lay,
    modules_in_nics,
    modules_in_switches,
    spread_evenly,
)
from evo_libra.network.orders.modes import modes_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.places import floor_of
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.racks import room_of, system_of
from evo_libra.network.orders.runs import Modules, Run
from evo_libra.network.orders.tor_racks import systems_of_rack
from evo_libra.network.orders.tree import Tree
from evo_libra.network.orders.tree_ways import ways_above, ways_to_circuits
from evo_libra.network.orders.ways import Counts, Ways
from evo_libra.network.orders.wiring import groups_of, links_of_leaves, links_of_system


@dataclass(frozen=True)
class Layout:
    """The racks, cables, modules and NICs of an order.

    Attributes
    ----------
    system_racks : racks with systems.
    racks_of_switches : how many racks have how many switches alone, by switches.
    switch_kW : power of a switch with its modules, at most; None where there is none.
    """

    system_racks: int
    racks_of_switches: tuple[tuple[int, int], ...] = ()
    switch_kW: float | None = None
    runs: tuple[Run, ...] = ()
    modules: tuple[Modules, ...] = ()
    nics: int = 0

    @property
    def switch_racks(self) -> int:
        """Racks with switches alone."""
        return sum(racks for _, racks in self.racks_of_switches)


def layout_of(order: Order, tree: Tree, products: ProductsSpec) -> Layout:
    """Return where all of an order stands; an InputError where no cable reaches, or the room is not known."""
    if order.family == "slice":
        return Layout(0)
    held = systems_of_rack(order, products)
    if not tree.tiers:
        return Layout(-(-order.count // held) * system_of(order.system, products).racks)
    floor = floor_of(order, tree, products)
    leaf = _to_circuits(order, tree, products) if tree.rings else _to_leaves(order, tree, floor, products)
    above = [
        (ways, lay(ways, ends_between(order, products), products))
        for ways in ways_above(floor, tree, groups_of(order, tree, products), room_of(products).in_rack_m)
    ]
    modes = modes_of(order, products)
    modules = (
        *modules_in_nics(leaf, modes.nic.per_cage), *_modules_in_leaves(leaf, _at_leaves(leaf, order, tree, products)),
        *(some for ways, laid in above for some in modules_in_switches(ways, laid)),
    )  # fmt: skip
    return Layout(
        system_racks=floor.system_racks, racks_of_switches=floor.switch_racks(),
        switch_kW=switch_kilowatts(order, products),
        runs=tuple(one.run for laid in (leaf, *(some for _, some in above)) for one in laid), modules=modules,
        nics=order.bought_npus * modes.nics,
    )  # fmt: skip


def _to_leaves(order: Order, tree: Tree, floor: Floor, products: ProductsSpec) -> list[Laid]:
    """Return the cables between systems and leaves."""
    ways: Counts = ((room_of(products).in_rack_m, 1),) if floor.block.inside else lengths_to_leaves(floor)
    laid = lay(Ways("leaf", 0, tuple(_shared(tree.links, ways)), ()), ends_down(order, products), products)
    return in_whole_pieces(laid, _at_leaves(laid, order, tree, products))


def _at_leaves(
    laid: list[Laid], order: Order, tree: Tree, products: ProductsSpec
) -> Iterator[tuple[Mapping[str, int], int]]:
    """Yield the links of each cable at a leaf, and how many leaves have them."""
    return spread_evenly(laid, links_of_leaves(order, tree, products), links_of_system(order, tree, products))


def _to_circuits(order: Order, tree: Tree, products: ProductsSpec) -> list[Laid]:
    """Return the fibres to circuit switches, whose modules reach on to the farthest system behind them."""
    ways = ways_to_circuits(order, tree, products)
    return lay(ways, ends_down(order, products), products, beyond=max(metres for metres, _ in ways.links))


def _shared(links: int, ways: Counts) -> Iterator[tuple[float, int]]:
    """Yield the links of each length, in proportion to the ways."""
    whole, before, given = sum(some for _, some in ways), 0, 0
    for metres, some in ways:
        before += some
        until = links * before // whole
        if until > given:
            yield metres, until - given
        given = until


def _modules_in_leaves(laid: list[Laid], leaves: Iterator[tuple[Mapping[str, int], int]]) -> Iterator[Modules]:
    """Yield the modules of leaves towards NPUs."""
    plugs, pieces = {one.run.cable: one.choice.upper for one in laid}, Counter[str]()
    for ends, switches in leaves:
        for cable, links in ends.items():
            plug = plugs[cable]
            if plug is not None:
                pieces[plug.module] += -(-links // plug.links) * switches
    yield from (Modules("leaf", "leaves", module, some) for module, some in pieces.items())
