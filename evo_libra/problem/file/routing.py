"""The routing of a problem's technologies: a technology with each of several routings is one more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evo_libra.errors import unknown
from evo_libra.network.catalog.technologies import Catalog, Technology
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.pricing.catalog import KitTechnology

BY_LAYER = {"infiniband": "adaptive", "ethernet": "ecmp"}
"""Routing by link layer: InfiniBand switches route adaptively, and RoCE goes over ECMP unless switches spray."""

_BY_LINK_LAYER = "by-link-layer"
_TIMES = ("astra", "themis")


def with_routings(file: ProblemFile, catalog: Catalog) -> Catalog:
    """Return a catalogue with the routings that the problem asks for.

    A technology NAME with several becomes one NAME.ROUTING for each of them, of the same rank.

    Raises
    ------
    InputError : a routing of something unknown or without switches, one named twice, or flows or a time model that no
        routing concerns.
    """
    fabric, given = file.spec.fabric, file.spec.time
    time = given if isinstance(given, str) else given.model
    if not fabric.routing:
        raise file.fail(("fabric", "flows_per_pair"), "flows are of a `routing`, which is not stated")
    if time not in _TIMES:
        raise file.fail(("fabric", "routing"), f"time.model is {time}; {' and '.join(_TIMES)} have collisions of flows")
    chosen = _chosen(file, catalog)
    every = [
        _routed(
            technology, routing, place if technology.rank is None else technology.rank, fabric.flows_per_pair,
            named=len(chosen[technology.family]) > 1,
        )
        if routing is not None
        else technology
        for place, technology in enumerate(catalog.technologies)
        for routing in chosen.get(technology.family, (None,))
    ]  # fmt: skip
    return replace(catalog, technologies=tuple(every))


def _chosen(file: ProblemFile, catalog: Catalog) -> Mapping[str, tuple[str, ...]]:
    """Return the routings of each technology that has some, by its name in the catalogue."""
    switched = {one.family for one in catalog.technologies if isinstance(one, KitTechnology) and _has_switch(one)}
    asked = file.spec.fabric.routing
    if isinstance(asked, str):
        layers = catalog.links.layer
        return {name: (BY_LAYER[layers[name]],) for name in sorted(switched) if layers.get(name) in BY_LAYER}
    found: dict[str, tuple[str, ...]] = {}
    names = list(dict.fromkeys(one.family for one in catalog.technologies))
    for name, given in asked.items():
        place = ("fabric", "routing", name)
        if name not in names:
            raise file.fail(place, unknown("technology", name, names))
        if name not in switched:
            raise file.fail(place, f"{name} has no switches of a catalogue of parts, between which ways differ")
        found[name] = given if isinstance(given, tuple) else (given,)
        if len(set(found[name])) < len(found[name]):
            raise file.fail(place, "a routing is named twice")
    return found


def _has_switch(technology: KitTechnology) -> bool:
    return technology.kit is not None and technology.kit.switch is not None


def _routed(technology: Technology, routing: str, rank: int, flows: int, *, named: bool) -> Technology:
    """Return a technology with a routing, which its name ends in where the search chooses between several."""
    assert isinstance(technology, KitTechnology)  # noqa: S101 - others have no switches
    assert technology.kit is not None  # noqa: S101 - the same
    kit = replace(technology.kit, routing=routing, flows=flows)
    name = f"{technology.name}.{routing}" if named else technology.name
    return replace(technology, name=name, rank=rank, kit=kit, routing=routing if named else None)
