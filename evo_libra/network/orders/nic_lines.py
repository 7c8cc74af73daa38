"""The line of a bill of NICs that are bought in the place of those which the price of a system includes."""

from __future__ import annotations

from evo_libra.network.blocks import Range
from evo_libra.network.orders.lines import Line, Section, offer_of
from evo_libra.network.orders.nic_options import added_watts, nics_of_system, replaced_nic, without
from evo_libra.network.orders.order import Order
from evo_libra.network.orders.products import ProductsSpec


def exchange_line(order: Order, products: ProductsSpec, *, section: Section, systems: float) -> Line | None:
    """Return the line of the NICs of some systems that are bought in the place of included ones; None without such.

    The price and the power of a piece are what it costs and takes beyond the included one.
    """
    own = replaced_nic(order, products)
    if own is None:
        return None
    usd = _added_usd(order, own, products)
    new, old = (offer_of("nics", name, products).source for name in (order.nic or "", own))
    return Line(
        section=section, product=order.nic or "", what=f"NICs in the place of {own}, for the difference",
        pieces=systems * nics_of_system(order, products), usd=usd, watts=added_watts(order, own, products),
        source=f"{new}; less {old}", lacks="" if usd else _lacks_price(order, own, products),
    )  # fmt: skip


def _added_usd(order: Order, own: str, products: ProductsSpec) -> Range | None:
    """Return what a NIC costs beyond the one in whose place it is; None where one of both has no price.

    The bounds are those of two prices that do not depend on each other.
    """
    new, old = (offer_of("nics", name, products).usd for name in (order.nic or "", own))
    return None if new is None or old is None else Range(new.low - old.high, new.value - old.value, new.high - old.low)


def _lacks_price(order: Order, own: str, products: ProductsSpec) -> str:
    """Return why NICs bought in the place of others have no price."""
    name = without("price_usd", order, own, products)
    needs = f"{name} has no price_usd, which the cost of {order.nic} in the place of {own} needs"
    return f"{needs}; `prices: {{{name}: ...}}` gives USD of a piece"
