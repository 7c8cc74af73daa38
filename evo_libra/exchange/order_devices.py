"""The racks, devices, ports, cables and modules of an order, each by its name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import IntArray
from evo_libra.errors import InputError
from evo_libra.exchange.formats import Chosen
from evo_libra.network.orders.direct_layout import topology_layout
from evo_libra.network.orders.direct_wiring import topology_wires
from evo_libra.network.orders.layout import Layout
from evo_libra.network.orders.modes import modes_of, switch_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.places import Places, places_of
from evo_libra.network.orders.products import NicModeSpec, ProductsSpec, SwitchModeSpec
from evo_libra.network.orders.racks import system_of
from evo_libra.network.orders.runs import Place
from evo_libra.network.orders.topology import Topology
from evo_libra.network.orders.wiring import KINDS, Wires, runs_of

MAX_ROWS = 200_000
"""Rows of a table; programs that import one take far fewer at a time."""

_OF_PLACE: dict[Place, str] = {
    "NICs": "system",
    "leaves": "leaf",
    "spines": "spine",
    "cores": "core",
    "switches": "switch",
}


@dataclass(frozen=True)
class Rack:
    """A rack, its row, and its place in the row, from 1."""

    name: str
    row: str
    place: int


@dataclass(frozen=True)
class Device:
    """A system or a switch: its product, its rack, and the lowest unit that it takes there."""

    name: str
    role: str
    product: str
    rack: str
    unit: float


@dataclass(frozen=True)
class Port:
    """A port of a device, with the rate, the form of its cage and the link layer that it is in."""

    device: str
    name: str
    Gbps: float
    cage: str
    layer: str


@dataclass(frozen=True)
class Link:
    """A link with its lower end first; number: of its cable of this kind, from 1, which a splitter's links share."""

    ends: tuple[Port, Port]
    tier: str
    cable: str
    number: int
    metres: float


@dataclass(frozen=True)
class Item:
    """A NIC or a module in a device; number: from 1 there."""

    device: str
    product: str
    number: int


def name_of(kind: str, number: int) -> str:
    """Return the name of the n-th device of a kind; numbers begin with 0, and names with 1.

    >>> name_of("leaf", 11)
    'leaf-0012'
    """
    return f"{kind}-{number + 1:04d}"


