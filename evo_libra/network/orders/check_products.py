"""Rules that an order breaks by its products alone: NICs and slots, link layers, modes, domains, racks and sale."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor

from evo_libra.errors import InputError, counted, unknown
from evo_libra.network.orders.circuits import OCS_RAILS
from evo_libra.network.orders.limits import Limits
from evo_libra.network.orders.modes import modes_of
from evo_libra.network.orders.nic_options import added_kilowatts
from evo_libra.network.orders.notation import mode_text
from evo_libra.network.orders.order import APART, Order
from evo_libra.network.orders.products import (
    NicModeSpec,
    NicSpec,
    OcsSpec,
    ProductsSpec,
    SwitchSpec,
    SystemSpec,
)
from evo_libra.network.orders.racks import rack_kilowatts
from evo_libra.network.orders.slots import fits_bus

WITHOUT_SWITCHES = ("none", "slice", APART)
"""Families without switches of the buyer's own."""
Bought = SystemSpec | NicSpec | SwitchSpec | OcsSpec
_MONTH = len("2026-11")


def unknown_products(order: Order, products: ProductsSpec) -> Iterator[str]:
    """Yield a sentence for each product of an order that the catalogue does not have."""
    if order.system not in products.systems:
        yield unknown("system", order.system, products.systems)
    if order.nic is not None and order.nic not in products.nics:
        yield unknown("NIC", order.nic, products.nics)
    if order.family == OCS_RAILS and order.switch not in products.ocs:
        yield unknown("optical circuit switch", order.switch, products.ocs)
    elif order.family != OCS_RAILS and order.switch is not None and order.switch not in products.switches:
        yield unknown("switch", order.switch, products.switches)


def product_violations(order: Order, products: ProductsSpec, limits: Limits) -> Iterator[str]:
    """Yield a sentence for each rule that an order of known products breaks, whatever its network."""
    yield from _domain(order, products.systems[order.system])
    yield from _sale(order, products, limits)
    yield from _cooling(order, products, limits)
    yield from _rack(order, products, limits)
    if order.family in WITHOUT_SWITCHES:
        yield from _alone(order, products.systems[order.system])
    elif order.nic is None or order.switch is None:
        yield f"{order.family} needs a NIC and a switch"
    elif order.count == 1:
        yield f"one {order.system} needs no switches: its scale-up network joins its NPUs"
    else:
        yield from _nic(order, order.nic, products)
        yield from _switch(order, order.nic, order.switch, products)


def _alone(order: Order, system: SystemSpec) -> Iterator[str]:
    if order.count > 1 and order.family != APART and (order.family != "slice" or system.data_center is None):
        yield f"nothing joins {order.count:,} {order.system} of {order.npus:,} NPUs: a network needs NICs and a switch"
    if order.nic is not None or order.switch is not None:
        yield f"one {order.system} alone has no network, but {order.nic or order.switch} was found"


def _domain(order: Order, system: SystemSpec) -> Iterator[str]:
    if order.npus not in system.sizes:
        yield f"{order.system} has {_either(system.sizes)} NPUs, not {order.npus:,}"
    elif order.active not in (allowed := system.active or (order.npus,)):
        yield f"{_either(allowed)} of {order.npus:,} NPUs of {order.system} can be in use, not {order.active:,}"


def _nic(order: Order, nic: str, products: ProductsSpec) -> Iterator[str]:
    system, found = products.systems[order.system], mode_text(order.ports, order.Gbps)
    modes = _nic_modes(order, products.nics[nic], system)
    if nic not in system.fitting:
        yield f"{order.system} does not take {nic}; allowed: {', '.join(system.fitting) or 'no NIC'}"
    elif system.slots is not None and not fits_bus(products.nics[nic].bus, system.slots.bus):
        yield f"{nic} needs {products.nics[nic].bus}; a slot of {order.system} is {system.slots.bus}"
    if not modes:
        own = ", ".join(mode_text(mode.ports, mode.Gbps) for mode in products.nics[nic].modes)
        yield f"{nic} has no mode of {found}; allowed: {own}"
    rate = max((mode.ports * mode.Gbps / 8 for mode in modes), default=order.ports * order.Gbps / 8)
    if system.slots is not None and rate > system.slots.GBps:
        slot = f"a slot of {order.system} ({system.slots.bus}) carries {system.slots.GBps:g} GB/s"
        yield f"{nic} with {found} sends {rate:g} GB/s; {slot}"
    if order.planes < 1 or order.ports % order.planes:
        yield f"{counted(order.ports, 'port')} of an NPU cannot be in {counted(order.planes, 'plane')} alike"
    elif order.family == OCS_RAILS and order.planes > 1:
        yield "ocs rails have no planes: each port of an NPU has rings of its own"


