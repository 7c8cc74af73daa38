"""Systems of the catalogue that carry an accelerator, for problem files that ask which of them to order."""

from __future__ import annotations

from dataclasses import dataclass

from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.check_products import sale_violations
from evo_libra.network.orders.choices import CATALOG
from evo_libra.network.orders.counts import AboutSpec, counts_of, no_count
from evo_libra.network.orders.limits import NO_LIMITS
from evo_libra.network.orders.products import ProductsSpec, SystemSpec


@dataclass(frozen=True)
class Sold:
    """Systems with an accelerator that are sold.

    Attributes
    ----------
    systems : their names; none where the reason says why.
    npus : the number of their NPUs as a problem file states it.
    priced : whether they have prices.
    """

    systems: tuple[str, ...]
    npus: int | dict[str, int]
    priced: bool = False
    reason: str = ""


def sold_with(npu: str, npus: int) -> Sold:
    """Return the systems of the packaged catalogue that carry an accelerator and make up some NPUs.

    They make up the number exactly where domains of each of them divide it, and else about the number. Those without a
    price are left out where others have one.

    >>> sold_with("h100-80gb", 64).systems, sold_with("gb300", 8200).npus
    (('hgx-h100',), {'about': 8200})
    >>> sold_with("tpu7x", 256).reason
    'tpu7x-slice has order: rent; limits.order allows buy'
    """
    if npus < 1:
        return Sold((), npus, reason=f"{npus} NPUs are none")
    products = load_products(CATALOG)
    carrying = {name: system for name, system in products.systems.items() if system.npu == npu}
    reasons = {name: _reason(name, npus, products) for name in carrying}
    sold = {name: system for name, system in carrying.items() if not reasons[name]}
    if not sold:
        return Sold((), npus, reason="; ".join(reasons.values()) or f"no system of {CATALOG} carries {npu}")
    priced = {name: system for name, system in sold.items() if system.price_usd is not None}
    chosen = priced or sold
    exact = all(counts_of(system, npus) for system in chosen.values())
    return Sold(tuple(chosen), npus if exact else {"about": npus}, priced=bool(priced))


def _reason(name: str, npus: int, products: ProductsSpec) -> str:
    """Return why a system is not to be ordered; nothing where it is."""
    system: SystemSpec = products.systems[name]
    about = AboutSpec.model_validate({"about": npus})
    unsold = next(sale_violations(name, system, NO_LIMITS), "")
    return unsold or ("" if counts_of(system, about) else f"{name}: {no_count(system, about)}")
