"""Which effect puts a network of parts on the front of time against cost, if domains may have any size.

For each problem that is built of parts: the front of all of its designs as the file has them, with domains that are
sold; the front with domains of any size; and that with one effect switched off at a time. Each is exact of its space,
under the time model of its problem; see `evo_libra.optimality.whole_front`. Without whole ports there are designs
without number; there, the best topology is found at each of some costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
from command_line import no_arguments
from common import markdown, picture
from effects_off import load_direct, variants
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from evo_libra import Problem, load_problem, search
from evo_libra.arrays import FloatArray, Population
from evo_libra.front.indicators import hypervolume
from evo_libra.optimality import whole_designs
from evo_libra.optimality.bounds import bound_variants
from evo_libra.optimality.ideal_bandwidth import ideal_of
from evo_libra.optimality.whole_designs import count_networks
from evo_libra.optimality.whole_front import whole_front
from evo_libra.pictures.plots.axes import COLOURS

NAMES = ("dense-1k", "dense-4k", "dense-32k", "moe-4k", "dlrm-1k-parts", "wafer-20")
SEED = 0
_SHOWN = 6
_MANY = 100_000_000
"""Networks that the study enumerates at most: without domain sizes there are more than a search enumerates."""

_MILLISECONDS, _MILLION = 1e3, 1e6
_MARKERS = "osD^vPX*<>"


@dataclass(frozen=True)
class Case:
    """A front, and what it holds.

    Attributes
    ----------
    effect : what is off; empty for the problem itself.
    designs : in the notation, the cheapest first.
    objectives : (2, n) s and USD.
    every : number of all designs from which these are the best; 0 where they are without number.
    """

    effect: str
    designs: tuple[str, ...]
    objectives: FloatArray
    every: int

    @property
    def topologies(self) -> Counter[str]:
        """Designs of each topology: sizes, blocks and technologies."""
        return Counter(map(topology_of, self.designs))

    @property
    def combinations(self) -> Counter[str]:
        """Designs of each set of technologies."""
        return Counter(map(combination_of, self.designs))


def topology_of(design: str) -> str:
    """Return a design without its bandwidths; two NPUs with links between them are a ring, whatever the block.

    >>> topology_of("FC(2)@near:25_FC(8)@near:175_SW(64)@far:100")
    'RI(2)@near FC(8)@near SW(64)@far'
    """
    return " ".join(part.partition(":")[0].replace("FC(2)", "RI(2)") for part in design.split("_"))


def combination_of(design: str) -> str:
    """Return the technologies of a design, the innermost first.

    >>> combination_of("FC(8)@near:175_SW(64)@near:100_RI(2)@far:50")
    'near + far'
    """
    parts = (part.partition(":")[0].partition("@")[2] for part in design.split("_"))
    return " + ".join(dict.fromkeys(parts))


def exact(effect: str, problem: Problem, known: FloatArray | None = None) -> Case:
    """Return the exact front of a problem; `known` figures of its designs spare work."""
    with patch.object(whole_designs, "MAX_NETWORKS", _MANY):
        found, count = whole_front(problem, known), count_networks(problem)
    assert found is not None, "the problems of this study have few enough designs"  # noqa: S101 - they are not others
    assert count is not None, "the same"  # noqa: S101
    cheapest_first = np.argsort(found.objectives[1], kind="stable")
    best = problem.decode(found.designs.genes(problem)[:, cheapest_first])
    return Case(effect, tuple(map(str, problem.fabrics(best))), found.objectives[:, cheapest_first], count)


def in_any_fraction(problem: Problem, cost: FloatArray) -> Case:
    """Return the best design at each of (k,) costs where ports and parts come in any fraction, under LIBRA's time."""
    relaxed = problem.relaxed()
    bounds = bound_variants(relaxed)
    ideal = ideal_of(relaxed, cost, bounds)
    some = np.flatnonzero(ideal.variant >= 0)
    part = bounds.select(ideal.variant[some])
    block = relaxed.pricing.topologies(part.structure, part.gene).block
    best = Population(part.npus, block, part.technology, ideal.bandwidth[:, some])
    designs = tuple(map(str, relaxed.fabrics(best)))
    return Case("whole ports and parts", designs, np.stack([ideal.time[some], ideal.cost[some]]), 0)


@dataclass(frozen=True)
class Study:
    """What was found of a problem.

    Attributes
    ----------
    name : of the problem.
    topologies : of its space.
    reached : part of the exact front's hypervolume that the problem's own search reaches.
    cases : the front, and those with one effect off.
    sold : the front with the domains that the problem file offers.
    """

    name: str
    topologies: int
    reached: float
    cases: tuple[Case, ...]
    sold: Case


def as_sold(name: str) -> Case:
    """Return the exact front of a problem as its file is, with the domains that are sold."""
    problem = load_problem(name)
    assert isinstance(problem, Problem)  # noqa: S101 - those of this study are
    return exact("", problem)


def study(name: str, folder: Path) -> Study:
    """Find the front of a problem with all effects and with one off at a time."""
    problem = load_direct(name)
    front = search(problem, seed=SEED)
    known = problem.evaluate(front.frame["design"].to_list()).objectives
    base = exact("", problem, known)
    cases = [base, *(exact(effect, other) for effect, other in variants(name, folder).items())]
    cases.append(in_any_fraction(problem, base.objectives[1]))
    return Study(name, len(problem.structures), reached(known, base.objectives), tuple(cases), as_sold(name))


