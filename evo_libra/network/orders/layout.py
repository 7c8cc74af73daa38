"""Places of the systems and switches of an order, and the cables and modules that join them.

Systems stand in racks in their order, and racks in rows. A leaf of `tor` is in the rack of its systems. Other leaves
are in the middle of the systems that they join, and spines and cores in the middle of the room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from evo_libra.errors import InputError
from evo_libra.network.orders.cables import Choice, Ends, cheapest
from evo_libra.network.orders.lengths import Rows, groups_to_middle, rows_of, to_middle
from evo_libra.network.orders.modes import Modes, modes_of, switch_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.racks import per_rack, room_of
from evo_libra.network.orders.tor_racks import systems_of_rack
from evo_libra.network.orders.tree import Tree

Tier = Literal["leaf", "spine", "core", "switch", "group", "groups", "line", "column"]
"""The upper end of a cable; of links between switches of one tier, what they join."""

Place = Literal["NICs", "leaves", "spines", "cores", "switches"]
"""The place of a module."""


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
    if order.family == "slice":
        return Layout(0, 0)
    held = systems_of_rack(order, products)
    racks = -(-order.count // held)
    if not tree.tiers:
        return Layout(racks, 0)
    room, switch = room_of(products), switch_of(order, products)
    cabling = _Cabling(
        order, tree, products, modes=modes_of(order, products), held=held, rows=rows_of(room),
        co_packaged=switch.co_packaged,
    )  # fmt: skip
    leaf, spine = cabling.leaf(room.in_rack_m), cabling.spine()
    in_rack = switches_per_rack(order, products, (*leaf, *spine))
    laid = (*leaf, *spine, *cabling.core(in_rack))
    apart = tree.switches - (tree.leaves if cabling.in_racks else 0)
    runs, modules = tuple(one.run for one in laid), tuple(cabling.modules(laid))
    return Layout(racks, -(-apart // in_rack), runs, modules, order.bought_npus * cabling.modes.nics)


def switches_per_rack(order: Order, products: ProductsSpec, laid: Sequence[Laid]) -> int:
    """Return the switches of an order that a rack takes, with the largest module of some cables in each cage."""
    switch, name, room = switch_of(order, products), order.switch or "", room_of(products)
    if switch.cooling == "liquid":
        return per_rack(name, units=switch.height_U, kilowatts=0.0, room=room)
    if switch.power_W is None:
        raise InputError(f"{name} has no power_W, which its place in racks needs")
    largest = max((one.choice.upper.watts for one in laid if one.choice.upper), default=0.0)
    kilowatts = (switch.power_W + switch.cages * largest) / _KILO
    return per_rack(name, units=switch.height_U, kilowatts=kilowatts, room=room)


@dataclass(frozen=True)
class Laid:
    """Cables of one kind and length, and what they end in."""

    run: Run
    choice: Choice


@dataclass(frozen=True)
class _Cabling:
    """An order whose cables are laid; held: systems of a rack."""

    order: Order
    tree: Tree
    products: ProductsSpec
    modes: Modes
    held: int
    rows: Rows
    co_packaged: bool

    @property
    def in_racks(self) -> bool:
        """Whether leaves are in the racks of their systems."""
        return self.order.family == "tor" and (self.tree.tiers > 1 or self.order.count <= self.held)

    def leaf(self, in_rack_m: float) -> list[Laid]:
        """Return the cables to leaves: in the rack, or from a group of systems to its middle."""
        nic, down = self.modes.nic.per_cage, self.modes.down
        parted = self.order.planes > 1
        ends = Ends(down.Gbps, down.lane_Gbps, nic, down.per_cage, parted=parted, co_packaged=self.co_packaged)
        if self.in_racks:
            return self._laid("leaf", ends, {in_rack_m: self.tree.links})
        groups, rest = divmod(self.order.count, self.tree.leaf_systems)
        ways: Counter[float] = Counter()
        for systems, times in ((self.tree.leaf_systems, groups), (rest, 1)):
            for metres, some in to_middle(systems, self.held, self.rows):
                ways[metres] += some * times * self.order.npus * self.order.ports
        return self._laid("leaf", ends, ways)

    def spine(self) -> list[Laid]:
        """Return the cables to spines: from the middle of groups to the middle of the room."""
        group = min(self.held, self.order.count) if self.in_racks else self.tree.leaf_systems
        ways = groups_to_middle(self.order.count, group, self.held, self.rows)
        return self._laid("spine", self._between(), _shared(self.tree.uplinks, ways))

    def core(self, in_rack: int) -> list[Laid]:
        """Return the cables to cores: from the racks of spines to the middle of them."""
        ways = to_middle(self.tree.spines, in_rack, self.rows)
        return self._laid("core", self._between(), _shared(self.tree.core_links, ways))

    def _between(self) -> Ends:
        up = self.modes.up
        return Ends(up.Gbps, up.lane_Gbps, None, up.per_cage, parted=False, co_packaged=self.co_packaged)

    def _laid(self, tier: Tier, ends: Ends, ways: Mapping[float, int]) -> list[Laid]:
        found = []
        for metres, links in sorted(ways.items()):
            if links:
                choice = cheapest(ends, metres, self.products)
                found.append(Laid(Run(tier, choice.name, metres, links, -(-links // choice.links)), choice))
        return found

    def modules(self, laid: Sequence[Laid]) -> Iterator[Modules]:
        """Yield the modules at each end: links up from a NIC or a switch are alike, those down are of all kinds."""
        links: Counter[tuple[Tier, str]] = Counter()
        for one in laid:
            links[one.run.tier, one.run.cable] += one.run.links
        choices = {(one.run.tier, one.run.cable): one.choice for one in laid}
        for (tier, cable), some in links.items():
            choice = choices[tier, cable]
            (lower, alike), (upper, switches) = self._ends(tier)
            if choice.lower is not None:
                yield Modules(tier, lower, choice.lower.module, modules_alike(some, alike, choice.lower.links))
            if choice.upper is not None:
                yield Modules(tier, upper, choice.upper.module, modules_spread(some, switches, choice.upper.links))

    def _ends(self, tier: Tier) -> tuple[tuple[Place, int], tuple[Place, int]]:
        """Return the places below a tier with the links up that are alike, and in it with the switches there."""
        tree = self.tree
        if tier == "leaf":
            return ("NICs", self.modes.nic.per_cage), ("leaves", tree.leaves)
        if tier == "spine":
            return ("leaves", tree.up), ("spines", tree.spines)
        return ("spines", tree.core_links // tree.spines), ("cores", tree.cores)


def _shared(links: int, ways: tuple[tuple[int, int], ...]) -> dict[float, int]:
    """Return links by their length, as many for each thing that is so far away; the first have what does not divide."""
    things = sum(some for _, some in ways)
    each, rest = divmod(links, things) if things else (0, 0)
    found: dict[float, int] = {}
    for metres, some in ways:
        more = min(rest, some)
        found[metres], rest = some * each + more, rest - more
    return found


def modules_alike(links: int, alike: int, served: int) -> int:
    """Return the modules, each for some links, of cages whose links are alike."""
    return links // alike * -(-alike // served) + -(-(links % alike) // served)


def modules_spread(links: int, switches: int, served: int) -> int:
    """Return the modules, each for some links, of switches over which links are spread evenly."""
    each, rest = divmod(links, switches)
    return (switches - rest) * -(-each // served) + rest * -(-(each + 1) // served)


_KILO = 1000.0
