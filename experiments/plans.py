"""What it brings to search plan and network together, and how plans should be genes.

For each problem that leaves plans open: the hypervolume of the fronts that a search finds where both are open, where
the plan is the fastest one of today's cluster, and where the network has the shape of today's cluster. Today's cluster
is servers of 8 GPUs on NVLink below a fat tree of full bisection, with one NIC for each GPU. The last table compares
two ways in which plans are genes; see `plan_genes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from command_line import no_arguments
from common import markdown, picture
from effects_off import load
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from plan_genes import NAMES, POPULATION, compared, encodings, extent, figures

from evo_libra import Problem, search
from evo_libra.arrays import FloatArray
from evo_libra.front.indicators import hypervolume
from evo_libra.pictures.plots.axes import COLOURS
from evo_libra.workload.plans.plan_table import PlanTable
from evo_libra.workload.plans.recomputation import recompute_text

SEEDS = (0, 1, 2)
EVALUATIONS = 50_000
TOGETHER, NETWORK, PLAN = "together", "network, plan of today's cluster", "plan, network of today's shape"
_SERVER = 8
_MILLION = 1e6


@dataclass(frozen=True)
class Case:
    """A problem of the study.

    Attributes
    ----------
    name : of the problem.
    server, fabric : technology and GB/s of a GPU inside a server of today's cluster, and between servers.
    opened : what is changed in the problem's file.
    """

    name: str
    server: tuple[str, int]
    fabric: tuple[str, int]
    opened: tuple[str, ...] = ()

    @property
    def problem(self) -> Problem:
        """The problem with its plans open."""
        return load(self.name, self.opened)

    def shape(self, npus: int) -> str:
        """Return the shape of today's cluster."""
        return f"SW({_SERVER})@{self.server[0]}_CL({npus // _SERVER})@{self.fabric[0]}"

    def today(self, npus: int) -> str:
        """Return today's cluster."""
        inside, between = self.shape(npus).split("_")
        return f"{inside}:{self.server[1]}_{between}:{self.fabric[1]}"


_H100 = (("nvlink4", 450), ("optics-400g", 50))
_A100 = (("nvlink3", 300), ("optics-200g", 25))
CASES = (
    Case("llama3-405b-16k", *_H100),
    Case("deepseek-v3-2k", *_H100),
    Case("mixtral-8x7b-256", *_H100, ("fabric.blocks=[fully-connected, switch, fat-tree, ocs-rail]",)),
    Case("megatron-1t-3072", *_A100),
    Case("mixed-models-4k", *_H100),
    Case("gpt3-175b-1536", *_A100, (
        "workloads[0].parallelism={tp: any, pp: any, vp: any}", "workloads[0].training.micro_batch=[1, 2, 4]",
        "workloads[0].training.zero=[0, 1]", "workloads[0].training.recompute=[none, selective, full]",
        "workloads[0].training.sequence_parallel=[false, true]",
    )),
)  # fmt: skip


def fastest_plans(problem: Problem, design: str) -> tuple[int, ...]:
    """Return for each workload the plan that is fastest on a network, of those that fit the memory and its domains.

    Times of workloads add up, so each is the fastest whatever the plans of the others.
    """
    tables = problem.time.tables
    fitting = [np.flatnonzero(table.memory <= table.capacity) for table in tables]
    # Small tensor parallel groups are inside every domain, so that the notation has them.
    first = [int(some[table.plans.tp[some].argmin()]) for table, some in zip(tables, fitting, strict=True)]
    text = " | ".join([design, *(table.texts[plan] for table, plan in zip(tables, first, strict=True))])
    one = problem.read(text)
    found = []
    for place, some in enumerate(fitting):
        plans = np.repeat(np.array(first)[:, None], len(some), axis=1)
        plans[place] = some
        many = replace(one.select(np.zeros(len(some), dtype=np.int64)), plan=plans)
        evaluated = problem.evaluate(many)
        found.append(int(some[np.where(evaluated.violation > 0, np.inf, evaluated.objectives[0]).argmin()]))
    return tuple(found)


