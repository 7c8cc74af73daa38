"""Devices, their interfaces and cables of a fabric as tables that NetBox imports in bulk.

The columns are fields of the CSV import forms of NetBox 4.2 (netbox/dcim/forms/bulk_import.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from evo_libra.errors import InputError
from evo_libra.exchange.devices import device_name, named_cables
from evo_libra.exchange.formats import Chosen, Writer, Written
from evo_libra.exchange.netbox_orders import WRITERS as OF_ORDERS
from evo_libra.exchange.netbox_orders import write_order
from evo_libra.explain.bill_table import bill_table, table_csv
from evo_libra.problem.system import bought_npus

COLUMNS = ("name", "role", "manufacturer", "device_type", "site", "status", "comments")

_DEVICES = ("switch", "NPU", "host", "server")
"""Items of a bill that are devices of their own; cables and what is inside a device are in the bill alone."""

INTERFACES = ("device", "name", "type", "speed", "description")
CABLES = (
    "side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name", "status", "label",
    "description",
)  # fmt: skip

_UNKNOWN = "not stated"
_MOST = 200_000
"""Devices of a table; NetBox takes far fewer at a time."""

_PLANNED, _INTERFACE, _OTHER = "planned", "dcim.interface", "other"
_KBPS = 8.0 / 1e3


def _counted(chosen: Chosen) -> list[Mapping[str, Any]]:
    """Return the rows of the bill that are devices, and the NPUs, which a bill of the network alone does not have."""
    rows: list[Mapping[str, Any]] = list(bill_table(chosen.problem, chosen.population))
    if not any(row["item"] == "NPU" for row in rows):
        npus = chosen.problem.sources.npu
        part = npus.names[int(npus.place(chosen.population.technology)[0])] if npus.names else "NPU"
        rows.append({"item": "NPU", "part": part, "pieces": bought_npus(chosen.population)[0], "dimension": None})
    return [row for row in rows if row["item"] in _DEVICES]


def _devices(chosen: Chosen) -> Iterator[dict[str, str]]:
    rows = sorted(_counted(chosen), key=lambda row: _DEVICES.index(row["item"]))
    for item, mine in groupby(rows, key=lambda row: str(row["item"])):
        number = 0
        for row in mine:
            where = "" if row["dimension"] is None else f"dimension {row['dimension']}, {row['technology']}"
            for _ in range(round(row["pieces"])):
                number += 1
                yield {
                    "name": device_name(item, number), "role": item.lower(), "manufacturer": _UNKNOWN,
                    "device_type": str(row["part"]), "site": chosen.problem.name, "status": _PLANNED,
                    "comments": where,
                }  # fmt: skip


def _write(chosen: Chosen) -> Written:
    if chosen.problem.book is not None:
        return write_order("netbox-devices", chosen)
    count = sum(round(row["pieces"]) for row in _counted(chosen))
    if count > _MOST:
        raise InputError(f"the design has {count:,} devices, and a table of them has up to {_MOST:,}")
    left = (
        f"manufacturers, which are '{_UNKNOWN}': NetBox needs that one, and every role, device type and site, first",
        "transceivers and NICs: the bill has them; netbox-interfaces and netbox-cables have ports and cables",
    )
    return Written(table_csv(COLUMNS, _devices(chosen)), left)


def _write_interfaces(chosen: Chosen) -> Written:
    if chosen.problem.book is not None:
        return write_order("netbox-interfaces", chosen)
    rows = (
        {
            "device": device, "name": name, "type": _OTHER, "speed": round(cable.rate * _KBPS),
            "description": f"dimension {cable.dimension}, {cable.technology}",
        }
        for cable in named_cables(chosen)
        for device, name in cable.ends
    )  # fmt: skip
    return Written(table_csv(INTERFACES, rows), ("the form of ports, which parts do not say: their type is `other`",))


def _write_cables(chosen: Chosen) -> Written:
    if chosen.problem.book is not None:
        return write_order("netbox-cables", chosen)
    rows = (
        {
            "side_a_device": cable.ends[0][0], "side_a_type": _INTERFACE, "side_a_name": cable.ends[0][1],
            "side_b_device": cable.ends[1][0], "side_b_type": _INTERFACE, "side_b_name": cable.ends[1][1],
            "status": _PLANNED, "label": cable.part, "description": f"{cable.item}, dimension {cable.dimension}",
        }
        for cable in named_cables(chosen)
    )  # fmt: skip
    left: tuple[str, ...] = ("types and lengths of cables, which parts do not say",)
    if chosen.population.spares is not None and chosen.population.spares[0]:
        left += ("cables of spare NPUs, whose part of the network is a share of its cost",)
    return Written(table_csv(CABLES, rows), left)


WRITERS = (
    Writer("netbox-devices", "every switch, system, NPU, host and server as NetBox's CSV import of devices", _write),
    Writer("netbox-interfaces", "the ports of these devices that cables end in, likewise", _write_interfaces),
    Writer("netbox-cables", "every cable, from interface to interface, likewise", _write_cables),
    *OF_ORDERS,
)
