"""The ends of the cables of an order, and the racks that its switches need with the modules in them."""

from __future__ import annotations

from evo_libra.errors import InputError
from evo_libra.network.orders.cables import Ends, choices_of
from evo_libra.network.orders.modes import modes_of, switch_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.racks import per_rack, room_of

_KILO = 1000.0


def ends_down(order: Order, products: ProductsSpec) -> Ends:
    """Return the ends of a cable from a NIC to a switch."""
    modes = modes_of(order, products)
    nic, down, parted = modes.nic.per_cage, modes.down, order.planes > 1
    inside = switch_of(order, products).co_packaged
    return Ends(down.Gbps, down.lane_Gbps, nic, down.per_cage, parted=parted, co_packaged=inside)


def ends_between(order: Order, products: ProductsSpec) -> Ends:
    """Return the ends of a cable between two switches."""
    up, inside = modes_of(order, products).up, switch_of(order, products).co_packaged
    return Ends(up.Gbps, up.lane_Gbps, None, up.per_cage, parted=False, co_packaged=inside)


def switch_kilowatts(order: Order, products: ProductsSpec) -> float | None:
    """Return the power of a switch with the largest module that fits in each cage; None where it is not known."""
    switch = switch_of(order, products)
    ends = ends_down(order, products), ends_between(order, products)
    fitting = (choice for one in ends for choice in choices_of(one, products))
    largest = max((choice.upper.watts for choice in fitting if choice.upper), default=0.0)
    return None if switch.power_W is None else (switch.power_W + switch.cages * largest) / _KILO


def switches_per_rack(order: Order, products: ProductsSpec) -> int:
    """Return the switches that a rack takes."""
    switch, kilowatts = switch_of(order, products), switch_kilowatts(order, products)
    name, by_air = order.switch or "", switch.cooling == "air"
    if by_air and kilowatts is None:
        raise InputError(f"{name} has no power_W, which its place in racks needs")
    room = room_of(products)
    return per_rack(name, units=switch.height_U, kilowatts=kilowatts or 0.0 if by_air else 0.0, room=room)