def pins(table: PlanTable, plan: int, place: int) -> list[str]:
    """Return the changes of a problem file after which a workload has one plan."""
    chosen = {name: int(getattr(table.plans, name)[plan]) for name in ("tp", "cp", "pp", "vp", "ep")}
    degrees = ", ".join(f"{name}: {value}" for name, value in chosen.items())
    flags = {name: bool(getattr(table.plans, name)[plan]) for name in _FLAGS}
    training: Mapping[str, object] = {
        "micro_batch": int(table.plans.micro_batch[plan]), "zero": int(table.plans.zero[plan]),
        "recompute": recompute_text(int(table.plans.recompute[plan])),
        "precision": table.setups[table.setup[plan]].precision,
        "order": f"[{', '.join(table.orders[table.order[plan]])}]",
        **{_FLAGS[name]: str(on).lower() for name, on in flags.items()},
    }  # fmt: skip
    start = f"workloads[{place}]"
    return [f"{start}.parallelism={{{degrees}}}", *(f"{start}.training.{key}={v}" for key, v in training.items())]


_FLAGS = {
    "sequence_parallel": "sequence_parallel", "overlap_tp": "overlap.tp", "overlap_pp": "overlap.pp",
    "overlap_dp": "overlap.dp",
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What was found of a problem.

    Attributes
    ----------
    case : the problem.
    plans : number of plans that fit the memory, for each workload.
    today : today's cluster with its fastest plans, and its time and cost.
    fronts : (2, n) s and USD of each seed, by what was searched.
    designs : those of the first seed where both are searched.
    slower : (n,) how many times slower the fastest plans of today's cluster are on the networks of `designs`; nan
        where a tensor parallel group leaves the domains of the network.
    """

    case: Case
    plans: tuple[int, ...]
    today: tuple[str, float, float]
    fronts: Mapping[str, tuple[FloatArray, ...]]
    designs: tuple[str, ...]
    slower: FloatArray

    def reached(self) -> dict[str, tuple[float, ...]]:
        """Return the hypervolume of each front, on axes from the best to the worst value of all fronts together."""
        ideal, nadir = extent([front for fronts in self.fronts.values() for front in fronts])
        return {
            what: tuple(hypervolume(front, ideal, nadir) for front in fronts) for what, fronts in self.fronts.items()
        }


def study(case: Case, *, evaluations: int = EVALUATIONS, seeds: Sequence[int] = SEEDS) -> Found:
    """Search a problem in the three ways."""
    problem = case.problem
    today = case.today(problem.npus)
    plans = fastest_plans(problem, today)
    tables = problem.time.tables
    pinned = [pin for place, table in enumerate(tables) for pin in pins(table, plans[place], place)]
    problems = {
        TOGETHER: problem,
        NETWORK: load(case.name, [*case.opened, *pinned]),
        PLAN: load(case.name, [*case.opened, f"fabric.shape={case.shape(problem.npus)}"]),
    }
    found = {
        what: [search(one, evaluations=evaluations, population=POPULATION, seed=seed) for seed in seeds]
        for what, one in problems.items()
    }
    end = "".join(f" | {table.texts[plan]}" for table, plan in zip(tables, plans, strict=True))
    time, cost = problem.evaluate(today + end).objectives[:, 0].tolist()
    both = found[TOGETHER][0]
    designs = both.frame["design"].to_list()
    same = problem.evaluate(
        replace(problem.read(list(designs)), plan=np.repeat(np.array(plans)[:, None], len(designs), axis=1))
    )
    slower = np.where(same.violation > 0, np.nan, same.objectives[0]) / figures(both)[0]
    return Found(
        case, tuple(int((table.memory <= table.capacity).sum()) for table in tables), (today + end, time, cost),
        {what: tuple(figures(front) for front in fronts) for what, fronts in found.items()},
        tuple(designs), slower,
    )  # fmt: skip


def summary(found: Sequence[Found]) -> str:
    """Return a table of the median hypervolumes, with the smallest and the largest of the seeds."""
    rows = []
    for one in found:
        reached = one.reached()
        rows.append([
            one.case.name, " x ".join(f"{count:,}" for count in one.plans),
            *(f"{np.median(reached[what]):.3f}" for what in (TOGETHER, NETWORK, PLAN)),
            f"{max(max(some) - min(some) for some in reached.values()):.3f}",
            f"{len({design.partition(' | ')[2] for design in one.designs})} of {len(one.designs)}",
            f"{np.nanmax(one.slower):.2f}",
        ])  # fmt: skip
    head = ("problem", "plans", "together", "network", "plan", "largest spread", "plans on the front", "slower")
    return markdown(head, rows)


def savings(found: Sequence[Found]) -> str:
    """Return a table of today's cluster, and what the front of both has at its cost and at its time."""
    rows = []
    for one in found:
        text, time, cost = one.today
        fronts = {what: np.concatenate(fronts, axis=1) for what, fronts in one.fronts.items()}
        both, alone = fronts[TOGETHER], fronts[NETWORK]
        rows.append([
            one.case.name, " and ".join(f"`{plan}`" for plan in text.split(" | ")[1:]), f"{time:.4g}",
            f"{cost / _MILLION:.4g}", *(f"{_fastest(front, cost) / time:.3f}" for front in (both, alone)),
            *(f"{_cheapest(front, time) / cost:.3f}" for front in (both, alone)),
        ])  # fmt: skip
    head = ("problem", "fastest plans there", "s", "million USD", "time, together", "time, network", "cost, together",
            "cost, network")  # fmt: skip
    return markdown(head, rows)


def _fastest(front: FloatArray, cost: float) -> float:
    return float(front[0, front[1] <= cost * (1 + 1e-9)].min(initial=np.inf))


def _cheapest(front: FloatArray, time: float) -> float:
    return float(front[1, front[0] <= time * (1 + 1e-9)].min(initial=np.inf))


def ends(found: Sequence[Found]) -> str:
    """Return a table of the fastest, the middle and the cheapest design of each front of both."""
    rows = []
    for one in found:
        designs, front = one.designs, one.fronts[TOGETHER][0]
        order = np.argsort(front[0])
        for n in dict.fromkeys((order[0], order[len(order) // 2], order[-1])):
            network, _, plans = designs[n].partition(" | ")
            rows.append([
                one.case.name, f"{front[0, n]:.4g}", f"{front[1, n] / _MILLION:.4g}", f"`{network}`",
                " and ".join(f"`{plan}`" for plan in plans.split(" | ")),
            ])  # fmt: skip
    return markdown(("problem", "s", "million USD", "network", "plan"), rows)


def draw(found: Sequence[Found]) -> None:
    """Draw the fronts of the first seed, and today's cluster with its fastest plan."""
    with picture("plans", 5.6) as figure:
        grid = figure.subplots(2, 3)
        for axes, one in zip(grid.ravel(), found, strict=True):
            for what, colour, marker in zip((PLAN, NETWORK, TOGETHER), COLOURS[2::-1], "^so", strict=True):
                time, cost = one.fronts[what][0]
                axes.plot(cost / _MILLION, time, marker, color=colour, ms=3.2, label=what)
            axes.plot(one.today[2] / _MILLION, one.today[1], "*", color="black", ms=9, label="today's cluster")
            axes.set(xscale="log", yscale="log", title=one.case.name, xlabel="cost [million USD]")
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                axis.set_minor_formatter(NullFormatter())
        for axes in grid[:, 0]:
            axes.set_ylabel("time of a step [s]")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="x-small")


if __name__ == "__main__":
    no_arguments(__doc__)
    with ProcessPoolExecutor() as workers:
        everything = list(workers.map(study, CASES))
        both = [one for some in workers.map(encodings, NAMES) for one in some]
    print(summary(everything), savings(everything), ends(everything), compared(both), sep="\n\n")
    draw(everything)
