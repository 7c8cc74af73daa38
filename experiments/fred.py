"""FRED's wafer (Rashidi et al., arXiv 2406.19580, ISCA 2025): its mesh and its trees, with the blocks of this package.

Effective bandwidths of an NPU, what switches that reduce save, and a picture of the speed-ups of trees C and D over the
mesh. The tables of speed-ups are made from the same computation when the page is built.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from command_line import no_arguments
from common import bars, markdown, picture

from evo_libra.validation.fred import GROUPS, NETWORKS, alone, effective, saved
from evo_libra.validation.fred_runs import RUNS, FredRun


def draw(runs: Sequence[FredRun]) -> None:
    """Draw the speed-ups of both trees."""
    ours = np.array([run.speedups() for run in runs])
    with picture("fred", 2.6) as figure:
        for axes, tree, column in zip(figure.subplots(1, 2, sharey=True), "CD", (0, 1), strict=True):
            series = [("published", [run.published[column] for run in runs]), ("here", ours[:, column].tolist())]
            bars(axes, [run.name for run in runs], series)
            axes.set(ylabel=f"tree {tree} over the mesh", ylim=(0.9, None))
            axes.tick_params(axis="x", labelsize=6)
        axes.legend()


def _bandwidth(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


if __name__ == "__main__":
    no_arguments(__doc__)
    print(
        markdown(
            ("group", "network", "published", "alone", "all at a time"),
            [
                [group.name, network, _bandwidth(published), _bandwidth(alone(network, group)),
                 f"{effective(network, group):.0f}"]
                for group in GROUPS
                for network, published in zip(NETWORKS, group.published, strict=True)
            ],
        )
    )  # fmt: skip
    print()
    sizes = (2, 4, 5, 20)
    print(markdown(("NPUs", "saved [%]"), [[str(extent), f"{100 * saved(extent):.1f}"] for extent in sizes]))
    draw(RUNS)
