"""The bill of an order: lines as a vendor would send them, whose sums are the objectives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from evo_libra.errors import InputError, unknown
from evo_libra.network.blocks import Range
from evo_libra.network.orders.circuits import OCS_RAILS
from evo_libra.network.orders.direct_layout import topology_layout
from evo_libra.network.orders.layout import Layout
from evo_libra.network.orders.lines import Group, Line, offer_of, range_of, usd_of
from evo_libra.network.orders.modes import switch_of
from evo_libra.network.orders.nic_lines import exchange_line
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import CableSpec, ProductsSpec
from evo_libra.network.orders.racks import system_of
from evo_libra.network.orders.rules import Counted
from evo_libra.network.orders.runs import Place, Run, Tier
from evo_libra.network.orders.slices import slice_lines
from evo_libra.network.orders.topology import Topology, topology_of

_KILO = 1000.0
_ENDS = 2
_NOTHING = Range(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class OrderBill:
    """All lines of an order; sums are exact to the cent."""

    lines: tuple[Line, ...]

    def order_usd(self) -> Range:
        """Return the price of all lines; an InputError names a product that has none, and the key."""
        return usd_of(self.lines)

    def network_usd(self) -> Range:
        """Return the price of NICs, switches, cables and modules."""
        return self.usd_of("network")

    def usd_of(self, section: str) -> Range:
        """Return the price of a section."""
        return usd_of(line for line in self.lines if line.section == section)

    def watts(self) -> float:
        """Return the power of all lines; an InputError names a product that has none, and the key."""
        return float(sum(line.power() for line in self.lines))

    def watts_of(self, section: str) -> float:
        """Return the power of a section."""
        return float(sum(line.power() for line in self.lines if line.section == section))


def bill_of(order: Order, products: ProductsSpec, *, without: frozenset[str] = frozenset()) -> OrderBill:
    """Return the bill of an order, without the lines of some rules.

    Parts that the price of a system includes have no line. An InputError says that there is no such rule, or what the
    counts of an order lack; a price that is not known is only missed in a sum that needs it. Rented systems have no
    other lines than their rent.
    """
    for name in sorted(without - products.rules.keys()):
        raise InputError(unknown("rule", name, products.rules))
    if system_of(order.system, products).order == "rent":
        return OrderBill(tuple(slice_lines(order, products)))
    tree = topology_of(order, products)
    layout = topology_layout(order, tree, products)
    lines = (*_systems(order, products), *_Network(order, tree, layout, products).lines())
    counted = Counted(order, tree, layout, lines, products)
    rules = ((name, rule) for name, rule in products.rules.items() if name not in without)
    following = (line for name, rule in rules for line in counted.lines_of(name, rule))
    return OrderBill((*lines, *_racks(counted), *_licences(order, tree, products), *following))


def _systems(order: Order, products: ProductsSpec) -> Iterator[Line]:
    system, offer = system_of(order.system, products), offer_of("systems", order.system, products)
    watts = None if system.kW is None else system.kW * _KILO
    what = f"systems of {order.npus} NPUs"
    yield Line(
        section="systems", product=order.system, what=what, pieces=order.count, usd=offer.usd, watts=watts,
        source=offer.source,
    )  # fmt: skip
    if spare := order.bought_npus - order.active_npus:
        what = f"spare NPUs, in the price of the systems: {order.npus - order.active} of {order.npus} in each"
        yield Line(
            section="spares", product=system.npu, what=what, pieces=spare, usd=_NOTHING, watts=0.0, source=offer.source
        )


@dataclass(frozen=True)
class _Network:
    """The parts of the network of an order."""

    order: Order
    tree: Topology
    layout: Layout
    products: ProductsSpec

    def lines(self) -> Iterator[Line]:
        """Yield the lines of NICs, switches, cables and modules."""
        if not self.tree.switches:
            return
        nic, switch = self.order.nic or "", self.order.switch or ""
        bought = exchange_line(self.order, self.products, section="network", systems=self.order.count)
        if bought is not None:
            yield bought
        elif "nics" not in system_of(self.order.system, self.products).includes:
            yield self._line("nics", nic, "NICs", self.layout.nics, self.products.nics[nic].power_W)
        watts = switch_of(self.order, self.products).power_W
        for stage, pieces in self.tree.stages:
            yield self._line("ocs" if self.order.family == OCS_RAILS else "switches", switch, stage, pieces, watts)
        yield from self._cables()
        for one in self.layout.modules:
            what = f"modules in {one.place} {_WAY[one.tier, one.place]}"
            yield self._line("modules", one.product, what, one.pieces, self.products.modules[one.product].power_W)

    def _cables(self) -> Iterator[Line]:
        runs: defaultdict[tuple[Tier, str], list[Run]] = defaultdict(list)
        for run in self.layout.runs:
            runs[run.tier, run.cable].append(run)
        for (tier, name), same in runs.items():
            cable = self.products.cables[name]
            what = f"{_kind(cable)} to {_ABOVE[tier]}, {_lengths(same)}"
            yield self._line("cables", name, what, sum(run.pieces for run in same), _ENDS * cable.W_per_end)

    def _line(self, group: Group, name: str, what: str, pieces: float, watts: float | None) -> Line:
        offer = offer_of(group, name, self.products)
        return Line(
            section="network", product=name, what=what, pieces=pieces, usd=offer.usd, watts=watts, source=offer.source
        )


def _kind(cable: CableSpec) -> str:
    return "cables" if cable.switch_module is None else "fibres"


def _lengths(runs: list[Run]) -> str:
    low, high = min(run.metres for run in runs), max(run.metres for run in runs)
    return f"{low:g} m" if low == high else f"{low:g} to {high:g} m"


def _racks(counted: Counted) -> Iterator[Line]:
    """Yield the racks that are not in the price of systems."""
    if pieces := counted.racks():
        offer = offer_of("rack", "rack", counted.products)
        yield Line(
            section="racks", product="rack", what="racks with PDUs", pieces=pieces, usd=offer.usd, watts=0.0,
            source=offer.source,
        )  # fmt: skip


def _licences(order: Order, tree: Topology, products: ProductsSpec) -> Iterator[Line]:
    switch = switch_of(order, products) if tree.switches else None
    if switch is not None and switch.license_usd:
        yield Line(
            section="licences", product=order.switch or "", what="licences of switches", pieces=tree.switches,
            usd=range_of(switch.license_usd), watts=0.0, source=f"{switch.source}, {switch.year}",
        )  # fmt: skip


_ABOVE: dict[Tier, str] = {
    "circuit": "circuit switches",
    "leaf": "leaves", "spine": "spines", "core": "cores", "switch": "switches", "group": "switches of a group",
    "groups": "other groups", "line": "switches of a line", "column": "switches of a column",
}  # fmt: skip
_WAY: dict[tuple[Tier, Place], str] = {
    ("circuit", "NICs"): "to circuit switches",
    ("leaf", "NICs"): "to leaves", ("leaf", "leaves"): "to NICs", ("spine", "leaves"): "to spines",
    ("spine", "spines"): "to leaves", ("core", "spines"): "to cores", ("core", "cores"): "to spines",
    ("switch", "NICs"): "to switches", ("switch", "switches"): "to NICs",
    ("group", "switches"): "to others of a group", ("groups", "switches"): "to other groups",
    ("line", "switches"): "to others of a line", ("column", "switches"): "to others of a column",
}  # fmt: skip
