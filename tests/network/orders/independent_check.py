"""An order check of its own, written from the catalogue's YAML alone: it reads the notation and knows no record.

It answers whether a vendor would accept an order, and which rule the order breaks: sale, domain, alone, nic, slot,
planes, layer, mode, rack, tier, cages, leaf, direct, circuits, reach.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction
from math import ceil, gcd
from pathlib import Path
from typing import Any

from independent_cables import cables_between, cables_to_leaves, leaf_kilowatts, rack_kilowatts, switches_of_rack
from independent_circuits import broken_circuits, circuit_cables
from independent_direct import longest_links, shape_of
from independent_lengths import longest_ways, switches_above
from independent_nics import carries, with_nics
from ruamel.yaml import YAML

import evo_libra

Catalogue = dict[str, Any]
MONTH = "2026-11"
FOLDER = Path(evo_libra.__file__).parent / "network" / "orders"


def catalogue(name: str = "products-2026") -> Catalogue:
    """Return a catalogue of the package as its files have it."""
    read = YAML(typ="safe")
    parts = {path.stem: read.load(path) for path in (FOLDER / name).glob("*.yaml")}
    return {**read.load(FOLDER / f"{name}.yaml"), **parts}


def broken_rules(text: str, catalogue: Catalogue, states: Collection[str] = ("buy",)) -> set[str]:
    """Return the rules that an order in the notation breaks; those of the network where the products break none."""
    order = parsed(text, catalogue)
    broken = _products(order, catalogue, states)
    return broken or (_network(order, catalogue) if order["switch"] else set())


def longest_cables(text: str, catalogue: Catalogue) -> list[float]:
    """Return the longest ways of an order that breaks no rule: to leaves, spines and cores, as far as there are any."""
    order = parsed(text, catalogue)
    _network(order, catalogue)
    ways: list[float] = order["ways"]
    return ways


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
    found = re.fullmatch(r"(\S+) (.+?)(?: of (\d+))?(?: (\S+):(\S+))?(?: pods (\S+):(\S+))?(?: uplinks (\S+)G)?", text)
    assert found is not None
    switch, family, rack, down, up, pod_down, pod_up, uplink = found.groups()
    return {
        "switch": switch,
        "family": family,
        "leaf": float(down or 1) / float(up or 1),
        "pod": float(pod_down or 1) / float(pod_up or 1),
        "uplink": float(uplink) if uplink else None,
        "rack": int(rack) if rack else None,
    }


def _products(order: dict[str, Any], catalogue: Catalogue, states: Collection[str]) -> set[str]:
    system = catalogue["systems"][order["system"]]
    parts = [system]
    parts += [catalogue["nics"][order["nic"]]] if order["nic"] else []
    parts += [_switch_of(order, catalogue)] if order["switch"] else []
    broken = {"sale" for part in parts if not _is_sold(part, states)}
    sizes = system["npus"] if isinstance(system["npus"], list) else [system["npus"]]
    if order["npus"] not in sizes or order["active"] not in system.get("active", [order["npus"]]):
        broken.add("domain")
    if not system.get("is_rack") and "kW" in system and not _per_rack(system, catalogue):
        broken.add("rack")
    if system.get("racks", 1) > 1 and order["count"] > 1:
        broken.add("alone")
    if (order["count"] == 1) == bool(order["switch"]):
        broken.add("alone")
    elif order["switch"]:
        broken |= _links(order, system, catalogue)
    return broken


def _switch_of(order: dict[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    found: dict[str, Any] = catalogue["ocs" if order["family"] == "ocs rails" else "switches"][order["switch"]]
    return found


def _is_sold(part: dict[str, Any], states: Collection[str]) -> bool:
    began, ended = str(part.get("since", "1990")), str(part.get("until", "2100"))
    return part.get("order", "buy") in states and began <= MONTH and (ended + "-12")[:7] >= MONTH


def _nic_mode(order: dict[str, Any], catalogue: Catalogue) -> dict[str, Any] | None:
    modes = catalogue["nics"][order["nic"]]["modes"]
    return next((mode for mode in modes if mode["ports"] == order["ports"] and mode["Gbps"] == order["Gbps"]), None)


def _links(order: dict[str, Any], system: dict[str, Any], catalogue: Catalogue) -> set[str]:
    broken, mode = set(), _nic_mode(order, catalogue)
    slots = system.get("slots", {})
    if order["nic"] not in [*system.get("nics", []), *slots.get("takes", [])] or mode is None:
        broken.add("nic")
    elif slots and not carries(slots["bus"], catalogue["nics"][order["nic"]]["bus"]):
        broken.add("slot")
    if order["ports"] * order["Gbps"] / 8 > system.get("slots", {"GBps": 1e9})["GBps"]:
        broken.add("slot")
    if order["ports"] % order["planes"]:
        broken.add("planes")
    if order["family"] == "ocs rails":
        broken |= {"planes"} if order["planes"] > 1 else set()
        return broken | ({"mode"} if mode and not circuit_cables(order, mode, catalogue) else set())
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


def _network(order: dict[str, Any], catalogue: Catalogue) -> set[str]:
    nic = _nic_mode(order, catalogue)
    assert nic is not None
    if order["rack"] and order["family"] != "tor":
        return {"rack"}
    if order["family"] == "ocs rails":
        return broken_circuits(order, nic, _per_rack(catalogue["systems"][order["system"]], catalogue), catalogue)
    switch = catalogue["switches"][order["switch"]]
    catalogue = with_nics(order, nic["ports"], catalogue)
    if "power_W" not in switch or not catalogue:
        return {"rack"}
    down = _switch_mode(switch, nic["Gbps"], nic.get("lane_Gbps", 100))
    up = _switch_mode(switch, order["uplink"], None) if order["uplink"] not in {None, nic["Gbps"]} else down
    assert down is not None
    assert up is not None
    if max(down["ports"], up["ports"]) > switch.get("max_ports", 10**9):
        return {"mode"}
    if order["family"] in {"dragonfly", "hyperx"}:
        return _direct(order, nic, down, catalogue)
    return _network_of_tiers(order, nic, down=down, up=up, catalogue=catalogue)


def _network_of_tiers(
    order: dict[str, Any], nic: dict[str, Any], down: dict[str, Any], up: dict[str, Any], catalogue: Catalogue
) -> set[str]:
    switch = catalogue["switches"][order["switch"]]
    ratios = [Fraction(order[key]).limit_denominator(1000) for key in ("leaf", "pod")]
    ports = _down(ratios[0], down, up, switch)
    if not ports:
        return {"cages"}
    lower, upper = cables_to_leaves(order, nic, catalogue), cables_between(order, up, catalogue)
    order["leaf_kW"] = leaf_kilowatts(order, ceil(ports / down["per_cage"]), lower, upper, catalogue)
    tree = _tree(order, ports, down, catalogue)
    if not tree["leaves"]:
        return {"rack"}
    groups = tree["groups"]
    if tree["tiers"] > 1 and tree["groups"] * tree["leaves"] > up["ports"]:
        tree["tiers"] = 3
        groups = _down(ratios[1], up, up, switch) // tree["leaves"]
        if not groups or ceil(tree["groups"] / groups) > up["ports"]:
            return {"leaf"}
    ups = ceil(tree["plugged"] / (ratios[0] * Fraction(up["Gbps"]) / Fraction(down["Gbps"])))
    pod = ceil(groups * tree["leaves"] / ratios[1])
    room = range(ups, switch.get("max_ports", max(down["ports"], up["ports"])) + 1)
    fit = [some for some in room if some == ups or _is_split(tree["plugged"], some, down, up, switch)]
    tree["ups"] = min(fit, key=lambda some: (sum(switches_above(tree, some, up["ports"], groups, pod)["above"]), some))
    tree |= switches_above(tree, tree["ups"], up["ports"], groups, pod)
    broken = _tier_rules(order, tree, catalogue)
    return broken or _reach(order, tree, nic, up, catalogue)


def _direct(order: dict[str, Any], nic: dict[str, Any], mode: dict[str, Any], catalogue: Catalogue) -> set[str]:
    """Return what a dragonfly or a HyperX breaks."""
    shape, system = shape_of(order, mode["ports"]), catalogue["systems"][order["system"]]
    if shape is None:
        return {"direct"}
    lower, upper = cables_to_leaves(order, nic, catalogue), cables_between(order, mode, catalogue)
    racks = _per_rack(system, catalogue), switches_of_rack(order, lower + upper, catalogue)
    ways = order["ways"] = longest_links(order, shape, *racks, catalogue["room"])
    together = shape["near"], 1 if order["family"] == "dragonfly" else shape["far"]
    fitting = [lower, *([cable for cable in upper if number % cable.get("links", 1) == 0] for number in together)]
    reach = [max((cable["reach_m"] for cable in some), default=0) for some in fitting]
    return {"reach"} if any(way > most for way, most in zip(ways, reach, strict=True)) else set()


def _tier_rules(order: dict[str, Any], tree: dict[str, Any], catalogue: Catalogue) -> set[str]:
    system, switch = catalogue["systems"][order["system"]], catalogue["switches"][order["switch"]]
    if (tree["tiers"] < 2 and (order["leaf"] != 1 or order["uplink"])) or (tree["tiers"] < 3 and order["pod"] != 1):
        return {"tier"}
    if order["family"] == "tor" and tree["tiers"] < 2 and order["count"] > tree["rack"]:
        return {"leaf"}
    units = tree["leaves"] * order["planes"] * switch.get("height_U", 1)
    in_system = order["family"] == "tor" and system.get("is_rack")
    return {"leaf"} if in_system and units > system.get("free_U", 0) else set()


def _down(ratio: Fraction, down: dict[str, Any], up: dict[str, Any], switch: dict[str, Any]) -> int:
    """Return the ports down of a switch at a ratio of bandwidths: the most that leave room for their uplinks."""
    links = ratio * Fraction(up["Gbps"]) / Fraction(down["Gbps"])
    tried = range(max(down["ports"], up["ports"]), 0, -1)
    best = next((ports for ports in tried if _is_split(ports, ceil(ports / links), down, up, switch)), 0)
    whole = best - best % links.numerator
    return whole if 8 * whole >= 7 * best else best


def _is_split(ports: int, ups: int, down: dict[str, Any], up: dict[str, Any], switch: dict[str, Any]) -> bool:
    """Return whether ports down and uplinks fit; those of a cage go one way, as both halves of a module are alike."""
    mixed = down["Gbps"] != up["Gbps"]
    most = switch.get("max_ports", max(down["ports"], up["ports"])) if mixed else down["ports"]
    cages = ceil(ports / down["per_cage"]) + ceil(ups / up["per_cage"])
    return cages <= switch["cages"] and ports + ups <= most


def _tree(order: dict[str, Any], down: int, mode: dict[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    """Return tiers, groups of systems, leaves of each, systems of a leaf and of a rack; no leaves where none fits.

    trees : that are apart. sharing : of them on a switch. plugged : links down of a leaf.
    """
    system, family = catalogue["systems"][order["system"]], order["family"]
    ends, rails = order["ports"] // order["planes"], system["rails"] if family.startswith("rail") else 1
    ports, sides = ceil(order["npus"] / rails) * ends, 1 if family == "rail-only" else rails
    rack = _tor_rack(order, system, down, catalogue) if family == "tor" else _per_rack(system, catalogue)
    if order["rack"] and (family != "tor" or order["rack"] > rack):
        rack = 0
    rack = min(rack, order["rack"] or rack)
    by_tree = rails if family == "rail-only" else 1
    in_tree, trees = ceil(order["npus"] / by_tree) * ends * order["count"], by_tree * order["planes"]
    one = {"tiers": 1, "groups": 1, "leaves": 1 if rack else 0, "held": order["count"], "rack": rack}
    one |= {"trees": trees, "plugged": 0, "sharing": max(mode["ports"] // in_tree, 1)}
    if in_tree <= mode["ports"] or not rack:
        return one
    one |= {"tiers": 2, "sharing": 1}
    held = down // ports
    if family == "fat tree" and held < 2:
        return one | _filled(order, ends, down // ends or 1, mode, catalogue)
    if not held:
        npus = ports // ends
        spread = ceil(npus / max(down // ends, 1))
        plugged = ceil(npus / spread) * ends
        return one | {"groups": order["count"], "leaves": sides * spread, "held": 1, "plugged": plugged}
    if family != "tor":
        more = {"leaves": sides, "held": held, "plugged": held * ports}
        return one | {"groups": ceil(order["count"] / held)} | more
    leaves = ceil(rack / held)
    more = {"leaves": leaves, "held": rack, "plugged": ceil(rack / leaves) * ports}
    return one | {"groups": ceil(order["count"] / rack)} | more


def _filled(order: dict[str, Any], ends: int, down: int, mode: dict[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    """Return groups whose leaves have up to `down` NPUs of several systems: fewest leaves, then pods, then systems."""
    npus, most = order["npus"], max(min(order["count"], catalogue["room"]["racks_per_row"] // 2 - 1), 1)
    tried = [(ceil(order["count"] / some) * ceil(some * npus / down), some) for some in range(1, most + 1)]
    up = _switch_mode(catalogue["switches"][order["switch"]], order["uplink"] or mode["Gbps"], None) or mode
    choices = [(total, 1, some) for total, some in tried]
    if min(tried)[0] > up["ports"]:
        pod = _down(Fraction(order["pod"]).limit_denominator(1000), up, up, catalogue["switches"][order["switch"]])
        with_own = [(total, ceil(some * npus / down), some) for total, some in tried]
        choices = [(total, ceil(total // own / (pod // own)), some) for total, own, some in with_own if own <= pod]
    if not choices:
        return {"groups": order["count"], "leaves": ceil(npus / down), "held": 1, "plugged": down * ends}
    some = min(choices)[2]
    own = ceil(some * npus / down)
    plugged = ceil(some * npus / own) * ends
    return {"groups": ceil(order["count"] / some), "leaves": own, "held": some, "plugged": plugged}


def _per_rack(system: dict[str, Any], catalogue: Catalogue) -> int:
    rack = catalogue["room"]["rack"]
    if system.get("is_rack"):
        return 1
    by_units = rack["U"] // system["height_U"] if system.get("height_U") else 10**9
    by_power = rack_kilowatts(system, catalogue) // system["kW"]
    return int(min(by_units, by_power, system.get("per_rack", 10**9)))


def _tor_rack(order: dict[str, Any], system: dict[str, Any], down: int, catalogue: Catalogue) -> int:
    """Return the most systems of a rack that has its leaves, too."""
    if system.get("is_rack"):
        return 1
    switch, rack = catalogue["switches"][order["switch"]], catalogue["room"]["rack"]
    leaf, most = order["leaf_kW"], rack_kilowatts(system, catalogue)
    ports = order["npus"] * order["ports"] // order["planes"]
    for systems in range(_per_rack(system, catalogue), 0, -1):
        each = ceil(order["npus"] / max(down // (order["ports"] // order["planes"]), 1))
        leaves = order["planes"] * (ceil(systems / (down // ports)) if down >= ports else systems * each)
        units = systems * system["height_U"] + leaves * switch.get("height_U", 1)
        if units <= rack["U"] and systems * system["kW"] + leaves * leaf <= most:
            return systems
    return 0


def _reach(
    order: dict[str, Any], tree: dict[str, Any], nic: dict[str, Any], up: dict[str, Any], catalogue: Catalogue
) -> set[str]:
    lower, upper = cables_to_leaves(order, nic, catalogue), cables_between(order, up, catalogue)
    in_rack = switches_of_rack(order, lower + upper, catalogue)
    leaves = {"systems": min(tree["held"], order["count"]), "in_rack": in_rack}
    leaves["leaves"] = tree["leaves"] * ceil(tree["trees"] / tree["sharing"])
    leaves["spines"], leaves["cores"] = tree["above"]
    if order["family"] == "tor" and (tree["tiers"] > 1 or order["count"] <= tree["rack"]):
        leaves["in_rack"] = 0
    tree["in_rack"] = in_rack
    ways = order["ways"] = longest_ways(order["count"], tree["rack"], leaves, tree, catalogue["room"])
    fitting = [lower, *([cable for cable in upper if number % cable.get("links", 1) == 0] for number in _pairs(tree))]
    reach = [max((cable["reach_m"] for cable in some), default=0) for some in fitting]
    return {"reach"} if any(way > most for way, most in zip(ways, reach, strict=False)) else set()


def _pairs(tree: dict[str, Any]) -> list[int]:
    """Return the links that every leaf has to a spine of its pod, and every spine to a core: 1 where they differ."""
    if tree["tiers"] == 1:
        return []
    cores = tree["above"][1] // tree["trees"]
    whole = cores and tree["core_links"] % cores == 0
    return [gcd(*(tree["ups"] // pod for pod in tree["pods"])), tree["core_links"] // cores if whole else 1]
