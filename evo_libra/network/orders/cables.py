"""The cable between two ports: the cheapest that fits both and reaches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from evo_libra.errors import InputError
from evo_libra.network.orders.products import CableSpec, Layer, Price, ProductsSpec


@dataclass(frozen=True)
class Cages:
    """The cages of a NIC or a switch: the product, their form factor, and the ports of each."""

    product: str
    form: str
    ports: int

    def take(self, form: str) -> bool:
        """Return whether an end of a form factor fits; what is not stated does."""
        return not form or not self.form or form == self.form


@dataclass(frozen=True)
class Ends:
    """The ends of a cable.

    Attributes
    ----------
    Gbps, lane_Gbps : rates of a port and of its lanes.
    layer : the link layer.
    nic, switch : cages at the lower end and at the upper one; no NIC between switches.
    parted : whether the ports of a cage of the NIC lead to different switches.
    co_packaged : whether switches have their optics inside.
    fibres : those of a link of single mode, which light passes a circuit switch by; None for other switches.
    """

    Gbps: float
    lane_Gbps: float
    layer: Layer
    nic: Cages | None
    switch: Cages
    parted: bool
    co_packaged: bool
    fibres: float | None = None

    def joined_by(self, cable: CableSpec) -> bool:
        """Return whether a cable joins such ports, however far they are apart and whatever their cages."""
        fibre = cable.switch_module is not None
        if (cable.Gbps, cable.lane_Gbps) != (self.Gbps, self.lane_Gbps) or (self.co_packaged and not fibre):
            return False
        if self.layer not in cable.layers:
            return False
        if self.fibres is not None and (cable.kind, cable.fibres) not in (("dr", self.fibres), ("fr", self.fibres)):
            return False
        if self.nic is None:
            return cable.joins_switches
        together = not fibre and self.parted and self.nic.ports > 1
        return cable.nic_ports == self.nic.ports and not together

    def misfit(self, name: str, products: ProductsSpec) -> str:
        """Return which end of a cable does not fit its cage; nothing where both do."""
        cable, switch = products.cables[name], None if self.co_packaged else self.switch
        ends = (self.nic, cable.nic_module, cable.nic_end), (switch, cable.switch_module, cable.switch_end)
        for cages, module, end in ends:
            form = end if module is None else products.modules[module].form
            if cages is not None and not cages.take(form):
                what = f"cable {name}" if module is None else f"module {module}"
                return f"{what} does not fit the cage {cages.form} of {cages.product}"
        return ""

    def plugs(self, cable: CableSpec, products: ProductsSpec) -> tuple[Plug | None, Plug | None]:
        """Return the modules at the lower end, which is at a NIC or at the lower of two switches, and at the upper."""
        upper = None if self.co_packaged else _plug(cable.switch_module, self.switch.ports, products)
        return (upper if self.nic is None else _plug(cable.nic_module, self.nic.ports, products)), upper


@dataclass(frozen=True)
class Plug:
    """A module in a cage: the links that it serves there, what one of them costs, and the power of the module."""

    module: str
    links: int
    link_usd: float
    watts: float


@dataclass(frozen=True)
class Choice:
    """A cable that fits, with what a link of it costs; links: of one cable; cage_watts: of its end at a switch."""

    name: str
    links: int
    reach: float
    usd: float
    lower: Plug | None
    upper: Plug | None
    cage_watts: float


@lru_cache(maxsize=4096)
def choices_of(ends: Ends, products: ProductsSpec) -> tuple[Choice, ...]:
    """Return the cables that fit, the cheapest first; those without a price come last."""
    fitting = (name for name in _joining(ends, products) if not ends.misfit(name, products))
    found = (_choice(ends, name, products) for name in fitting)
    return tuple(sorted(found, key=lambda choice: (choice.usd, choice.reach, choice.name)))


def _joining(ends: Ends, products: ProductsSpec) -> Iterator[str]:
    return (name for name, cable in products.cables.items() if ends.joined_by(cable))


def _choice(ends: Ends, name: str, products: ProductsSpec) -> Choice:
    """Return a cable with the price of a link; infinity where a price is not known."""
    cable = products.cables[name]
    lower, upper = ends.plugs(cable, products)
    modules = (plug.link_usd for plug in (lower, upper) if plug is not None)
    usd = _usd(cable.price_usd) / cable.links + sum(modules)
    watts = cable.W_per_end if upper is None else upper.watts
    return Choice(name, links=cable.links, reach=cable.reach_m, usd=usd, lower=lower, upper=upper, cage_watts=watts)


def cheapest(ends: Ends, metres: float, products: ProductsSpec, *, together: int = 0) -> Choice:
    """Return the cheapest cable that reaches; an InputError where none does.

    If some links `together` join the same two switches, and no others do, they fill cables of several links, which end
    in one cage on each side.
    """
    for choice in choices_of(ends, products):
        if choice.reach >= metres and together % choice.links == 0:
            return choice
    raise InputError(_no_cable(ends, metres, products))


def _no_cable(ends: Ends, metres: float, products: ProductsSpec) -> str:
    """Return that no cable reaches, and of those that would the first end that does not fit its cage."""
    where = "two switches" if ends.nic is None else f"a switch and a cage of {ends.nic.ports} ports"
    reaching = (name for name in _joining(ends, products) if products.cables[name].reach_m >= metres)
    unfit = next(filter(None, (ends.misfit(name, products) for name in reaching)), "")
    missing = f"no cable of {ends.Gbps:g} Gb/s reaches {metres:g} m between {where}"
    return f"{missing}; {unfit}" if unfit else missing


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
