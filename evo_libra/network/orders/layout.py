"""Where the systems and switches of an order stand, and which cables and modules join them.

Systems stand in racks in their order, and racks in rows. A leaf of `tor` is in the rack of its systems. Other leaves
are in the middle of the systems that they join, and spines and cores in the middle of the room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from evo_libra.errors import InputError
from evo_libra.network.orders.cables import Ends, Plug, choices_of, shortest
from evo_libra.network.orders.lengths import Rows, groups_to_middle, rows_of, to_middle
from evo_libra.network.orders.modes import Modes, modes_of, switch_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec, SwitchSpec
from evo_libra.network.orders.racks import per_rack, room_of
from evo_libra.network.orders.tor_racks import systems_of_rack
from evo_libra.network.orders.tree import Tree

Tier = Literal["leaf", "spine", "core"]
"""The upper end of a cable."""

Place = Literal["NICs", "leaves", "spines", "cores"]
"""Where a module is."""


@dataclass(frozen=True)
class Run:
    """Cables of one kind and length below the switches of a tier: links, and pieces that make them up."""

    tier: Tier
    cable: str
    metres: float
    links: int
    pieces: int


@dataclass(frozen=True)
class Modules:
    """Optical modules of one kind at one end of cables below the switches of a tier."""

    tier: Tier
    place: Place
    product: str
    pieces: int


@dataclass(frozen=True)
class Layout:
    """The racks, cables, modules and NICs of an order.

    Attributes
    ----------
    system_racks, switch_racks : racks with systems, and racks with switches alone.
    """

    system_racks: int
    switch_racks: int
    runs: tuple[Run, ...] = ()
    modules: tuple[Modules, ...] = ()
    nics: int = 0


def layout_of(order: Order, tree: Tree, products: ProductsSpec) -> Layout:
    """Return where all of an order stands; an InputError where no cable reaches, or the room is not known."""
    held = systems_of_rack(order, products)
    if not tree.tiers:
        return Layout(-(-order.count // held), 0)
    modes, switch = modes_of(order, products), switch_of(order, products)
    return _Cabling(order, tree, products, modes, switch, held, rows_of(room_of(products))).layout()


@dataclass(frozen=True)
class _Cabling:
    """An order whose cables are laid; held: systems of a rack."""

    order: Order
    tree: Tree
    products: ProductsSpec
    modes: Modes
    switch: SwitchSpec
    held: int
    rows: Rows

    def layout(self) -> Layout:
        lower = (*self.runs("leaf", self.leaf_ways()), *self.runs("spine", self.spine_ways()))
        in_rack = self.switches_per_rack(lower)
        runs = (*lower, *self.runs("core", self.core_ways(in_rack)))
        apart = self.tree.switches - (self.tree.leaves if self.in_racks else 0)
        nics = self.order.bought_npus * self.modes.nics
        return Layout(-(-self.order.count // self.held), -(-apart // in_rack), runs, tuple(self.modules(runs)), nics)

    @property
    def in_racks(self) -> bool:
        """Whether leaves are in the racks of their systems."""
        return self.order.family == "tor" and (self.tree.tiers > 1 or self.order.count <= self.held)

    def leaf_ways(self) -> Mapping[float, int]:
        """Return the links to leaves by their length: in the rack, or from a group of systems to its middle."""
        if self.in_racks:
            return {room_of(self.products).in_rack_m: self.tree.links}
        groups, rest = divmod(self.order.count, self.tree.leaf_systems)
        ways: Counter[float] = Counter()
        for systems, times in ((self.tree.leaf_systems, groups), (rest, 1)):
            for metres, some in to_middle(systems, self.held, self.rows):
                ways[metres] += some * times * self.order.npus * self.order.ports
        return ways

    def spine_ways(self) -> Mapping[float, int]:
        """Return the links to spines by their length: from the middle of groups to the middle of the room."""
        group = min(self.held, self.order.count) if self.in_racks else self.tree.leaf_systems
        ways = groups_to_middle(self.order.count, group, self.held, self.rows)
        return _shared(self.tree.uplinks, ways)

    def core_ways(self, in_rack: int) -> Mapping[float, int]:
        """Return the links to cores by their length: from the racks of spines to the middle of them."""
        return _shared(self.tree.core_links, to_middle(self.tree.spines, in_rack, self.rows))

    def ends(self, tier: Tier) -> Ends:
        """Return what a cable below a tier joins."""
        packaged, modes = self.switch.co_packaged, self.modes
        if tier != "leaf":
            return Ends(modes.up.Gbps, modes.up.lane_Gbps, None, modes.up.per_cage, False, packaged)  # noqa: FBT003
        nic, down = modes.nic.per_cage, modes.down
        return Ends(down.Gbps, down.lane_Gbps, nic, down.per_cage, self.order.planes > 1, packaged)

    def runs(self, tier: Tier, ways: Mapping[float, int]) -> Iterator[Run]:
        """Yield the cables below a tier, the shortest first."""
        ends = self.ends(tier)
        choices = choices_of(ends, self.products)
        for metres, links in sorted(ways.items()):
            if links:
                cable = shortest(choices, ends, metres)
                yield Run(tier, cable, metres, links, -(-links // self.products.cables[cable].links))

    def modules(self, runs: tuple[Run, ...]) -> Iterator[Modules]:
        """Yield the modules at each end: a switch has those of its own links."""
        links: Counter[tuple[Tier, Place, Plug]] = Counter()
        for run in runs:
            cable, ends = self.products.cables[run.cable], self.ends(run.tier)
            lower, upper = _PLACES[run.tier]
            for place, plug in ((lower, ends.lower(cable)), (upper, ends.upper(cable))):
                if plug is not None:
                    links[run.tier, place, plug] += run.links
        for (tier, place, plug), some in links.items():
            served = plug.links(self.products)
            yield Modules(tier, place, plug.module, self.pieces(place, some, served))

    def pieces(self, place: Place, links: int, served: int) -> int:
        """Return the modules of a place that serve some links each; ports of a NIC's cage have all the same kind."""
        switches = {"NICs": 1, "leaves": self.tree.leaves, "spines": self.tree.spines, "cores": self.tree.cores}
        return _plugged(links, switches[place], served)

    def switches_per_rack(self, runs: tuple[Run, ...]) -> int:
        """Return the switches that a rack takes with the largest module of some cables in each cage."""
        plugs = {self.ends(run.tier).upper(self.products.cables[run.cable]) for run in runs}
        largest = max((self.products.modules[plug.module].power_W for plug in plugs if plug), default=0.0)
        name, power = self.order.switch or "", self.switch.power_W
        if self.switch.cooling == "liquid":
            power, largest = 0.0, 0.0
        if power is None:
            raise InputError(f"{name} has no power_W, which its place in racks needs")
        kilowatts = (power + self.switch.cages * largest) / _KILO
        return per_rack(name, units=self.switch.height_U, kilowatts=kilowatts, room=room_of(self.products))


def _shared(links: int, ways: tuple[tuple[float, int], ...]) -> dict[float, int]:
    """Return links by their length, as many for each thing that is so far away; the first have what does not divide."""
    things = sum(some for _, some in ways)
    each, rest = divmod(links, things) if things else (0, 0)
    found: dict[float, int] = {}
    for metres, some in ways:
        more = min(rest, some)
        found[metres], rest = some * each + more, rest - more
    return found


def _plugged(links: int, switches: int, served: int) -> int:
    """Return the modules, each for some links, of switches over which links are spread evenly."""
    each, rest = divmod(links, switches)
    return (switches - rest) * -(-each // served) + rest * -(-(each + 1) // served)


_PLACES: dict[Tier, tuple[Place, Place]] = {
    "leaf": ("NICs", "leaves"), "spine": ("leaves", "spines"), "core": ("spines", "cores"),
}  # fmt: skip
_KILO = 1000.0
