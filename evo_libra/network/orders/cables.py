"""Which cable joins two ports: the cheapest that fits both and reaches."""

from __future__ import annotations

import math
from dataclasses import dataclass

from evo_libra.errors import InputError
from evo_libra.network.orders.products import CableSpec, Price, ProductsSpec


@dataclass(frozen=True)
class Ends:
    """What a cable joins.

    Attributes
    ----------
    Gbps, lane_Gbps : rates of a port and of its lanes.
    nic_ports : ports of a cage of the NIC; None between switches. switch_ports : ports of a cage of the switch.
    parted : whether the ports of a cage of the NIC lead to different switches.
    co_packaged : whether switches have their optics inside.
    """

    Gbps: float
    lane_Gbps: float
    nic_ports: int | None
    switch_ports: int
    parted: bool
    co_packaged: bool

    def fit(self, cable: CableSpec) -> bool:
        """Return whether a cable joins such ports, however far they are apart."""
        fibre = cable.switch_module is not None
        if (cable.Gbps, cable.lane_Gbps) != (self.Gbps, self.lane_Gbps) or (self.co_packaged and not fibre):
            return False
        if self.nic_ports is None:
            return cable.joins_switches
        together = not fibre and self.parted and self.nic_ports > 1
        return cable.nic_ports == self.nic_ports and not together

    def lower(self, cable: CableSpec) -> Plug | None:
        """Return the module at the lower end: at a NIC, or at the lower of two switches."""
        if self.nic_ports is None:
            return self.upper(cable)
        return None if cable.nic_module is None else Plug(cable.nic_module, self.nic_ports)

    def upper(self, cable: CableSpec) -> Plug | None:
        """Return the module at the upper end."""
        inside = cable.switch_module is None or self.co_packaged
        return None if inside else Plug(cable.switch_module or "", self.switch_ports)


@dataclass(frozen=True)
class Plug:
    """A module in a cage of some ports."""

    module: str
    ports: int

    def links(self, products: ProductsSpec) -> int:
        """Return the links that the module serves."""
        return min(products.modules[self.module].links, self.ports)


@dataclass(frozen=True)
class Choice:
    """A cable that fits, with what a link of it costs."""

    name: str
    reach: float
    usd: float


def choices_of(ends: Ends, products: ProductsSpec) -> list[Choice]:
    """Return the cables that fit, the cheapest first; those without a price come last."""
    fitting = {name: cable for name, cable in products.cables.items() if ends.fit(cable)}
    found = [Choice(name, cable.reach_m, link_usd(ends, cable, products)) for name, cable in fitting.items()]
    return sorted(found, key=lambda choice: (choice.usd, choice.reach, choice.name))


def link_usd(ends: Ends, cable: CableSpec, products: ProductsSpec) -> float:
    """Return what a link of a cable costs with its modules; infinity where a price is not known."""
    plugs = [plug for plug in (ends.lower(cable), ends.upper(cable)) if plug is not None]
    modules = (_usd(products.modules[plug.module].price_usd) / plug.links(products) for plug in plugs)
    return _usd(cable.price_usd) / cable.links + sum(modules)


def shortest(choices: list[Choice], ends: Ends, metres: float) -> str:
    """Return the cheapest cable that reaches; an InputError where none does."""
    for choice in choices:
        if choice.reach >= metres:
            return choice.name
    where = "two switches" if ends.nic_ports is None else f"a switch and a cage of {ends.nic_ports} ports"
    raise InputError(f"no cable of {ends.Gbps:g} Gb/s reaches {metres:g} m between {where}")


def _usd(price: Price | None) -> float:
    if price is None:
        return math.inf
    return price if isinstance(price, float | int) else price.value
