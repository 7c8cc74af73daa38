"""Rails without a spine against one network for all GPUs: what they save, and what an all-to-all pays for it.

Repeats the end points of Rail-only (Wang et al., arXiv 2307.12169): 32,768 GPUs, switches of 64 ports. The paper gives
neither its prices nor its domains, so the savings are shown with one price set for cost and one for power that are
fitted to the published end points, and with the prices that the catalogue has sources for.
"""

from __future__ import annotations

from command_line import no_arguments
from common import bars, markdown, picture

from evo_libra.validation.rail_only import (
    SWITCH,
    TRANSCEIVER,
    Saving,
    fitted,
    overheads,
    published_overheads,
    published_savings,
    savings,
)


def draw(found: list[Saving]) -> None:
    """Draw the savings."""
    chosen = [
        one for one in found if "NIC" not in one.prices and one.prices not in ("catalogue, low", "catalogue, high")
    ]
    with picture("rail_only", 2.6) as figure:
        grid = figure.subplots(1, len(published_savings()), sharey=True)
        for axes, name in zip(grid, published_savings(), strict=True):
            mine = [one for one in chosen if one.figure == name]
            names = [one.prices.replace(", value", "").replace(" to the ", "\nto the ") for one in mine]
            two = [100 * one.two_tiers for one in mine]
            bars(axes, names, [("two tiers", two), ("one tier", [100 * one.one_tier for one in mine])])
            axes.set(title=name)
        grid[0].set_ylabel("saved [%]")
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)


if __name__ == "__main__":
    no_arguments(__doc__)
    rows = savings()
    print(
        markdown(
            ("saved", "prices", "two tiers [%]", "one tier [%]"),
            [[one.figure, one.prices, f"{100 * one.two_tiers:.1f}", f"{100 * one.one_tier:.1f}"] for one in rows],
        )
    )
    print()
    fits = [(name, fitted(name)) for name in published_savings()]
    print(
        markdown(
            ("fitted", "of a switch", "of a transceiver"),
            [[name, f"{figures[SWITCH]:,.0f}", f"{figures[TRANSCEIVER]:.4g}"] for name, figures in fits],
        )
    )
    print()
    print(
        markdown(
            ("machine", "published [%]", "overhead [%]"),
            [
                [name, f"{100 * published:.1f}", f"{100 * value:.2f}"]
                for (name, value), published in zip(overheads().items(), published_overheads(), strict=True)
            ],
        )
    )
    draw(rows)
