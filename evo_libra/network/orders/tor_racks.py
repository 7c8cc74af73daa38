"""The number of systems in a rack with the leaves that join them."""

from __future__ import annotations

from evo_libra.errors import InputError
from evo_libra.network.orders.modes import switch_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.ports import ports_of
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.racks import room_of, system_of, systems_per_rack

_KILO = 1000.0


def systems_of_rack(order: Order, products: ProductsSpec) -> int:
    """Return the systems of a rack of an order; those of `tor` leave units and power for the leaves of all planes."""
    held = systems_per_rack(order.system, products)
    system = system_of(order.system, products)
    if order.family != "tor" or system.is_rack:
        return held
    switch, rack = switch_of(order, products), room_of(products).rack
    kilowatts = system.kW or 0.0 if system.cooling == "air" else 0.0
    for systems in range(held, 0, -1):
        leaves = leaves_of_rack(order, products, systems)
        fits = systems * system.height_U + leaves * switch.height_U <= rack.U
        if fits and systems * kilowatts + leaves * (switch.power_W or 0.0) / _KILO <= rack.kW:
            return systems
    raise InputError(f"a rack of {rack.U:g} units and {rack.kW:g} kW does not take {order.system} with its leaves")


def leaves_of_rack(order: Order, products: ProductsSpec, systems: int) -> int:
    """Return the leaves of some systems in a rack, those of all planes."""
    down, ends = ports_of(order, products)[0].split, order.npus * order.ports // order.planes
    held = down // ends
    return order.planes * (-(-systems // held) if held else systems * -(-ends // down))
