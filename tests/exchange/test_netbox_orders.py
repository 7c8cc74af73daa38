"""Tables of an order for NetBox have the counts of its bill, and every name that they refer to."""

from __future__ import annotations

import csv
import io
from collections import Counter
from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evo_libra.errors import InputError
from evo_libra.exchange.netbox import WRITERS
from evo_libra.exchange.netbox_orders import TABLES
from evo_libra.exchange.registry import write_as
from evo_libra.network.orders.bill import bill_of
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.direct_layout import topology_layout
from evo_libra.network.orders.notation import read_order
from evo_libra.network.orders.racks import room_of
from evo_libra.network.orders.topology import topology_of

PRODUCTS = load_products("products-2026")
RAILS = "96 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1"
TOR = "64 hgx-h100 / 1 x 400G / sn5600 tor 2:1"
RACKS = "16 gb300-nvl72 (64 active) / 1 x 800G / q3450-ld fat tree 2:1"
DRAGONFLY = "64 hgx-h100 / 1 x 400G / qm9700 dragonfly 1:1"
HYPERX = "28 gb200-nvl72 / 1 x 400G / sn5600 hyperx 1:1"
PLANES = "60 hgx-b300 / 2 x 400G / 2 planes / sn5600 hyperx 2:1"
OCS_RAILS = "16 gb200-nvl72 / 1 x 400G / polatis-192 ocs rails"
FILLED = "8 gb200-nvl72 / 1 x 400G / sn5600 fat tree 1:1"
ODD = "93 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1"
LAST = "125 hgx-h200 / 1 x 400G / sn5600 fat tree 2:1"
ORDERS = (FILLED, ODD, LAST, RAILS, TOR, RACKS, DRAGONFLY, HYPERX, PLANES, OCS_RAILS)


def chosen(text: str) -> Any:
    order = read_order(text, PRODUCTS)
    book = SimpleNamespace(
        place=lambda _: np.array([0]), orders=(order,), trees=(topology_of(order, PRODUCTS),), products=PRODUCTS
    )
    problem = SimpleNamespace(book=book, name="site-1")
    return SimpleNamespace(problem=problem, population=SimpleNamespace(select=lambda _: None))


@cache
def table(text: str, name: str) -> list[dict[str, str]]:
    (writer,) = [one for one in WRITERS if one.name == name]
    return list(csv.DictReader(io.StringIO(str(writer.write(chosen(text)).content), newline="")))


def test_rows_of_a_superpod() -> None:
    # System 1 and its NPU 1 are the first below leaf 1.
    (cable,) = (
        row
        for row in table(RAILS, "netbox-cables")
        if (row["side_a_device"], row["side_a_name"]) == ("system-0001", "npu-1-port-1")
    )
    assert (cable["side_b_device"], cable["side_b_name"]) == ("leaf-0001", "port-1")
    faces = {row["name"]: row["type"] for row in table(RAILS, "netbox-interfaces") if row["device"] == "leaf-0001"}
    assert faces == {f"port-{number}": "infiniband-ndr" for number in range(1, 65)}
    assert table(RAILS, "netbox-device-types")[1] == {
        "manufacturer": "nvidia", "model": "qm9700", "slug": "qm9700", "u_height": "1", "is_full_depth": "true",
        "comments": table(RAILS, "netbox-device-types")[1]["comments"],
    }  # fmt: skip
    # A DGX H100 draws 10.2 kW, a QM9700 747 W.
    watts = {row["device"]: row["maximum_draw"] for row in table(RAILS, "netbox-power-ports")}
    assert (watts["system-0001"], watts["leaf-0001"]) == ("10200", "747")


