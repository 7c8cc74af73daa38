"""The number of systems in a rack with the leaves that join them."""

from __future__ import annotations

from evo_libra.errors import InputError
from evo_libra.network.orders.ends import leaf_kilowatts
from evo_libra.network.orders.modes import switch_of
from evo_libra.network.orders.nic_options import added_kilowatts
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.ports import leaves_of_system, ports_of
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.racks import rack_kilowatts, room_of, system_kilowatts, system_of, systems_per_rack


def systems_of_rack(order: Order, products: ProductsSpec) -> int:
    """Return the systems of a rack of an order; those of `tor` leave units and power for the leaves of all planes.

    An order of `tor` may have fewer systems in a rack than that.
    """
    held = most_of_rack(order, products)
    return held if order.rack_systems is None else min(held, order.rack_systems)


def most_of_rack(order: Order, products: ProductsSpec) -> int:
    """Return the systems that a rack takes, with the leaves of `tor`."""
    added = added_kilowatts(order, products)
    held = systems_per_rack(order.system, products, added=added)
    system = system_of(order.system, products)
    if order.family != "tor" or system.is_rack:
        return held
    switch, rack = switch_of(order, products), room_of(products).rack
    each, leaf = system_kilowatts(order.system, products) + added, kilowatts_in_rack(order, products)
    most = rack_kilowatts(rack, system.cooling)
    for systems in range(held, 0, -1):
        leaves = leaves_of_rack(order, products, systems)
        fits = systems * system.height_U + leaves * switch.height_U <= rack.U
        if fits and systems * each + leaves * leaf <= most:
            return systems
    raise InputError(f"a rack of {rack.U:g} units and {most:g} kW does not take {order.system} with its leaves")


def kilowatts_in_rack(order: Order, products: ProductsSpec) -> float:
    """Return the power of a leaf in the rack of its systems, with its modules."""
    ports = ports_of(order, products)[0]
    metres, cages = room_of(products).in_rack_m, -(-ports.split // ports.down_per_cage)
    return leaf_kilowatts(order, products, metres=metres, cages=cages)


def leaves_of_rack(order: Order, products: ProductsSpec, systems: int) -> int:
    """Return the leaves of some systems in a rack, those of all planes."""
    down, ports = ports_of(order, products)[0].split, order.ports // order.planes
    held = down // (order.npus * ports)
    each = leaves_of_system(order.npus, ports, down)
    return order.planes * (-(-systems // held) if held else systems * each)
