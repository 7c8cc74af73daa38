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
    units, places = range(shape["units"]), range(shape["unit"])
    blocks = [_block(unit, sizes, shape) for unit in units]
    near = {
        pair for _, own in blocks for plane in planes for pair in product({own[p, plane] for p in places}, repeat=2)
    }
    far = {
        (blocks[one][1][a, plane], blocks[other][1][b, plane])
        for other in units
        for one in range(other)
        for a, b in _far_pairs(family, shape, one, other)
        for plane in planes
    }
    return [{pair for down, _ in blocks for pair in down}, near, far]


def _block(unit: int, sizes: tuple[int, ...], shape: Shape) -> tuple[Pairs, dict[tuple[int, int], Cell]]:
    """Return the racks that links to the systems of a unit join, and the rack of each switch by its plane."""
    count, planes, held, in_rack, row = sizes
    whole = shape["unit"] // shape["parts"] * shape["held"]
    systems, own = min(whole, count - unit * whole), ceil(shape["unit"] * planes / in_rack)
    alike, racks = ceil(min(whole, count) / held) + own, ceil(systems / held) + own
    band, nth = divmod(unit, max(row // alike, 1))
    cells = [(band * ceil(alike / row) + n // row, nth * alike + n % row) for n in range(racks)]
    first = first_of_leaves(racks, own, row)
    mine, others = cells[first : first + own], cells[:first] + cells[first + own :]
    at = {(p, plane): mine[(p * planes + plane) // in_rack] for p in range(shape["unit"]) for plane in range(planes)}
    down = {
        (others[system // held], at[system // shape["held"] * shape["parts"] + part, plane])
        for system in range(systems)
        for part in range(shape["parts"])
        for plane in range(planes)
    }
    return down, at
