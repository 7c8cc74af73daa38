"""Rails without a spine against one network for all GPUs: what they save, and what an all-to-all pays for it.

Repeats the end points of Rail-only (Wang et al., arXiv 2307.12169): 32,768 GPUs, switches of 64 ports. The paper gives
neither its prices nor its domains, so the savings are shown with one price set for cost and one for power that are
fitted to the published end points, and with the prices that the catalogue has sources for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from common import bars, markdown, picture

from evo_libra.arrays import FloatArray
from evo_libra.network.bill import Scenario, bill, part_figures
from evo_libra.network.blocks import ITEMS, Kit, Part, Range
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.parts import load_parts

GPUS = 32_768
ONE_TIER, TWO_TIERS = 512, 256
"""GPUs of a domain of high bandwidth, and thus rails: 64 GPUs on a rail are one switch, 128 take two tiers."""

PUBLISHED = {"cost": (0.38, 0.77), "power": (0.37, 0.75)}
"""What rails of two tiers and of one tier save."""
TOTAL = {"cost": 153e6, "power": 4.7e6}
"""USD and W of the network for all GPUs, as third parties quote the paper."""
PUBLISHED_OVERHEAD = (0.082, 0.112)

SCENARIOS: tuple[Scenario, ...] = ("low", "value", "high")
_SWITCH, _TRANSCEIVER, _NIC = ITEMS.index("switch"), ITEMS.index("transceiver"), ITEMS.index("nic")


@dataclass(frozen=True)
class Saving:
    """What rails save of the network for all GPUs.

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


def counts(kit: Kit, block: str, domain: int) -> FloatArray:
    """Return the items of the network outside the domains, with one port for each GPU."""
    outside = replace(kit, block=next(index for index, one in enumerate(BLOCKS) if one.name == block))
    sizes = np.array([[domain], [GPUS // domain]])
    inside = replace(outside, switch=Part("any", "switch", Range(0, 0, 0), 0, domain, 0, "", 2024))
    index = np.array([[0], [1]])
    return bill([inside, outside], index, sizes, np.ones_like(sizes))[:, 1, 0]


def networks(kit: Kit) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the items of the network for all GPUs, of rails of two tiers, and of rails of one."""
    return (
        counts(kit, "any-to-any", TWO_TIERS),
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
    switches, transceivers = kept[:, _SWITCH], kept[:, _TRANSCEIVER]
    # What is saved is 1 - w * switches - (1 - w) * transceivers.
    slope, rest = transceivers - switches, 1 - transceivers
    share = float(slope @ (np.array(PUBLISHED[figure]) - rest) / (slope @ slope))
    figures = np.zeros(len(ITEMS))
    figures[_SWITCH] = share * TOTAL[figure] / everybody[_SWITCH]
    figures[_TRANSCEIVER] = (1 - share) * TOTAL[figure] / everybody[_TRANSCEIVER]
    return figures


def saving(figure: str, prices: str, figures: FloatArray) -> Saving:
    """Return what rails save with some price or watts of each item."""
    everybody, two, one = (float(items @ figures) for items in networks(optics()))
    return Saving(figure, prices, 1 - two / everybody, 1 - one / everybody)


def savings() -> list[Saving]:
    """Return the savings as published, with fitted figures, and with those of the catalogue."""
    found = []
    for row, figure in enumerate(PUBLISHED):
        found.append(Saving(figure, "published", *PUBLISHED[figure]))
        found.append(saving(figure, "fitted to the published", fitted(figure)))
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


def draw(found: list[Saving]) -> None:
    """Draw the savings."""
    chosen = [
        one for one in found if "NIC" not in one.prices and one.prices not in ("catalogue, low", "catalogue, high")
    ]
    with picture("rail_only", 2.6) as figure:
        grid = figure.subplots(1, len(PUBLISHED), sharey=True)
        for axes, name in zip(grid, PUBLISHED, strict=True):
            mine = [one for one in chosen if one.figure == name]
            names = [one.prices.replace(", value", "").replace(" to the ", "\nto the ") for one in mine]
            two = [100 * one.two_tiers for one in mine]
            bars(axes, names, [("two tiers", two), ("one tier", [100 * one.one_tier for one in mine])])
            axes.set(title=name)
        grid[0].set_ylabel("saved [%]")
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)


if __name__ == "__main__":
    rows = savings()
    print(
        markdown(
            ("saved", "prices", "two tiers [%]", "one tier [%]"),
            [[one.figure, one.prices, f"{100 * one.two_tiers:.1f}", f"{100 * one.one_tier:.1f}"] for one in rows],
        )
    )
    print()
    fits = [(name, fitted(name)) for name in PUBLISHED]
    print(
        markdown(
            ("fitted", "of a switch", "of a transceiver"),
            [[name, f"{figures[_SWITCH]:,.0f}", f"{figures[_TRANSCEIVER]:.4g}"] for name, figures in fits],
        )
    )
    print()
    print(
        markdown(
            ("machine", "published [%]", "overhead [%]"),
            [
                [name, f"{100 * published:.1f}", f"{100 * value:.2f}"]
                for (name, value), published in zip(overheads().items(), PUBLISHED_OVERHEAD, strict=True)
            ],
        )
    )
    draw(rows)
