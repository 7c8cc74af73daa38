"""Places of the systems and switches of an order, and the cables and modules that join them.

A leaf of `tor` is in the rack of its systems. Other leaves are in racks in the middle of their systems. Spines and
cores are in racks in the middle of the room, or spines with the leaves, where one rack takes all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from evo_libra.network.orders.cables import Choice, Ends, cheapest
from evo_libra.network.orders.ends import ends_between, ends_down, switch_kilowatts, switches_per_rack
from evo_libra.network.orders.floor import Block, Floor, Stock, groups_of_block, lengths_of
from evo_libra.network.orders.lengths import rows_of
from evo_libra.network.orders.modes import Modes, modes_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec, RoomSpec
from evo_libra.network.orders.racks import room_of, system_of
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
    cabling, floor = _Cabling(order, tree, products, modes_of(order, products)), floor_of(order, tree, products)
    metres, in_rack = lengths_of(floor), ((room_of(products).in_rack_m, 1),)
    to_leaves = in_rack if floor.block.inside else metres.leaf
    to_spines = in_rack if floor.together else metres.spine
    laid = (*cabling.leaf(to_leaves), *cabling.spine(to_spines), *cabling.core(metres.core))
    runs, modules = tuple(one.run for one in laid), tuple(cabling.modules(laid))
    return Layout(
        system_racks=floor.system_racks, racks_of_switches=floor.switch_racks(),
        switch_kW=switch_kilowatts(order, products), runs=runs, modules=modules,
        nics=order.bought_npus * cabling.modes.nics,
    )  # fmt: skip


def floor_of(order: Order, tree: Tree, products: ProductsSpec) -> Floor:
    """Return the racks of an order with switches."""
    in_rack = switches_per_rack(order, products)
    return _floor(order, tree, room_of(products), systems_of_rack(order, products), in_rack)


def _floor(order: Order, tree: Tree, room: RoomSpec, held: int, in_rack: int) -> Floor:
    """Return the racks of an order; a block of `tor` is a rack."""
    inside = order.family == "tor" and (tree.tiers > 1 or order.count <= held)
    group = min(held if inside else tree.leaf_systems, order.count)
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


@dataclass(frozen=True)
class Laid:
    """Cables of one kind and length, and what they end in."""

    run: Run
    choice: Choice


@dataclass(frozen=True)
class _Cabling:
    """An order whose cables are laid."""

    order: Order
    tree: Tree
    products: ProductsSpec
    modes: Modes

    def leaf(self, ways: _Ways) -> list[Laid]:
        """Return the cables to leaves."""
        return self._laid("leaf", ends_down(self.order, self.products), self.tree.links, ways)

    def spine(self, ways: _Ways) -> list[Laid]:
        """Return the cables to spines."""
        return self._laid("spine", ends_between(self.order, self.products), self.tree.uplinks, ways)

    def core(self, ways: _Ways) -> list[Laid]:
        """Return the cables to cores."""
        return self._laid("core", ends_between(self.order, self.products), self.tree.core_links, ways)

    def _laid(self, tier: Tier, ends: Ends, links: int, ways: _Ways) -> list[Laid]:
        found = []
        step = ends.switch.ports if ends.nic is None else 1
        for metres, some in _shared(links, ways, step):
            choice = cheapest(ends, metres, self.products)
            found.append(Laid(Run(tier, choice.name, metres, some, -(-some // choice.links)), choice))
        return found

    def modules(self, laid: tuple[Laid, ...]) -> Iterator[Modules]:
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


def _shared(links: int, ways: _Ways, step: int) -> Iterator[tuple[float, int]]:
    """Yield the links of each length, in proportion to the ways; all but the last are a multiple of a step."""
    whole, before, given = sum(some for _, some in ways), 0, 0
    for metres, some in ways:
        before += some
        until = links if before == whole else links * before // whole // step * step
        if until > given:
            yield metres, until - given
        given = until


def modules_alike(links: int, alike: int, served: int) -> int:
    """Return the modules, each for some links, of cages whose links are alike."""
    return links // alike * -(-alike // served) + -(-(links % alike) // served)


def modules_spread(links: int, switches: int, served: int) -> int:
    """Return the modules, each for some links, of switches over which links are spread evenly."""
    each, rest = divmod(links, switches)
    return (switches - rest) * -(-each // served) + rest * -(-(each + 1) // served)


_Ways = Sequence[tuple[float, int]]
"""Lengths of cables, the shortest first, each with its part of the links."""