def reached(found: FloatArray, best: FloatArray) -> float:
    """Return the part of the hypervolume of (2, n) best designs that (2, k) others have, on logarithmic axes."""
    mine, most = (hypervolume(some, best.min(axis=1), best.max(axis=1)) for some in (found, best))
    return mine / most


def summary(studies: Sequence[Study]) -> str:
    """Return a table of the fronts."""
    return markdown(
        (
            "problem", "topologies", "designs", "on the front", "topologies there", "combinations there",
            "search reaches [%]",
        ),
        [
            [one.name, f"{one.topologies:,}", f"{one.cases[0].every:,}", f"{len(one.cases[0].designs)}",
             f"{len(one.cases[0].topologies)}", f"{len(one.cases[0].combinations)}", f"{100 * one.reached:.1f}"]
            for one in studies
        ],
    )  # fmt: skip


def offers(studies: Sequence[Study]) -> str:
    """Return a table of the fronts of the domains that are sold, and of how many of their topologies stay with any."""
    rows = []
    for one in studies:
        sold, free = one.sold, one.cases[0].topologies
        cost, time = sold.objectives[1] / _MILLION, sold.objectives[0] * _MILLISECONDS
        stay = sum(topology in free for topology in sold.topologies)
        rows.append([one.name, f"{sold.every:,}", f"{len(sold.designs)}", f"{len(sold.topologies)}", f"{stay}",
                     f"{cost.min():.4g} to {cost.max():.4g}", f"{time.max():.4g} to {time.min():.4g}"])  # fmt: skip
    heads = ("problem", "designs", "on the front", "topologies there", "also with any domains", "million USD", "ms")
    return markdown(heads, rows)


def effects(studies: Sequence[Study]) -> str:
    """Return a table of what goes when an effect is switched off."""
    rows = []
    for one in studies:
        base = one.cases[0].topologies
        for case in one.cases[1:]:
            here = case.topologies
            left = sum(topology in here for topology in base)
            new = len(here) - left
            rows.append([one.name, case.effect, f"{len(here)}", f"{len(case.combinations)}", f"{left}", f"{new}"])
    return markdown(("problem", "off", "topologies", "combinations", "that stay", "new"), rows)


def shapes(one: Study) -> str:
    """Return a table of the topologies with most designs on a front, and without which effects they leave it."""
    base = one.cases[0]
    rows = []
    for topology, count in base.topologies.most_common(_SHOWN):
        mine = [k for k, design in enumerate(base.designs) if topology_of(design) == topology]
        time, cost = base.objectives[:, mine] * np.array([[_MILLISECONDS], [1 / _MILLION]])
        gone = [case.effect for case in one.cases[1:] if topology not in case.topologies]
        ranges = (f"{cost.min():.4g} to {cost.max():.4g}", f"{time.max():.4g} to {time.min():.4g}")
        rows.append([f"`{topology}`", f"{count}", *ranges, ", ".join(gone) or "none"])
    return markdown(("topology", "designs", "million USD", "ms", "leaves without"), rows)


def combinations(one: Study) -> str:
    """Return a table of the combinations of technologies of a front."""
    base = one.cases[0]
    rows = []
    for combination, count in base.combinations.most_common():
        gone = [case.effect for case in one.cases[1:] if combination not in case.combinations]
        rows.append([combination, f"{count}", ", ".join(gone) or "none"])
    return markdown(("technologies", "designs", "leave without"), rows)


def draw(studies: Sequence[Study]) -> None:
    """Draw the fronts, a colour and a marker for each combination of technologies."""
    every = list(dict.fromkeys(combination for one in studies for combination in one.cases[0].combinations))
    with picture("real_fabrics", 5.6) as figure:
        grid = figure.subplots(2, 3)
        for axes, one in zip(grid.ravel(), studies, strict=True):
            time, cost = one.cases[0].objectives
            for index, combination in enumerate(every):
                mine = np.array([combination_of(design) == combination for design in one.cases[0].designs])
                if mine.any():
                    style = {"color": COLOURS[index % len(COLOURS)], "marker": _MARKERS[index], "label": combination}
                    axes.plot(cost[mine] / _MILLION, time[mine] * _MILLISECONDS, linestyle="", ms=3.5, **style)
            axes.set(
                xscale="log", title=one.name, xlabel="cost [million USD]", ylim=(0, 1.05 * _MILLISECONDS * time.max())
            )
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
        for axes in grid[:, 0]:
            axes.set_ylabel("time [ms]")
        pairs = [pair for axes in grid.ravel() for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
        handles = {text: handle for handle, text in pairs}
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=3, fontsize="x-small")


if __name__ == "__main__":
    no_arguments(__doc__)
    with TemporaryDirectory() as where, ProcessPoolExecutor() as workers:
        everything = list(workers.map(partial(study, folder=Path(where)), NAMES))
    print(offers(everything), summary(everything), effects(everything), sep="\n\n")
    for one in everything:
        print(f"\n## {one.name}\n", shapes(one), "", combinations(one), sep="\n")
    draw(everything)
