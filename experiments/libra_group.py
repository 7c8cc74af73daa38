"""One network for three language models, against the network that is best for each of them.

Repeats LIBRA's optimisation for several models at once (Won et al., ISPASS 2024) on its public inputs: the 4D network
of 4096 NPUs with 500 and 1000 GB/s per NPU, 234 TFLOP/s.
"""

from __future__ import annotations

from dataclasses import dataclass

from common import A100_RATE, GROUP, MODELS, SHAPE_4D, bars, in_gigabytes, markdown, picture, settings, total

from evo_libra import optimize
from evo_libra.model.arrays import GIGA
from evo_libra.problem.optimize import Allocation
from evo_libra.problem.registry import load_open_problem

BUDGETS = (500, 1000)
WEIGHTS = ("absolute", "normalised")


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


def networks(budget: int) -> list[Network]:
    """Return the best network of each model and of the group, and the equal split."""
    own = [best(one.problem, budget, settings(A100_RATE)) for one in MODELS]
    group = [best(GROUP, budget, [*settings(A100_RATE, len(MODELS)), f"time.weights={kind}"]) for kind in WEIGHTS]
    problems = [load_open_problem(one.problem, settings(A100_RATE), SHAPE_4D, [total(budget)]) for one in MODELS]
    times = [problem.evaluate([one.design for one in [*own, *group]]).objectives[0] for problem in problems]
    names = [*(f"{one.name}'s" for one in MODELS), *(f"group's, {kind}" for kind in WEIGHTS)]
    found = [
        Network(
            budget, name, in_gigabytes(one.bandwidth),
            tuple(float(time[n]) / alone.time for time, alone in zip(times, own, strict=True)),
        )
        for n, (name, one) in enumerate(zip(names, [*own, *group], strict=True))
    ]  # fmt: skip
    equal = tuple(one.speedup for one in own)
    return [*found, Network(budget, "equal split", in_gigabytes(own[0].equal_bandwidth), equal)]


def best(problem: str, budget: int, assignments: list[str]) -> Allocation:
    """Return the fastest bandwidths."""
    return optimize(problem, shape=SHAPE_4D, total=budget * GIGA, assignments=assignments)


def draw(found: list[Network]) -> None:
    """Draw the slowdowns."""
    with picture("libra_group", 4.6) as figure:
        grid = figure.subplots(len(BUDGETS), 1, sharex=True, sharey=True)
        for axes, budget in zip(grid, BUDGETS, strict=True):
            chosen = [one for one in found if one.budget == budget]
            series = [(model.name, [100 * (one.slowdown[m] - 1) for one in chosen]) for m, model in enumerate(MODELS)]
            bars(axes, [one.name.replace(", ", "\n") for one in chosen], series)
            axes.set(title=f"{budget} GB/s per NPU", ylabel="slower than on its own [%]")
        grid[-1].set_xlabel("network")
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(MODELS))


if __name__ == "__main__":
    everything = [one for budget in BUDGETS for one in networks(budget)]
    print(
        markdown(
            ("GB/s", "network", "bandwidth [GB/s]", *(one.name for one in MODELS)),
            [
                [str(one.budget), one.name, one.bandwidth, *(f"{value:.3f}" for value in one.slowdown)]
                for one in everything
            ],
        )
    )
    draw(everything)
