"""Cables and powers for an order check of its own, written from the catalogue's YAML alone."""

from __future__ import annotations

from typing import Any

Catalogue = dict[str, Any]
Cables = list[dict[str, Any]]


def cables_to_leaves(order: dict[str, Any], nic: dict[str, Any], catalogue: Catalogue) -> Cables:
    """Return the cables that join a NIC in a mode to a leaf."""
    cage, form = nic.get("per_cage", 1), catalogue["nics"][order["nic"]]["cage"]
    return [
        cable
        for cable in _at_switch(order, nic, catalogue)
        if cable.get("nic_ports", 1) == cage
        and ("switch_module" in cable or cage == 1 or order["planes"] == 1)
        and _form(cable, "nic", catalogue) in {None, form}
    ]


def cables_between(order: dict[str, Any], mode: dict[str, Any], catalogue: Catalogue) -> Cables:
    """Return the cables that join two switches in a mode."""
    return [cable for cable in _at_switch(order, mode, catalogue) if cable.get("joins_switches", True)]


def _at_switch(order: dict[str, Any], mode: dict[str, Any], catalogue: Catalogue) -> Cables:
    switch = catalogue["switches"][order["switch"]]
    alike = (cable for cable in catalogue["cables"].values() if _rates(cable) == _rates(mode))
    return [cable for cable in alike if _joins_switch(cable, switch, catalogue)]


def _joins_switch(cable: dict[str, Any], switch: dict[str, Any], catalogue: Catalogue) -> bool:
    """Return whether a cable carries the link layer of a switch and ends in its cages; optics inside take fibres."""
    if switch["layer"] not in cable.get("layers", ["infiniband", "ethernet"]):
        return False
    if switch.get("co_packaged"):
        return "switch_module" in cable
    form = _form(cable, "switch", catalogue)
    return form is None or form == switch.get("cage", form)


def _form(cable: dict[str, Any], end: str, catalogue: Catalogue) -> str | None:
    """Return the form factor of an end of a cable."""
    module = cable.get(f"{end}_module")
    found: str | None = catalogue["modules"][module].get("form") if module else cable.get(f"{end}_end")
    return found


def switches_of_rack(order: dict[str, Any], cables: Cables, catalogue: Catalogue) -> int:
    """Return the switches of a rack, by units and power."""
    switch, rack = catalogue["switches"][order["switch"]], catalogue["room"]["rack"]
    power = rack_kilowatts(switch, catalogue) / switch_kilowatts(order, cables, catalogue)
    return int(min(rack["U"] / switch.get("height_U", 1), power))


def switch_kilowatts(order: dict[str, Any], cables: Cables, catalogue: Catalogue) -> float:
    """Return the power of a switch with the largest module in each cage."""
    switch = catalogue["switches"][order["switch"]]
    modules = [catalogue["modules"][cable["switch_module"]]["power_W"] for cable in cables if "switch_module" in cable]
    largest = 0 if switch.get("co_packaged") else max(modules, default=0)
    return float((switch["power_W"] + switch["cages"] * largest) / 1000)


def leaf_kilowatts(
    order: dict[str, Any], cages: int, lower: Cables, upper: Cables, catalogue: Catalogue, metres: float = 2
) -> float:
    """Return the power of a leaf in the rack of its systems, which copper joins where one that reaches has a price."""
    switch = catalogue["switches"][order["switch"]]
    copper = [cable for cable in lower if "switch_module" not in cable and "price_usd" in cable]
    copper = [cable for cable in copper if cable["reach_m"] >= metres]
    if not copper or switch.get("co_packaged"):
        return switch_kilowatts(order, lower + upper, catalogue)
    end = min(copper, key=lambda cable: cable["price_usd"]["value"] / cable.get("links", 1)).get("W_per_end", 0)
    optical = switch_kilowatts(order, upper, catalogue) - switch["power_W"] / 1000
    return float((switch["power_W"] + cages * end) / 1000 + optical * (1 - cages / switch["cages"]))


def rack_kilowatts(product: dict[str, Any], catalogue: Catalogue) -> float:
    """Return the power of a rack for what is cooled as a product is."""
    rack = catalogue["room"]["rack"]
    return float(rack["liquid_kW"] if product.get("cooling") == "liquid" else rack["kW"])


def _rates(part: dict[str, Any]) -> tuple[float, float]:
    return part["Gbps"], part.get("lane_Gbps", 100)
