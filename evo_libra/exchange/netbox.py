"""The devices of a fabric as a table that NetBox imports in bulk (fields of the CSV import of devices, NetBox 4)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from evo_libra.errors import InputError
from evo_libra.exchange.writer import Chosen, Writer, Written
from evo_libra.front.bill_table import bill_table
from evo_libra.problem.system import bought_npus

COLUMNS = ("name", "role", "manufacturer", "device_type", "site", "status", "comments")

_DEVICES = ("switch", "NPU", "host", "server")
"""Items of a bill that are devices of their own; cables and what is inside a device are in the bill alone."""

_UNKNOWN = "not stated"
_MOST = 200_000
"""Devices of a table; NetBox takes far fewer at a time."""


def _counted(chosen: Chosen) -> list[Mapping[str, Any]]:
    """Return the rows of the bill that are devices, and the NPUs, which a bill of the network alone does not have."""
    rows: list[Mapping[str, Any]] = list(bill_table(chosen.problem, chosen.population))
    if not any(row["item"] == "NPU" for row in rows):
        npus = chosen.problem.npu
        place = 0 if npus is None else int(npus.place(chosen.population.technology)[0])
        part = "NPU" if npus is None else npus.names[place]
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
                    "name": f"{item.lower()}-{number:06d}", "role": item.lower(), "manufacturer": _UNKNOWN,
                    "device_type": str(row["part"]), "site": chosen.problem.name, "status": "planned",
                    "comments": where,
                }  # fmt: skip


def _write(chosen: Chosen) -> Written:
    count = sum(round(row["pieces"]) for row in _counted(chosen))
    if count > _MOST:
        raise InputError(f"the design has {count:,} devices, and a table of them has up to {_MOST:,}")
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(_devices(chosen))
    left = (
        f"manufacturers, which are '{_UNKNOWN}': NetBox needs that one, and every role, device type and site, first",
        "cables, transceivers and NICs: the bill has them",
    )
    return Written(text.getvalue(), left)


WRITERS = (Writer("netbox-devices", "every switch, NPU, host and server as NetBox's CSV import of devices", _write),)
