"""The cables and modules of a dragonfly or a HyperX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from evo_libra.network.orders.cables import Plug, cheapest
from evo_libra.network.orders.direct import Direct
from evo_libra.network.orders.direct_ways import Placed, Ways, ways_of
from evo_libra.network.orders.ends import ends_between, ends_down, switch_kilowatts, switches_per_rack
from evo_libra.network.orders.layout import Laid, Layout, Modules, Run, layout_of, modules_alike
from evo_libra.network.orders.lengths import rows_of
from evo_libra.network.orders.modes import modes_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.racks import room_of
from evo_libra.network.orders.topology import Topology
from evo_libra.network.orders.tor_racks import systems_of_rack
from evo_libra.network.orders.tree import Tree


def topology_layout(order: Order, topology: Topology, products: ProductsSpec) -> Layout:
    """Return where all of an order stands; an InputError where no cable reaches, or the room is not known."""
    if isinstance(topology, Tree):
        return layout_of(order, topology, products)
    return _Cabling(order, topology, products).layout()


def placed_of(order: Order, found: Direct, products: ProductsSpec) -> Placed:
    """Return a dragonfly or a HyperX in its room."""
    return Placed(
        found, order.count, systems_of_rack(order, products), switches_per_rack(order, products),
        rows_of(room_of(products)),
    )  # fmt: skip


@dataclass(frozen=True)
class _Cabling:
    """A dragonfly or a HyperX whose cables are laid."""

    order: Order
    found: Direct
    products: ProductsSpec

    def layout(self) -> Layout:
        """Return the racks, the cables and the modules."""
        order, products, placed = self.order, self.products, placed_of(self.order, self.found, self.products)
        laid = [(ways, self._laid(ways)) for ways in ways_of(placed)]
        modules = *self._in_nics(laid[0][1]), *(some for ways, links in laid for some in _in_switches(ways, links))
        return Layout(
            system_racks=placed.floor.system_racks, racks_of_switches=placed.floor.switch_racks(),
            switch_kW=switch_kilowatts(order, products), runs=tuple(one.run for _, links in laid for one in links),
            modules=modules, nics=order.bought_npus * modes_of(order, products).nics,
        )  # fmt: skip

    def _laid(self, ways: Ways) -> list[Laid]:
        """Return the cables of each length."""
        ends, found = (ends_down if ways.tier == "switch" else ends_between)(self.order, self.products), list[Laid]()
        for metres, links in ways.links:
            choice = cheapest(ends, metres, self.products, together=ways.together)
            found.append(Laid(Run(ways.tier, choice.name, metres, links, -(-links // choice.links)), choice))
        return found

    def _in_nics(self, laid: list[Laid]) -> Iterator[Modules]:
        """Yield the modules of NICs, whose cages are alike."""
        links: Counter[Plug | None] = Counter()
        for one in laid:
            links[one.choice.lower] += one.run.links
        cage = modes_of(self.order, self.products).nic.per_cage
        for plug, some in links.items():
            if plug is not None:
                yield Modules("switch", "NICs", plug.module, modules_alike(some, cage, plug.links))


def _in_switches(ways: Ways, laid: list[Laid]) -> Iterator[Modules]:
    """Yield the modules of switches, which serve links of one kind of module at one switch."""
    plugs = {one.run.metres: one.choice.upper for one in laid}
    pieces: Counter[str] = Counter()
    for ends, switches in ways.ends:
        links: Counter[Plug | None] = Counter()
        for metres, some in ends:
            links[plugs[metres]] += some
        for plug, some in links.items():
            if plug is not None:
                pieces[plug.module] += -(-some // plug.links) * switches
    yield from (Modules(ways.tier, "switches", module, some) for module, some in pieces.items())
