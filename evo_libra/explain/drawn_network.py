"""Contents of a picture of a network: its dimensions, and the parts that they are built of where these are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import GIGA
from evo_libra.errors import InputError
from evo_libra.network.blocks import ITEMS
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.fabric import Fabric, parse_fabric
from evo_libra.network.orders.text import is_order

if TYPE_CHECKING:
    from evo_libra.arrays import FloatArray
    from evo_libra.problem.problem import Problem


@dataclass(frozen=True)
class DrawnDimension:
    """A dimension of a network.

    Attributes
    ----------
    code, block : of its building block, such as ``SW`` and ``switch``.
    npus : ends that one network of this dimension connects.
    inside : NPUs inside each of its ends.
    rails : networks of this dimension side by side, each of which has one NPU of every end; 1 where one has them all.
    copies : how often all that is there; 1 for the outermost dimension.
    technology : empty where the notation does not say it.
    bandwidth_GBps : per NPU; None where the notation does not say it.
    levels : switches of each tier of one plane, those next to the NPUs first; empty without switches, and where the
        parts are not known.
    pieces : what the whole network takes of each item of a bill; empty where the parts are not known.
    """

    code: str
    block: str
    npus: int
    inside: int
    rails: int
    copies: int
    technology: str = ""
    bandwidth_GBps: float | None = None  # noqa: N815 - the unit is part of the name
    levels: tuple[int, ...] = ()
    pieces: Mapping[str, int] | None = None

    @property
    def name(self) -> str:
        """Its name in captions, such as ``SW(8) nvlink4``."""
        return f"{self.code}({self.npus}) {self.technology}".rstrip()

    @property
    def switched(self) -> bool:
        """Whether switches connect its ends."""
        return BLOCKS[_place(self.code)].switch_kind is not None


@dataclass(frozen=True)
class DrawnNetwork:
    """A network to draw, its dimensions the innermost first."""

    npus: int
    dimensions: tuple[DrawnDimension, ...]


def bandwidth_text(dimension: DrawnDimension) -> str:
    """Return the bandwidth of a dimension; empty where it is not known."""
    bandwidth = dimension.bandwidth_GBps
    return "" if bandwidth is None else f"{bandwidth:,.4g} GB/s per NPU"


def _place(code: str) -> int:
    return [block.code for block in BLOCKS].index(code)


def drawn_network(design: str, problem: Problem | None = None) -> DrawnNetwork:
    """Return what to draw of a design in the notation; with its problem, the switches and cables that it is built of.

    >>> network = drawn_network("RI(4)@package:250_SW(32)@pod:20")
    >>> network.npus, [(one.name, one.inside, one.rails, one.copies) for one in network.dimensions]
    (128, [('RI(4) package', 1, 1, 32), ('SW(32) pod', 4, 4, 1)])
    """
    if is_order(design):
        return _drawn_order(design, problem)
    fabric = parse_fabric(design)
    built = _built(fabric, design, problem)
    inside = np.cumprod([1, *(one.npus for one in fabric.dimensions)]).tolist()
    return DrawnNetwork(
        fabric.npus,
        tuple(
            DrawnDimension(
                code=BLOCKS[one.block].code, block=BLOCKS[one.block].name, npus=one.npus, inside=inside[d],
                rails=1 if BLOCKS[one.block].joined else inside[d], copies=fabric.npus // inside[d + 1],
                technology=one.technology or "", bandwidth_GBps=None if one.bandwidth is None else one.bandwidth / GIGA,
                levels=built[d][0], pieces=built[d][1],
            )
            for d, one in enumerate(fabric.dimensions)
        ),
    )  # fmt: skip


def _drawn_order(design: str, problem: Problem | None) -> DrawnNetwork:
    """Return what to draw of an order: its systems, and the tiers around them."""
    if problem is None or problem.book is None:
        raise InputError(f"the order '{design}' is drawn with its problem, whose catalogue has its products")
    one = problem.read(design)
    place = int(problem.book.place(one)[0])
    order, tree = problem.book.orders[place], problem.book.trees[place]
    tiers = [(1,), tuple(pieces for _, pieces in tree.stages)]
    found = [
        DrawnDimension(
            code=BLOCKS[int(one.block[d, 0])].code, block=BLOCKS[int(one.block[d, 0])].name, npus=int(one.npus[d, 0]),
            inside=order.active if d else 1, rails=1, copies=1 if d else order.count,
            technology=problem.catalog.names[int(one.technology[d, 0])],
            bandwidth_GBps=float(one.bandwidth[d, 0]) / GIGA, levels=tiers[d],
        )
        for d in np.flatnonzero(one.npus[:, 0] > 1).tolist()
    ]  # fmt: skip
    return DrawnNetwork(order.active_npus, tuple(found))


_Parts = tuple[tuple[int, ...], dict[str, int] | None]


def _built(fabric: Fabric, design: str, problem: Problem | None) -> Sequence[_Parts]:
    """Return switches of each tier and pieces of each dimension; nothing where there are no whole parts."""
    from evo_libra.problem.pricing.parts import BillOfMaterials  # noqa: PLC0415 - a drawing alone needs no problem

    unknown: _Parts = ((), None)
    if problem is None or not isinstance(problem.pricing, BillOfMaterials):
        return [unknown] * len(fabric.dimensions)
    population = problem.read(design)
    kits = [problem.pricing.kits[t] for t in population.technology[:, 0]]
    inside = np.cumprod([1, *population.npus[:, 0]])
    items = problem.pricing.items(population)[:, :, 0] if problem.pricing.whole else None
    return [
        (BLOCKS[one.block].tier_switches(one.npus, kits[d], int(inside[d])), _pieces(items, d))
        for d, one in enumerate(fabric.dimensions)
    ]


def _pieces(items: FloatArray | None, dimension: int) -> dict[str, int] | None:
    if items is None:
        return None
    counts = zip(ITEMS, items[:, dimension], strict=True)
    return {item: round(float(count)) for item, count in counts if count > 0}
