"""What congestion control costs collectives on 128 NPUs: the published laws as fluids, next to the closed form.

The study (HOTI 2022, arXiv 2207.10898) is known by its abstract alone, so that there are no figures of its own here.
Writes the simulated factors to `evo_libra/validation/data/roce_fluid.json`, where `evo-libra validate` reads them, and
their picture. Takes about a minute of one core.
"""

from __future__ import annotations

import json

from common import bars, markdown, picture

from evo_libra.network.transport import TRANSPORTS
from evo_libra.validation.roce.study import COLLECTIVES, STEP, factors
from evo_libra.validation.source import DATA

SIZES_MB = (16, 128)
"""Of the all-reduces."""


def draw(found: dict[str, dict[str, dict[str, float]]]) -> None:
    """Draw the factors of each collective, and those of the closed form."""
    names = [name for name in TRANSPORTS if name != "pfc"]
    with picture("roce_transport", 2.6) as figure:
        grid = figure.subplots(1, len(COLLECTIVES), sharey=True)
        for axes, collective in zip(grid, COLLECTIVES, strict=True):
            simulated = [(f"simulated, {size} MB", [found[size][collective][name] for name in names]) for size in found]
            closed = [TRANSPORTS[name].factor for name in names]
            bars(axes, [name.replace("hpcc-", "hpcc-\n") for name in names], [*simulated, ("closed form", closed)])
            axes.set(title=collective, ylim=(0.6, 1.02))
            axes.tick_params(axis="x", rotation=60)
        grid[0].set_ylabel("bandwidth over that of PFC")
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


if __name__ == "__main__":
    figures = {str(size): factors(size * 1e6) for size in SIZES_MB}
    data = {"step_s": STEP, "factors_by_MB": figures}
    (DATA / "roce_fluid.json").write_text(json.dumps(data, indent=1) + "\n")
    rows = [
        [f"{size} MB", collective, name, f"{value:.3f}", f"{TRANSPORTS[name].factor:.3f}"]
        for size, each in figures.items()
        for collective, values in each.items()
        for name, value in values.items()
    ]
    print(markdown(("all-reduce", "algorithm", "transport", "simulated", "closed form"), rows))
    draw(figures)
