"""What the price of links between packages changes.

Repeats LIBRA's objective of performance per cost (Won et al., ISPASS 2024) on its public inputs: the 4D network of 4096
NPUs with 500 GB/s per NPU and 234 TFLOP/s, and links between packages at 1 to 5 USD per GB/s instead of 4. The runs are
those of `experiments/link_price.yaml`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from common import MODELS, in_gigabytes, markdown, picture
from runs import Best, best_or_exit

from evo_libra.arrays import GIGA
from evo_libra.network.fabric import parse_fabric
from evo_libra.pictures.plots.axes import COLOURS

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


def outcome(best: Best) -> Outcome:
    """Return what is best at the price of a run."""
    name = parse_fabric(best.design).dimensions[DIMENSION].technology
    (price,) = (one.link * GIGA for one in best.problem.catalog.technologies if one.name == name)
    model = next(one.name for one in MODELS if one.problem == best.said["name"])
    return Outcome(
        model, price, best.performance_per_cost, best.speedup,
        float(best.bandwidth[DIMENSION] / best.bandwidth.sum()), in_gigabytes(best.bandwidth),
    )  # fmt: skip


def table(found: Sequence[Outcome]) -> str:
    """Return the table of the study."""
    return markdown(
        ("model", "USD per GB/s", "perf per cost", "speed-up", "between packages", "bandwidth [GB/s]"),
        [
            [
                one.model, f"{one.price:g}", f"{one.gain:.3f}", f"{one.speedup:.3f}", f"{100 * one.share:.1f} %",
                one.bandwidth,
            ]
            for one in found
        ],
    )  # fmt: skip


def draw(found: Sequence[Outcome]) -> None:
    """Draw the gain and the share over the price."""
    with picture("link_price", 3.2) as figure:
        gain, share = figure.subplots(1, 2)
        for model, colour, marker in zip(MODELS, COLOURS, "osD", strict=False):
            chosen = [one for one in found if one.model == model.name]
            for axes, values in ((gain, [one.gain for one in chosen]), (share, [100 * one.share for one in chosen])):
                prices = [one.price for one in chosen]
                axes.plot(prices, values, f"{marker}-", color=colour, markersize=4.5, linewidth=1.2, label=model.name)
        label = "price of links between packages\n[USD per NPU and GB/s]"
        gain.set(xlabel=label, ylabel="perf per cost over equal split", ylim=(0, None))
        share.set(xlabel=label, ylabel="bandwidth between packages [%]", ylim=(0, None))
        figure.legend(*gain.get_legend_handles_labels(), loc="outside lower center", ncols=len(MODELS))


if __name__ == "__main__":
    everything = [outcome(one) for one in best_or_exit("link_price", __doc__)]
    print(table(everything))
    draw(everything)
