"""NICs that are bought in the place of those which systems include: their power, and what switches reach with them."""

from __future__ import annotations

from evo_libra.errors import InputError
from evo_libra.network.orders.catalog import give_power
from evo_libra.network.orders.efficiency import EfficiencySpec
from evo_libra.network.orders.modes import modes_of, nic_of, switch_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec

_KILO = 1000.0


def replaced_nic(order: Order, products: ProductsSpec) -> str | None:
    """Return the NIC in whose place an order has another one; None where it has one that its systems include."""
    system = products.systems[order.system]
    taken = system.slots is not None and order.nic in system.slots.takes
    return system.nics[0] if taken else None


def nics_of_system(order: Order, products: ProductsSpec) -> int:
    """Return the NICs of a system that joins others."""
    return order.npus * modes_of(order, products).nics


def added_watts(order: Order, own: str, products: ProductsSpec) -> float | None:
    """Return the W that a NIC takes beyond the one in whose place it is; None where one of both has no power."""
    new, old = nic_of(order, products).power_W, products.nics[own].power_W
    return None if new is None or old is None else new - old


def added_kilowatts(order: Order, products: ProductsSpec) -> float:
    """Return the kW that NICs bought in the place of included ones add to a system; an InputError without a power."""
    own = replaced_nic(order, products)
    if own is None:
        return 0.0
    watts = added_watts(order, own, products)
    if watts is None:
        name = without("power_W", order, own, products)
        raise InputError(f"{name} has no power_W, which its place in racks needs; {give_power(name)}")
    return nics_of_system(order, products) * watts / _KILO


def without(key: str, order: Order, own: str, products: ProductsSpec) -> str:
    """Return which NIC has no such figure: the one that is bought, or that in whose place it is."""
    return own if getattr(nic_of(order, products), key) is not None else order.nic or ""


def reached(order: Order, products: ProductsSpec) -> EfficiencySpec:
    """Return the part of the wire that traffic reaches: that of the switch with NICs of its platform, or with any."""
    switch, nic = switch_of(order, products), nic_of(order, products)
    same = switch.platform is not None and switch.platform.name == nic.platform
    return switch.platform if same and switch.platform is not None else switch
