"""An order check of its own, written from the catalogue's YAML alone: it reads the notation and knows no record.

It answers whether a vendor would accept an order, and which rule the order breaks: sale, domain, alone, nic, slot,
planes, layer, mode, rack, tier, cages, leaf, reach.
"""

from __future__ import annotations

import re
from typing import Any

Catalogue = dict[str, Any]
MONTH = "2026-11"


def broken_rules(text: str, catalogue: Catalogue) -> set[str]:
    """Return the rules that an order in the notation breaks; those of the network where the products break none."""
    order = parsed(text, catalogue)
    broken = _products(order, catalogue)
    return broken or (_network(order, catalogue) if order["switch"] else set())


def parsed(text: str, catalogue: Catalogue) -> dict[str, Any]:
    """Return what the notation states, as a plain dict."""
    head, *rest = text.split(" / ")
    count, label, *active = head.replace("(", "").replace(" active)", "").split()
    name = label if label in catalogue["systems"] else label.rpartition("-")[0]
    sizes = catalogue["systems"][name]["npus"]
    npus = int(label.rpartition("-")[2]) if label != name else sizes
    order = {"count": int(count), "system": name, "npus": npus, "active": int(active[0]) if active else npus}
    if not rest:
        return order | {"nic": None, "switch": None}
    planes = int(rest[1].split()[0]) if len(rest) == 3 else 1
    return order | {"planes": planes} | _parsed_mode(rest[0], name, catalogue) | _parsed_fabric(rest[-1])


def _parsed_mode(text: str, system: str, catalogue: Catalogue) -> dict[str, Any]:
    *nic, ports, _, rate = text.split()
    numbers = {"ports": int(ports), "Gbps": float(rate.removesuffix("G"))}
    for name in nic or catalogue["systems"][system]["nics"]:
        for mode in catalogue["nics"][name]["modes"]:
            if nic or (mode["ports"], mode["Gbps"]) == (numbers["ports"], numbers["Gbps"]):
                return numbers | {"nic": name}
    raise AssertionError(text)


def _parsed_fabric(text: str) -> dict[str, Any]:
    found = re.fullmatch(r"(\S+) (.+?) (\S+):(\S+)(?: pods (\S+):(\S+))?(?: uplinks (\S+)G)?", text)
    assert found is not None
    switch, family, down, up, pod_down, pod_up, uplink = found.groups()
    return {
        "switch": switch,
        "family": family,
        "leaf": float(down) / float(up),
        "pod": float(pod_down or 1) / float(pod_up or 1),
        "uplink": float(uplink) if uplink else None,
    }


def _products(order: dict[str, Any], catalogue: Catalogue) -> set[str]:
    system = catalogue["systems"][order["system"]]
    parts = [system]
    parts += [catalogue["nics"][order["nic"]]] if order["nic"] else []
    parts += [catalogue["switches"][order["switch"]]] if order["switch"] else []
    broken = {"sale" for part in parts if not _is_sold(part)}
    sizes = system["npus"] if isinstance(system["npus"], list) else [system["npus"]]
    if order["npus"] not in sizes or order["active"] not in system.get("active", [order["npus"]]):
        broken.add("domain")
    rack = catalogue["room"]["rack"]
    if not system.get("is_rack") and (system.get("kW", 0) > rack["kW"] or system.get("height_U", 0) > rack["U"]):
        broken.add("rack")
    if (order["count"] == 1) == bool(order["switch"]):
        broken.add("alone")
    elif order["switch"]:
        broken |= _links(order, system, catalogue)
    return broken


def _is_sold(part: dict[str, Any]) -> bool:
    began, ended = str(part.get("since", "1990")), str(part.get("until", "2100"))
    return part.get("order", "buy") == "buy" and began <= MONTH and (ended + "-12")[:7] >= MONTH


def _nic_mode(order: dict[str, Any], catalogue: Catalogue) -> dict[str, Any] | None:
    modes = catalogue["nics"][order["nic"]]["modes"]
    return next((mode for mode in modes if mode["ports"] == order["ports"] and mode["Gbps"] == order["Gbps"]), None)


def _links(order: dict[str, Any], system: dict[str, Any], catalogue: Catalogue) -> set[str]:
    broken, mode = set(), _nic_mode(order, catalogue)
    if order["nic"] not in system.get("nics", []) or mode is None:
        broken.add("nic")
    if order["ports"] * order["Gbps"] / 8 > system.get("slots", {"GBps": 1e9})["GBps"]:
        broken.add("slot")
    if order["ports"] % order["planes"]:
        broken.add("planes")
    switch = catalogue["switches"][order["switch"]]
    if mode and switch["layer"] not in mode["layers"]:
        broken.add("layer")
    elif mode and not _switch_mode(switch, mode["Gbps"], mode.get("lane_Gbps", 100)):
        broken.add("mode")
    if mode and order["uplink"] and not _switch_mode(switch, order["uplink"], None):
        broken.add("mode")
    return broken


def _switch_mode(switch: dict[str, Any], rate: float, lane: float | None) -> dict[str, Any] | None:
    modes = (mode for mode in switch["modes"] if mode["Gbps"] == rate)
    return next((mode for mode in modes if lane is None or mode.get("lane_Gbps", 100) == lane), None)
