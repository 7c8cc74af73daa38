"""Lines of a bill that follow from others by the rules of a catalogue."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from evo_libra.errors import InputError
from evo_libra.network.orders.catalog import give_power
from evo_libra.network.orders.circuits import OCS_RAILS
from evo_libra.network.orders.layout import Layout
from evo_libra.network.orders.lines import Group, Line, offer_of, offer_of_rule, usd_of
from evo_libra.network.orders.modes import switch_of
from evo_libra.network.orders.nic_lines import exchange_line
from evo_libra.network.orders.nic_options import added_kilowatts
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec, RuleSpec
from evo_libra.network.orders.racks import room_of, system_of
from evo_libra.network.orders.topology import Topology
from evo_libra.network.orders.tor_racks import systems_of_rack

_GROUPS: dict[str, Group] = {
    "switch": "switches", "module": "modules", "cable": "cables", "server": "systems", "system": "systems",
    "rack": "rack", "tray": "systems",
}  # fmt: skip
"""Sections of a catalogue whose products rules count."""
_ROUNDING, _HALF = 1e-9, 0.5
_KILO = 1000.0


@dataclass(frozen=True)
class Counted:
    """Counts for rules: an order with its tree and layout, and the lines that it has itself."""

    order: Order
    tree: Topology
    layout: Layout
    lines: tuple[Line, ...]
    products: ProductsSpec

    def lines_of(self, name: str, rule: RuleSpec) -> Iterator[Line]:
        """Yield the lines of a rule: none where it says no units, or nothing of the order counts."""
        if rule.units is None:
            return
        if rule.per == "USD of systems":
            yield self._share(name, rule, rule.units, "systems")
        elif rule.per == "USD of network":
            yield self._share(name, rule, rule.units, "network")
        elif rule.per == "tray":
            yield from self._trays(name, rule, rule.units)
        else:
            for product, pieces in self._pieces(name, rule).items():
                units = math.ceil(rule.units * pieces - _ROUNDING) if rule.whole else rule.units * pieces
                if units:
                    yield self._line(name, rule, product, units)

    def racks(self) -> int:
        """Return the racks that are bought: not those that systems are or have with them."""
        system = system_of(self.order.system, self.products)
        alone = system.is_rack or "rack" in system.includes
        return self.layout.switch_racks + (0 if alone else self.layout.system_racks)

    def _trays(self, name: str, rule: RuleSpec, units: float) -> Iterator[Line]:
        """Yield trays to the nearest number, at a part of the price of systems unless they have one of their own."""
        order, system = self.order, system_of(self.order.system, self.products)
        trays = order.npus // system.rails if system.is_rack else 1
        whole = math.floor(units * order.count * trays + _HALF)
        # Systems with spare NPUs of their own need no spare trays.
        if whole and order.active == order.npus:
            own = rule.usd is not None
            line = self._line(name, rule, name if own else order.system, whole)
            what = f"{line.what}; a tray is 1/{trays} of the price of {order.system}"
            yield line if own or trays == 1 else replace(line, parts=trays, what=what)
            if not own:
                yield from self._nics(name, rule, whole / trays)

    def _nics(self, name: str, rule: RuleSpec, systems: float) -> Iterator[Line]:
        """Yield the NICs of spare systems, where those of an order are not in the price of its systems."""
        line = exchange_line(self.order, self.products, section=rule.section, systems=systems)
        if line is not None:
            yield replace(line, watts=rule.power_W, rule=name)

    def _share(self, name: str, rule: RuleSpec, units: float, section: Literal["systems", "network"]) -> Line:
        """Return a share of a section's price; a product without a price leaves it without one."""
        lines = [line for line in self.lines if line.section == section]
        usd = usd_of(lines) if all(line.usd is not None for line in lines) else None
        return Line(
            section=rule.section, product=name, what=rule.meaning, pieces=units, usd=usd, watts=0.0,
            source=offer_of_rule(name, self.products).source, rule=name,
        )  # fmt: skip

    def _line(self, name: str, rule: RuleSpec, product: str, units: float) -> Line:
        group = _GROUPS.get(rule.per)
        if group == "switches" and self.order.family == OCS_RAILS:
            group = "ocs"
        offer = offer_of_rule(name, self.products)
        if rule.usd is None and group is not None:
            offer = offer_of(group, product, self.products)
        return Line(
            section=rule.section, product=product, what=rule.meaning, pieces=units, usd=offer.usd,
            watts=rule.power_W, source=offer.source, rule=name,
        )  # fmt: skip

    def _pieces(self, name: str, rule: RuleSpec) -> Mapping[str, float]:
        """Return how many a rule counts of each product; of the rule itself where it counts no product."""
        order, system = self.order, system_of(self.order.system, self.products)
        found: Counter[str] = Counter()
        if rule.per == "module":
            for module in self.layout.modules:
                found[module.product] += module.pieces
        elif rule.per == "cable":
            for run in self.layout.runs:
                found[run.cable] += run.pieces
        elif rule.per in ("server", "system"):
            found[order.system] = 0 if rule.per == "server" and system.is_rack else order.count
        elif rule.per == "switch":
            found[order.switch or ""] = self.tree.switches
        elif rule.per == "rack":
            found["rack"] = self.racks()
        else:
            return {name: self._amount(rule)}
        return found if rule.usd is None else {name: found.total()}

    def _amount(self, rule: RuleSpec) -> float:
        order, system = self.order, system_of(self.order.system, self.products)
        if rule.per == "NPU":
            return order.bought_npus
        if rule.per == "liquid kW":
            return self._liquid()
        if rule.per == "storage port":
            return order.count * system.storage_ports.count if system.storage_ports else 0
        return order.count * system.management_ports + self.tree.switches + self._pdus() + self._cdus()

    def _pdus(self) -> int:
        """Return the PDUs of racks that are bought; more in a rack that draws much."""
        order, layout, found = self.order, self.layout, 0
        for switches, racks in layout.racks_of_switches:
            found += racks * self._pdus_of_rack(order.switch or "", "power_W", switches, layout.switch_kW)
        if racks := self.racks() - layout.switch_racks:
            held, kilowatts = systems_of_rack(order, self.products), system_of(order.system, self.products).kW
            found += racks * self._pdus_of_rack(order.system, "kW", held, kilowatts, self._added)
        return found

    @cached_property
    def _added(self) -> float:
        """The kW that NICs in the place of others add to a system."""
        return added_kilowatts(self.order, self.products)

    def _pdus_of_rack(self, product: str, key: str, pieces: int, kilowatts: float | None, added: float = 0.0) -> int:
        rack = room_of(self.products).rack
        if rack.pdu_kW is None:
            return rack.pdus
        power = pieces * (_known(product, key, kilowatts, "the number of PDUs") + added)
        return max(rack.pdus, math.ceil(power / rack.pdu_kW - _ROUNDING))

    def _cdus(self) -> int:
        """Return the CDUs of what liquid cools."""
        heat = room_of(self.products).cdu_kW
        return math.ceil(self._liquid() / heat - _ROUNDING) if heat else 0

    def _liquid(self) -> float:
        """Return the kW that liquid cools and nothing that is bought cools already."""
        order, system = self.order, system_of(self.order.system, self.products)
        found = 0.0
        if system.cooling == "liquid" and "cooling" not in system.includes:
            found += order.count * (_known(order.system, "kW", system.kW, "its cooling") + self._added)
        switch = switch_of(order, self.products) if order.switch is not None else None
        if switch is not None and switch.cooling == "liquid":
            found += self.tree.switches * _known(order.switch or "", "power_W", switch.power_W, "its cooling") / _KILO
        return found


def _known(product: str, key: str, figure: float | None, need: str) -> float:
    if figure is None:
        raise InputError(f"{product} has no {key}, which {need} needs; {give_power(product)}")
    return figure
