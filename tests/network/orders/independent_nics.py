"""NICs that are bought in the place of others, as the independent check reads them from the catalogue's YAML."""

from __future__ import annotations

from typing import Any


def carries(slot: str, card: str) -> bool:
    """Return whether a slot has as many lanes of PCIe as a card needs, or is of the same other bus."""
    lanes = [int(bus.rpartition("-x")[2]) if bus.startswith("pcie") else 0 for bus in (slot, card)]
    return slot == card or lanes[0] >= lanes[1] > 0


def with_nics(order: dict[str, Any], nic_ports: int, catalogue: dict[str, Any]) -> dict[str, Any]:
    """Return the catalogue in which the system of an order has the power of its NICs; nothing if that is not known."""
    system = catalogue["systems"][order["system"]]
    if order["nic"] not in system.get("slots", {}).get("takes", []):
        return catalogue
    new, old = (catalogue["nics"][name].get("power_W") for name in (order["nic"], system["nics"][0]))
    if new is None or old is None:
        return {}
    added = order["npus"] * order["ports"] / nic_ports * (new - old) / 1000
    return catalogue | {"systems": catalogue["systems"] | {order["system"]: system | {"kW": system["kW"] + added}}}