def test_fibres_of_optical_rails_end_at_circuit_switches() -> None:
    (writer,) = [one for one in WRITERS if one.name == "netbox-cables"]
    assert "the length of" not in " ".join(writer.write(chosen(OCS_RAILS)).left)
    # Six rings a switch: NPU 7 of each rack is on the second, whose first ports are six of each rack.
    (fibre,) = (
        row
        for row in table(OCS_RAILS, "netbox-cables")
        if (row["side_a_device"], row["side_a_name"]) == ("system-0003", "npu-7-port-1")
    )
    assert (fibre["side_b_device"], fibre["side_b_name"], fibre["type"]) == ("circuit-0002", "port-13", "smf")
    assert {row["device"] for row in table(OCS_RAILS, "netbox-power-ports") if row["maximum_draw"] == "75"} == {
        f"circuit-{number:04d}" for number in range(1, 13)
    }


def test_interfaces_of_ethernet_have_rate_and_cage() -> None:
    assert {row["type"] for row in table(TOR, "netbox-interfaces")} == {"400gbase-x-osfp"}
    assert {row["speed"] for row in table(TOR, "netbox-interfaces")} == {"400000000"}


@pytest.mark.parametrize("text", ORDERS)
def test_counts_are_those_of_the_bill(text: str) -> None:
    order = read_order(text, PRODUCTS)
    tree = topology_of(order, PRODUCTS)
    layout, billed = topology_layout(order, tree, PRODUCTS), Counter[str]()
    for line in bill_of(order, PRODUCTS).lines:
        if not line.rule:
            billed[line.product] += round(line.pieces)
    assert len(table(text, "netbox-racks")) == layout.system_racks + layout.switch_racks
    devices = Counter(row["device_type"] for row in table(text, "netbox-devices"))
    assert devices == {order.system: billed[order.system], order.switch: billed[str(order.switch)]}
    cables = Counter(label.rsplit("-", 1)[0] for label in {row["label"] for row in table(text, "netbox-cables")})
    assert cables == {run.cable: billed[run.cable] for run in layout.runs}
    metres = Counter((row["description"], float(row["length"])) for row in table(text, "netbox-cables"))
    laid = Counter[tuple[str, float]]()
    for run in layout.runs:
        laid[run.cable, run.metres] += run.links
    assert metres == laid
    items = Counter(row["part_id"] for row in table(text, "netbox-inventory-items"))
    assert items.pop(order.nic) == layout.nics == order.bought_npus
    assert items == {one.product: billed[one.product] for one in layout.modules}


@pytest.mark.parametrize("text", ORDERS)
def test_tables_refer_to_each_other(text: str) -> None:
    racks = {row["name"] for row in table(text, "netbox-racks")}
    rows = table(text, "netbox-devices")
    devices, types = {row["name"] for row in rows}, {row["model"] for row in table(text, "netbox-device-types")}
    ports = {(row["device"], row["name"]) for row in table(text, "netbox-interfaces")}
    ends = [
        (row[f"side_{side}_device"], row[f"side_{side}_name"])
        for row in table(text, "netbox-cables") for side in "ab"
    ]  # fmt: skip
    assert len(devices) == len(rows)
    assert {row["rack"] for row in rows} == racks
    assert {row["device_type"] for row in rows} == types
    assert len(ends) == len(ports)
    assert set(ends) == ports
    assert {device for device, _ in ports} <= devices
    assert {row["device"] for row in table(text, "netbox-inventory-items")} <= devices


@pytest.mark.parametrize("text", ORDERS)
def test_devices_of_a_rack_do_not_overlap(text: str) -> None:
    heights = {row["model"]: float(row["u_height"]) for row in table(text, "netbox-device-types")}
    units: dict[str, list[tuple[float, float]]] = {}
    for row in table(text, "netbox-devices"):
        start = float(row["position"])
        units.setdefault(row["rack"], []).append((start, start + heights[row["device_type"]]))
    for taken in units.values():
        taken.sort()
        assert all(end <= start for (_, end), (start, _) in pairwise(taken))
        assert taken[-1][1] - 1 <= room_of(PRODUCTS).rack.U


def test_tables_of_racks_need_an_order() -> None:
    design: Any = SimpleNamespace(problem=SimpleNamespace(book=None))
    with pytest.raises(InputError, match="only orders have racks"):
        write_as("netbox-racks", design)


def test_every_table_is_a_format() -> None:
    assert set(TABLES) == {writer.name for writer in WRITERS}
