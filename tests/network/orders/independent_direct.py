"""The rules of dragonflies and HyperX networks for the order check of its own, written from the catalogue's YAML alone.

A shape is a dict: ports for NPUs of a switch, systems there, switches of a system, switches of a unit, units, and links
of two switches of a unit and of two units (of groups), or of two switches of a column.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil
from typing import Any

Shape = dict[str, int]
Racks = set[tuple[int, int]]
Metres = Callable[[int, int], float]


def shape_of(order: dict[str, Any], ports: int) -> Shape | None:
    """Return the shape of an order on switches of some ports; None where there is none."""
    ends = order["npus"] * order["ports"] // order["planes"]
    if order["uplink"] or ends * order["count"] <= ports or (order["family"] == "hyperx" and order["pod"] != 1):
        return None
    ratio, pod = (Fraction(order[key]).limit_denominator(1000) for key in ("leaf", "pod"))
    whole = [{"down": held * ends, "held": held, "parts": 1} for held in range(ports // ends, 0, -1)]
    split = [{"down": ceil(ends / parts), "held": 1, "parts": parts} for parts in range(2, ends + 1)]
    for switch in whole + [one for one in split if one["down"] < ports]:
        if order["family"] == "dragonfly":
            far = ceil(switch["down"] / ratio)
            if switch["down"] + far + 2 * far - 1 <= ports and switch["parts"] <= 2 * far:
                return _dragonfly(order["count"], switch, far, ports - switch["down"] - far, pod)
        elif found := _hyperx(order["count"], switch, ports, ratio):
            return found
    return None


def _dragonfly(count: int, switch: Shape, far: int, rest: int, pod: Fraction) -> Shape | None:
    """Return the groups: as few as take the systems, of equal size."""
    systems = 2 * far // switch["parts"] * switch["held"]
    groups = max(2, ceil(count / systems))
    unit = ceil(ceil(count / groups) / switch["held"]) * switch["parts"]
    groups = ceil(count * switch["parts"] / (unit * switch["held"]))
    if pod < 1 or groups < 2 or unit < 2:
        return None
    near = min(ceil(2 * far / unit), rest // (unit - 1))
    pair = int(Fraction(unit * far) / pod / (groups - 1))
    return switch | {"unit": unit, "units": groups, "near": near, "far": pair} if pair else None


def _hyperx(count: int, switch: Shape, ports: int, ratio: Fraction) -> Shape | None:
    """Return the smallest grid, and the most equal of these, whose switches have the ports."""
    needed = ceil(count / switch["held"]) * switch["parts"]
    grids = []
    for line in range(2, needed + 3):
        columns = max(2, ceil(needed / line))
        if line % switch["parts"] == 0 and line <= 2 * columns and columns <= 2 * line:
            near, far = ceil(switch["down"] / ratio / line), ceil(switch["down"] / ratio / columns)
            used = switch["down"] + near * (line - 1) + far * (columns - 1)
            if used <= ports:
                grids.append((line * columns, abs(line - columns), line, columns, near, far))
    if not grids:
        return None
    _, _, line, columns, near, far = min(grids)
    return switch | {"unit": line, "units": columns, "near": near, "far": far}


def _far_pairs(family: str, shape: Shape, one: int, other: int) -> set[tuple[int, int]]:
    """Return the switches of a unit that are linked to those of a later one: its ports are dealt out in turn."""
    if family == "hyperx":
        return {(place, place) for place in range(shape["unit"])}
    links = range(min(shape["far"], shape["unit"]))
    return {
        (((other - 1) * shape["far"] + link) % shape["unit"], (one * shape["far"] + link) % shape["unit"])
        for link in links
    }


@cache
def _joined_racks(family: str, count: int, racked: int, figures: tuple[tuple[str, int], ...]) -> tuple[Racks, Racks]:
    """Return the racks that links within units join, and those that links between units join."""
    shape = dict(figures)
    systems, racks = shape["unit"] // shape["parts"] * shape["held"], []
    for unit in range(shape["units"]):
        for place in range(shape["unit"]):
            first = min(unit * min(systems, count) + place // shape["parts"] * shape["held"], count - 1)
            racks.append((first + min(shape["held"], count - first) // 2) // racked)
    unit, units = shape["unit"], range(shape["units"])
    near = {(one, other) for u in units for one, other in product(set(racks[u * unit : (u + 1) * unit]), repeat=2)}
    far = {
        (racks[one * unit + a], racks[other * unit + b])
        for other in units
        for one in range(other)
        for a, b in _far_pairs(family, shape, one, other)
    }
    return near, far


def is_out_of_reach(
    order: dict[str, Any], shape: Shape, racked: int, metres: Metres, cables: list[dict[str, Any]]
) -> bool:
    """Return whether a link between two switches is longer than each cable of some that fits it."""
    together = 1 if order["family"] == "dragonfly" else shape["far"]
    reaches = [
        max((cable["reach_m"] for cable in cables if links % cable.get("links", 1) == 0), default=0)
        for links in (shape["near"], together)
    ]
    joined = _joined_racks(order["family"], order["count"], racked, tuple(shape.items()))
    longest = (max(metres(*pair) for pair in pairs) for pairs in joined)
    return any(way > reach for way, reach in zip(longest, reaches, strict=True))
