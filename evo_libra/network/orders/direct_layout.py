"""The cables and modules of a dragonfly or a HyperX."""

from __future__ import annotations

from functools import lru_cache

from evo_libra.network.orders.direct import Direct
from evo_libra.network.orders.direct_ways import placed_of, ways_of
from evo_libra.network.orders.ends import ends_between, ends_down, switch_kilowatts
from evo_libra.network.orders.laid import in_whole_pieces, lay, links_at_switches, modules_in_nics, modules_in_switches
from evo_libra.network.orders.layout import Layout, layout_of
from evo_libra.network.orders.modes import modes_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.topology import Topology
from evo_libra.network.orders.tree import Tree


@lru_cache(maxsize=4096)
def topology_layout(order: Order, topology: Topology, products: ProductsSpec) -> Layout:
    """Return where all of an order stands; an InputError where no cable reaches, or the room is not known."""
    if isinstance(topology, Tree):
        return layout_of(order, topology, products)
    return _direct_layout(order, topology, products)


def _direct_layout(order: Order, found: Direct, products: ProductsSpec) -> Layout:
    """Return the racks, the cables and the modules of a dragonfly or a HyperX."""
    placed, modes = placed_of(order, found, products), modes_of(order, products)
    down, between = ends_down(order, products), ends_between(order, products)
    lower, *others = ways_of(placed)
    down_cables = lay(lower, down, products)
    laid = [(lower, in_whole_pieces(down_cables, links_at_switches(lower, down_cables)))]
    laid += [(ways, lay(ways, between, products)) for ways in others]
    modules = (
        *modules_in_nics(laid[0][1], modes.nic.per_cage),
        *(some for ways, links in laid for some in modules_in_switches(ways, links)),
    )
    return Layout(
        system_racks=placed.floor.system_racks, racks_of_switches=placed.floor.switch_racks(),
        switch_kW=switch_kilowatts(order, products), runs=tuple(one.run for _, links in laid for one in links),
        modules=modules, nics=order.bought_npus * modes.nics,
    )  # fmt: skip
