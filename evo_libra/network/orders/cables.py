"""The cable between two ports: the cheapest that fits both and reaches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from evo_libra.errors import InputError
from evo_libra.network.orders.products import CableSpec, Price, ProductsSpec


@dataclass(frozen=True)
class Ends:
    """The ends of a cable.

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

    def plugs(self, cable: CableSpec, products: ProductsSpec) -> tuple[Plug | None, Plug | None]:
        """Return the modules at the lower end, which is at a NIC or at the lower of two switches, and at the upper."""
        upper = None if self.co_packaged else _plug(cable.switch_module, self.switch_ports, products)
        return (upper if self.nic_ports is None else _plug(cable.nic_module, self.nic_ports, products)), upper


@dataclass(frozen=True)
class Plug:
    """A module in a cage: the links that it serves there, what one of them costs, and the power of the module."""

    module: str
    links: int
    link_usd: float
    watts: float


@dataclass(frozen=True)
class Choice:
    """A cable that fits, with what a link of it costs; links: of one cable."""

    name: str
    links: int
    reach: float
    usd: float
    lower: Plug | None
    upper: Plug | None


@lru_cache(maxsize=4096)
def choices_of(ends: Ends, products: ProductsSpec) -> tuple[Choice, ...]:
    """Return the cables that fit, the cheapest first; those without a price come last."""
    found = (_choice(ends, name, products) for name, cable in products.cables.items() if ends.fit(cable))
    return tuple(sorted(found, key=lambda choice: (choice.usd, choice.reach, choice.name)))


def _choice(ends: Ends, name: str, products: ProductsSpec) -> Choice:
    """Return a cable with the price of a link; infinity where a price is not known."""
    cable = products.cables[name]
    lower, upper = ends.plugs(cable, products)
    modules = (plug.link_usd for plug in (lower, upper) if plug is not None)
    usd = _usd(cable.price_usd) / cable.links + sum(modules)
    return Choice(name, links=cable.links, reach=cable.reach_m, usd=usd, lower=lower, upper=upper)


def cheapest(ends: Ends, metres: float, products: ProductsSpec, *, together: int = 0) -> Choice:
    """Return the cheapest cable that reaches; an InputError where none does.

    If some links `together` join the same two switches, and no others do, they fill cables of several links.
    """
    for choice in choices_of(ends, products):
        if choice.reach >= metres and together % choice.links == 0:
            return choice
    where = "two switches" if ends.nic_ports is None else f"a switch and a cage of {ends.nic_ports} ports"
    raise InputError(f"no cable of {ends.Gbps:g} Gb/s reaches {metres:g} m between {where}")


def _plug(module: str | None, ports: int, products: ProductsSpec) -> Plug | None:
    if module is None:
        return None
    spec = products.modules[module]
    links = min(spec.links, ports)
    return Plug(module, links, _usd(spec.price_usd) / links, spec.power_W)


def _usd(price: Price | None) -> float:
    if price is None:
        return math.inf
    return price if isinstance(price, float | int) else price.value
