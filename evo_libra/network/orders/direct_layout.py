"""The cables and modules of a dragonfly or a HyperX, whose switches are in the middle of their systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evo_libra.network.orders.cables import Ends, Plug, cheapest
from evo_libra.network.orders.direct import Direct
from evo_libra.network.orders.direct_ways import Ways, ways_of
from evo_libra.network.orders.layout import (
    Laid,
    Layout,
    Modules,
    Run,
    Tier,
    layout_of,
    modules_alike,
    modules_spread,
    switches_per_rack,
)
from evo_libra.network.orders.lengths import rows_of, to_middle
from evo_libra.network.orders.modes import modes_of, switch_of
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


@dataclass(frozen=True)
class _Cabling:
    """A dragonfly or a HyperX whose cables are laid."""

    order: Order
    found: Direct
    products: ProductsSpec

    def layout(self) -> Layout:
        """Return the racks, the cables and the modules."""
        down, between = self._down(), self._between()
        laid = (*down, *(one for _, links in between for one in links))
        in_rack = switches_per_rack(self.order, self.products, laid)
        modules = *self._down_modules(down), *(each for ways, links in between for each in self._plugged(ways, links))
        nics = self.order.bought_npus * modes_of(self.order, self.products).nics
        racks = -(-self.order.count // self._held)
        return Layout(racks, -(-self.found.switches // in_rack), tuple(one.run for one in laid), modules, nics)

    @property
    def _held(self) -> int:
        return systems_of_rack(self.order, self.products)

    def _down(self) -> list[Laid]:
        """Return the cables to switches: from systems to the middle of those of a switch."""
        rows, systems = rows_of(room_of(self.products)), self.found.leaf_systems
        ways: Counter[int] = Counter()
        for some, times in ((systems, self.order.count // systems), (self.order.count % systems, 1)):
            for metres, held in to_middle(some, self._held, rows):
                ways[metres] += held * times * self.order.npus * self.order.ports
        return self._laid("switch", ways, between=False)

    def _between(self) -> list[tuple[Ways, list[Laid]]]:
        """Return the cables between switches."""
        rows, found = rows_of(room_of(self.products)), list[tuple[Ways, list[Laid]]]()
        for ways in ways_of(self.found, self.order.count, self._held, rows):
            links = {metres: some * self.found.planes for metres, some in ways.links}
            found.append((ways, self._laid(ways.joined, links, between=True, together=ways.together)))
        return found

    def _ends(self, *, between: bool) -> Ends:
        modes, inside = modes_of(self.order, self.products), switch_of(self.order, self.products).co_packaged
        mode, nic = modes.down, None if between else modes.nic.per_cage
        parted = not between and self.order.planes > 1
        return Ends(mode.Gbps, mode.lane_Gbps, nic, mode.per_cage, parted=parted, co_packaged=inside)

    def _laid(self, tier: Tier, links: Mapping[int, int], *, between: bool, together: int = 0) -> list[Laid]:
        found = []
        for metres, some in sorted(links.items()):
            choice = cheapest(self._ends(between=between), metres, self.products, together=together)
            found.append(Laid(Run(tier, choice.name, metres, some, -(-some // choice.links)), choice))
        return found

    def _down_modules(self, laid: list[Laid]) -> Iterator[Modules]:
        """Yield the modules of links to NPUs: those of a NIC are alike, and switches have as many."""
        links: Counter[str] = Counter()
        for one in laid:
            links[one.run.cable] += one.run.links
        cage = modes_of(self.order, self.products).nic.per_cage
        for choice in {one.choice.name: one.choice for one in laid}.values():
            some, lower, upper = links[choice.name], choice.lower, choice.upper
            if lower is not None:
                yield Modules("switch", "NICs", lower.module, modules_alike(some, cage, lower.links))
            if upper is not None:
                pieces = modules_spread(some, self.found.switches, upper.links)
                yield Modules("switch", "switches", upper.module, pieces)

    def _plugged(self, ways: Ways, laid: list[Laid]) -> Iterator[Modules]:
        """Yield the modules of links between switches, which serve links of one kind of module at one switch."""
        plugs = {one.run.metres: one.choice.upper for one in laid}
        pieces: Counter[str] = Counter()
        for ends, switches in ways.ends:
            links: Counter[Plug] = Counter()
            for metres, some in ends:
                if (plug := plugs[metres]) is not None:
                    links[plug] += some
            for plug, some in links.items():
                pieces[plug.module] += -(-some // plug.links) * switches * self.found.planes
        yield from (Modules(ways.joined, "switches", module, some) for module, some in pieces.items())
