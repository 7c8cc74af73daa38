"""The congestion control of a problem's Ethernet technologies: a technology with each of its transports is one more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evo_libra.errors import unknown
from evo_libra.network.blocks import Kit, Part, Range
from evo_libra.network.catalog.link_layers import not_ethernet
from evo_libra.network.catalog.technologies import Catalog, Technology
from evo_libra.network.transport import TRANSPORTS
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.pricing.catalog import KitTechnology

LOSSLESS = "lossless"
"""Ends the names of switches that can pause links."""


def with_transports(file: ProblemFile, catalog: Catalog) -> Catalog:
    """Return a catalogue with the transports that the problem asks for, or else the catalogue itself.

    A technology NAME becomes one NAME.TRANSPORT for each of them, of the same rank, so that designs say what they run.

    Raises
    ------
    InputError : a transport of something unknown or not Ethernet, a transport named twice, or buffers without switches.
    """
    chosen = _chosen(file, catalog)
    fabric = file.spec.fabric
    if fabric.lossless_usd_per_port and not any(isinstance(one, KitTechnology) for one in catalog.technologies):
        raise file.fail(("fabric", "lossless_usd_per_port"), "a catalogue of prices has no switches with ports")
    if fabric.lossless_usd_per_port and not chosen:
        raise file.fail(("fabric", "lossless_usd_per_port"), "only technologies with a `transport` pause links")
    if not chosen:
        return catalog
    every = [
        _running(
            technology, scheme, place if technology.rank is None else technology.rank, fabric.lossless_usd_per_port
        )
        for place, technology in enumerate(catalog.technologies)
        for scheme in chosen.get(technology.name, (None,))
    ]
    return replace(catalog, technologies=tuple(every))


def _chosen(file: ProblemFile, catalog: Catalog) -> Mapping[str, tuple[str, ...]]:
    """Return the transports of each technology that has some."""
    given_by = catalog.links.transport.items()
    found: dict[str, tuple[str, ...]] = {name: (scheme,) for name, scheme in given_by if name in catalog.names}
    for name, given in file.spec.fabric.transport.items():
        place = ("fabric", "transport", name)
        if name not in catalog.names:
            raise file.fail(place, unknown("technology", name, list(dict.fromkeys(catalog.names))))
        if (why := not_ethernet(name, catalog.links)) is not None:
            raise file.fail(place, why)
        found[name] = given if isinstance(given, tuple) else (given,)
        if len(set(found[name])) < len(found[name]):
            raise file.fail(place, "a transport is named twice")
    return found


def _running(technology: Technology, scheme: str | None, rank: int, buffers: float) -> Technology:
    """Return a technology with a transport, None for none, at its rank; lossless switches have their buffers, too."""
    if scheme is None:
        return replace(technology, rank=rank)
    name = f"{technology.name}.{scheme}"
    found = replace(technology, name=name, rank=rank, transport=scheme)
    if not isinstance(found, KitTechnology) or found.kit is None:
        return found
    extra = buffers if TRANSPORTS[scheme].lossless else 0.0
    return replace(found, kit=_kit(found.kit, extra))


def _kit(kit: Kit, buffers: float) -> Kit:
    # It keeps the name of its technology, as an NPU's ports are those of all transports together.
    if kit.switch is None or not buffers:
        return kit
    return replace(kit, switch=_buffered(kit.switch, buffers * kit.radix))


def _buffered(switch: Part, usd: float) -> Part:
    price = Range(switch.price.low + usd, switch.price.value + usd, switch.price.high + usd)
    return replace(switch, name=f"{switch.name}.{LOSSLESS}", price=price)
