"""Rail-only's published end points (Wang et al., arXiv 2307.12169): 32,768 GPUs, switches of 64 ports.

The paper gives neither its prices nor its domains. So the savings are computed with prices and powers of the catalogue,
and with one price set and one power set that are fitted to the published end points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.network.bill import SCENARIOS, bill, part_figures
from evo_libra.network.blocks import ITEMS, Kit, Part, Range
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.parts import load_parts
from evo_libra.validation.fabrics import value
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource

GPUS = 32_768
ONE_TIER, TWO_TIERS = 512, 256
"""GPUs of a domain of high bandwidth, and thus rails: 64 GPUs on a rail are one switch, 128 take two tiers."""

FITTED = "fitted to the published"
CATALOGUE = {"cost": "catalogue, value", "power": "catalogue"}
"""Names of prices and watts."""

SWITCH, TRANSCEIVER, _NIC = ITEMS.index("switch"), ITEMS.index("transceiver"), ITEMS.index("nic")


@dataclass(frozen=True)
class Saving:
    """Savings of rails on the network for all GPUs.

    Attributes
    ----------
    figure : cost or power.
    prices : which prices or watts were taken.
    two_tiers, one_tier : the savings, 0 to 1.
    """

    figure: str
    prices: str
    two_tiers: float
    one_tier: float


def published_savings() -> dict[str, tuple[float, float]]:
    """Return what rails of two tiers and of one tier save of cost and power, 0 to 1."""
    ends = {figure: value(f"railonly.{figure}_reduction") for figure in ("cost", "power")}
    return {figure: (two / 100, one / 100) for figure, (two, one) in ends.items()}


def total(figure: str) -> float:
    """Return the USD or W of the network for all GPUs, as third parties quote the paper."""
    return float(value(f"railonly.baseline.{figure}"))


def published_overheads() -> tuple[float, float]:
    """Return the range of how much longer an all-to-all takes, 0 for as long."""
    least, largest = value("railonly.moe_a2a_overhead")
    return least / 100, largest / 100


def counts(kit: Kit, block: str, domain: int) -> FloatArray:
    """Return the items of the network outside the domains, with one port for each GPU."""
    outside = replace(kit, block=next(index for index, one in enumerate(BLOCKS) if one.name == block))
    sizes = np.array([[domain], [GPUS // domain]])
    inside = replace(
        outside,
        switch=Part(
            name="any", kind="switch", price=Range(0, 0, 0), power=0, ports=domain, latency=0, source="", year=2024
        ),
    )
    index = np.array([[0], [1]])
    return bill([inside, outside], index, sizes, np.ones_like(sizes))[:, 1, 0]


def networks(kit: Kit) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the items of the network for all GPUs, of rails of two tiers, and of rails of one."""
    return (
        counts(kit, "fat-tree", TWO_TIERS),
        counts(kit, "switch", TWO_TIERS),
        counts(kit, "switch", ONE_TIER),
    )


def optics() -> Kit:
    """Return the kit of 400 Gb/s of the catalogue."""
    return next(kit for kit in load_parts("parts-2024").kits if kit.technology == "optics-400g" and kit.switch)


def fitted(figure: str) -> FloatArray:
    """Return the price or the watts of each item that fit the published savings best, at the published total.

    The share w of the switches in the total is the only unknown, and both savings are linear in it.
    """
    everybody, *rails = networks(optics())
    kept = np.array([one / np.where(everybody > 0, everybody, 1) for one in rails])
    switches, transceivers = kept[:, SWITCH], kept[:, TRANSCEIVER]
    # The saving is 1 - w * switches - (1 - w) * transceivers.
    slope, rest = transceivers - switches, 1 - transceivers
    share = float(slope @ (np.array(published_savings()[figure]) - rest) / (slope @ slope))
    figures = np.zeros(len(ITEMS))
    figures[SWITCH] = share * total(figure) / everybody[SWITCH]
    figures[TRANSCEIVER] = (1 - share) * total(figure) / everybody[TRANSCEIVER]
    return figures


def saving(figure: str, prices: str, figures: FloatArray) -> Saving:
    """Return what rails save with some price or watts of each item."""
    everybody, two, one = (float(items @ figures) for items in networks(optics()))
    return Saving(figure, prices, 1 - two / everybody, 1 - one / everybody)


def savings() -> list[Saving]:
    """Return the savings as published, with fitted figures, and with those of the catalogue."""
    found = []
    for row, (figure, ends) in enumerate(published_savings().items()):
        found.append(Saving(figure, "published", *ends))
        found.append(saving(figure, FITTED, fitted(figure)))
        for scenario in SCENARIOS if figure == "cost" else SCENARIOS[1:2]:
            sourced = part_figures(optics(), scenario)[row]
            name = f"catalogue, {scenario}" if figure == "cost" else "catalogue"
            found.append(saving(figure, name, sourced * (np.arange(len(ITEMS)) != _NIC)))
            if figure == "cost":
                found.append(saving(figure, f"{name}, with NICs", sourced))
    return found


def all_to_all_overhead(gpus: int, domain: int, scale_out: float, scale_up: float) -> float:
    """Return how much longer an all-to-all of all GPUs takes on rails, 0 for as long.

    A GPU sends (N - K) / N of its bytes out of its domain, at `scale_out`. On rails, (K - 1) / K of them have to change
    the rail first, which takes them through the domain at `scale_up`; nothing of it overlaps.

    Parameters
    ----------
    gpus, domain : N and K.
    scale_out, scale_up : B/s of a GPU to its rail and in its domain.
    """
    return scale_out / scale_up * (domain - 1) / domain * gpus / (gpus - domain)


def overheads() -> dict[str, float]:
    """Return the overhead of the two machines that the published range fits."""
    return {
        "A100, 64 in a domain, 25 and 300 GB/s": all_to_all_overhead(GPUS, 64, 25e9, 300e9),
        "H100, 256 in a domain, 50 and 450 GB/s": all_to_all_overhead(GPUS, 256, 50e9, 450e9),
    }


def _savings(prices: dict[str, str]) -> Iterator[PublishedRow]:
    found = {(one.figure, one.prices): one for one in savings()}
    for figure, (two, one) in published_savings().items():
        ours = found[figure, prices[figure]]
        yield PublishedRow(f"{figure}, rails of two tiers", 100 * two, 100 * ours.two_tiers, "percent")
        yield PublishedRow(f"{figure}, rails of one tier", 100 * one, 100 * ours.one_tier, "percent")


def _overheads() -> Iterator[PublishedRow]:
    for figure, (machine, ours) in zip(published_overheads(), overheads().items(), strict=True):
        yield PublishedRow(machine, 100 * figure, 100 * ours, "percent")


_PAPER = "Rail-only (Wang et al. 2023), abstract"

RAIL_ONLY = (
    PublishedSource("rail-only", "networks", f"{_PAPER}: savings, prices of the catalogue", lambda: _savings(CATALOGUE),
           note="domains of 256 and 512 GPUs, chosen as its two ends need them; without NICs"),
    PublishedSource("rail-only-fitted", "networks", f"{_PAPER}: savings, one share of the switches fitted to both ends",
           lambda: _savings(dict.fromkeys(CATALOGUE, FITTED)), note="one fitted share for cost, one for power",
           basis=Basis.FITTED),
    PublishedSource("rail-only-all-to-all", "networks", f"{_PAPER}: overhead of an all-to-all", _overheads,
           note="the paper names no machines; these two were chosen as they reproduce its range", basis=Basis.FITTED),
)  # fmt: skip
