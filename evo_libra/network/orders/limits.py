"""Limits of a purchase: cooling, power, suppliers and states of sale that a buyer accepts."""

from __future__ import annotations

from pydantic import Field

from evo_libra.files.source import StrictModel
from evo_libra.network.catalog.parts_spec import Rate
from evo_libra.network.orders.products import Cooling, Month, ProductsSpec, Status


class Limits(StrictModel):
    """The limits of a purchase."""

    cooling: tuple[Cooling, ...] = Field(("air", "liquid"), min_length=1, description="cooling that the room has")
    room_MW: Rate | None = Field(None, description="power of the room, for systems, switches and optics")
    rack_kW: Rate | None = Field(None, description="power of a rack; the catalogue's room gives it where it is less")
    suppliers: tuple[str, ...] = Field((), description="suppliers of systems, NICs and switches; all when left out")
    order: tuple[Status, ...] = Field(("buy",), min_length=1, description="states of sale")
    month: Month = Field("2026-11", description="month or year of the order, in which products are sold")


NO_LIMITS = Limits()
"""The limits where a file names none."""


def limited_products(products: ProductsSpec, limits: Limits) -> ProductsSpec:
    """Return the catalogue with racks of the limits' power, which decides how many systems a rack holds."""
    if products.room is None or limits.rack_kW is None:
        return products
    rack, most = products.room.rack, limits.rack_kW
    lower = {key: most for key in ("kW", "liquid_kW") if (known := getattr(rack, key)) is not None and known > most}
    if not lower:
        return products
    room = products.room.model_copy(update={"rack": rack.model_copy(update=lower)})
    return products.model_copy(update={"room": room})
