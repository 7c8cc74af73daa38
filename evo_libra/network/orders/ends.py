"""The ends of the cables of an order, and the power and the racks that its switches need with the modules in them."""

from __future__ import annotations

from evo_libra.errors import InputError
from evo_libra.network.orders.cables import Cages, Ends, choices_of
from evo_libra.network.orders.catalog import give_power
from evo_libra.network.orders.circuits import OCS_RAILS, circuits_of
from evo_libra.network.orders.modes import modes_of, nic_of, switch_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec, SwitchModeSpec
from evo_libra.network.orders.racks import per_rack, rack_kilowatts, room_of

_KILO = 1000.0


def ends_down(order: Order, products: ProductsSpec) -> Ends:
    """Return the ends of a cable from a NIC to a switch."""
    modes, nic = modes_of(order, products), nic_of(order, products)
    lower = Cages(order.nic or "", nic.cage, modes.nic.per_cage)
    return _ends(order, modes.down, lower, products, parted=order.planes > 1)


def ends_between(order: Order, products: ProductsSpec) -> Ends:
    """Return the ends of a cable between two switches."""
    return _ends(order, modes_of(order, products).up, None, products, parted=False)


def _ends(order: Order, mode: SwitchModeSpec, nic: Cages | None, products: ProductsSpec, *, parted: bool) -> Ends:
    switch = switch_of(order, products)
    fibres = circuits_of(order, products).fibres if order.family == OCS_RAILS else None
    return Ends(
        Gbps=mode.Gbps, lane_Gbps=mode.lane_Gbps, layer=switch.layer, nic=nic,
        switch=Cages(order.switch or "", switch.cage, mode.per_cage), parted=parted, co_packaged=switch.co_packaged,
        fibres=fibres,
    )  # fmt: skip


def switch_kilowatts(order: Order, products: ProductsSpec) -> float:
    """Return the power of a switch with the largest module that fits in each cage; an InputError where it has none."""
    ends = ends_down(order, products), ends_between(order, products)
    largest = max(_largest_watts(one, products) for one in ends)
    return (switch_watts(order, products) + switch_of(order, products).cages * largest) / _KILO


def leaf_kilowatts(order: Order, products: ProductsSpec, *, metres: float, cages: int) -> float:
    """Return the power of a leaf with the cable of some metres in cages, and the largest module in its others."""
    reaching = (choice for choice in choices_of(ends_down(order, products), products) if choice.reach >= metres)
    # An order that no cable reaches is refused when its cables are laid.
    down = next((choice.cage_watts for choice in reaching), 0.0)
    largest = _largest_watts(ends_between(order, products), products)
    others = switch_of(order, products).cages - cages
    return (switch_watts(order, products) + cages * down + others * largest) / _KILO


def switch_watts(order: Order, products: ProductsSpec) -> float:
    """Return the power of a switch without modules; an InputError where it is not known."""
    watts = switch_of(order, products).power_W
    if watts is None:
        give = give_power(order.switch or "")
        raise InputError(f"{order.switch} has no power_W, which its place in racks needs; {give}")
    return watts


def _largest_watts(ends: Ends, products: ProductsSpec) -> float:
    return max((choice.upper.watts for choice in choices_of(ends, products) if choice.upper), default=0.0)


def switches_per_rack(order: Order, products: ProductsSpec) -> int:
    """Return the switches that a rack takes."""
    switch, room = switch_of(order, products), room_of(products)
    return per_rack(
        order.switch or "", units=switch.height_U, kilowatts=switch_kilowatts(order, products),
        most=rack_kilowatts(room.rack, switch.cooling), room=room,
    )  # fmt: skip
