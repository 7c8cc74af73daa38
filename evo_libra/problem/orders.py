"""The orders of a problem: each with its place in the space, its bill, and the systems that designs may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from evo_libra.arrays import GIGA, BoolArray, FloatArray, IntArray, Population
from evo_libra.network.blocks import Kit, Part, Range
from evo_libra.network.blocks.kit import OrderKit
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.blocks.scale_out import Reach, ScaleOutKit
from evo_libra.network.catalog.link_layers import LinkLayers
from evo_libra.network.catalog.technologies import Catalog
from evo_libra.network.orders.bill import OrderBill
from evo_libra.network.orders.circuits import OCS_RAILS
from evo_libra.network.orders.limits import NO_LIMITS, Limits
from evo_libra.network.orders.lines import Line, usd_of
from evo_libra.network.orders.modes import switch_of
from evo_libra.network.orders.nic_options import reached
from evo_libra.network.orders.notation import written
from evo_libra.network.orders.order import APART, Order
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.topology import Topology
from evo_libra.problem.npu_choice import NpuChoice
from evo_libra.problem.pricing.catalog import KitTechnology
from evo_libra.problem.pricing.pricing import DimensionChoice
from evo_libra.problem.space import Structures
from evo_libra.problem.system import SystemRow
from evo_libra.units import seconds

Pool = tuple[str, int, int]
"""Systems that are bought together: product, how many, and NPUs of each in use."""

NETWORK, SYSTEMS = "network", "systems"
"""Sections of a bill that the price of a network, and that of NPUs, are of."""


@dataclass(frozen=True)
class OrderBook:
    """The orders that a problem may choose from.

    Each order is a combination of the space, whose outermost technology no other order has. Each pool of systems counts
    as an accelerator of its own, since plans depend on how many NPUs there are.

    Attributes
    ----------
    products : the catalogue.
    orders, trees, bills : of each combination.
    reasons : a sentence for each product of the file that is in no order.
    limits : what the buyer accepts.
    planless : the pools of systems that have no plan of some workload, which are in no order, and why.
    """

    products: ProductsSpec
    orders: tuple[Order, ...]
    trees: tuple[Topology, ...]
    bills: tuple[OrderBill, ...]
    reasons: tuple[str, ...] = ()
    limits: Limits = NO_LIMITS
    planless: Mapping[Pool, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.orders)

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        """The pools of systems, in the order in which orders have them."""
        return tuple(dict.fromkeys(map(pool_of, self.orders)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each pool as an accelerator."""
        return tuple(map(name_of, self.pools))

    @cached_property
    def blocks(self) -> IntArray:
        """(t,) the block of each technology."""
        return np.array([BLOCK_NAMES.index(one.blocks[0]) for one in self.catalog.technologies], dtype=np.int64)

    @cached_property
    def pool(self) -> IntArray:
        """(s,) the pool of each order."""
        return np.array([self.pools.index(pool_of(order)) for order in self.orders], dtype=np.int64)

    @cached_property
    def technology(self) -> IntArray:
        """(s,) the outermost technology of each order: that of its pool, or of its own scale-out network."""
        alone = np.array([order.count == 1 for order in self.orders])
        return np.where(alone, self.pool, len(self.pools) + np.cumsum(~alone) - 1)

    @cached_property
    def structures(self) -> Structures:
        """The sizes and technologies of all orders."""
        npus = np.array([[order.active, order.count] for order in self.orders], dtype=np.int64).T
        return Structures(npus, np.array([self.pool, self.technology]))

    @cached_property
    def catalog(self) -> Catalog:
        """The technologies: the scale-up networks of pools, then the scale-out network of each order."""
        inner = [self._technology(place, _scale_up(self.products, pool), 0) for place, pool in enumerate(self.pools)]
        rows = zip(self.orders, self.trees, self.bills, self.pool.tolist(), strict=True)
        outer = [
            self._technology(pool, _scale_out(self.products, order, tree, bill), 1)
            for order, tree, bill, pool in rows
            if order.count > 1
        ]
        layers = {name: self.products.switches[name].layer for name in self._switches}
        return Catalog(self.products.name, self.products.source, (*inner, *outer), LinkLayers(layers))

    @property
    def _switches(self) -> set[str]:
        """The packet switches of orders, by whose names their networks are known."""
        return {order.switch for order in self.orders if order.switch in self.products.switches}

    def _technology(self, pool: int, kit: Kit, rank: int) -> KitTechnology:
        return KitTechnology(
            name=kit.technology, link=0.0, switch=None, nic=None, largest_dimension=None,
            bandwidth_cap=kit.ports * kit.port_rate, blocks=(BLOCK_NAMES[kit.block],), latency=kit.latency, rank=rank,
            npu=name_of(self.pools[pool]), kit=kit,
        )  # fmt: skip

    @property
    def choices(self) -> tuple[DimensionChoice, ...]:
        """The one choice of each technology: systems inside, and their network around them."""
        technologies, inner = self.catalog.technologies, len(self.pools)
        blocks = [tuple(BLOCK_NAMES.index(name) for name in one.blocks) for one in technologies]
        rate = np.array([one.bandwidth_cap or 0.0 for one in technologies])
        mine = [np.arange(len(technologies)) < inner, np.arange(len(technologies)) >= inner]
        return tuple(
            DimensionChoice(
                tuple(block if here else () for block, here in zip(blocks, some.tolist(), strict=True)),
                np.where(some, rate, 0.0), np.where(some, rate, 0.0),
            )
            for some in mine
        )  # fmt: skip

    @property
    def unjoined(self) -> BoolArray | None:
        """(t,) whether nothing joins systems; None where switches or a data centre join all that are several."""
        found = np.zeros(len(self.catalog.technologies), dtype=np.bool_)
        found[self.technology[[order.family == APART for order in self.orders]]] = True
        return found if found.any() else None

    @property
    def efficiency(self) -> FloatArray:
        """(t,) the part of its bandwidth that traffic reaches in each scale-out network; 1 inside of systems."""
        joined = (order for order in self.orders if order.count > 1)
        outer = [1.0 if order.switch is None else reached(order, self.products).efficiency for order in joined]
        return np.array([*[1.0] * len(self.pools), *outer])

    def place(self, designs: Population) -> IntArray:
        """Return (n,) the orders that designs are; -1 where one is none of them."""
        return self.structures.find(
            designs.npus, np.where(designs.npus > 1, designs.technology, designs.technology[:1])
        )

    def order_usd(self, designs: Population) -> FloatArray:
        """Return (n,) USD of the whole order that each design is."""
        return np.array([self.bills[place].order_usd().value for place in self.place(designs).tolist()])

    def of_order(self, figures: FloatArray) -> FloatArray:
        """Return (t,) figures of orders by their outermost technology; 0 of technologies that are of no order alone."""
        found = np.zeros(len(self.catalog.technologies))
        found[self.technology] = figures
        return found

    def rest(self) -> tuple[SystemRow, ...]:
        """Return what orders have besides systems and network: a row for each product, and one for the power."""
        others = [[line for line in bill.lines if line.section not in (NETWORK, SYSTEMS)] for bill in self.bills]
        prices = dict.fromkeys(price_of(line) for lines in others for line in lines)
        rows = [
            self._row(name, "piece", usd, watts=0.0, figures=[_pieces(lines, (name, usd)) for lines in others])
            for name, usd in prices
            if usd.value
        ]
        watts = [sum(line.power() for line in lines) for lines in others]
        return (*rows, self._row("their power", "W", _NOTHING, watts=1.0, figures=watts))

    def _row(self, name: str, unit: str, price: Range, *, watts: float, figures: Sequence[float]) -> SystemRow:
        return ProductOfOrders(
            name=name, unit=unit, price=price, watts=watts, key="systems", source=self.products.source,
            amount=self.of_order(np.array(figures)),
        )  # fmt: skip

    def notation(self, place: int) -> str:
        """Return an order as people write it."""
        return written(self.orders[place], self.products)


