"""An order as tables that NetBox imports in bulk: racks, device types, devices, interfaces, cables, modules and power.

The columns are fields of the CSV import forms of NetBox 4.2 (netbox/dcim/forms/bulk_import.py), and types of interfaces
and cables are those of netbox/dcim/choices.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from evo_libra.errors import InputError
from evo_libra.exchange.formats import Chosen, Writer, Written
from evo_libra.exchange.order_devices import MAX_ROWS, OrderDevices, Port, order_devices
from evo_libra.explain.bill_table import table_csv
from evo_libra.network.orders.modes import switch_of
from evo_libra.network.orders.nic_options import added_kilowatts
from evo_libra.network.orders.products import SwitchSpec, SystemSpec
from evo_libra.network.orders.racks import room_of, system_of

_ETHERNET = frozenset({
    "200gbase-x-qsfp56", "200gbase-x-qsfpdd", "400gbase-x-osfp", "400gbase-x-qsfp112", "400gbase-x-qsfpdd",
    "800gbase-x-osfp", "800gbase-x-qsfpdd",
})  # fmt: skip
"""NetBox's types of Ethernet interfaces by rate and cage; a port in a mode of several per cage has that of its rate."""
_INFINIBAND = {200.0: "infiniband-hdr", 400.0: "infiniband-ndr", 800.0: "infiniband-xdr"}
_OTHER, _INTERFACE, _PLANNED = "other", "dcim.interface", "planned"

CABLE_TYPES = {
    "dac": "dac-passive", "acc": "dac-active", "aec": "dac-active", "aoc": "aoc", "sr": "mmf", "dr": "smf", "fr": "smf",
}  # fmt: skip
"""NetBox's types of cables by kind."""

_KBPS, _WATTS, _INCHES = 1e6, 1e3, 19
_UNKNOWN = "not stated"


def interface_type(port: Port) -> str:
    """Return NetBox's type of an interface.

    >>> interface_type(Port("leaf-0001", "port-1", 400.0, "osfp", "ethernet"))
    '400gbase-x-osfp'
    >>> interface_type(Port("leaf-0001", "port-1", 800.0, "", "infiniband"))
    'infiniband-xdr'
    """
    if port.layer == "infiniband":
        return _INFINIBAND.get(port.Gbps, _OTHER)
    name = f"{port.Gbps:g}gbase-x-{port.cage}"
    return name if name in _ETHERNET else _OTHER


def _racks(chosen: Chosen, found: OrderDevices) -> Iterator[dict[str, Any]]:
    rack = room_of(found.products).rack
    for one in found.racks():
        yield {
            "site": chosen.problem.name, "location": one.row, "name": one.name, "facility_id": f"{one.row}-{one.place}",
            "status": _PLANNED, "width": _INCHES, "u_height": _figure(rack.U),
        }  # fmt: skip


def _types(_: Chosen, found: OrderDevices) -> Iterator[dict[str, Any]]:
    for name, product in _products(found):
        yield {
            "manufacturer": product.supplier or _UNKNOWN, "model": name, "slug": name,
            "u_height": _figure(product.height_U), "is_full_depth": "true",
            "comments": f"{product.source}, {product.year}",
        }  # fmt: skip


def _products(found: OrderDevices) -> Iterator[tuple[str, SystemSpec | SwitchSpec]]:
    yield found.order.system, system_of(found.order.system, found.products)
    if found.tree.switches:
        yield found.order.switch or "", switch_of(found.order, found.products)


def _devices(chosen: Chosen, found: OrderDevices) -> Iterator[dict[str, Any]]:
    suppliers = {name: product.supplier or _UNKNOWN for name, product in _products(found)}
    rows = {rack.name: rack.row for rack in found.racks()}
    for one in found.devices():
        yield {
            "name": one.name, "role": one.role, "manufacturer": suppliers[one.product], "device_type": one.product,
            "site": chosen.problem.name, "location": rows[one.rack], "rack": one.rack, "position": _figure(one.unit),
            "face": "front", "status": _PLANNED,
        }  # fmt: skip


def _interfaces(_: Chosen, found: OrderDevices) -> Iterator[dict[str, Any]]:
    for link in found.links():
        for port in link.ends:
            yield {
                "device": port.device, "name": port.name, "type": interface_type(port),
                "speed": round(port.Gbps * _KBPS), "description": f"{port.cage} {link.tier}".strip(),
            }  # fmt: skip


