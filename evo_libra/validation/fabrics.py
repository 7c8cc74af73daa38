"""Published figures of fabrics: bills of materials of eight rails, and direct links of a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from evo_libra.collective import Pattern
from evo_libra.network.bill import bill, cost_by_item, power_by_item
from evo_libra.network.blocks import ITEMS, Kit, Part, Range
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource, published

_NPUS = 8
"""GPUs of a server, and thus rails."""


def figures() -> list[Mapping[str, Any]]:
    """Return the published figures of FRED, Rail-only and bills of materials."""
    found: list[Mapping[str, Any]] = published("fabric_published.json")
    return found


def value(name: str) -> Any:  # noqa: ANN401 - plain data
    """Return a published figure."""
    return next(row["value"] for row in figures() if row["id"] == name)


def part(kind: str, usd: float, watts: float = 0.0, ports: int | None = None) -> Part:
    """Return a part of one price."""
    return Part(
        name=kind, kind=kind, price=Range(usd, usd, usd), power=watts, ports=ports, latency=0.0, source="", year=2024
    )


def kit(block: str, **parts: Part) -> Kit:
    """Return a dimension of the parts that are given, with eight ports of 50 GB/s."""
    given: dict[str, Any] = {name: parts.get(name) for name in ("links", "uplink", "transceiver", "nic", "switch")}
    return Kit(
        technology="made up", block=BLOCK_NAMES.index(block), rank=0, port_rate=50e9, ports=8, domain_size=None,
        latency=0.0, energy=0.0, **given,
    )  # fmt: skip


NODE = kit("switch", switch=part("switch", 0, ports=64))
RAIL = kit("switch", links=part("link", 1320), uplink=part("link", 1240), switch=part("switch", 36000, ports=64))


def rails(outside: Kit, gpus: int) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Return the items of rails over servers of eight, their USD and their watts."""
    kits, index = [NODE, outside], np.array([[0], [1]])
    items = bill(kits, index, np.array([[_NPUS], [gpus // _NPUS]]), np.array([[1], [1]]))
    counted = (items, cost_by_item(items, kits, index), power_by_item(items, kits, index))
    by_item = [dict(zip(ITEMS, found[:, 1, 0].tolist(), strict=True)) for found in counted]
    return by_item[0], by_item[1], by_item[2]


def fat_trees() -> list[Mapping[str, Any]]:
    """Return the published bills of eight rails of folded Clos networks."""
    return [row for row in figures() if row["id"].startswith("bom.")]


def optical(inputs: Mapping[str, Any]) -> Kit:
    """Return optical rails with one circuit switch each, two ports for each GPU of a rail."""
    ports = 2 * inputs["gpus"] // _NPUS
    switch = part("ocs", inputs["ocs_port_usd"] * ports, inputs["ocs_port_W"] * ports, ports)
    return kit("ocs-rail", transceiver=part("transceiver", inputs["transceiver_usd"], inputs["transceiver_W"]),
               switch=switch)  # fmt: skip


def _fat_trees() -> Iterator[PublishedRow]:
    for row in fat_trees():
        gpus, theirs = row["inputs"]["gpus"], row["value"]
        items, usd, _ = rails(RAIL, gpus)
        yield PublishedRow(f"switches, {gpus} GPUs", theirs["switches"], items["switch"], "")
        yield PublishedRow(f"cost of switches, {gpus} GPUs", theirs["switch_usd"], usd["switch"], "USD")
        yield PublishedRow(f"cost of cables, {gpus} GPUs", theirs["cable_usd"], usd["link"] + usd["uplink"], "USD")


def _super_pods() -> Iterator[PublishedRow]:
    together, published_counts = replace(RAIL, block=BLOCK_NAMES.index("fat-tree")), value("superpod.b200")
    sizes = next(row["inputs"]["gpus"] for row in figures() if row["id"] == "superpod.b200")
    for gpus, switches, cables in zip(sizes, *published_counts.values(), strict=True):
        items, _, _ = rails(together, gpus)
        yield PublishedRow(f"switches, {gpus} GPUs", switches, items["switch"], "")
        yield PublishedRow(f"cables of nodes, {gpus} GPUs", gpus, items["link"], "")
        yield PublishedRow(f"cables of switches, {gpus} GPUs", cables, items["uplink"], "")


def _optical() -> Iterator[PublishedRow]:
    row = next(row for row in figures() if row["id"].startswith("opus."))
    _, usd, watts = rails(optical(row["inputs"]), row["inputs"]["gpus"])
    yield PublishedRow("cost, 2048 GPUs", row["value"]["usd"], sum(usd.values()), "USD")
    yield PublishedRow("power, 2048 GPUs", row["value"]["W"], sum(watts.values()), "W")


def _direct_links() -> Iterator[PublishedRow]:
    pair, whole = value("xgmi.busbw")
    two, eight = np.array([2]), np.array([_NPUS])
    share = BLOCKS[BLOCK_NAMES.index("fully-connected")].share(Pattern.SHRINKING, two, np.array([1]), eight)
    yield PublishedRow("2 of 8 MI300X, over all 8", pair / whole, float(share[0]), "")


FABRICS = (
    PublishedSource("fat-trees", "networks", "H100 Freakonomics (2024): eight rails of 64-port switches", _fat_trees,
           note="with the prices of that sheet", basis=Basis.EQUATIONS),
    PublishedSource("super-pods", "networks", "NVIDIA (2025): DGX SuperPOD of B200, switches and cables", _super_pods,
           note="one fat tree of 64-port switches over all GPUs", basis=Basis.EQUATIONS),
    PublishedSource("optical-rails", "networks", "Opus (arXiv 2602.12521): optical rails of H200", _optical,
           note="with the prices and powers of that paper", basis=Basis.EQUATIONS),
    PublishedSource("direct-links", "networks", "ml-engineering (Bekman): bandwidth of a pair of MI300X", _direct_links,
           note="as a part of the bandwidth of all eight"),
)  # fmt: skip