def pool_of(order: Order) -> Pool:
    """Return the systems of an order."""
    return order.system, order.count, order.active


def name_of(pool: Pool) -> str:
    """Return what a pool of systems is called as an accelerator, such as ``112xgb300-nvl72``."""
    system, count, active = pool
    return f"{count}x{system}-{active}"


def _scale_up(products: ProductsSpec, pool: Pool) -> Kit:
    """Return the network inside of systems, which is in their price."""
    system, active = products.systems[pool[0]], pool[2]
    spec = system.scale_up
    switch = Part(
        name=f"{spec.technology} switches", kind="switch", price=_NOTHING, power=0.0, ports=max(active, 2),
        latency=seconds(spec.switch_latency_ns), source=system.source, year=system.year,
    )  # fmt: skip
    return Kit(
        technology=spec.technology, block=BLOCK_NAMES.index(spec.block), rank=0,
        port_rate=spec.GBps * GIGA / spec.ports, ports=spec.ports, domain_size=None, latency=seconds(spec.latency_ns),
        energy=0.0, links=None, uplink=None, transceiver=None, nic=None, switch=switch,
    )  # fmt: skip


def _scale_out(products: ProductsSpec, order: Order, tree: Topology, bill: OrderBill) -> Kit:
    """Return the network around systems as one part, with the price and the power of its section of the bill."""
    if order.family == APART:
        return _unbought(products, order, APART, rate=_SLOWEST)
    if order.switch is None:
        return _data_center(products, order)
    switch = switch_of(order, products)
    radix = max(mode.ports for mode in switch.modes)
    whole = Part(
        name=written(order, products), kind="switch", price=bill.usd_of(NETWORK), power=bill.watts_of(NETWORK),
        ports=radix, latency=seconds(switch.latency_ns), source=switch.source, year=switch.year,
    )  # fmt: skip
    if order.family == OCS_RAILS:
        return OrderKit(
            technology=order.switch, block=BLOCK_NAMES.index("ocs-rail"), rank=1, port_rate=order.Gbps * GIGA / _BITS,
            ports=order.ports, domain_size=None, latency=_CABLE, energy=0.0, links=None, uplink=None, transceiver=None,
            nic=None, switch=replace(whole, kind="ocs"),
        )  # fmt: skip
    reach = Reach(tree.passed, tree.leaf_systems, tree.pod_systems, tree.leaf_share, tree.pod_share)
    return ScaleOutKit(
        technology=order.switch, block=BLOCK_NAMES.index("scale-out"), rank=1, port_rate=order.Gbps * GIGA / _BITS,
        ports=order.ports, domain_size=None, latency=_CABLE, energy=0.0, links=None, uplink=None, transceiver=None,
        nic=None, switch=whole, reach=reach,
    )  # fmt: skip


