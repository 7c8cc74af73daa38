"""Numbers of systems and of switches that a rack of the room takes."""

from __future__ import annotations

import math

from evo_libra.errors import InputError, unknown
from evo_libra.network.orders.products import Cooling, ProductsSpec, RackSpec, RoomSpec, SystemSpec

_ROUNDING = 1e-9


def system_of(name: str, products: ProductsSpec) -> SystemSpec:
    """Return a system; an InputError where there is none of that name."""
    if name not in products.systems:
        raise InputError(unknown("system", name, products.systems))
    return products.systems[name]


def room_of(products: ProductsSpec) -> RoomSpec:
    """Return the room of a catalogue; an InputError where it has none."""
    if products.room is None:
        raise InputError(f"{products.name} says nothing of the room; add 'room' with a rack")
    return products.room


def systems_per_rack(name: str, products: ProductsSpec, *, added: float = 0.0) -> int:
    """Return how many systems a rack takes by units, power and the reference of their maker; 1 where one is a rack.

    Parameters
    ----------
    added : kW of other NICs in the place of those of a system.
    """
    system = system_of(name, products)
    if system.is_rack:
        return 1
    room, kilowatts = room_of(products), system_kilowatts(name, products) + added
    most = rack_kilowatts(room.rack, system.cooling)
    fitting = per_rack(name, units=system.height_U, kilowatts=kilowatts, most=most, room=room)
    return min(fitting, system.per_rack or fitting)


def system_kilowatts(name: str, products: ProductsSpec) -> float:
    """Return the power of a system; an InputError where it is not known."""
    kilowatts = system_of(name, products).kW
    if kilowatts is None:
        raise InputError(f"{name} has no kW, which its place in racks needs")
    return kilowatts


def rack_kilowatts(rack: RackSpec, cooling: Cooling) -> float:
    """Return the power of a rack whose products are cooled by air or liquid."""
    return rack.kW if cooling == "air" or rack.liquid_kW is None else rack.liquid_kW


def per_rack(name: str, *, units: float, kilowatts: float, most: float, room: RoomSpec) -> int:
    """Return how many products of some units and power a rack of most kW takes; an InputError where it takes none."""
    by_units = room.rack.U / units if units else math.inf
    by_power = most / kilowatts if kilowatts else math.inf
    fitting = min(by_units, by_power)
    if fitting < 1.0:
        raise InputError(f"a rack of {room.rack.U:g} units and {most:g} kW does not take one {name}")
    return math.floor(fitting + _ROUNDING) if fitting < math.inf else 1
