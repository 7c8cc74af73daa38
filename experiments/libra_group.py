"""One network for three language models, against the network that is best for each of them.

Repeats LIBRA's optimisation for several models at once (Won et al., ISPASS 2024) on its public inputs: the 4D network
of 4096 NPUs with 500 and 1000 GB/s per NPU, 234 TFLOP/s. The runs are those of `experiments/libra_group.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common import GROUP, MODELS, bars, in_gigabytes, markdown, picture
from runs import Best, best_or_exit, times


@dataclass(frozen=True)
class Network:
    """A network and what it does to the models.

    Attributes
    ----------
    budget : GB/s per NPU.
    name : whom it is best for.
    bandwidth : GB/s of each dimension.
    slowdown : time of each model over its time on the network that is best for it.
    """

    budget: int
    name: str
    bandwidth: str
    slowdown: tuple[float, ...]


def weights_of(time: str | Mapping[str, Any]) -> str:
    """Return how the times of models are weighted; a time that is just a name leaves the weights as stated."""
    return "absolute" if isinstance(time, str) else str(time["weights"])


def networks(found: Sequence[Best], budget: int) -> list[Network]:
    """Return the best network of each model and of the group, and the equal split."""
    mine = {one.said["name"]: one for one in found if one.budget == budget}
    own = [mine[model.problem] for model in MODELS]
    group = [one for one in found if one.budget == budget and one.said["name"] == GROUP]
    names = [*(f"{model.name}'s" for model in MODELS), *(f"group's, {weights_of(one.said['time'])}" for one in group)]
    designs = [*((one.design, in_gigabytes(one.bandwidth)) for one in [*own, *group])]
    equal = own[0].equal, in_gigabytes([own[0].bandwidth.mean()] * len(own[0].bandwidth))
    designs, names = [*designs, equal], [*names, "equal split"]
    slower = [[time / one.time for time in times(one.problem, [design for design, _ in designs])] for one in own]
    return [
        Network(budget, name, bandwidth, slowdown)
        for name, (_, bandwidth), slowdown in zip(names, designs, zip(*slower, strict=True), strict=True)
    ]


def every_network(found: Sequence[Best]) -> list[Network]:
    """Return the networks of each budget."""
    return [one for budget in dict.fromkeys(one.budget for one in found) for one in networks(found, budget)]


def table(found: Sequence[Network]) -> str:
    """Return the table of the study."""
    return markdown(
        ("GB/s", "network", "bandwidth [GB/s]", *(one.name for one in MODELS)),
        [[str(one.budget), one.name, one.bandwidth, *(f"{value:.3f}" for value in one.slowdown)] for one in found],
    )


def draw(found: Sequence[Network]) -> None:
    """Draw the slowdowns."""
    with picture("libra_group", 4.6) as figure:
        budgets = list(dict.fromkeys(one.budget for one in found))
        grid = figure.subplots(len(budgets), 1, sharex=True, sharey=True)
        for axes, budget in zip(grid, budgets, strict=True):
            chosen = [one for one in found if one.budget == budget]
            series = [(model.name, [100 * (one.slowdown[m] - 1) for one in chosen]) for m, model in enumerate(MODELS)]
            bars(axes, [one.name.replace(", ", "\n") for one in chosen], series)
            axes.set(title=f"{budget} GB/s per NPU", ylabel="slower than on its own [%]")
        grid[-1].set_xlabel("network")
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(MODELS))


if __name__ == "__main__":
    everything = every_network(best_or_exit("libra_group", __doc__))
    print(table(everything))
    draw(everything)
