"""The longest cables of an order, from the catalogue's YAML alone: each rack has its cell in a grid.

Blocks of systems have their leaves in the middle, and spines and cores stand in the middle of the room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import product
from math import ceil
from typing import Any

Cell = tuple[int, int]
"""Row and column of a rack."""


def switches_above(tree: dict[str, Any], ups: int, ports: int, groups: int, links: int) -> dict[str, Any]:
    """Return spines and cores: each leaf has equally many of its uplinks to each spine; links: of a spine to cores.

    pods : spines of each pod of a tree.
    """
    if tree["tiers"] == 1:
        return {"above": [0, 0]}
    pods, leaves = ceil(tree["groups"] / groups), tree["leaves"]
    last = (tree["groups"] - (pods - 1) * groups) * leaves * ups
    down = ports if tree["tiers"] == 2 else groups * leaves
    found = [ups] * (pods - 1) + [next(n for n in range(ceil(last / down), ups + 1) if ups % n == 0)]
    cores = ceil(sum(found) * links / ports) if tree["tiers"] == 3 else 0
    above = [sum(found) * tree["trees"], cores * tree["trees"]]
    return {"above": above, "pods": found, "pod_groups": groups, "core_links": links}


def longest_ways(
    systems: int, held: int, leaves: dict[str, int], tree: dict[str, Any], room: dict[str, Any]
) -> list[float]:
    """Return the longest ways to leaves, from them to spines, and from those to cores, as far as there are any.

    held : systems of a rack. leaves : systems of a group, leaves of each, and switches that a rack takes; none of these
    where they stand with their systems; spines and cores, too. tree : its switches above leaves, and those that a rack
    takes.
    """
    above = [ceil(switches / tree["in_rack"]) for switches in tree["above"]]
    row, blocks = room["racks_per_row"], _blocks(systems, held, leaves, room["racks_per_row"])
    together = len(blocks) == 1 and _fit(systems, leaves)
    above = [0, 0] if together else above
    taken = [used + own for used, own in blocks]
    one_row = sum(taken) + sum(above) <= row
    in_row = len(blocks) if one_row else max(row // taken[0], 1)
    deep, bands = ceil(taken[0] / row), ceil(len(blocks) / in_row)
    half = ceil((len(blocks) if one_row else bands) / 2)
    tiers = _above(above, row, half * taken[0] if one_row else half * deep, _width(taken, in_row, row), one_row=one_row)
    leaf_cells, longest = [], 0.0
    for number, (used, own) in enumerate(blocks):
        band, nth = divmod(number, in_row)
        down, along = band * deep, nth * taken[0]
        if one_row and number >= half:
            along += sum(above)
        elif not one_row and band >= half:
            down += sum(ceil(racks / row) for racks in above)
        first = first_of_leaves(used + own, own, row)
        cells = [(down + place // row, along + place % row) for place in range(used + own)]
        mine = cells[first : first + max(own, 1)]
        leaf_cells.append(mine)
        longest = max(longest, furthest(cells, mine, room))
    ways = [longest if leaves["in_rack"] else room.get("in_rack_m", 2)]
    if together:
        return [*ways, room.get("in_rack_m", 2)]
    if tree["above"][0]:
        ways.append(_longest(_to_spines(leaf_cells, tiers[0], leaves, _groups(held, leaves, row), tree), room))
    if tree["above"][1]:
        ways.append(_longest(_to_cores(*tiers, tree), room))
    return ways


def _fit(systems: int, leaves: dict[str, int]) -> bool:
    """Return whether one rack takes all leaves and spines, of a network without cores."""
    own = ceil(systems / leaves["systems"]) * leaves["leaves"]
    return leaves["spines"] > 0 and not leaves["cores"] and own + leaves["spines"] <= leaves["in_rack"]


def _longest(ways: Iterable[tuple[Cell, Cell]], room: dict[str, Any]) -> float:
    return max(furthest([one], [other], room) for one, other in ways)


def _to_spines(
    leaf_cells: list[list[Cell]], cells: list[Cell], leaves: dict[str, int], in_block: int, tree: dict[str, Any]
) -> set[tuple[Cell, Cell]]:
    """Return the racks that links join: those of leaves and of spines that are of one tree and one pod."""
    lower, upper, number = defaultdict(set), defaultdict(set), 0
    for one, group, leaf in product(range(tree["trees"]), range(tree["groups"]), range(tree["leaves"])):
        block, nth = divmod(group, in_block)
        place = (nth * tree["trees"] + one) * tree["leaves"] + leaf
        rack = place // leaves["in_rack"] if leaves["in_rack"] else 0
        lower[one, group // tree["pod_groups"]].add(leaf_cells[block][rack])
    for one, (pod, spines) in product(range(tree["trees"]), enumerate(tree["pods"])):
        upper[one, pod] |= {cells[(number + spine) // tree["in_rack"]] for spine in range(spines)}
        number += spines
    return {pair for pod, some in lower.items() for pair in product(some, upper[pod])}


def _to_cores(spine_cells: list[Cell], cells: list[Cell], tree: dict[str, Any]) -> set[tuple[Cell, Cell]]:
    """Return the racks that links join: uplinks of the spines of a tree lead to its cores in turn."""
    spines, cores = (switches // tree["trees"] for switches in tree["above"])
    found = set()
    for one, spine, link in product(range(tree["trees"]), range(spines), range(tree["core_links"])):
        core = one * cores + (spine * tree["core_links"] + link) % cores
        found.add((spine_cells[(one * spines + spine) // tree["in_rack"]], cells[core // tree["in_rack"]]))
    return found


def _blocks(systems: int, held: int, leaves: dict[str, int], row: int) -> list[tuple[int, int]]:
    """Return the racks of systems and of leaves of each block: as many groups as half a row and a leaf rack take."""
    if not leaves["in_rack"]:
        return [(1, 0)] * ceil(systems / held)
    size, found = _groups(held, leaves, row) * leaves["systems"], []
    while systems:
        some = min(size, systems)
        own = ceil(ceil(some / leaves["systems"]) * leaves["leaves"] / leaves["in_rack"])
        found.append((ceil(some / held), own))
        systems -= some
    return found


def _groups(held: int, leaves: dict[str, int], row: int) -> int:
    """Return the groups of a block."""
    if not leaves["in_rack"]:
        return 1
    return max(min((row // 2 - 1) * held // leaves["systems"], leaves["in_rack"] // leaves["leaves"]), 1)


def first_of_leaves(racks: int, own: int, row: int) -> int:
    """Return the first rack of leaves of a block."""
    if racks <= row:
        return (racks - own) // 2
    return (ceil(racks / row) - 1) // 2 * row + (row - own) // 2


def _width(taken: list[int], in_row: int, row: int) -> int:
    return min(sum(taken), in_row * taken[0], row)


def _above(above: list[int], row: int, start: int, width: int, *, one_row: bool) -> list[list[Cell]]:
    """Return the cells of spines and of cores."""
    tiers = []
    for racks in above:
        if one_row:
            tiers.append([(0, start + place) for place in range(racks)])
            start += racks
            continue
        left = width // 2 - min(racks, row) // 2
        tiers.append([(start + place // row, left + place % row) for place in range(racks)])
        start += ceil(racks / row)
    return tiers


def furthest(lower: list[Cell], upper: list[Cell], room: dict[str, Any]) -> float:
    pitch, width = room["row_pitch_m"], room["rack"]["width_m"]
    ways = [abs(a - c) * pitch + abs(b - d) * width for a, b in lower for c, d in upper]
    return float(round(room["slack_m"] + max(ways), 3))