def _data_center(products: ProductsSpec, order: Order) -> Kit:
    """Return the network that joins rented systems, which is in their price: each NPU has all of its rate."""
    spec = products.systems[order.system].data_center
    assert spec is not None, "several systems have a network"  # noqa: S101 - internal error
    return _unbought(products, order, "data-center", rate=spec.Gbps * GIGA / _BITS, latency=seconds(spec.latency_ns))


def _unbought(products: ProductsSpec, order: Order, name: str, *, rate: float, latency: float = 0.0) -> Kit:
    """Return what joins systems and is not bought, with B/s of a port; of systems apart no group may lie on it."""
    system = products.systems[order.system]
    whole = Part(
        name=written(order, products), kind="switch", price=_NOTHING, power=0.0, ports=max(order.count, 2),
        latency=0.0, source=system.source, year=system.year,
    )  # fmt: skip
    return ScaleOutKit(
        technology=name, block=BLOCK_NAMES.index("scale-out"), rank=1, port_rate=rate, ports=1, domain_size=None,
        latency=latency, energy=0.0, links=None, uplink=None, transceiver=None, nic=None, switch=whole,
    )  # fmt: skip


_SLOWEST = 1.0
"""B/s of links that no plan may use, as a rate must be above 0."""


def price_of(line: Line) -> tuple[str, Range]:
    """Return the product of a line and its price, by which prices are told apart; a licence is called as its switch."""
    assert line.usd is not None, "orders of a problem have all prices"  # noqa: S101 - internal error
    return line.product, line.usd


