"""Catalogues of link technologies: what networks of them cost (LIBRA, ISPASS 2024), and what can be built of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np
from pydantic import Field

from evo_libra.arrays import GIGA, BoolArray, FloatArray, IntArray, Population
from evo_libra.errors import InputError, Mistake, suggestion
from evo_libra.files.kinds import ENDINGS
from evo_libra.files.source import Source, StrictModel, packaged, read_source, validate
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS, LIBRA
from evo_libra.network.catalog.link_layers import LinkLayers, LinkLayerSpec, link_layers, transport_mistakes
from evo_libra.units import seconds

PARTS = ("link", "switch", "nic")
"""Items with a price of LIBRA per NPU and unit of bandwidth."""

_FOLDER = Path(__file__).with_name("per_bandwidth")

if TYPE_CHECKING:
    BlockName: TypeAlias = str
    PricedBlockName: TypeAlias = str
else:
    BlockName, PricedBlockName = Literal[BLOCK_NAMES], Literal[LIBRA]
Price = Annotated[float, Field(ge=0)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9.-]*$")]
"""Of a technology or a part: what the notation of designs can be read back from."""


class TechnologySpec(LinkLayerSpec):
    """A technology as a catalogue file writes it."""

    link_usd_per_GBps: Price = Field(description="price of links, USD per NPU and GB/s")
    switch_usd_per_GBps: Price | None = Field(None, description="price of switches, USD per NPU and GB/s")
    nic_usd_per_GBps: Price | None = Field(
        None, description="price of NICs, USD per NPU and GB/s; 0 where none is needed"
    )
    largest_dimension: int | None = Field(None, ge=2, description="most NPUs in one dimension; no limit when left out")
    bandwidth_cap_GBps: float | None = Field(None, gt=0, description="most GB/s per NPU; no limit when left out")
    latency_ns: float | None = Field(None, ge=0, description="of a link; a problem may give it instead")
    blocks: tuple[PricedBlockName, ...] | None = Field(
        None, min_length=1, description="blocks that can be built; when left out, all whose parts have a price"
    )


class CatalogSpec(StrictModel):
    """A catalogue file."""

    name: str = Field(description="name of the catalogue")
    source: str = Field(description="where the figures come from")
    technologies: dict[Name, TechnologySpec] = Field(min_length=1, description="technologies, the innermost first")


@dataclass(frozen=True)
class Technology:
    """A link technology, and the names of the blocks that can be built of it.

    Attributes
    ----------
    link, switch, nic : USD per NPU and B/s; None where the catalogue has no such part.
    largest_dimension : most NPUs in one dimension, or None.
    bandwidth_cap : most bandwidth per NPU in B/s, or None.
    latency : of a link in s, or None.
    rank : technologies never go back inwards, equal ranks come in any order; None is the place in the catalogue.
    npu : the accelerator that is wired with it, of those that a problem may choose from; None for any.
    transport : its congestion control, which its name ends in; None where nothing says.
    routing : its routing, likewise, behind the transport; None where a problem has one of it at most.
    """

    name: str
    link: float
    switch: float | None
    nic: float | None
    largest_dimension: int | None
    bandwidth_cap: float | None
    blocks: tuple[str, ...]
    latency: float | None = None
    rank: int | None = None
    npu: str | None = None
    transport: str | None = None
    routing: str | None = None

    @property
    def family(self) -> str:
        """Its name in the catalogue."""
        name = self.name if self.routing is None else self.name.removesuffix(f".{self.routing}")
        return name if self.transport is None else name.removesuffix(f".{self.transport}")

    def permits(self, npus: int, inside: int) -> bool:  # noqa: ARG002 - other technologies ask for it
        """Return whether a dimension may have some NPUs outside of a number of them."""
        return self.largest_dimension is None or npus <= self.largest_dimension

    def reach(self, inside: int) -> str:  # noqa: ARG002 - the same
        """Return what a dimension may have at most, as part of a sentence."""
        return f"{self.name} reaches {self.largest_dimension}"

    @property
    def scale_out(self) -> bool:
        """Whether its links end at NICs, beyond the domain in which accelerators load and store."""
        return bool(self.nic)

    @property
    def domain_limit(self) -> int | None:
        """Most NPUs of a domain of its links; None for no limit."""
        return None

    @property
    def one_domain(self) -> bool:
        """Whether one dimension is a whole domain, as it is sold, so that no further one may have the technology."""
        return False

    def price(self, part: str) -> float:
        """Return the price of a part in USD per NPU and B/s; a ValueError where it has none: no block needs that."""
        price: float | None = {"link": self.link, "switch": self.switch, "nic": self.nic}[part]
        if price is None:
            raise ValueError(f"{self.name} has no price of a {part}")
        return price


@dataclass(frozen=True)
class Catalog:
    """Technologies, the innermost first."""

    name: str
    source: str
    technologies: tuple[Technology, ...]
    links: LinkLayers = field(default_factory=LinkLayers)

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the technologies in the catalogue file."""
        return tuple(technology.family for technology in self.technologies)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the technologies."""
        return tuple(technology.name for technology in self.technologies)

    @property
    def npus(self) -> tuple[str | None, ...]:
        """The accelerator of each technology."""
        return tuple(technology.npu for technology in self.technologies)

    def with_one_block_each(self) -> Catalog:
        """Return the catalogue with an entry for each block of a technology, which all have the technology's rank."""
        entries = (
            replace(technology, blocks=(block,), rank=place if technology.rank is None else technology.rank)
            for place, technology in enumerate(self.technologies)
            for block in technology.blocks
        )
        return replace(self, technologies=tuple(entries))

    def wired_with(self, npu: str) -> Catalog:
        """Return the catalogue with all technologies as those of one accelerator, in the order that they had."""
        technologies = (
            replace(technology, npu=npu, rank=place if technology.rank is None else technology.rank)
            for place, technology in enumerate(self.technologies)
        )
        return replace(self, technologies=tuple(technologies))

    def select(self, names: tuple[str, ...]) -> Catalog:
        """Return the catalogue with just the named technologies, in that order."""
        by_name = {technology.name: technology for technology in self.technologies}
        return replace(self, technologies=tuple(by_name[name] for name in names))


