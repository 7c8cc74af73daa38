"""A small catalogue of products for tests."""

from __future__ import annotations

import json
from typing import Any

from evo_libra.network.orders.products import ProductsSpec

_SOURCE = {"source": "a test", "year": 2026}
_NVLINK = {"technology": "nvlink5", "block": "switch", "GBps": 900.0, "ports": 18, "latency_ns": 100.0}


def _system(**figures: Any) -> dict[str, Any]:
    return {"npu": "b200", "scale_up": _NVLINK, **_SOURCE, **figures}


def _mode(ports: int, rate: float, *layers: str) -> dict[str, Any]:
    return {"ports": ports, "Gbps": rate, "layers": list(layers or ("infiniband", "ethernet"))}


def _switch(layer: str, cages: int, modes: list[tuple[int, float, int]], **figures: Any) -> dict[str, Any]:
    listed = [{"ports": ports, "Gbps": rate, "per_cage": per_cage} for ports, rate, per_cage in modes]
    price = {"price_usd": 40_000.0, "power_W": 900.0, "height_U": 2.0, "latency_ns": 500.0}
    return {"layer": layer, "cages": cages, "modes": listed, **price, **_SOURCE, **figures}


def _cable(kind: str, rate: float, reach: float, usd: float, **figures: Any) -> dict[str, Any]:
    return {"kind": kind, "Gbps": rate, "reach_m": reach, "price_usd": usd, **_SOURCE, **figures}


_SERVER = {"npus": 8, "rails": 8, "kW": 14.0, "height_U": 8.0, "price_usd": 400_000.0}
_RACK = {"npus": 72, "active": [72, 64], "rails": 4, "kW": 132.0, "is_rack": True, "cooling": "liquid"}
_ON_BOARD = ["nics", "scale-up", "host"]
_PCIE5, _PCIE6 = {"bus": "pcie5-x16", "GBps": 63.0}, {"bus": "pcie6-x16", "GBps": 126.0}

DATA: dict[str, Any] = {
    "kind": "products",
    "name": "small",
    "source": "a test",
    "systems": {
        "hgx-b200": _system(**_SERVER, slots=_PCIE5, nics=["cx7", "thor2"]),
        "hgx-b300": _system(**_SERVER, includes=_ON_BOARD, slots=_PCIE6, nics=["cx8-onboard"]),
        "gb200-nvl72": _system(**_RACK, slots=_PCIE5, nics=["cx7"], price_usd=3.4e6),
        "gb300-nvl72": _system(**_RACK, includes=_ON_BOARD, slots=_PCIE6, nics=["cx8-onboard"], price_usd=4e6),
        "mi999": _system(**_SERVER | {"price_usd": None}, slots=_PCIE5, nics=["cx8"], supplier="amd"),
        "tpu7x-slice": _system(npus=[64, 256], rails=4, order="rent"),
    },
    "nics": {
        "cx7": {
            "modes": [_mode(1, 400.0), _mode(2, 200.0)],
            "bus": "pcie5-x16",
            "cage": "osfp",
            "price_usd": 1500.0,
            **_SOURCE,
        },
        "thor2": {"modes": [_mode(1, 400.0, "ethernet")], "bus": "pcie5-x16", "cage": "osfp", **_SOURCE},
        "cx8": {
            "modes": [_mode(1, 800.0), _mode(2, 400.0, "ethernet")],
            "bus": "pcie6-x16",
            "cage": "osfp",
            "price_usd": 2000.0,
            **_SOURCE,
        },
        "cx8-onboard": {
            "modes": [_mode(1, 800.0), _mode(2, 400.0, "ethernet")],
            "bus": "pcie6-x16",
            "cage": "osfp",
            "price_usd": 0.0,
            **_SOURCE,
        },
    },
    "switches": {
        "qm9700": _switch("infiniband", 32, [(64, 400.0, 2), (128, 200.0, 4)], height_U=1.0, supplier="nvidia"),
        "q3400": _switch("infiniband", 72, [(144, 800.0, 2), (288, 400.0, 4)], height_U=4.0, supplier="nvidia"),
        "sn5600": _switch(
            "ethernet", 64, [(64, 800.0, 1), (128, 400.0, 2), (256, 200.0, 4)], supplier="nvidia", efficiency=0.95
        ),
        "th5-64": _switch(
            "ethernet",
            64,
            [(64, 800.0, 1), (128, 400.0, 2), (256, 200.0, 4), (512, 100.0, 8)],
            max_ports=320,
            supplier="edgecore",
        ),
        "th6": _switch("ethernet", 64, [(128, 800.0, 2)], price_usd=None, order="roadmap", supplier="arista"),
    },
    "cables": {
        "dac-400": _cable("dac", 400.0, 2.0, 125.0),
        "dac-800": _cable("dac", 800.0, 2.0, 250.0),
        "dr-100": _cable("dr", 100.0, 500.0, 300.0),
        "dr-200": _cable("dr", 200.0, 500.0, 400.0),
        "dr-400": _cable("dr", 400.0, 500.0, 1400.0),
        "dr-800": _cable("dr", 800.0, 500.0, 2800.0),
    },
    "ocs": {"mirrors": {"ports": 192, "power_W": 75.0, "price_usd": 99_840.0, **_SOURCE}},
    "room": {
        "rack": {"U": 48.0, "kW": 60.0, "width_m": 0.6, "price_usd": 12_000.0, **_SOURCE},
        **_SOURCE,
    },
}
"""What a file of it says."""


def small_products(**changes: Any) -> ProductsSpec:
    """Return the catalogue, with other sections where they are given."""
    return ProductsSpec.model_validate_json(json.dumps(DATA | changes))
