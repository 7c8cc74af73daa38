"""COMET's question (arXiv 2211.16648): clusters that train one model, and memory next to their NPUs.

Draws the heat maps of the runs of `experiments/comet.yaml`, and prints the largest ratios of the sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from common import markdown, picture
from matplotlib.axes import Axes
from runs import Best, best_or_exit

from evo_libra.validation.comet import CAPACITIES, EXPANSION_GBPS, INTER_GBPS

NPUS = ("a100-80gb", "h100-80gb")
BANDWIDTHS = (100, 250, 500, EXPANSION_GBPS, 2000)
BASE = ("a100-80gb", 31.25)
_DARK = 200
"""Seconds from which on a cell is dark."""


@dataclass(frozen=True)
class Cell:
    """A cluster of the sweep.

    Attributes
    ----------
    npu, between : its accelerator, and GB/s between boxes.
    capacity, bandwidth : GB and GB/s of the memory next to each NPU.
    seconds : of its fastest step; `plan` : the plan of that.
    """

    npu: str
    between: float
    capacity: float
    bandwidth: float
    seconds: float
    plan: str

    @property
    def group(self) -> str:
        """The tensor parallel degree."""
        return self.plan.split()[0]


def cell(best: Best) -> Cell:
    """Return the cluster of a run."""
    memory = best.said["memory"]["expansion"]
    return Cell(
        str(best.said["npu"]), float(best.bandwidth[1]) / 1e9, float(memory["capacity_GB"]),
        float(memory["bandwidth_GBps"]), best.time, str(best.design).partition(" | ")[2],
    )  # fmt: skip


def map_of(axes: Axes, rows: Sequence[Sequence[Cell]], label: str, x: Sequence[str], y: Sequence[str]) -> None:
    """Draw seconds of steps as a heat map, with the tensor parallel degree of the fastest plan in each cell."""
    axes.imshow([[one.seconds for one in row] for row in rows], cmap="Greys", aspect="auto", vmin=0, vmax=360)
    for place, row in enumerate(rows):
        for column, one in enumerate(row):
            colour = "white" if one.seconds > _DARK else "black"
            text = f"{one.seconds:.0f}\n{one.group}"
            axes.text(column, place, text, ha="center", va="center", color=colour, fontsize=7)
    axes.set_xticks(range(len(x)), x)
    axes.set_yticks(range(len(y)), y)
    axes.set(xlabel="memory of an NPU [GB]", ylabel=label)
    axes.grid(visible=False)


def draw(cells: Sequence[Cell]) -> None:
    """Draw the clusters of each accelerator, and capacity against bandwidth in the base."""
    found = {(one.npu, one.between, one.capacity, one.bandwidth): one for one in cells}
    plain = found[*BASE, 0.0, float(EXPANSION_GBPS)]
    sizes = [f"{capacity:g}" for capacity in CAPACITIES]
    with picture("comet", 3.4) as figure:
        panels = figure.subplots(1, 3)
        for axes, npu in zip(panels[:2], NPUS, strict=True):
            rows = [[found[npu, gbps, size, float(EXPANSION_GBPS)] for size in CAPACITIES] for gbps in INTER_GBPS]
            map_of(axes, rows, "GB/s between boxes", sizes, [f"{gbps:g}" for gbps in INTER_GBPS])
            axes.set_title(f"{npu}, step [s]")
        rows = [
            [plain if not size else found[*BASE, size, float(gbps)] for size in CAPACITIES] for gbps in BANDWIDTHS
        ]  # fmt: skip
        map_of(panels[2], rows, "GB/s of the memory", sizes, [f"{gbps:,}" for gbps in BANDWIDTHS])
        panels[2].set_title(f"{BASE[0]}, {BASE[1]:g} GB/s")


def extremes(cells: Sequence[Cell]) -> str:
    """Return the table of the fastest and the slowest cluster of all, and of those with and without memory."""
    head = ("clusters", "slowest [s]", "of", "fastest [s]", "of", "ratio")
    parts = [("all", list(cells)), ("without memory", [one for one in cells if not one.capacity])]
    parts += [(npu, [one for one in cells if one.npu == npu]) for npu in NPUS]
    rows = []
    for name, mine in parts:
        slow, fast = max(mine, key=lambda one: one.seconds), min(mine, key=lambda one: one.seconds)
        rows.append([name, *_of(slow), *_of(fast), f"{slow.seconds / fast.seconds:.2f}"])
    return markdown(head, rows)


def _of(one: Cell) -> list[str]:
    memory = f", {one.capacity:g} GB" if one.capacity else ""
    return [f"{one.seconds:.1f}", f"{one.npu}, {one.between:g} GB/s{memory}"]


if __name__ == "__main__":
    everything = [cell(best) for best in best_or_exit("comet", __doc__)]
    print(extremes(everything))
    draw(everything)
