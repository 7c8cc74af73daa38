"""Speed-up and performance per cost over equal bandwidth, for ten budgets.

Reproduces LIBRA (Won et al., ISPASS 2024) on its public inputs: both objectives, GPT-3, MSFT-1T and Turing-NLG on the
4D and the 3D network of 4096 NPUs with 100 to 1000 GB/s per NPU, at the compute rate of the inputs and at 234 TFLOP/s.
The runs are those of `experiments/libra_budgets.yaml`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from statistics import mean

from common import LIBRA_RATE, MODELS, markdown, picture
from runs import Best, best_or_exit

from evo_libra.pictures.plots.axes import COLOURS

RATES = {"66": LIBRA_RATE, "234": 234.0}
SHAPES = {"4D": 4, "3D": 3}
LABELS = ("speed-up over equal split", "perf per cost over equal split")
HEAD = (
    "TFLOP/s", "shape", "model", "speed-up: average", "largest", "perf per cost: average", "largest", "its speed-up",
)  # fmt: skip


@dataclass(frozen=True)
class Gains:
    """What a model gains on a shape over equal bandwidth, a value a budget.

    Attributes
    ----------
    budgets : GB/s per NPU.
    speedup : of the fastest bandwidths.
    per_cost : performance per cost of the bandwidths that have the most of it; `its_speedup` is their speed-up.
    """

    rate: str
    shape: str
    model: str
    budgets: tuple[int, ...]
    speedup: tuple[float, ...]
    per_cost: tuple[float, ...]
    its_speedup: tuple[float, ...]


def gains(found: Sequence[Best], rate: str, shape: str, model: str, problem: str) -> Gains:
    """Return what a model gains on a shape."""
    mine = [
        one
        for one in found
        if one.said["name"] == problem
        and len(one.bandwidth) == SHAPES[shape]
        and one.said["workloads"][0]["compute_TFLOPS"] == RATES[rate]
    ]
    fastest, best = ([one for one in mine if one.said["objectives"][0] == goal] for goal in ("time", "time-cost"))
    return Gains(
        rate, shape, model,
        tuple(one.budget for one in fastest),
        tuple(one.speedup for one in fastest),
        tuple(one.performance_per_cost for one in best),
        tuple(one.speedup for one in best),
    )  # fmt: skip


def every_gain(found: Sequence[Best]) -> list[Gains]:
    """Return what each model gains on each shape at each compute rate, as far as there are runs."""
    every = (gains(found, rate, shape, one.name, one.problem) for rate, shape, one in product(RATES, SHAPES, MODELS))
    return [one for one in every if one.budgets]


def table(found: Sequence[Gains]) -> str:
    """Return the table of the study."""
    rows = [row((one.rate, one.shape, one.model), [one]) for one in found]
    rates = dict.fromkeys(one.rate for one in found)
    rows += [row((rate, "both", "all three"), [one for one in found if one.rate == rate]) for rate in rates]
    return markdown(HEAD, rows)


def row(label: tuple[str, str, str], found: Sequence[Gains]) -> list[str]:
    """Return a row of the table."""
    speedup = [value for one in found for value in one.speedup]
    per_cost = [value for one in found for value in one.per_cost]
    its = [value for one in found for value in one.its_speedup]
    numbers = (mean(speedup), max(speedup), mean(per_cost), max(per_cost), mean(its))
    return [*label, *(f"{value:.3f}" for value in numbers)]


def draw(found: Sequence[Gains]) -> None:
    """Draw the gains over the budgets."""
    colours = dict(zip((model.name for model in MODELS), COLOURS, strict=False))
    with picture("libra_budgets", 5.0) as figure:
        grid = figure.subplots(2, 2, sharex=True, sharey="row")
        for (r, label), (c, rate) in product(enumerate(LABELS), enumerate(RATES)):
            axes = grid[r, c]
            for one in (one for one in found if one.rate == rate):
                style = "o-" if one.shape == "4D" else "s--"
                axes.plot(
                    one.budgets, (one.speedup, one.per_cost)[r], style, color=colours[one.model], markersize=3.5,
                    linewidth=1.2, label=f"{one.model}, {one.shape}",
                )  # fmt: skip
            axes.set(title=f"{rate} TFLOP/s" if r == 0 else "", xlabel="GB/s per NPU" if r else "")
            axes.set_ylabel(label if c == 0 else "")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


if __name__ == "__main__":
    everything = every_gain(best_or_exit("libra_budgets", __doc__))
    print(table(everything))
    draw(everything)