@dataclass(frozen=True)
class OrderDevices:
    """The devices of an order; racks and switches are those of its layout."""

    order: Order
    tree: Topology
    products: ProductsSpec
    layout: Layout

    @cached_property
    def wires(self) -> tuple[Wires, ...]:
        """The links of each tier; an `InputError` where they are too many for a table."""
        links = self.tree.all_links
        if links > MAX_ROWS:
            raise InputError(f"the order has {links:,} links, and a table of them has up to {MAX_ROWS:,}")
        return topology_wires(self.order, self.tree, self.products)

    @cached_property
    def places(self) -> Places:
        """The racks of systems and switches."""
        return places_of(self.order, self.tree, self.products)

    def racks(self) -> Iterator[Rack]:
        """Yield the racks, those with systems first."""
        for number, (row, place) in enumerate(self.places.cells.tolist()):
            yield Rack(self._rack(number), name_of("row", row), place + 1)

    def _rack(self, number: int) -> str:
        above = number - self.places.system_racks
        return name_of("rack", number) if above < 0 else name_of("switch-rack", above)

    def devices(self) -> Iterator[Device]:
        """Yield the systems, then the switches from the leaves up, each from the lowest free unit of its rack."""
        product = system_of(self.order.system, self.products)
        used: defaultdict[int, float] = defaultdict(lambda: 1.0)
        yield from self._placed("system", self.order.system, product.height_U, self.places.systems, used)
        for role, racks in self.places.switches.items():
            switch = switch_of(self.order, self.products)
            yield from self._placed(role, self.order.switch or "", switch.height_U, racks, used)

    def _placed(
        self, role: str, product: str, height: float, racks: IntArray, used: dict[int, float]
    ) -> Iterator[Device]:  # fmt: skip
        for number, rack in enumerate(racks.tolist()):
            yield Device(name_of(role, number), role, product, self._rack(rack), used[rack])
            used[rack] += height

    def _runs(self, wires: Wires) -> IntArray:
        return runs_of(wires, self.layout.runs, self.places.metres(wires))

    def links(self) -> Iterator[Link]:
        """Yield every link, with the kind and length of its cable as the bill has them."""
        laid = Counter[str]()
        for wires in self.wires:
            run = self._runs(wires)
            for cable in dict.fromkeys(one.cable for one in self.layout.runs if one.tier == wires.tier):
                of = [at for at, one in enumerate(self.layout.runs) if one.cable == cable]
                places = np.flatnonzero(np.isin(run, of))
                yield from self._links(wires, places, run[places], laid)

    def _links(self, wires: Wires, places: IntArray, run: IntArray, laid: Counter[str]) -> Iterator[Link]:
        """Yield links of one kind of cable, those of a splitter together at its switch; laid: pieces before."""
        lower, upper = KINDS[wires.tier]
        pair = wires.lower[places] if lower != "system" else np.zeros_like(places)
        order = np.lexsort((wires.upper_port[places], pair, run, wires.upper[places]))
        columns = (wires.lower, wires.lower_port, wires.upper, wires.upper_port)
        rows = zip(*(part[places[order]].tolist() for part in columns), run[order].tolist(), strict=True)
        device, links = -1, 0
        for at, port, above, port_above, number in rows:
            one = self.layout.runs[number]
            links = links + 1 if above == device else 0
            laid[one.cable] += links % self.products.cables[one.cable].links == 0
            device = above
            ends = self._port(lower, at, port, wires.tier), self._port(upper, above, port_above, wires.tier)
            yield Link(ends, wires.tier, one.cable, laid[one.cable], one.metres)

    def _port(self, kind: str, device: int, port: int, tier: str) -> Port:
        modes, switch = modes_of(self.order, self.products), switch_of(self.order, self.products)
        mode: NicModeSpec | SwitchModeSpec = modes.down if tier in ("leaf", "switch", "circuit") else modes.up
        name, cage = f"port-{port + 1}", switch.cage
        if kind == "system":
            npu, own = divmod(port, self.order.ports)
            nic = self.products.nics[self.order.nic or ""]
            mode, name, cage = modes.nic, f"npu-{npu + 1}-port-{own + 1}", nic.cage
        return Port(name_of(kind, device), name, mode.Gbps, cage, switch.layer)

    def items(self) -> Iterator[Item]:
        """Yield the NICs of systems, and the modules of the bill, spread over devices in proportion to their links."""
        if not self.tree.switches:
            return
        numbers = Counter[str]()
        nics = self.layout.nics // self.order.count
        held = [(name_of("system", at), self.order.nic or "", nics) for at in range(self.order.count)]
        for device, product, pieces in (*held, *self._modules()):
            for _ in range(pieces):
                numbers[device] += 1
                yield Item(device, product, numbers[device])

    def _modules(self) -> Iterator[tuple[str, str, int]]:
        run = {wires.tier: (wires, self._runs(wires)) for wires in self.wires}
        for module in self.layout.modules:
            wires, of = run[module.tier]
            kind = _OF_PLACE[module.place]
            optical = np.array([self.products.cables[one.cable].switch_module is not None for one in self.layout.runs])
            sides = zip(KINDS[wires.tier], (wires.lower, wires.upper), strict=True)
            ends = np.concatenate([devices[optical[of]] for at, devices in sides if at == kind])
            shared = np.cumsum(np.bincount(ends)) * module.pieces // len(ends)
            for device, pieces in enumerate(np.diff(shared, prepend=0).tolist()):
                if pieces:
                    yield name_of(kind, device), module.product, pieces


def order_devices(chosen: Chosen) -> OrderDevices:
    """Return the devices of a chosen order; an `InputError` where the problem is of designs, or systems are rented."""
    book = chosen.problem.book
    if book is None:
        raise InputError("only orders have racks and products; this problem asks for designs")
    place = int(book.place(chosen.population.select([0]))[0])
    order, tree = book.orders[place], book.trees[place]
    if order.family == "slice":
        raise InputError(f"{order.system} is rented as a whole, so there is nothing to place and to cable")
    return OrderDevices(order, tree, book.products, topology_layout(order, tree, book.products))
