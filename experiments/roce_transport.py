"""What congestion control costs collectives and training steps on 128 NPUs: the published laws as fluids.

The study (HOTI 2022, arXiv 2207.10898) is known by its abstract alone, so that there are no figures of its own here.
Writes what it simulates to `evo_libra/validation/data/roce_fluid.json`, where `evo-libra validate` reads it, and a
picture. The closed form is next to it. Takes about ten minutes of one core.
"""

from __future__ import annotations

import json

from command_line import no_arguments
from common import bars, markdown, picture

from evo_libra.network.transport import TRANSPORTS
from evo_libra.validation.roce.rows import algorithms, closed_steps, fluid_steps, study
from evo_libra.validation.roce.steps import ALGORITHMS, communication_seconds, factors
from evo_libra.validation.roce.study import STEP
from evo_libra.validation.source import DATA

SIZES_MB = (16, 128)
"""Of the all-reduces."""

SEED = 0
"""Of the hash of routes."""


def communication() -> dict[str, dict[str, dict[str, float]]]:
    """Return the simulated ms of communication of each step, by algorithm, workload and transport."""
    runs = [*((name, name, None) for name in ALGORITHMS), (f"{ALGORITHMS[-1]}, ECMP", ALGORITHMS[-1], SEED)]
    workloads = [loop.workload for loop in study().time.loops]
    return {
        label: {
            one.name: {
                scheme: round(communication_seconds(one, scheme, algorithm, seed=seed) * 1e3, 4)
                for scheme in TRANSPORTS
            }
            for one in workloads
        }
        for label, algorithm, seed in runs
    }


def steps() -> str:
    """Return the table of steps: times over those under PFC, by the closed form and by the fluid."""
    found = {"closed form": closed_steps(), **{f"fluid, {name}": fluid_steps(name) for name in algorithms()}}
    rows = [
        [workload, label, *(f"{ratio:.3f}" for name, ratio in row.items() if name != "pfc")]
        for workload in closed_steps()
        for label, each in found.items()
        for row in [each[workload]]
    ]
    return markdown(("step", "model", *(name for name in TRANSPORTS if name != "pfc")), rows)


def draw(found: dict[str, dict[str, dict[str, float]]]) -> None:
    """Draw the factors of each collective, and those of the closed form."""
    names = [name for name in TRANSPORTS if name != "pfc"]
    with picture("roce_transport", 2.6) as figure:
        grid = figure.subplots(1, len(ALGORITHMS), sharey=True)
        for axes, collective in zip(grid, ALGORITHMS, strict=True):
            simulated = [(f"simulated, {size} MB", [found[size][collective][name] for name in names]) for size in found]
            closed = [TRANSPORTS[name].factor for name in names]
            bars(axes, [name.replace("hpcc-", "hpcc-\n") for name in names], [*simulated, ("closed form", closed)])
            axes.set(title=collective, ylim=(0.6, 1.02))
            axes.tick_params(axis="x", rotation=60)
        grid[0].set_ylabel("bandwidth over that of PFC")
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


if __name__ == "__main__":
    no_arguments(__doc__)
    figures = {str(size): factors(size * 1e6) for size in SIZES_MB}
    data = {"step_s": STEP, "factors_by_MB": figures, "communication_ms": communication()}
    (DATA / "roce_fluid.json").write_text(json.dumps(data, indent=1) + "\n")
    rows = [
        [f"{size} MB", collective, name, f"{value:.3f}", f"{TRANSPORTS[name].factor:.3f}"]
        for size, each in figures.items()
        for collective, values in each.items()
        for name, value in values.items()
    ]
    print(markdown(("all-reduce", "algorithm", "transport", "simulated", "closed form"), rows), steps(), sep="\n\n")
    draw(figures)
