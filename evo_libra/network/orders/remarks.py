"""Sentences on what an order loses by the products that it has together."""

from __future__ import annotations

from evo_libra.network.orders.modes import switch_of
from evo_libra.network.orders.nic_options import added_kilowatts
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.racks import rack_kilowatts, room_of, system_of, systems_per_rack
from evo_libra.network.orders.tor_racks import kilowatts_in_rack, leaves_of_rack, systems_of_rack


def remarks(order: Order, products: ProductsSpec) -> list[str]:
    """Return that a rack of `tor` takes fewer systems with its leaves than without, where it does."""
    if order.family != "tor":
        return []
    added = added_kilowatts(order, products)
    held, alone = systems_of_rack(order, products), systems_per_rack(order.system, products, added=added)
    if held == alone:
        return []
    rack, taken = _limit(order, products, held + 1)
    racks = f"a rack of {rack} takes {held} {order.system} with their leaves and {alone} without them"
    return [f"{racks} because {order.switch} takes {taken}; a leaf joins fewer systems, so more traffic leaves it"]


def _limit(order: Order, products: ProductsSpec, systems: int) -> tuple[str, str]:
    """Return units or power of a rack, whichever some systems with their leaves exceed, and those of a leaf."""
    rack, switch, system = room_of(products).rack, switch_of(order, products), system_of(order.system, products)
    if systems * system.height_U + leaves_of_rack(order, products, systems) * switch.height_U > rack.U:
        return f"{rack.U:g} units", f"{switch.height_U:g}"
    return (
        f"{rack_kilowatts(rack, system.cooling):g} kW",
        f"{kilowatts_in_rack(order, products):.3g} kW with its modules",
    )
