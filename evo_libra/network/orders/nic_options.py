"""NICs that are bought in the place of those which the price and the power of a system include."""

from __future__ import annotations

from evo_libra.errors import InputError
from evo_libra.network.blocks import Range
from evo_libra.network.orders.efficiency import EfficiencySpec
from evo_libra.network.orders.lines import Line, Section, offer_of
from evo_libra.network.orders.modes import modes_of, nic_of, switch_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec

_KILO = 1000.0


def replaced_nic(order: Order, products: ProductsSpec) -> str | None:
    """Return the NIC in whose place an order has another one; None where it has one that its systems include."""
    system = products.systems[order.system]
    taken = system.slots is not None and order.nic in system.slots.takes
    return system.nics[0] if taken else None


def exchange_line(order: Order, products: ProductsSpec, *, section: Section, what: str, pieces: float) -> Line | None:
    """Return the line of NICs that are bought in the place of included ones; None where an order has none.

    The price and the power of a piece are what it costs and takes beyond the included one.
    """
    own = replaced_nic(order, products)
    if own is None:
        return None
    usd = _added_usd(order, own, products)
    sources = (offer_of("nics", name, products).source for name in (order.nic or "", own))
    return Line(
        section=section, product=order.nic or "", what=f"{what} in the place of {own}, for the difference",
        pieces=pieces, usd=usd, watts=_added_watts(order, own, products), source="; less ".join(sources),
        lacks="" if usd else _lacks_price(order, own, products),
    )  # fmt: skip


def nics_of_system(order: Order, products: ProductsSpec) -> int:
    """Return the NICs of a system that joins others."""
    return order.npus * modes_of(order, products).nics


def _added_usd(order: Order, own: str, products: ProductsSpec) -> Range | None:
    """Return what a NIC costs beyond the one in whose place it is; None where one of both has no price.

    The bounds are those of two prices that do not depend on each other.
    """
    new, old = (offer_of("nics", name, products).usd for name in (order.nic or "", own))
    return None if new is None or old is None else Range(new.low - old.high, new.value - old.value, new.high - old.low)


def _added_watts(order: Order, own: str, products: ProductsSpec) -> float | None:
    """Return the W that a NIC takes beyond the one in whose place it is; None where one of both has no power."""
    new, old = nic_of(order, products).power_W, products.nics[own].power_W
    return None if new is None or old is None else new - old


def added_kilowatts(order: Order, products: ProductsSpec) -> float:
    """Return the kW that NICs bought in the place of included ones add to a system; an InputError without a power."""
    own = replaced_nic(order, products)
    if own is None:
        return 0.0
    watts = _added_watts(order, own, products)
    if watts is None:
        name = _without("power_W", order, own, products)
        give = f"a catalogue of yours with `extends: {products.name}` gives it"
        raise InputError(f"{name} has no power_W, which its place in racks needs; {give}")
    return nics_of_system(order, products) * watts / _KILO


def _lacks_price(order: Order, own: str, products: ProductsSpec) -> str:
    """Return why NICs bought in the place of others have no price."""
    name = _without("price_usd", order, own, products)
    needs = f"{name} has no price_usd, which the cost of {order.nic} in the place of {own} needs"
    return f"{needs}; `prices: {{{name}: ...}}` gives USD of a piece"


def _without(key: str, order: Order, own: str, products: ProductsSpec) -> str:
    """Return which NIC has no such figure: the one that is bought, or that in whose place it is."""
    return own if getattr(nic_of(order, products), key) is not None else order.nic or ""


def reached(order: Order, products: ProductsSpec) -> EfficiencySpec:
    """Return the part of the wire that traffic reaches: that of the switch with NICs of its platform, or with any."""
    switch, nic = switch_of(order, products), nic_of(order, products)
    same = switch.platform is not None and switch.platform.name == nic.platform
    return switch.platform if same and switch.platform is not None else switch
