"""Slices of NPUs: their shape, the optical links and circuit switches in them, and the lines of their rent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from evo_libra.errors import counted
from evo_libra.network.blocks import Range
from evo_libra.network.blocks.grid import sides
from evo_libra.network.orders.lines import Line, range_of
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import CubesSpec, ProductsSpec
from evo_libra.network.orders.racks import system_of

HOURS_PER_YEAR = 8760.0
_NOTHING = Range(0.0, 0.0, 0.0)
_AXES = 3
_ENDS = 2


@dataclass(frozen=True)
class SliceOptics:
    """The optical parts of slices: links from faces of cubes to circuit switches, and these; None if not published."""

    links: int
    switches: int | None


def slice_optics(order: Order, cubes: CubesSpec, products: ProductsSpec) -> SliceOptics:
    """Return the optical parts of the slices of an order.

    A face of a cube of side a has a x a links. Each place on the two faces of an axis has a circuit switch of its own,
    to which every cube has two links (TPU v4, ISCA 2023): 48 for cubes of side 4 while it has ports for all cubes.
    """
    face = cubes.side**2
    held = order.count * order.npus // cubes.side**_AXES
    links = _ENDS * _AXES * face * held
    if cubes.ocs is None:
        return SliceOptics(links, None)
    return SliceOptics(links, _AXES * face * -(-_ENDS * held // products.ocs[cubes.ocs].ports))


def with_rents(products: ProductsSpec, rents: Mapping[str, float], years: float | None) -> ProductsSpec:
    """Return a catalogue whose rented systems have some rents for some years, or no price where these are None."""
    systems = {
        name: system.model_copy(update={"usd_per_npu_hour": rents[name]}) if name in rents else system
        for name, system in products.systems.items()
    }
    return products.model_copy(update={"systems": systems, "rent_years": years})


def slice_lines(order: Order, products: ProductsSpec) -> Iterator[Line]:
    """Yield the lines of rented systems: their NPU hours, and the optical parts, which are in the rent."""
    system = system_of(order.system, products)
    source = f"{system.source}, {system.year}"
    years = products.rent_years
    what = f"NPU hours of {counted(order.count, 'system')} of {shape_text(order, products)} NPUs"
    yield Line(
        section="systems", product=order.system, what=what if years is None else f"{what}, {years:g} years",
        pieces=order.bought_npus * HOURS_PER_YEAR * (years or 0.0), watts=0.0,
        usd=None if years is None else range_of(system.usd_per_npu_hour),
        source=system.sources.get("usd_per_npu_hour", source), lacks=_lacks(order, years),
    )  # fmt: skip
    if system.cubes is not None:
        yield from _optical_lines(order, system.cubes, products, source)


def _lacks(order: Order, years: float | None) -> str:
    """Return why rented systems have no price."""
    if years is None:
        return (
            f"{order.system} is rented by the hour, and has no price or power of a purchase; system-tco, "
            "usd-per-Mtoken and usd-per-trillion-tokens with `tco` have rents, too"
        )
    return (
        f"{order.system} has no usd_per_npu_hour, which the cost of its rent needs: `rent: {{{order.system}: ...}}` "
        "gives USD per NPU and hour"
    )


def _optical_lines(order: Order, cubes: CubesSpec, products: ProductsSpec, source: str) -> Iterator[Line]:
    optics = slice_optics(order, cubes, products)
    parts = [("optical links of faces of cubes, in the rent", f"{order.system} optics", optics.links)]
    if optics.switches is not None:
        parts.append(("optical circuit switches, in the rent", cubes.ocs or "", optics.switches))
    for what, product, pieces in parts:
        yield Line(section="network", product=product, what=what, pieces=pieces, usd=_NOTHING, watts=0.0, source=source)


def shape_text(order: Order, products: ProductsSpec) -> str:
    """Return the shape of a slice, such as ``16 x 24 x 24``; of other systems the number of NPUs."""
    block = system_of(order.system, products).scale_up.block
    if not block.startswith("torus"):
        return f"{order.npus:,}"
    return " x ".join(str(side) for side in sides(np.array([order.npus]), int(block[-2]))[:, 0].tolist())
