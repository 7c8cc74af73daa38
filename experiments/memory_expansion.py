"""More memory or a faster network: a transformer of a trillion weights on 1,024 A100, with expansion memory.

First COMET's question (arXiv 2211.16648): on one network, which tensor parallel degree is fastest with
expansion memory and without? Then the search chooses network, plan and memory together, against the cost of the system.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from command_line import no_arguments
from common import markdown, picture

from evo_libra import Front, load_problem, search
from evo_libra.validation.comet import BANDWIDTHS, DEGREES, NPUS, gain, sweep

PROBLEM = "transformer-1t-memory"
_MEGA = 1e6


def points() -> list[Sequence[str]]:
    """Return a row for each degree of the sweep."""
    by = {(point.tp, point.bandwidth): point for point in sweep()}
    alone = min(point.seconds for point in sweep() if point.fits)
    found: list[Sequence[str]] = []
    for tp in DEGREES:
        fast, slow = by[tp, 1000], by[tp, 250]
        found.append([
            f"{tp}", f"{NPUS // tp}", f"{fast.footprint:.0f}", "yes" if fast.fits else "no", f"{fast.seconds:.1f}",
            f"{alone / fast.seconds:.2f}", f"{alone / fast.serial:.2f}", f"{alone / slow.serial:.2f}",
        ])  # fmt: skip
    return found


def fronts() -> dict[str, Front]:
    """Return the fronts with memory for sale and without, of 300,000 evaluations each."""
    found = {}
    for name, capacity in (("with expansion memory", "[0, 128, 256, 512]"), ("without", "0")):
        problem = load_problem(PROBLEM, [f"memory.expansion.capacity_GB={capacity}"])
        found[name] = search(problem, evaluations=300_000, seed=1)
    return found


def chosen(front: Front) -> list[Sequence[str]]:
    """Return a row for each design: what it takes, and what is bought."""
    rows: list[Sequence[str]] = []
    for row in front.rows():
        plan = str(row["plan"]).split()
        bought = [part.removeprefix("exp").replace("at", " GB at ") for part in plan if part.startswith("exp")]
        network = " ".join(text.partition("@")[0] for text in str(row["design"]).partition(" ")[0].split("_"))
        rates = " ".join(text.partition(":")[2] for text in str(row["design"]).partition(" ")[0].split("_"))
        groups = " ".join(part for part in plan if part[:2] in ("tp", "pp", "dp"))
        cost = f"{row['system_cost_usd'] / _MEGA:.2f}"
        rows.append([f"{row['time_ms'] / 1e3:.1f}", cost, network, rates, groups, *(bought or ["-"])])
    return rows


def draw(both: dict[str, Front]) -> None:
    """Draw the sweep and the fronts."""
    with picture("memory_expansion", 2.6) as figure:
        left, right = figure.subplots(1, 2)
        for bandwidth, style in zip(BANDWIDTHS, (":", "-.", "--", "-"), strict=True):
            mine = [point for point in sweep() if point.bandwidth == bandwidth]
            label = f"{bandwidth:,} GB/s"
            left.plot([point.tp for point in mine], [point.serial for point in mine], style, color="black", label=label)
        left.set(xscale="log", xlabel="tensor parallel degree", ylabel="step [s], one effective bandwidth")
        left.set_xticks(DEGREES, [str(tp) for tp in DEGREES])
        left.minorticks_off()
        left.axvspan(48, 140, color="0.92", zorder=0)
        left.text(135, 0.04, "fits the NPUs", ha="right", va="bottom", transform=left.get_xaxis_transform())
        left.legend(loc="upper left", bbox_to_anchor=(0.0, 1.0))
        for (name, front), style in zip(both.items(), ("o-", "s--"), strict=True):
            time, cost = (np.array(front.frame[column]) for column in front.objectives)
            right.step(cost / _MEGA, time / 1e3, style[1:], where="post", color="black")
            right.plot(cost / _MEGA, time / 1e3, style[0], color="black", markersize=3, label=name)
        right.set(xlabel="cost of the system [MUSD]", ylabel="step [s]")
        right.legend(loc="upper right")


if __name__ == "__main__":
    no_arguments(__doc__)
    head = ("tp", "dp", "GB", "fits 80 GB", "step [s]", "gain", "gain, serial", "gain, serial, 250 GB/s")
    print(markdown(head, points()))
    print()
    rows = [[f"{rate:,}", f"{gain(rate):.2f}", f"{gain(rate, serial=True):.2f}"] for rate in BANDWIDTHS]
    print(markdown(("GB/s", "largest gain", "serial"), rows))
    both = fronts()
    for name, front in both.items():
        print(f"\n{name}\n")
        print(markdown(("step [s]", "MUSD", "network", "GB/s", "plan", "expansion memory"), chosen(front)))
    draw(both)