def _pieces(lines: Sequence[Line], price: tuple[str, Range]) -> float:
    """Return the pieces of a product whose price is that of the lines, which are rounded to cents."""
    return usd_of(line for line in lines if price_of(line) == price).value / price[1].value


_NOTHING = Range(0.0, 0.0, 0.0)
_BITS = 8.0
_CABLE = 25e-9
"""Seconds of light in 5 m of cable."""


@dataclass(frozen=True, eq=False)
class ProductOfOrders(SystemRow):
    """A product of the bill of each order, or their W: (t,) pieces by the outermost technology of designs."""

    amount: FloatArray

    def pieces(self, designs: Population) -> FloatArray:
        """Return (n,) pieces of the product, or W."""
        return np.asarray(self.amount[outermost(designs)])


def outermost(designs: Population) -> IntArray:
    """Return (n,) the technology of the outermost dimension in use."""
    last = np.maximum((designs.npus > 1).sum(axis=0) - 1, 0)
    return np.asarray(np.take_along_axis(designs.technology, last[None], axis=0)[0])


def pools_of(book: OrderBook, capacities: Sequence[float]) -> NpuChoice:
    """Return the pools as accelerators to choose from, with the price and the power of an NPU of each."""
    systems = [book.products.systems[system] for system, *_ in book.pools]
    first = [book.bills[int(np.flatnonzero(book.pool == place)[0])] for place in range(len(book.pools))]
    npus = np.array([count * active for _, count, active in book.pools], dtype=np.float64)
    prices = [bill.usd_of(SYSTEMS) for bill in first]
    ranges = tuple(
        Range(one.low / n, one.value / n, one.high / n) for one, n in zip(prices, npus.tolist(), strict=True)
    )
    owner = np.array([book.names.index(one.npu or "") for one in book.catalog.technologies], dtype=np.int64)
    return NpuChoice(
        names=book.names, owner=owner, capacity=np.array(capacities),
        watts=np.array([bill.watts_of(SYSTEMS) for bill in first]) / npus,
        price=np.array([one.value for one in ranges]),
        sources=tuple(f"{one.source}, {one.year}" for one in systems), ranges=ranges, stopped=_stopped(book),
    )  # fmt: skip


def _stopped(book: OrderBook) -> IntArray:
    """Return (a,) NPUs at work of each pool that stop while one of its servers or trays is out."""
    one_of = [book.orders[int(np.flatnonzero(book.pool == place)[0])] for place in range(len(book.pools))]
    out = [book.products.systems[order.system].rails for order in one_of]
    spare = [order.npus - order.active for order in one_of]
    return np.array([0 if left >= size else size for size, left in zip(out, spare, strict=True)], dtype=np.int64)


def none_of(book: OrderBook, designs: Population) -> BoolArray:
    """Return (n,) whether designs are none of the orders."""
    return np.asarray(book.place(designs) < 0)


def with_plans(book: OrderBook, planless: Mapping[Pool, str], reasons: Sequence[str]) -> OrderBook:
    """Return the orders of pools that have plans, with further reasons why others are in none."""
    kept = [place for place, order in enumerate(book.orders) if pool_of(order) not in planless]
    return replace(
        book, orders=tuple(book.orders[place] for place in kept), trees=tuple(book.trees[place] for place in kept),
        bills=tuple(book.bills[place] for place in kept), reasons=(*book.reasons, *reasons), planless=planless,
    )  # fmt: skip
