"""The bandwidths that the LIBRA authors published for three networks of 1024 NPUs, against ours.

Their model of 2022 differs from LIBRA's (Won et al., ISPASS 2024) in two ways: collectives of the forward pass run
twice, because the backward pass computes the activations again, and links of rings and fully connected dimensions cost
half. All 12 sets of least time and 9 of the most performance per cost at 100 GB/s are compared.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from command_line import no_arguments
from common import GROUP, LIBRA_RATE, MODELS, markdown, picture
from matplotlib.ticker import NullFormatter

from evo_libra import optimize
from evo_libra.arrays import GIGA
from evo_libra.network.catalog.technologies import Technology
from evo_libra.pictures.plots.axes import COLOURS
from evo_libra.problem.file.registry import load_open_problem
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.libra import LibraTime
from evo_libra.problem.time_models.loops import WeightedLoop, weighted_loop
from evo_libra.workload.layers.workload import Workload
from evo_libra.workload.parallelism import ALL

PUBLISHED = Path(__file__).parent / "shared" / "sc22_published.json"
BUDGET = 100.0
NETS = {
    "2d": ("RI(8)@package", "SW(128)@pod"),
    "3d": ("RI(8)@package", "FC(8)@node", "SW(16)@pod"),
    "4d": ("RI(2)@chiplet", "FC(8)@package", "RI(8)@node", "SW(8)@pod"),
}
TICKS = (0.1, 0.3, 1, 3, 10, 30, 100)
OBJECTIVES = {"PerfOpt": "time", "PerfPerCostOpt": "time-cost"}
WORKLOADS = {"175b": MODELS[0].problem, "1t": MODELS[1].problem, "17b": MODELS[2].problem, "group": GROUP}
# USD per NPU and GB/s of links, switches and NICs. Of these networks all switches stand between pods, and nothing else.
PRICES = {"chiplet": (2 / 2, 0, 0), "package": (4 / 2, 13, 0), "node": (4 / 2, 13, 0), "pod": (7.8, 18, 31.6)}


@dataclass(frozen=True)
class Comparison:
    """A published set of bandwidths and ours.

    Attributes
    ----------
    published, ours : GB/s of each dimension.
    excess : how much larger the objective is at the published bandwidths, relative to ours.
    """

    net: str
    workload: str
    objective: str
    published: tuple[float, ...]
    ours: tuple[float, ...]
    excess: float

    @property
    def difference(self) -> float:
        """The largest difference of a dimension, in GB/s."""
        return max(abs(p - o) for p, o in zip(self.published, self.ours, strict=True))


def settings(rate: float, workloads: int = 1) -> list[str]:
    """Return the assignments that turn a problem file into LIBRA's setting: its prices, and no bounds or caps."""
    compute = [f"workloads[{index}].compute_TFLOPS={rate!r}" for index in range(workloads)]
    return ["bandwidth=search", "fabric.catalog=libra", "fabric.one_dimension_per_technology=true", *compute]


def total(gigabytes: float) -> str:
    """Return the constraint that LIBRA's studies set: all dimensions together have exactly this bandwidth."""
    return f"sum(bw) == {gigabytes:g} GB/s"


def recomputed(workload: Workload) -> Workload:
    """Return the workload with the collectives of its forward pass run twice."""
    layers = (replace(one, forward=replace(one.forward, size=2 * one.forward.size)) for one in workload.layers)
    return replace(workload, layers=tuple(layers))


def recomputed_loop(loop: WeightedLoop) -> WeightedLoop:
    """Return the training loop of the workload with the collectives of its forward pass run twice."""
    if not isinstance(loop.workload, Workload):
        raise TypeError(f"the workload {loop.workload.name} is a trace")
    degrees = {name: degree for name, degree in loop.degrees.items() if name != ALL}
    return weighted_loop(recomputed(loop.workload), degrees, loop.weight, "none", loop.degrees[ALL])


def priced(technology: Technology) -> Technology:
    """Return a technology at the prices of 2022."""
    link, switch, nic = (price / GIGA for price in PRICES[technology.name])
    return replace(technology, link=link, switch=switch, nic=nic)


def problem_of(net: str, workload: str) -> Problem:
    """Return the problem whose solution was published."""
    count = len(MODELS) if workload == "group" else 1
    assignments = [*settings(LIBRA_RATE, count), "npus=1024", "time={shares: libra}"]
    problem = load_open_problem(WORKLOADS[workload], assignments, "_".join(NETS[net]), [total(BUDGET)])
    technologies = tuple(priced(one) for one in problem.catalog.technologies)
    time = LibraTime(tuple(recomputed_loop(loop) for loop in problem.time.loops))
    return replace(problem, time=time, catalog=replace(problem.catalog, technologies=technologies))


def comparison(row: dict[str, Any]) -> Comparison:
    """Return the comparison for a row of the published sets."""
    problem = problem_of(row["net"], row["wl"])
    best = optimize(problem, objective=OBJECTIVES[row["obj"]])
    design = "_".join(f"{part}:{value}" for part, value in zip(NETS[row["net"]], row["published"], strict=True))
    time, cost = problem.evaluate(design).objectives[:, 0]
    ratio = time / best.time if row["obj"] == "PerfOpt" else time * cost / (best.time * best.cost)
    ours = tuple((best.bandwidth / GIGA).tolist())
    return Comparison(row["net"], row["wl"], OBJECTIVES[row["obj"]], tuple(row["published"]), ours, float(ratio) - 1)


def comparisons() -> list[Comparison]:
    """Return all comparisons at 100 GB/s."""
    rows = json.loads(PUBLISHED.read_text(encoding="utf-8"))["rows"]
    return [comparison(row) for row in rows if row["B"] == BUDGET]


def draw(found: list[Comparison]) -> None:
    """Draw our bandwidths over the published ones."""
    with picture("published_allocations", 4.0) as figure:
        axes = figure.add_subplot(xlabel="published [GB/s]", ylabel="ours [GB/s]", xscale="log", yscale="log")
        axes.axline((1, 1), (10, 10), color="#767676", linewidth=0.8)
        for objective, colour, marker in zip(OBJECTIVES.values(), COLOURS, "os", strict=False):
            chosen = [one for one in found if one.objective == objective]
            axes.plot(
                [value for one in chosen for value in one.published],
                [value for one in chosen for value in one.ours],
                marker, color=colour, markersize=5, markeredgecolor="black", markeredgewidth=0.5, label=objective,
            )  # fmt: skip
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_ticks(TICKS, labels=[f"{value:g}" for value in TICKS])
            axis.set_minor_formatter(NullFormatter())
        axes.legend(loc="upper left")


if __name__ == "__main__":
    no_arguments(__doc__)
    everything = comparisons()
    head = ("net", "model", "objective", "published [GB/s]", "ours [GB/s]", "difference", "published is worse by")
    rows = [
        [
            one.net, one.workload, one.objective, "/".join(f"{value:.2f}" for value in one.published),
            "/".join(f"{value:.2f}" for value in one.ours), f"{one.difference:.4f}", f"{one.excess:.1e}",
        ]
        for one in sorted(everything, key=lambda one: (one.objective, one.net))
    ]  # fmt: skip
    print(markdown(head, rows))
    draw(everything)
