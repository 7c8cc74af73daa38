"""The rules of dragonflies and HyperX networks for the order check of its own, written from the catalogue's YAML alone.

A shape is a dict: ports for NPUs of a switch, systems there, switches of a system, switches of a unit, units, and links
of two switches of a unit and of two units (of groups), or of two switches of a column.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil
from typing import Any

from independent_lengths import Cell, first_of_leaves, furthest

Shape = dict[str, int]
Pairs = set[tuple[Cell, Cell]]


def shape_of(order: dict[str, Any], ports: int) -> Shape | None:
    """Return the shape of an order on switches of some ports; None where there is none."""
    ends = order["npus"] * order["ports"] // order["planes"]
    if order["uplink"] or ends * order["count"] <= ports or (order["family"] == "hyperx" and order["pod"] != 1):
        return None
    ratio, pod = (Fraction(order[key]).limit_denominator(1000) for key in ("leaf", "pod"))
    whole = [{"down": held * ends, "held": held, "parts": 1} for held in range(ports // ends, 0, -1)]
    split = [
        {"down": ceil(order["npus"] / parts) * (ends // order["npus"]), "held": 1, "parts": parts}
        for parts in range(2, order["npus"] + 1)
    ]
    for switch in whole + [one for one in split if one["down"] < ports]:
        if order["family"] == "dragonfly":
            far = ceil(switch["down"] / ratio)
            if switch["down"] + far + 2 * far - 1 <= ports and switch["parts"] <= 2 * far:
                return _dragonfly(order, switch, far, ports - switch["down"] - far, (ratio, pod))
        elif found := _hyperx(order["count"], switch, ports, ratio):
            return found
    return None


def _dragonfly(order: dict[str, Any], switch: Shape, far: int, rest: int, ratios: tuple[Fraction, ...]) -> Shape | None:
    """Return the groups: the largest whose own links suffice, or the largest of all."""
    count, found = order["count"], []
    fewest = max(2, ceil(count / (2 * far // switch["parts"] * switch["held"])))
    for groups in range(fewest, 2 * fewest + 1):
        unit = ceil(ceil(count / groups) / switch["held"]) * switch["parts"]
        units = ceil(count * switch["parts"] / (unit * switch["held"]))
        if unit > 1 and units > 1:
            near = min(ceil(2 * far / unit), rest // (unit - 1))
            found.append(switch | {"unit": unit, "units": units, "near": near})
    enough = Fraction(7, 8) / max(ratios[0] * ratios[1], Fraction(1))
    shape = next((one for one in found if _near_share(order, one) >= enough), found[0] if found else None)
    if shape is None or ratios[1] < 1:
        return None
    shape["far"] = int(Fraction(shape["unit"] * far) / ratios[1] / (shape["units"] - 1))
    return shape if shape["far"] else None


def _near_share(order: dict[str, Any], shape: Shape) -> Fraction:
    """Return the part of its bandwidth that links within groups leave an NPU in an all-to-all of all."""
    ports = order["ports"] // order["planes"]
    npus: Fraction = Fraction(shape["down"] * order["active"], ports * order["npus"])
    total: int = order["count"] * order["active"]
    group = npus * shape["unit"]
    sent = npus * npus * (1 + 2 * (total / group - 1))
    return min(Fraction(shape["near"], ports) * (total - 1) / sent, Fraction(total - 1, total))


def _hyperx(count: int, switch: Shape, ports: int, ratio: Fraction) -> Shape | None:
    """Return the smallest grid, and the most equal of these, whose switches have the ports."""
    needed = ceil(count / switch["held"]) * switch["parts"]
    grids = []
    for line in range(2, needed + 3):
        columns = ceil(needed / line)
        if columns > 1 and line % switch["parts"] == 0 and line <= 2 * columns and columns <= 2 * line:
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


def longest_links(
    order: dict[str, Any], shape: Shape, held: int, in_rack: int, room: dict[str, Any]
) -> tuple[float, ...]:
    """Return the longest ways to systems, within units and between units; held: systems of a rack."""
    sizes = order["count"], order["planes"], held, in_rack, room["racks_per_row"]
    joined = _joined(order["family"], sizes, tuple(shape.items()))
    return tuple(max(furthest([one], [other], room) for one, other in pairs) for pairs in joined)


@cache
def _joined(family: str, sizes: tuple[int, ...], figures: tuple[tuple[str, int], ...]) -> list[Pairs]:
    """Return the racks that links to systems, within units and between units join."""
    shape, planes = dict(figures), range(sizes[1])
    systems, switches = _cells(sizes, shape)
    units, unit, parts = range(shape["units"]), shape["unit"], shape["parts"]
    down = {
        (cell, switches[(system // shape["held"] * parts + part) * sizes[1] + plane])
        for system, cell in enumerate(systems)
        for part in range(parts)
        for plane in planes
    }
    near = {
        (one, other)
        for u in units
        for plane in planes
        for one, other in product({switches[(u * unit + place) * sizes[1] + plane] for place in range(unit)}, repeat=2)
    }
    far = {
        (switches[(one * unit + a) * sizes[1] + plane], switches[(other * unit + b) * sizes[1] + plane])
        for other in units
        for one in range(other)
        for a, b in _far_pairs(family, shape, one, other)
        for plane in planes
    }
    return [down, near, far]


def _cells(sizes: tuple[int, ...], shape: Shape) -> tuple[list[Cell], list[Cell]]:
    """Return the rack of each system, and of each switch; switches without systems are in the last block."""
    count, planes, held, in_rack, row = sizes
    leaves, group = shape["parts"] * planes, shape["held"]
    per = max(min((row // 2 - 1) * held // group, in_rack // leaves), 1)
    full, places = count // (per * group), shape["unit"] * shape["units"] // shape["parts"]
    blocks = [(per * group, per * leaves)] * full
    if places > full * per:
        blocks.append((count - full * per * group, (places - full * per) * leaves))
    return _placed(blocks, held, in_rack, row)


def _placed(blocks: list[tuple[int, int]], held: int, in_rack: int, row: int) -> tuple[list[Cell], list[Cell]]:
    systems, switches = list[Cell](), list[Cell]()
    alike = ceil(blocks[0][0] / held) + ceil(blocks[0][1] / in_rack)
    for number, (some, leaves) in enumerate(blocks):
        band, nth = divmod(number, max(row // alike, 1))
        own, racks = ceil(leaves / in_rack), ceil(some / held) + ceil(leaves / in_rack)
        cells = [(band * ceil(alike / row) + n // row, nth * alike + n % row) for n in range(racks)]
        first = first_of_leaves(racks, own, row)
        others = cells[:first] + cells[first + own :]
        systems += [others[n // held] for n in range(some)]
        switches += [cells[first + n // in_rack] for n in range(leaves)]
    return systems, switches