def again(catalog: Catalog, designs: Population) -> BoolArray:
    """Return (d, n) which dimensions have the technology of a whole domain inside of them."""
    names = np.array(catalog.families)[designs.technology]
    whole = np.array([technology.one_domain for technology in catalog.technologies])[designs.technology]
    whole &= designs.npus > 1
    found = np.zeros(designs.npus.shape, dtype=bool)
    for d in range(1, len(names)):
        found[d] = whole[d] & (whole[:d] & (names[:d] == names[d])).any(axis=0)
    return found


def beyond_domains(catalog: Catalog) -> BoolArray:
    """Return (t,) which technologies are of NICs, beyond scale-up domains."""
    return np.array([technology.scale_out for technology in catalog.technologies], dtype=np.bool_)


def domain_limit(catalog: Catalog, npu: str) -> int | None:
    """Return the most NPUs that a scale-up domain around an accelerator can have; None for no limit.

    Domains of several technologies may lie inside each other.
    """
    mine = [one for one in catalog.technologies if not one.scale_out and one.npu in (None, npu)]
    limits: dict[str, int] = {}
    for one in mine:
        if (limit := one.domain_limit) is None:
            return None
        limits[one.family] = max(limit, limits.get(one.family, 1))
    return prod(limits.values())


def part_prices(catalog: Catalog) -> FloatArray:
    """Return (part, block, technology) USD per NPU and B/s; 0 where a block has no such part.

    LIBRA counts links, switches and NICs of a block and the bandwidth of each; the counts cancel, and an NPU pays for
    its bandwidth once per part that the block has.
    """
    prices = np.zeros((len(PARTS), len(BLOCKS), len(catalog.technologies)))
    for t, technology in enumerate(catalog.technologies):
        for b, block in enumerate(BLOCKS):
            for part in block.parts if block.name in technology.blocks else ():
                prices[PARTS.index(part), b, t] = technology.price(part)
    return prices


