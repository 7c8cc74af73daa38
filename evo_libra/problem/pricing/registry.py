"""The pricings that there are, each with the catalogues that it is for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evo_libra.network.catalog.technologies import Catalog, part_prices
from evo_libra.problem.pricing.kits import kits_of
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.pricing.per_bandwidth import PerBandwidth
from evo_libra.problem.pricing.pricing import DimensionChoice, Pricing, choice_tables
from evo_libra.problem.space import Space


def _per_bandwidth(
    catalog: Catalog, choices: Sequence[DimensionChoice], npus: int, space: Space, *, fractional: bool  # noqa: ARG001 - parts need it
) -> Pricing | None:  # fmt: skip
    return PerBandwidth(space, npus, *choice_tables(choices), part_prices(catalog).sum(axis=0))


def _bill_of_materials(
    catalog: Catalog, choices: Sequence[DimensionChoice], npus: int, space: Space, *, fractional: bool
) -> Pricing | None:
    kits = kits_of(catalog)
    return BillOfMaterials(space, npus, *choice_tables(choices), kits, fractional) if kits else None


PRICINGS: tuple[Callable[..., Pricing | None], ...] = (_bill_of_materials, _per_bandwidth)
"""The first one that is for a catalogue is its pricing; the others return None."""


def pricing_of(
    catalog: Catalog, choices: Sequence[DimensionChoice], npus: int, space: Space, *, fractional: bool
) -> Pricing:
    """Return the pricing of a catalogue.

    Parameters
    ----------
    catalog : the technologies.
    choices : of each dimension.
    npus : of the network.
    space : the structures that are priced.
    fractional : whether parts come in any fraction.
    """
    made = (make(catalog, choices, npus, space, fractional=fractional) for make in PRICINGS)
    return next(pricing for pricing in made if pricing is not None)
