"""The pricing of a catalogue, and kits of a catalogue of parts as the technologies of a space, one block each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np

from evo_libra.arrays import GIGA, Population
from evo_libra.errors import InputError
from evo_libra.network.bill import fits
from evo_libra.network.blocks import Kit, PricedBlock
from evo_libra.network.blocks.fat_tree import FAMILIES, Ratios, oversubscribed
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.blocks.scale_out import ScaleOutKit
from evo_libra.network.catalog.parts import PartsCatalog
from evo_libra.network.catalog.technologies import Catalog, Technology, part_prices
from evo_libra.problem.constraint_parser import parse_constraint
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.pricing.per_bandwidth import PerBandwidth
from evo_libra.problem.pricing.pricing import DimensionChoice, Pricing, choice_tables
from evo_libra.problem.space import Space

Domains: TypeAlias = Literal["products", "any"] | Mapping[str, tuple[int, ...]]
"""Domains that may be built: those that are sold, any, or those of a technology that have some sizes."""


@dataclass(frozen=True)
class KitTechnology(Technology):
    """A kit as a technology, whose cost is that of its parts."""

    kit: Kit | None = None

    def permits(self, npus: int, inside: int) -> bool:
        """Return whether a dimension can be built: ports, switches and domain size allow it."""
        known, size = self._permitted, (npus, inside)
        if size not in known:
            assert self.kit is not None, "only kits are kits"  # noqa: S101 - internal error
            known[size] = bool(fits(self.kit, np.array([npus]), np.array([inside]))[0])
        return known[size]

    @cached_property
    def _permitted(self) -> dict[tuple[int, int], bool]:
        assert self.kit is not None, "only kits are kits"  # noqa: S101 - internal error
        return _permitted(self.kit)

    @property
    def scale_out(self) -> bool:
        """Whether it has NICs, or is the network around systems of an order."""
        return self.kit is not None and (self.kit.nic is not None or isinstance(self.kit, ScaleOutKit))

    @property
    def domain_limit(self) -> int | None:
        """The largest domain that is sold, or else that the technology reaches."""
        if self.kit is None:
            return None
        return self.kit.domain_size if self.kit.domains is None else max(self.kit.domains)

    @property
    def one_domain(self) -> bool:
        """Whether its domains are those that are sold."""
        return self.kit is not None and self.kit.domains is not None

    def reach(self, inside: int) -> str:
        """Return that it cannot be built, as part of a sentence."""
        assert self.kit is not None, "only kits are kits"  # noqa: S101 - internal error
        where = f" around {inside} NPUs" if inside > 1 else ""
        if self.kit.domains is not None:
            sizes = " or ".join(map(str, self.kit.domains))
            return f"a domain of {self.name} has {sizes} NPUs; `fabric.domains` asks for others"
        return f"a {self.blocks[0]} of {self.name} cannot be built so large{where}"


@lru_cache(maxsize=1 << 10)
def _permitted(kit: Kit) -> dict[tuple[int, int], bool]:  # noqa: ARG001 - the key of the cache
    """Return the sizes of dimensions that are known to be possible or not: enumerations ask for them again and again.

    It is kept by the kit, as problems are loaded more than once in a process.
    """
    return {}


def catalog_of(
    parts: PartsCatalog,
    technologies: Sequence[str] | None,
    blocks: Sequence[str] | None,
    ports: Mapping[str, int] = MappingProxyType({}),
    domains: Domains = "products",
    oversubscription: Sequence[Ratios] = (),
) -> Catalog:
    """Return the kits of a catalogue as technologies: of some names, the innermost first, and blocks; None for all.

    An NPU has no more ports of a technology than `ports` says, where that names the technology. Domains are those that
    are sold, any, or those of some technologies that have the sizes given. Switches of several tiers are offered with
    some oversubscriptions, besides 1:1: to ask for a block is to ask for these forms of it, too.
    """
    names = tuple(technologies or parts.technologies)
    kits = [
        replace(kit, ports=min(kit.ports, ports.get(name, kit.ports)), domains=_domains(kit, domains))
        for name in names
        for kit in parts.kits
        if kit.technology == name
    ]
    sold = [kit for kit in kits if kit.domains != ()]
    allowed = [one for kit in sold for one in _asked_forms(kit, oversubscription, blocks)]
    found = tuple(_technology(kit, names.index(kit.technology)) for kit in allowed)
    return Catalog(parts.name, parts.source, found, parts.links)


def _asked_forms(kit: Kit, ratios: Sequence[Ratios], blocks: Sequence[str] | None) -> list[Kit]:
    """Return a kit and its oversubscribed forms: those of them, or of the block itself, that are asked for."""
    forms = [kit, *_oversubscribed(kit, ratios)]
    if blocks is None or BLOCK_NAMES[kit.block] in blocks:
        return forms
    return [one for one in forms if BLOCK_NAMES[one.block] in blocks]


def _oversubscribed(kit: Kit, ratios: Sequence[Ratios]) -> list[Kit]:
    name = BLOCK_NAMES[kit.block]
    if name not in FAMILIES:
        return []
    return [replace(kit, block=BLOCK_NAMES.index(oversubscribed(name, some))) for some in ratios]


def _domains(kit: Kit, domains: Domains) -> tuple[int, ...] | None:
    """Return the sizes that domains of a kit may have, None for any."""
    if isinstance(domains, str):
        return kit.domains if domains == "products" else None
    return domains.get(kit.technology, kit.domains)


def kits_of(catalog: Catalog) -> tuple[Kit, ...]:
    """Return the kits of a catalogue; none of a catalogue of prices per bandwidth."""
    return tuple(t.kit for t in catalog.technologies if isinstance(t, KitTechnology) and t.kit is not None)


def built_of(catalog: Catalog, *, whole_bandwidth: bool) -> tuple[Kit | PricedBlock, ...]:
    """Return what each technology is built of, which says what groups get of its links.

    That is its kit, or its one block with a price; nothing where groups get the whole bandwidth of what has a price.
    """
    if whole_bandwidth:
        return kits_of(catalog)
    return kits_of(catalog) or tuple(PricedBlock(BLOCK_NAMES.index(t.blocks[0])) for t in catalog.technologies)


def _technology(kit: Kit, rank: int) -> KitTechnology:
    cap = kit.ports * kit.port_rate
    blocks = (BLOCK_NAMES[kit.block],)
    return KitTechnology(
        name=kit.technology, link=0.0, switch=None, nic=None, largest_dimension=None, bandwidth_cap=cap, blocks=blocks,
        latency=kit.latency, rank=rank, kit=kit,
    )  # fmt: skip


def port_constraints(catalog: Catalog, dimensions: int) -> tuple[Constraint, ...]:
    """Return that an NPU's ports of a technology are those of all its dimensions together."""
    found: list[Constraint] = []
    # Transports share the ports of their technology.
    each = zip(catalog.npus, catalog.families, kits_of(catalog), strict=False)
    owned = {(npu, family): kit for npu, family, kit in each}
    for (npu, name), kit in owned.items():
        text = f"bw[{name}] <= {kit.ports * kit.port_rate / GIGA!r} GB/s"
        names = tuple(technology.family if technology.npu == npu else "" for technology in catalog.technologies)
        found += [replace(each, ports=True) for each in parse_constraint(text, dimensions, names)]
    return tuple(found)


