"""RePurpose on a small trained network: what moving neurons saves over partitions that a user would try first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from command_line import no_arguments
from common import markdown, picture

from evo_libra import load_problem, search
from evo_libra.front.front import Front
from evo_libra.pictures.plots.axes import COLOURS
from evo_libra.plugins.repurpose.assignment import contiguous, direct, shuffled
from evo_libra.plugins.repurpose.partition import Partition

ERRORS = (0.02, 0.05, 0.1, 0.2)
SEEDS = 20
Problem = Any
"""The problem, which is no module of the package."""
Curves = Mapping[str, Sequence[Partition]]


def baselines(problem: Problem, errors: Sequence[float] = ERRORS) -> Curves:
    """Return each partition that nothing is moved in, at errors; of the random ones, that of seed 0."""
    place = problem.network, problem.family.inputs, problem.family.shares
    owners = {"contiguous": contiguous(*place), "direct": direct(*place), "random": shuffled(*place, seed=0)}
    return {name: [problem.baseline(mine, error) for error in errors] for name, mine in owners.items()}


def random_copies(problem: Problem, error: float) -> list[int]:
    """Return the copies that random partitions of 20 seeds send at an error."""
    place = problem.network, problem.family.inputs, problem.family.shares
    return [int(problem.baseline(shuffled(*place, seed=seed), error).copies) for seed in range(SEEDS)]


def front_of(problem: Problem) -> Front:
    """Return the front of traffic and error."""
    return search(problem, evaluations=5000, population=100, engine="nsga2", seed=0)


def least(front: Front, error: float) -> Mapping[str, Any]:
    """Return the design of a front that sends least within an error."""
    within = front.frame.filter(front.frame["error_percent"] <= 100.0 * error)
    return cast("Mapping[str, Any]", within.sort("traffic_B").row(0, named=True))


def rows(problem: Problem, even: Front, loose: Front) -> list[list[str]]:
    """Return the table: what is sent at each error, in bytes per sample, and the error rates."""
    found, width = [], problem.options.bytes
    curves = baselines(problem)
    for place, error in enumerate(ERRORS):
        mine, free = least(even, error), least(loose, error)
        here = problem.partition([mine[f"price_{n}"] for n in (1, 2, 3)], mine["slack_percent"])
        others = {name: curve[place] for name, curve in curves.items()}
        drawn = min(random_copies(problem, error))
        fewest = min(drawn, *(others[name].copies for name in ("contiguous", "direct"))) * width
        found.append([
            f"{100 * error:g}", *(f"{others[name].copies * width}" for name in ("contiguous", "direct")),
            f"{drawn * width}", f"{mine['traffic_B']:.0f}",
            f"{100 * (1 - mine['traffic_B'] / fewest):.0f}", f"{free['traffic_B']:.0f}",
            f"{100 * others['contiguous'].error_rate:.1f}", f"{100 * here.error_rate:.1f}",
        ])  # fmt: skip
    return found


HEAD = (
    "error [%]", "contiguous [B]", "direct [B]", "best of 20 random [B]", "moved [B]", "saved [%]",
    "moved, slack 50 % [B]", "error rate, contiguous [%]", "error rate, moved [%]",
)  # fmt: skip


def draw(problem: Problem, fronts: Sequence[tuple[str, Problem, Front]]) -> None:
    """Draw traffic against error and against the error rate."""
    curves = baselines(problem, np.geomspace(0.01, 0.4, 25).tolist())
    with picture("repurpose", 3.2) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        for (name, curve), colour in zip(curves.items(), COLOURS[2:], strict=False):
            sent = [one.copies * problem.options.bytes for one in curve]
            left.plot([100 * one.error for one in curve], sent, color=colour, label=name)
            right.plot([100 * one.error_rate for one in curve], sent, color=colour)
        for (label, mine, front), colour in zip(fronts, COLOURS, strict=False):
            frame = front.frame.filter((front.frame["error_percent"] < 40) & (front.frame["traffic_B"] > 100))  # noqa: PLR2004 - the axes
            left.plot(frame["error_percent"], frame["traffic_B"], ".", ms=3, color=colour, label=label)
            rates = [_rate(mine, row) for row in frame.to_dicts()]
            right.plot(rates, frame["traffic_B"], ".", ms=3, color=colour)
        left.set(xlabel="reconstruction error [%]", ylabel="traffic [B per sample]", xlim=(0, 40))
        right.set(xlabel="error rate on held-out digits [%]", xlim=(0, 60))
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)


def _rate(problem: Problem, row: Mapping[str, Any]) -> float:
    found = problem.partition([row[f"price_{n}"] for n in (1, 2, 3)], row["slack_percent"])
    return 100.0 * float(found.error_rate)


def main() -> None:
    """Print the table and draw the picture."""
    even = load_problem("repurpose", ["objectives=[traffic, error]", "slack_percent=[0]"])
    loose = load_problem("repurpose", ["objectives=[traffic, error]", "slack_percent=[50]"])
    fronts = front_of(even), front_of(loose)
    print(markdown(HEAD, rows(even, *fronts)))
    draw(even, [("moved", even, fronts[0]), ("moved, slack of 50 %", loose, fronts[1])])


if __name__ == "__main__":
    no_arguments(__doc__)
    main()
