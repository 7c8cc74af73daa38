"""What the price of links between packages changes.

Repeats LIBRA's objective of performance per cost (Won et al., ISPASS 2024) on its public inputs: the 4D network of 4096
NPUs with 500 GB/s per NPU and 234 TFLOP/s, and links between packages at 1 to 5 USD per GB/s instead of 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from common import A100_RATE, MODELS, SHAPE_4D, Model, in_gigabytes, markdown, picture, settings, total

from evo_libra import optimize
from evo_libra.model.arrays import GIGA
from evo_libra.problem.problem import Problem
from evo_libra.problem.registry import load_open_problem
from evo_libra.ui.figure import COLOURS

BUDGET = 500
PRICES = (1.0, 2.0, 3.0, 4.0, 5.0)
DIMENSION = 1  # The one between packages.


@dataclass(frozen=True)
class Outcome:
    """The bandwidths with the most performance per cost at a price.

    Attributes
    ----------
    price : of links between packages, USD per NPU and GB/s.
    gain : performance per cost over equal bandwidth at the same price.
    speedup : over equal bandwidth.
    share : part of the bandwidth that runs between packages.
    bandwidth : GB/s of each dimension.
    """

    model: str
    price: float
    gain: float
    speedup: float
    share: float
    bandwidth: str


def with_link_price(problem: Problem, technology: str, price: float) -> Problem:
    """Return the problem with another price of a technology's links, in USD per NPU and GB/s."""
    technologies = tuple(
        replace(one, link=price / GIGA) if one.name == technology else one for one in problem.catalog.technologies
    )
    return replace(problem, catalog=replace(problem.catalog, technologies=technologies))


def outcomes(model: Model) -> list[Outcome]:
    """Return what is best at each price."""
    problem = load_open_problem(model.problem, settings(A100_RATE), SHAPE_4D, [total(BUDGET)])
    found = [(price, optimize(with_link_price(problem, "package", price), objective="time-cost")) for price in PRICES]
    return [
        Outcome(
            model.name, price, best.performance_per_cost, best.speedup,
            float(best.bandwidth[DIMENSION] / best.bandwidth.sum()), in_gigabytes(best.bandwidth),
        )
        for price, best in found
    ]  # fmt: skip


def draw(found: list[Outcome]) -> None:
    """Draw the gain and the share over the price."""
    with picture("link_price", 3.2) as figure:
        gain, share = figure.subplots(1, 2)
        for model, colour, marker in zip(MODELS, COLOURS, "osD", strict=False):
            chosen = [one for one in found if one.model == model.name]
            for axes, values in ((gain, [one.gain for one in chosen]), (share, [100 * one.share for one in chosen])):
                axes.plot(PRICES, values, f"{marker}-", color=colour, markersize=4.5, linewidth=1.2, label=model.name)
        label = "price of links between packages\n[USD per NPU and GB/s]"
        gain.set(xlabel=label, ylabel="perf per cost over equal split", ylim=(0, None))
        share.set(xlabel=label, ylabel="bandwidth between packages [%]", ylim=(0, None))
        figure.legend(*gain.get_legend_handles_labels(), loc="outside lower center", ncols=len(MODELS))


if __name__ == "__main__":
    everything = [one for model in MODELS for one in outcomes(model)]
    print(
        markdown(
            ("model", "USD per GB/s", "perf per cost", "speed-up", "between packages", "bandwidth [GB/s]"),
            [
                [
                    one.model, f"{one.price:g}", f"{one.gain:.3f}", f"{one.speedup:.3f}", f"{100 * one.share:.1f} %",
                    one.bandwidth,
                ]
                for one in everything
            ],
        )
    )  # fmt: skip
    draw(everything)