def with_own_technologies(population: Population, catalog: Catalog, npus: Sequence[str | None]) -> Population:
    """Return networks whose technologies, found by name, are those of their blocks and of (n,) accelerators, too.

    An `InputError` names a technology that an accelerator cannot be wired with.
    """
    place = {
        (technology.name, BLOCK_NAMES.index(block), technology.npu): t
        for t, technology in enumerate(catalog.technologies)
        for block in technology.blocks
    }
    technology = population.technology.copy()
    for d, n in np.argwhere(population.npus > 1).tolist():
        name, block = catalog.technologies[technology[d, n]].name, int(population.block[d, n])
        if (name, block, npus[n]) not in place:
            raise InputError(f"{npus[n]} cannot be wired with a {BLOCK_NAMES[block]} of {name}")
        technology[d, n] = place[name, block, npus[n]]
    return replace(population, technology=technology)


def _per_bandwidth(
    catalog: Catalog, choices: Sequence[DimensionChoice], npus: int, space: Space, *, fractional: bool  # noqa: ARG001 - parts need it
) -> Pricing | None:  # fmt: skip
    return PerBandwidth(space, npus, *choice_tables(choices), part_prices(catalog))


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
    """Return the pricing of a catalogue; `fractional` says that parts come in any fraction."""
    made = (make(catalog, choices, npus, space, fractional=fractional) for make in PRICINGS)
    return next(pricing for pricing in made if pricing is not None)
