"""Devices, interfaces and cables of a design as CSV files for the bulk import of NetBox 4.2.

The columns are those of its import forms (netbox/dcim/forms/bulk_import.py): a device needs a name, a role, a
manufacturer, a device type, a site and a status; an interface its device, a name and a type; a cable the device, the
type and the name of both of its ends.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping

from evo_libra.exchange.devices import Cable, cables, devices
from evo_libra.exchange.writer import Exported, Writer, Written

VERSION = "4.2"
DEVICES = ("name", "role", "manufacturer", "device_type", "site", "status", "description")
INTERFACES = ("device", "name", "type", "speed", "description")
CABLES = (
    "side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name", "status", "label",
    "description",
)  # fmt: skip
MANUFACTURER = "Generic"
"""Of every device: catalogues of parts have no column for it."""

_PLANNED = "planned"
_INTERFACE = "dcim.interface"
_ANY = "other"
"""Type of every interface: catalogues of parts do not say the form of their ports."""
_KBPS = 8.0 / 1e3
_UNPLUGGED = "parts have no lengths and no kinds of plugs, so that cables have neither"


def _table(columns: tuple[str, ...], rows: Iterable[Mapping[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _devices(design: Exported) -> Written:
    rows = (
        {
            "name": one.name, "role": one.role, "manufacturer": MANUFACTURER, "device_type": one.model,
            "site": design.problem.name, "status": _PLANNED, "description": one.note,
        }
        for one in devices(design)
    )  # fmt: skip
    return Written(_table(DEVICES, rows))


def _interface_rows(design: Exported) -> Iterator[dict[str, object]]:
    rates = {d: design.pricing.parts[int(t)].port_rate for d, t in enumerate(design.population.technology[:, 0])}
    for cable in cables(design):
        for device, name in cable.ends:
            yield {
                "device": device, "name": name, "type": _ANY, "speed": round(rates[cable.dimension] * _KBPS),
                "description": f"{cable.technology}, dimension {cable.dimension + 1}",
            }  # fmt: skip


def _interfaces(design: Exported) -> Written:
    rows = sorted(_interface_rows(design), key=lambda row: (str(row["device"]), _natural(str(row["name"]))))
    return Written(_table(INTERFACES, rows), ("the form of ports, which parts do not have; their type is `other`",))


def _natural(name: str) -> tuple[str, int]:
    head, _, number = name.replace("/", "-").rpartition("-")
    return head, int(number)


def _cable_row(cable: Cable) -> dict[str, object]:
    (device, name), (other, its) = cable.ends
    return {
        "side_a_device": device, "side_a_type": _INTERFACE, "side_a_name": name,
        "side_b_device": other, "side_b_type": _INTERFACE, "side_b_name": its,
        "status": _PLANNED, "label": cable.part, "description": f"{cable.item}, dimension {cable.dimension + 1}",
    }  # fmt: skip


def _cables(design: Exported) -> Written:
    return Written(_table(CABLES, map(_cable_row, cables(design))), (_UNPLUGGED,))


WRITERS = (
    Writer("netbox-devices", f"NPUs, switches and hosts as CSV for NetBox {VERSION}'s bulk import", _devices),
    Writer("netbox-interfaces", "the ports of these devices that cables are in, likewise", _interfaces),
    Writer("netbox-cables", "every cable, from interface to interface, likewise", _cables),
)