def _cables(_: Chosen, found: OrderDevices) -> Iterator[dict[str, Any]]:
    for link in found.links():
        (one, other), kind = link.ends, found.products.cables[link.cable].kind
        yield {
            "side_a_device": one.device, "side_a_type": _INTERFACE, "side_a_name": one.name,
            "side_b_device": other.device, "side_b_type": _INTERFACE, "side_b_name": other.name,
            "type": CABLE_TYPES[kind], "status": _PLANNED, "label": f"{link.cable}-{link.number:06d}",
            "length": _figure(link.metres), "length_unit": "m", "description": link.cable,
        }  # fmt: skip


def _items(_: Chosen, found: OrderDevices) -> Iterator[dict[str, Any]]:
    for item in found.items():
        product = found.products.nics.get(item.product) or found.products.modules[item.product]
        yield {
            "device": item.device, "name": f"{item.product}-{item.number}", "manufacturer": product.supplier,
            "part_id": item.product,
        }  # fmt: skip


def _power(_: Chosen, found: OrderDevices) -> Iterator[dict[str, Any]]:
    watts = dict(_watts(found))
    for one in found.devices():
        yield {"device": one.name, "name": "power", "maximum_draw": watts[one.product]}


def _watts(found: OrderDevices) -> Iterator[tuple[str, int]]:
    for name, product in _products(found):
        watts = _system_kilowatts(found, product) * _WATTS if isinstance(product, SystemSpec) else product.power_W
        if not watts:
            key = "kW" if isinstance(product, SystemSpec) else "power_W"
            raise InputError(f"{name} has no {key}, which its power port needs")
        yield name, round(watts)


def _system_kilowatts(found: OrderDevices, system: SystemSpec) -> float:
    return 0.0 if system.kW is None else system.kW + added_kilowatts(found.order, found.products)


def _figure(value: float) -> str:
    return f"{value:g}"


Rows = Callable[[Chosen, OrderDevices], Iterable[Mapping[str, Any]]]

_SIDES = tuple(f"side_{side}_{part}" for side in "ab" for part in ("device", "type", "name"))
TABLES: Mapping[str, tuple[Rows, tuple[str, ...], str]] = {
    "netbox-racks": (
        _racks, ("site", "location", "name", "facility_id", "status", "width", "u_height"),
        "racks of the management and storage networks; NetBox needs the site and the location of each row first",
    ),
    "netbox-device-types": (
        _types, ("manufacturer", "model", "slug", "u_height", "is_full_depth", "comments"),
        "NPUs and ports inside a device; NetBox needs each manufacturer first",
    ),
    "netbox-devices": (
        _devices,
        ("name", "role", "manufacturer", "device_type", "site", "location", "rack", "position", "face", "status"),
        "the management and storage networks, PDUs and spares, which the bill has; NetBox needs the roles first",
    ),
    "netbox-interfaces": (
        _interfaces, ("device", "name", "type", "speed", "description"),
        "ports without a cable; the type is `other` where NetBox has none of a rate in a cage",
    ),
    "netbox-cables": (
        _cables, (*_SIDES, "type", "status", "label", "length", "length_unit", "description"),
        "both links of a splitter as one cable: NetBox's CSV has a row for each link, with the label of its cable",
    ),
    "netbox-inventory-items": (
        _items, ("device", "name", "manufacturer", "part_id"),
        "the cages that modules are in; a device has its share of the bill's modules by its links",
    ),
    "netbox-power-ports": (_power, ("device", "name", "maximum_draw"), "the power of modules, which the bill has"),
}  # fmt: skip
"""Rows, columns, and what each table leaves out."""


def write_order(name: str, chosen: Chosen) -> Written:
    """Return a table of an order; an `InputError` where it is too long, or the problem is of designs."""
    rows, columns, left = TABLES[name]
    found = order_devices(chosen)
    if (devices := found.order.count + found.tree.switches) > MAX_ROWS:
        raise InputError(f"the order has {devices:,} devices, and a table of them has up to {MAX_ROWS:,}")
    short = _short(found) if name == "netbox-cables" else ()
    return Written(table_csv(columns, rows(chosen, found)), (left, *short))


def _short(found: OrderDevices) -> tuple[str, ...]:
    """Return a sentence on links whose racks are farther apart than the cables of the bill reach."""
    count = sum(len(found.places.short(wires, found.layout.runs)) for wires in found.wires)
    why = "whose racks are farther apart: the bill spreads those to leaves evenly over racks"
    return (f"the length of {count:,} links, {why}",) if count else ()


def _writer(name: str, writes: str) -> Writer:
    return Writer(name, writes, lambda chosen: write_order(name, chosen))


WRITERS = (
    _writer("netbox-racks", "the racks of an order with their rows as NetBox's CSV import of racks"),
    _writer("netbox-device-types", "the systems and switches of an order as device types, likewise"),
    _writer("netbox-inventory-items", "the NICs and modules in the devices of an order, likewise"),
    _writer("netbox-power-ports", "the power of each device of an order, likewise"),
)
