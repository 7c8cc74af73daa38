"""The networks of a problem file: catalogue, pins, blocks, and the bandwidths that each dimension may have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import GIGA
from evo_libra.errors import InputError, unknown
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import named_by
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.fat_tree import FAMILIES, RATIOS, Ratios, base_of
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.network.catalog.parts import load_any, parts_catalog
from evo_libra.network.catalog.technologies import Catalog, Technology
from evo_libra.network.fabric import parse_fabric
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.file.spec import MAX_DIMENSIONS, BandwidthSpec, FabricSpec, PinSpec
from evo_libra.problem.file.time import has_whole_bandwidth
from evo_libra.problem.pricing.catalog import KitTechnology, catalog_of
from evo_libra.problem.pricing.pricing import DimensionChoice

if TYPE_CHECKING:
    from evo_libra.network.catalog.accelerator import Accelerator


def technologies_of(file: ProblemFile, npus: Sequence[Accelerator] = ()) -> Catalog:
    """Return the technologies that a problem may use, with their transports; `_technologies_of` has the rest."""
    found, fabric = _technologies_of(file, npus), file.spec.fabric
    if fabric.transport or fabric.lossless_usd_per_port or found.links.transport:
        from evo_libra.problem.file.transport import with_transports  # noqa: PLC0415 - few problems run any

        found = with_transports(file, found)
    if not fabric.routing and fabric.flows_per_pair == 1:
        return found
    from evo_libra.problem.file.routing import with_routings  # noqa: PLC0415 - few problems state any

    return with_routings(file, found)


def _technologies_of(file: ProblemFile, npus: Sequence[Accelerator]) -> Catalog:
    """Return the technologies that a problem may use, of either kind of catalogue.

    Of the ports that only some accelerators have, such as NVLink, those of the problem's one, as many as it has. If
    it has several to choose from, each has the technologies that it can be wired with. The share of a group in a link
    depends on the block, so that prices are split by block, too, unless every group gets all of it.
    """
    fabric = file.spec.fabric
    try:
        found = load_any(fabric.catalog, file.folder)
    except InputError as error:
        raise named_by(file.source, ("fabric", "catalog"), error) from None
    if isinstance(found, Catalog):
        _check_names(file, found.names)
        _check_domains(file, {})
        if fabric.oversubscription:
            raise file.fail(("fabric", "oversubscription"), "a catalogue of prices has no switches to be counted")
        chosen = found.select(fabric.technologies) if fabric.technologies else found
        return _of_each(chosen if has_whole_bandwidth(file.spec) else chosen.with_one_block_each(), npus)
    parts = parts_catalog(found)
    _check_names(file, tuple(parts.technologies))
    names = tuple(fabric.technologies or parts.technologies)
    _check_domains(file, {kit.technology: kit.domain_size for kit in parts.kits if kit.technology in names})
    _check_wired(file, names, npus)
    domains, ratios = fabric.domains, _ratios(file)
    each = [
        catalog_of(
            parts, _wired(names, npu), blocks=fabric.blocks, ports=npu.ports, domains=domains, oversubscription=ratios
        )
        for npu in npus
    ]
    catalog = (
        _joined(each, npus)
        if each
        else catalog_of(parts, names, blocks=fabric.blocks, ports={}, domains=domains, oversubscription=ratios)
    )
    if not catalog.technologies:
        hint = "" if domains == "any" else _ASKED
        raise file.fail(("fabric", "blocks"), f"no technology of the catalogue has one of these blocks{hint}")
    if ratios and not any(base_of(block) != block for one in catalog.technologies for block in one.blocks):
        offered = ", ".join(sorted(_built(catalog)))
        message = f"found blocks {offered}; only {' and '.join(FAMILIES)} have tiers of switches to be oversubscribed"
        raise file.fail(("fabric", "oversubscription"), message)
    return catalog


def _ratios(file: ProblemFile) -> list[Ratios]:
    """Return the ratios of fat trees that are offered besides 1:1, each once."""
    found = []
    for index, given in enumerate(file.spec.fabric.oversubscription):
        ratios = given if isinstance(given, tuple) else (given, 1)
        if ratios != (1, 1) and ratios not in RATIOS:
            alike = " or ".join(f"[{leaf}, {pod}]" for leaf, pod in RATIOS if leaf > 1 and pod > 1)
            message = f"found [{ratios[0]}, {ratios[1]}]; with a ratio of pods, that of leaves is 1, but for {alike}"
            raise file.fail(("fabric", "oversubscription", index), message)
        found += [ratios] if ratios != (1, 1) and ratios not in found else []
    return found


def _of_each(catalog: Catalog, npus: Sequence[Accelerator]) -> Catalog:
    return _joined([catalog] * len(npus), npus) if npus else catalog


def _joined(each: Sequence[Catalog], npus: Sequence[Accelerator]) -> Catalog:
    """Return the technologies of each accelerator, one accelerator after the other; a single one needs no name."""
    if len(each) == 1:
        return each[0]
    wired = [catalog.wired_with(npu.name) for catalog, npu in zip(each, npus, strict=True)]
    return replace(wired[0], technologies=tuple(technology for one in wired for technology in one.technologies))


def _wired(names: tuple[str, ...], npu: Accelerator) -> tuple[str, ...]:
    """Return the technologies that an accelerator can be wired with."""
    from evo_libra.network.catalog.accelerators import load_accelerator_specs  # noqa: PLC0415 - tables do not need it

    of_some = {port for known in load_accelerator_specs().values() for port in known.ports}
    return tuple(name for name in names if name in npu.ports or name not in of_some)


def _check_wired(file: ProblemFile, names: tuple[str, ...], npus: Sequence[Accelerator]) -> None:
    """Refuse technologies that the file names and that none of its accelerators can be wired with."""
    known = {name for npu in npus for name in _wired(names, npu)}
    lacking = [name for name in names if npus and name not in known]
    if lacking and file.spec.fabric.technologies:
        who = " and ".join(npu.name for npu in npus)
        own = ", ".join(dict.fromkeys(port for npu in npus for port in npu.ports)) or "none"
        place = ("fabric", "technologies", names.index(lacking[0]))
        has, they = ("has", "it has") if len(npus) == 1 else ("have", "they have")
        raise file.fail(place, f"{who} {has} no ports of {lacking[0]}; {they} {own}")


_ASKED = "; only domains that are sold are offered: `fabric.domains` asks for others"


def _check_domains(file: ProblemFile, known: Mapping[str, int | None]) -> None:
    """Refuse domains of unknown technologies, or larger ones than these allow."""
    domains = file.spec.fabric.domains
    for name, sizes in domains.items() if not isinstance(domains, str) else ():
        if name not in known:
            message = unknown("technology", name, list(known)) if known else "a catalogue of prices has no domains"
            raise file.fail(("fabric", "domains", name), message)
        limit = known[name]
        for index, size in enumerate(sizes):
            if limit is not None and size > limit:
                place = ("fabric", "domains", name, index)
                raise file.fail(place, f"found {size}; a domain of {name} has at most {limit} NPUs")


def _check_names(file: ProblemFile, known: Sequence[str]) -> None:
    """Refuse technologies that the catalogue lacks, or that are named twice."""
    named = file.spec.fabric.technologies or ()
    for index, name in enumerate(named):
        if name not in known:
            raise file.fail(("fabric", "technologies", index), unknown("technology", name, known))
    if len(set(named)) < len(named):
        raise file.fail(("fabric", "technologies"), "a technology is named twice")


_LOWEST, _HIGHEST = 0.1 * GIGA, 1000 * GIGA
"""B/s that a dimension has at least and at most, where a file says nothing else."""


class FabricLoader:
    """Reads the keys of a problem file that say which networks may be built.

    In an open box bandwidths are solved for, and bounds that the file leaves out are 0 and infinity.
    """

    def __init__(self, file: ProblemFile, *, open_box: bool) -> None:
        self.file, self.open_box = file, open_box
        self.source, self.spec, self.fail = file.source, file.spec, file.fail

    def pins(self) -> dict[int, PinSpec]:
        """Return the pinned figures of each dimension that has some."""
        fabric = self.spec.fabric
        pins = {pin.dimension: pin for pin in fabric.pin}
        if fabric.shape is None:
            return pins
        if pins:
            raise self.fail(("fabric", "pin"), "the shape pins every dimension already; give one of the two")
        try:
            shape = parse_fabric(fabric.shape)
        except InputError as error:
            raise self.fail(("fabric", "shape"), str(error)) from None
        if len(shape.dimensions) > MAX_DIMENSIONS:
            raise self.fail(
                ("fabric", "shape"),
                f"the shape has {len(shape.dimensions)} dimensions; at most {MAX_DIMENSIONS} are allowed",
            )
        if shape.npus != self.spec.npus:
            raise self.fail(("fabric", "shape"), f"the shape has {shape.npus} NPUs, the problem has {self.spec.npus}")
        return {
            d: PinSpec.model_validate(
                {
                    "dimension": d,
                    "npus": dimension.npus,
                    "block": BLOCKS[dimension.block].name,
                    "technology": dimension.technology,
                    "bandwidth_GBps": None if dimension.bandwidth is None else dimension.bandwidth / GIGA,
                }
            )
            for d, dimension in enumerate(shape.dimensions)
        }

    def max_dimensions(self, pins: dict[int, PinSpec]) -> int:
        """Return the largest number of dimensions of a design."""
        fabric = self.spec.fabric
        if fabric.shape is not None:
            return len(pins)
        if fabric.min_dimensions > fabric.max_dimensions:
            raise self.fail(
                ("fabric", "min_dimensions"),
                f"found {fabric.min_dimensions}; max_dimensions is {fabric.max_dimensions}",
            )
        for index, pin in enumerate(fabric.pin):
            if pin.dimension >= fabric.max_dimensions:
                raise self.fail(
                    ("fabric", "pin", index, "dimension"),
                    f"found {pin.dimension}; dimensions count from 0 to {fabric.max_dimensions - 1}",
                )
        return fabric.max_dimensions

    def min_dimensions(self, pins: dict[int, PinSpec]) -> int:
        """Return the smallest number of dimensions of a design."""
        return max([self.spec.fabric.min_dimensions, *(d + 1 for d in pins)])

    def check_blocks(self, catalog: Catalog) -> None:
        """Refuse blocks that are asked for and that no technology builds."""
        built, asked = _built(catalog), self.spec.fabric.blocks or ()
        if built.issuperset(asked):
            return
        fabric = self.spec.fabric.model_copy(update={"domains": "any"})
        possible = _built(technologies_of(replace(self.file, spec=self.spec.model_copy(update={"fabric": fabric}))))
        raise InputError([
            self.source.mistake(
                ("fabric", "blocks", index),
                f"no technology that is chosen can build {block}{_ASKED if block in possible else ''}",
            )
            for index, block in enumerate(asked)
            if block not in built
        ])  # fmt: skip

    def choices(self, catalog: Catalog, pins: dict[int, PinSpec]) -> tuple[DimensionChoice, ...]:
        """Return the blocks, technologies and bandwidths that each dimension may have."""
        self.check_bandwidth()
        bandwidth = self.bandwidth()
        return tuple(self._choice(d, catalog, pins.get(d), bandwidth) for d in range(self.max_dimensions(pins)))

    def check_bandwidth(self) -> None:
        """Refuse bounds that leave no bandwidth."""
        bandwidth = self.bandwidth()
        if bandwidth.mode == "search" and bandwidth.min_GBps == 0:
            raise self.fail(("bandwidth", "min_GBps"), "found 0; a bandwidth that is searched must be above 0")
        lowest, highest = _range(bandwidth, None)
        if lowest > highest:
            raise self.fail(("bandwidth", "min_GBps"), f"found {lowest / GIGA:g}; max_GBps is {highest / GIGA:g}")

    def bandwidth(self) -> BandwidthSpec:
        """Return how bandwidth is chosen, written out."""
        given = self.spec.bandwidth
        spec = given if isinstance(given, BandwidthSpec) else BandwidthSpec(mode=given)
        if not self.open_box:
            return spec
        lowest = 0.0 if spec.min_GBps is None else spec.min_GBps
        highest = math.inf if spec.max_GBps is None else spec.max_GBps
        return spec.model_copy(update={"mode": "optimal", "min_GBps": lowest, "max_GBps": highest})

    def _choice(self, d: int, catalog: Catalog, pin: PinSpec | None, bandwidth: BandwidthSpec) -> DimensionChoice:
        fabric: FabricSpec = self.spec.fabric
        place: KeyPath = ("fabric", "shape" if fabric.shape is not None else "pin")
        if pin and pin.technology is not None and pin.technology not in (*catalog.names, *catalog.families):
            raise self.fail(place, unknown("technology", pin.technology, catalog.names))
        blocks, low, high = [], [], []
        for technology in catalog.technologies:
            kit = getattr(technology, "kit", None)  # of the blocks that the file asks for, as its catalogue is
            allowed = [
                name
                for name in technology.blocks
                if (kit is not None or fabric.blocks is None or name in fabric.blocks)
                and (pin is None or pin.block in (None, name))
                and (pin is None or pin.technology in (None, technology.name, technology.family))
            ]
            cap = technology.bandwidth_cap or np.inf
            pinned = None if pin is None or pin.bandwidth_GBps is None else pin.bandwidth_GBps * GIGA
            lowest, highest = _range(bandwidth, kit) if pinned is None else (pinned, pinned)
            if pinned is None:
                highest = min(highest, cap)
                lowest = min(lowest, highest)
            if pinned is not None and pinned > cap:
                allowed = []
            blocks.append(tuple(BLOCK_NAMES.index(name) for name in allowed))
            low.append(lowest)
            high.append(highest)
        if not any(blocks):
            where = place if pin else ("fabric", "blocks")
            raise self.fail(
                where, f"nothing can be built in dimension {d}: no technology of the catalogue allows what is asked"
            )
        return DimensionChoice(tuple(blocks), np.array(low), np.array(high))

    def why_no_shape(self, catalog: Catalog, dimensions: int) -> str:
        """Return why no network has the number of NPUs, as part of a sentence."""
        limits = ", ".join(dict.fromkeys(f"{t.name} {_largest(t)}" for t in catalog.technologies))
        return (
            f"no product of up to {dimensions} dimensions within the largest sizes ({limits}) and the pins gives it; "
            "another number of NPUs, more dimensions or a technology with a larger dimension is needed"
        )


def _built(catalog: Catalog) -> set[str]:
    """Return the blocks that some technology of a catalogue builds."""
    return {block for technology in catalog.technologies for block in technology.blocks}


def _range(bandwidth: BandwidthSpec, kit: Kit | None) -> tuple[float, float]:
    """Return the smallest and the largest B/s of a dimension, with the values for missing keys; caps do not count."""
    usual = (_LOWEST, _HIGHEST) if kit is None else (kit.port_rate, math.inf)
    stated = (bandwidth.min_GBps, bandwidth.max_GBps)
    lowest, highest = (one if GBps is None else GBps * GIGA for GBps, one in zip(stated, usual, strict=True))
    return lowest, highest


def _largest(technology: Technology) -> str:
    """Return the most NPUs that a technology connects in a dimension, or of parts in a domain."""
    kit = technology.kit if isinstance(technology, KitTechnology) else None
    if kit is not None and kit.domains is not None:
        return f"{' or '.join(map(str, kit.domains))} in a domain"
    if kit is not None and kit.domain_size is not None:
        return f"{kit.domain_size} with all inside it"
    return str(technology.largest_dimension or "any")
