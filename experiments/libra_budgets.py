"""Speed-up and performance per cost over equal bandwidth, for ten budgets.

Reproduces LIBRA (Won et al., ISPASS 2024) on its public inputs: both objectives, GPT-3, MSFT-1T and Turing-NLG on the
4D and the 3D network of 4096 NPUs with 100 to 1000 GB/s per NPU, at the compute rate of the inputs and at 234 TFLOP/s.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from statistics import mean

from common import A100_RATE, LIBRA_RATE, MODELS, SHAPE_3D, SHAPE_4D, markdown, picture, settings

from evo_libra import optimize
from evo_libra.model.arrays import GIGA
from evo_libra.ui.figure import COLOURS

BUDGETS = tuple(range(100, 1001, 100))
RATES = {"66": LIBRA_RATE, "234": A100_RATE}
SHAPES = {"4D": SHAPE_4D, "3D": SHAPE_3D}
LABELS = ("speed-up over equal split", "perf per cost over equal split")
HEAD = (
    "TFLOP/s", "shape", "model", "speed-up: average", "largest", "perf per cost: average", "largest", "its speed-up",
)  # fmt: skip


@dataclass(frozen=True)
class Gains:
    """What a model gains on a shape over equal bandwidth, a value a budget.

    Attributes
    ----------
    speedup : of the fastest bandwidths.
    per_cost : performance per cost of the bandwidths that have the most of it; `its_speedup` is their speed-up.
    """

    rate: str
    shape: str
    model: str
    speedup: tuple[float, ...]
    per_cost: tuple[float, ...]
    its_speedup: tuple[float, ...]


def gains(rate: str, shape: str, name: str, problem: str) -> Gains:
    """Return what a model gains on a shape."""
    fastest, best = (
        [
            optimize(
                problem,
                shape=SHAPES[shape],
                total=budget * GIGA,
                objective=objective,
                assignments=settings(RATES[rate]),
            )
            for budget in BUDGETS
        ]
        for objective in ("time", "time-cost")
    )
    return Gains(
        rate, shape, name,
        tuple(one.speedup for one in fastest),
        tuple(one.performance_per_cost for one in best),
        tuple(one.speedup for one in best),
    )  # fmt: skip


def row(label: tuple[str, str, str], found: list[Gains]) -> list[str]:
    """Return a row of the table."""
    speedup = [value for one in found for value in one.speedup]
    per_cost = [value for one in found for value in one.per_cost]
    its = [value for one in found for value in one.its_speedup]
    numbers = (mean(speedup), max(speedup), mean(per_cost), max(per_cost), mean(its))
    return [*label, *(f"{value:.3f}" for value in numbers)]


def draw(found: list[Gains]) -> None:
    """Draw the gains over the budgets."""
    colours = dict(zip((model.name for model in MODELS), COLOURS, strict=False))
    with picture("libra_budgets", 5.0) as figure:
        grid = figure.subplots(2, 2, sharex=True, sharey="row")
        for (r, label), (c, rate) in product(enumerate(LABELS), enumerate(RATES)):
            axes = grid[r, c]
            for one in (one for one in found if one.rate == rate):
                style = "o-" if one.shape == "4D" else "s--"
                axes.plot(
                    BUDGETS, (one.speedup, one.per_cost)[r], style, color=colours[one.model], markersize=3.5,
                    linewidth=1.2, label=f"{one.model}, {one.shape}",
                )  # fmt: skip
            axes.set(title=f"{rate} TFLOP/s" if r == 0 else "", xlabel="GB/s per NPU" if r else "")
            axes.set_ylabel(label if c == 0 else "")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


if __name__ == "__main__":
    everything = [gains(rate, shape, one.name, one.problem) for rate, shape, one in product(RATES, SHAPES, MODELS)]
    rows = [row((one.rate, one.shape, one.model), [one]) for one in everything]
    rows += [row((rate, "both", "all three"), [one for one in everything if one.rate == rate]) for rate in RATES]
    print(markdown(HEAD, rows))
    draw(everything)