def _nic_modes(order: Order, nic: NicSpec, system: SystemSpec) -> list[NicModeSpec]:
    """Return the modes in which the NICs that an NPU can have make up its ports."""
    most = 1 if system.slots is None else max(floor(system.slots.per_npu), 1)
    alike = (mode for mode in nic.modes if mode.Gbps == order.Gbps and order.ports % mode.ports == 0)
    return [mode for mode in alike if order.ports // mode.ports <= most]


def _switch(order: Order, nic: str, name: str, products: ProductsSpec) -> Iterator[str]:
    modes = _nic_modes(order, products.nics[nic], products.systems[order.system])
    if order.family == OCS_RAILS:
        if modes:
            yield from _switch_modes(order, None, products)
        return
    switch = products.switches[name]
    layers = dict.fromkeys(layer for mode in modes for layer in mode.layers)
    if modes and switch.layer not in layers:
        yield (
            f"{name} is a switch of {switch.layer}; "
            f"{nic} has {mode_text(order.ports, order.Gbps)} with {' or '.join(layers)} only"
        )
    elif modes:
        yield from _switch_modes(order, switch.max_ports, products)


def _switch_modes(order: Order, most: int | None, products: ProductsSpec) -> Iterator[str]:
    try:
        modes = modes_of(order, products)
    except InputError as error:
        yield str(error)
        return
    for mode in dict.fromkeys((modes.down, modes.up)):
        if most is not None and mode.ports > most:
            yield f"{order.switch} has {most:,} ports at most, not {mode_text(mode.ports, mode.Gbps)}"


def _sale(order: Order, products: ProductsSpec, limits: Limits) -> Iterator[str]:
    for name, product in bought_by(order, products).items():
        yield from sale_violations(name, product, limits)


def sale_violations(name: str, product: Bought, limits: Limits) -> Iterator[str]:
    """Yield why a product is not sold at the time of an order, or not by a supplier of the buyer."""
    if product.order not in limits.order:
        yield f"{name} has order: {product.order}; limits.order allows {', '.join(limits.order)}"
    if product.until is not None and limits.month > f"{product.until}-12"[:_MONTH]:
        yield f"{name} was sold until {product.until}; the order is of {limits.month}"
    if product.since is not None and product.since > f"{limits.month}-12"[:_MONTH]:
        yield f"{name} is sold from {product.since}; the order is of {limits.month}"
    if limits.suppliers and product.supplier and product.supplier not in limits.suppliers:
        yield f"{name} comes from {product.supplier}; limits.suppliers allows {', '.join(limits.suppliers)}"


def bought_by(order: Order, products: ProductsSpec) -> dict[str, Bought]:
    """Return the system, the NIC and the switch of an order, by name."""
    bought: dict[str, Bought] = {order.system: products.systems[order.system]}
    if order.nic is not None:
        bought[order.nic] = products.nics[order.nic]
    if order.switch is not None:
        bought[order.switch] = (products.ocs if order.family == OCS_RAILS else products.switches)[order.switch]
    return bought


def _cooling(order: Order, products: ProductsSpec, limits: Limits) -> Iterator[str]:
    for name, product in bought_by(order, products).items():
        if isinstance(product, SystemSpec | SwitchSpec) and product.cooling not in limits.cooling:
            yield f"{name} is cooled by {product.cooling}; the room has {', '.join(limits.cooling)}"


def _rack(order: Order, products: ProductsSpec, limits: Limits) -> Iterator[str]:
    system, rack = products.systems[order.system], None if products.room is None else products.room.rack
    if rack is None:
        return
    most = limits.rack_kW if system.is_rack else rack_kilowatts(rack, system.cooling)
    taken = None if system.kW is None else (system.kW + _added(order, products)) / system.racks
    if taken is not None and most is not None and taken > most:
        yield f"{order.system} takes {taken:.4g} kW; a rack has {most:g} kW"
    if system.racks > 1 and order.count > 1:
        yield f"{order.system} fills {system.racks} racks; no source says how {order.count:,} of them are cabled"
    if not system.is_rack and system.height_U > rack.U:
        yield f"{order.system} takes {system.height_U:g} units; a rack has {rack.U:g}"


def _added(order: Order, products: ProductsSpec) -> float:
    """Return the kW that NICs in the place of others add; 0 if no figure says it, which the check of racks refuses."""
    try:
        return added_kilowatts(order, products)
    except InputError:
        return 0.0


def _either(numbers: tuple[int, ...]) -> str:
    return " or ".join(f"{number:,}" for number in numbers)