def cost_by_part(population: Population, prices: FloatArray) -> FloatArray:
    """Return (part, d, n) USD of each part of each dimension, from `part_prices`."""
    npus = np.prod(population.npus, axis=0)
    return np.asarray(npus * prices[:, population.block, population.technology] * population.bandwidth)


def network_cost(npus: IntArray | int, unit_price: FloatArray, bandwidth: FloatArray) -> FloatArray:
    """Return (n,) USD of networks whose (d, n) unit prices are USD per NPU and B/s, with (d, n) B/s per NPU."""
    return np.asarray((unit_price * bandwidth).sum(axis=0) * npus)


def catalog_names() -> list[str]:
    """Return the names of the catalogues of prices per bandwidth that come with the package."""
    return names_in(_FOLDER)


def names_in(folder: Path) -> list[str]:
    """Return the names of the catalogues in a folder."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def load_catalog(name: str, folder: Path = Path()) -> Catalog:
    """Load a catalogue that comes with the package, or a YAML file: a path that ends in .yaml, relative to a folder.

    An InputError says that there is no such catalogue, or what is wrong in its file.
    """
    if name.endswith(ENDINGS):
        return catalog_of(read_source(folder / name))
    if name not in catalog_names():
        raise unknown_catalog("catalogue", name, catalog_names())
    return _catalog(packaged(CatalogSpec, _FOLDER / f"{name}.yaml"))


def unknown_catalog(kind: str, name: str, allowed: Sequence[str]) -> InputError:
    """Return the error that a catalogue of some kind is none of the package's."""
    listed, nearest = ", ".join(allowed), suggestion(name, allowed)
    return InputError(f"unknown {kind} '{name}'; allowed: {listed}, or the path of a .yaml file{nearest}")


def catalog_of(source: Source) -> Catalog:
    """Return the catalogue of prices per bandwidth that a file is; an `InputError` has all of its mistakes."""
    spec = validate(CatalogSpec, source)
    rows = spec.technologies.items()
    mistakes = [mistake for name, technology in rows for mistake in _unpriced(source, name, technology)]
    mistakes += transport_mistakes(source, link_layers(rows))
    if mistakes:
        raise InputError(mistakes)
    return _catalog(spec)


def _catalog(spec: CatalogSpec) -> Catalog:
    rows = spec.technologies.items()
    technologies = tuple(_technology_of(name, technology) for name, technology in rows)
    return Catalog(spec.name, spec.source, technologies, link_layers(rows))


def _missing_parts(block: str, spec: TechnologySpec) -> list[str]:
    parts = BLOCKS[BLOCK_NAMES.index(block)].parts
    return [f"{part}_usd_per_GBps" for part in parts if getattr(spec, f"{part}_usd_per_GBps") is None]


def _unpriced(source: Source, name: str, spec: TechnologySpec) -> list[Mistake]:
    return [
        source.mistake(("technologies", name, "blocks"), f"a {block} needs {' and '.join(missing)}, which {name} lacks")
        for block in spec.blocks or ()
        if (missing := _missing_parts(block, spec))
    ]


def _technology_of(name: str, spec: TechnologySpec) -> Technology:
    def per_byte(price: float | None) -> float | None:
        return None if price is None else price / GIGA

    built = tuple(block.name for block in BLOCKS if block.parts and not _missing_parts(block.name, spec))
    return Technology(
        name=name, link=spec.link_usd_per_GBps / GIGA, switch=per_byte(spec.switch_usd_per_GBps),
        nic=per_byte(spec.nic_usd_per_GBps), largest_dimension=spec.largest_dimension,
        bandwidth_cap=None if spec.bandwidth_cap_GBps is None else spec.bandwidth_cap_GBps * GIGA,
        blocks=spec.blocks or built, latency=None if spec.latency_ns is None else seconds(spec.latency_ns),
    )  # fmt: skip
