"""Rules that rails of optical circuit switches break, for an order check that knows the catalogue's YAML alone."""

from __future__ import annotations

from math import ceil
from typing import Any

from independent_lengths import longest_ways

Catalogue = dict[str, Any]


def circuit_cables(order: dict[str, Any], nic: dict[str, Any], catalogue: Catalogue) -> list[dict[str, Any]]:
    """Return the fibres of single mode that fit a NIC in a mode, and of these the ones with the fewest fibres."""
    rates, form = (nic["Gbps"], nic.get("lane_Gbps", 100)), catalogue["nics"][order["nic"]]["cage"]
    found = [
        cable
        for cable in catalogue["cables"].values()
        if (cable["Gbps"], cable.get("lane_Gbps", 100)) == rates
        and cable["kind"] in {"dr", "fr"}
        and cable.get("nic_ports", 1) == nic.get("per_cage", 1)
        and catalogue["modules"][cable["nic_module"]].get("form", form) == form
    ]
    fewest = min((cable["fibres"] for cable in found), default=0)
    return [cable for cable in found if cable["fibres"] == fewest]


def broken_circuits(order: dict[str, Any], nic: dict[str, Any], per_rack: int, catalogue: Catalogue) -> set[str]:
    """Return the rules that the network of an order breaks, whose products break none."""
    cables = circuit_cables(order, nic, catalogue)
    if order["leaf"] != 1 or order["pod"] != 1 or order["uplink"] not in {None, nic["Gbps"]}:
        return {"tier"}
    ocs, rack = catalogue["ocs"][order["switch"]], catalogue["room"]["rack"]
    ring = ocs["ports"] // int(cables[0]["fibres"])
    if order["count"] > ring:
        return {"circuits"}
    switches = ceil(order["npus"] * order["ports"] / (ring // order["count"]))
    in_rack = int(min(rack["U"] / ocs.get("height_U", 4), 1000 * rack["kW"] / ocs["power_W"]))
    leaves = {"systems": order["count"], "leaves": switches, "in_rack": in_rack, "spines": 0, "cores": 0}
    tree = {"above": [0, 0], "in_rack": in_rack}
    ways = order["ways"] = longest_ways(order["count"], per_rack, leaves, tree, catalogue["room"])
    # Light goes as far again behind the circuit switch, by cables of whole metres.
    there = ceil(round(ways[0], 6)) if ways[0] <= 10 else 5 * ceil(round(ways[0], 6) / 5)
    return {"reach"} if 2 * there > max(cable["reach_m"] for cable in cables) else set()
