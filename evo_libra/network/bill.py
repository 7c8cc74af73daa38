"""Bills of materials of a population of networks: how many of each item, what they cost, the power they take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, cases
from evo_libra.network.blocks import ITEMS, Counts, Kit, Part
from evo_libra.network.blocks.registry import BLOCKS

Scenario = Literal["low", "value", "high"]
"""The bound of a price that is a range."""

SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)

_BITS = 8.0
_BOTH_WAYS = 2.0
_ENDS = 2.0
_CABLES = [item.endswith("link") for item in ITEMS]


def inner_npus(npus: IntArray) -> IntArray:
    """Return (d, n) how many NPUs are inside one NPU of each dimension: the product of the dimensions before it."""
    return np.concatenate([np.ones((1, npus.shape[1]), dtype=np.int64), np.cumprod(npus, axis=0)[:-1]])


def counting(kits: Sequence[Kit], kit_index: IntArray, npus: IntArray) -> Counts:
    """Return the counts of whole networks of (d, n) sizes, 1 where a dimension is unused, of (d, n) kits."""
    if not npus.size:
        return Counts(*(np.zeros((len(ITEMS), *npus.shape)) for _ in range(3)))
    chosen = np.where(npus > 1, kit_index, -1).ravel()
    sizes, inside = npus.ravel(), inner_npus(npus).ravel()
    first, kind = cases(chosen, sizes, inside)
    table = _counts_of(kits, chosen[first], sizes[first], inside[first])
    linear, step, slope = (np.take(array, kind, axis=1).reshape(-1, *npus.shape) for array in table)
    instances = npus.prod(axis=0) / npus
    return Counts(linear * instances, step * instances, slope)


def _counts_of(
    kits: Sequence[Kit], chosen: IntArray, sizes: IntArray, inside: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return linear, step and slope, (item, k) each, of one instance of each case; 0 for a kit of -1."""
    linear, step, slope = (np.zeros((len(ITEMS), len(chosen))) for _ in range(3))
    for index in np.unique(chosen[chosen >= 0]).tolist():
        mine = np.flatnonzero(chosen == index)
        counts = _cabled(kits[index], sizes[mine], inside[mine])
        linear[:, mine], step[:, mine], slope[:, mine] = counts.linear, counts.step, counts.slope
    return linear, step, slope


def _cabled(kit: Kit, npus: IntArray, inside: IntArray) -> Counts:
    """Return the counts of instances of dimensions, where what is within reach has short links and no transceivers."""
    block = BLOCKS[kit.block]
    counts = block.counts(npus, kit, inside)
    if kit.short is None:
        return counts
    linear = counts.linear.copy()
    near = block.near(npus, kit, inside)
    for item, short in zip(("link", "uplink"), near, strict=True):
        linear[ITEMS.index(item)] -= short
        linear[ITEMS.index(f"short {item}")] = short
    if kit.transceiver is not None:
        linear[ITEMS.index("transceiver")] -= _ENDS * (near[0] + near[1])
    return Counts(linear, counts.step, counts.slope)


def bill(kits: Sequence[Kit], kit_index: IntArray, npus: IntArray, ports: IntArray) -> FloatArray:
    """Return the (item, d, n) bill of materials of networks of (d, n) sizes, of (d, n) kits, with (d, n) ports per NPU.

    A dimension of size 1 is unused; items are in the order of `ITEMS`.
    """
    return counting(kits, kit_index, npus).at(ports)


def parts_in(kit: Kit) -> tuple[Part | None, ...]:
    """Return the parts that a kit buys, in the order of `ITEMS`."""
    return kit.links, kit.uplink, kit.transceiver, kit.nic, kit.switch, kit.short, kit.short


def parts_of(kits: Sequence[Kit]) -> dict[str, Part]:
    """Return the parts that kits are built of, by name, in alphabetical order."""
    found = {part.name: part for kit in kits for part in parts_in(kit) if part is not None}
    return dict(sorted(found.items()))


def pieces(items: FloatArray, kits: Sequence[Kit], kit_index: IntArray, parts: Sequence[str]) -> FloatArray:
    """Return (part, n) how many pieces of some parts, by their names, are in (item, d, n) bills of (d, n) kits."""
    place, count = {name: row for row, name in enumerate(parts)}, kit_index.shape[1]
    # Items that are none of the parts are counted in one more row.
    table = [
        [len(parts) if part is None else place.get(part.name, len(parts)) for part in parts_in(kit)] for kit in kits
    ]
    cell = np.array(table).T[:, kit_index] * count + np.arange(count)
    sums = np.bincount(cell.ravel(), weights=items.ravel(), minlength=(len(parts) + 1) * count)
    return np.asarray(sums.reshape(-1, count)[:-1], dtype=np.float64)


def part_figures(kit: Kit, scenario: Scenario = "value") -> FloatArray:
    """Return (2, item) USD and W of one piece of each item; 0 for a part that the kit does not buy.

    A link takes the energy of its bits at full rate in both directions besides the power of its part.
    """
    figures = np.array([_figures(part, scenario) for part in parts_in(kit)]).T
    figures[1, _CABLES] += _BOTH_WAYS * _BITS * kit.port_rate * kit.energy
    return figures


def cost_by_item(
    items: FloatArray, kits: Sequence[Kit], kit_index: IntArray, scenario: Scenario = "value"
) -> FloatArray:
    """Return (item, d, n) USD of a bill from `bill`."""
    return _valued(items, kits, kit_index, 0, scenario)


def power_by_item(items: FloatArray, kits: Sequence[Kit], kit_index: IntArray) -> FloatArray:
    """Return (item, d, n) W of a bill from `bill`, with all links busy."""
    return _valued(items, kits, kit_index, 1, "value")


def relaxed_price(kits: Sequence[Kit], kit_index: IntArray, npus: IntArray, scenario: Scenario = "value") -> FloatArray:
    """Return (d, n) USD of a whole network per B/s that its NPUs have in a dimension, if parts came in any fraction.

    The true cost of any number of ports is at least that: `cost_by_item` summed over the items.
    """
    per_port = _valued(counting(kits, kit_index, npus).relaxed, kits, kit_index, 0, scenario).sum(axis=0)
    return np.asarray(per_port / np.array([kit.port_rate for kit in kits])[kit_index])


def fits(kit: Kit, npus: IntArray, inside: IntArray) -> BoolArray:
    """Return whether dimensions of (n,) NPUs can be built: the block allows it, and the domain is one that is sold.

    Sizes are at least 2; (n,) NPUs are inside each NPU of the dimension.
    """
    domain = np.asarray(npus) * np.asarray(inside)
    near = domain <= (np.inf if kit.domain_size is None else kit.domain_size)
    if kit.domains is not None:
        near &= np.isin(domain, kit.domains)
    return np.asarray(near & BLOCKS[kit.block].allowed(npus, kit, inside))


def _figures(part: Part | None, scenario: Scenario) -> tuple[float, float]:
    if part is None:
        return 0.0, 0.0
    return getattr(part.price, scenario), part.power


def _valued(items: FloatArray, kits: Sequence[Kit], kit_index: IntArray, figure: int, scenario: Scenario) -> FloatArray:
    table = np.stack([part_figures(kit, scenario)[figure] for kit in kits], axis=1)
    return np.asarray(items * table[:, kit_index])
