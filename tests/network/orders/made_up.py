"""A catalogue with one system, one NIC and one switch, whose figures a test gives."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec

SAID = {"source": "made up", "year": 2026}
_SCALE_UP = {"technology": "nvlink5", "block": "switch", "GBps": 900, "ports": 18, "latency_ns": 350}


def catalogue(
    *, system: dict[str, Any], nic: dict[str, Any], switch: dict[str, Any], kilowatts: float = 60, **more: Any
) -> ProductsSpec:
    """Return a catalogue of `box`, `card` and `switch`, with other groups where they are given."""
    box = {"npu": "b200", "scale_up": _SCALE_UP, "nics": ["card"], "kW": 10.0, "height_U": 8, **SAID, **system}
    mode = {"layers": ["infiniband"], **nic}
    card = {"modes": [mode], "bus": "pcie5-x16", "cage": "osfp", **SAID}
    whole = {"layer": "infiniband", "cages": 32, "latency_ns": 330, "power_W": 700, **SAID, **switch}
    room = {"rack": {"U": 48, "kW": kilowatts, "width_m": 0.6, "price_usd": 12000, **SAID}, **SAID}
    data = {
        "kind": "products", "name": "made-up", "source": "made up", "systems": {"box": box}, "nics": {"card": card},
        "switches": {"switch": whole}, "room": room, **more,
    }  # fmt: skip
    return ProductsSpec.model_validate_json(json.dumps(data))


def order_of(products: ProductsSpec, count: int, **figures: Any) -> Order:
    """Return an order of some boxes; a ratio may be a pair."""
    box, mode = products.systems["box"], products.nics["card"].modes[0]
    ratios = {key: float(Fraction(*figures[key])) for key in figures if isinstance(figures[key], list)}
    known: dict[str, Any] = {
        "npus": box.sizes[0], "active": box.sizes[0], "nic": "card", "ports": mode.ports, "Gbps": mode.Gbps,
        "switch": "switch",
    }  # fmt: skip
    return Order(system="box", count=count, **known | figures | ratios)


def switch_of(ports: int, rate: float = 400, per_cage: int = 1) -> dict[str, Any]:
    """Return the figures of a switch with one mode."""
    return {"cages": -(-ports // per_cage), "modes": [{"ports": ports, "Gbps": rate, "per_cage": per_cage}]}
