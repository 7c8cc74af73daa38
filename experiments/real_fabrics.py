"""Which networks of real parts are worth building, and which effect puts each of them on the front.

For each problem that is built of parts: a search, its certificate, and the fronts with one effect switched off at a
time. A front counts as the best of all designs that any of the searches in the same space has found, so that a
structure is not missed for want of luck in one of them only.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from common import markdown, picture
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from evo_libra import Problem, certify, load_problem, search
from evo_libra.front.archive import non_dominated
from evo_libra.model.arrays import FloatArray, IntArray
from evo_libra.model.catalog import MODELS_FILE
from evo_libra.model.source import read_source
from evo_libra.problem.hardware import Hardware
from evo_libra.problem.tables import Tables
from evo_libra.ui.figure import COLOURS

NAMES = ("dense-1k", "dense-4k", "dense-32k", "moe-4k", "dlrm-1k-parts", "wafer-20")
EVALUATIONS, LESS, POPULATION, SEED = 50_000, 25_000, 400, 0
"""Of the search, and of those with an effect off."""
_FREE = ("transceiver", "nic")
SLICES = 64
"""Of a lane, where lanes are not whole."""
_SHOWN = 6
_MILLISECONDS, _MILLION = 1e3, 1e6
_MARKERS = "osD^vPX*"


class _Fractions(Tables):
    """Tables of parts that come in any fraction."""

    def hardware_of(self, npus: IntArray, technology: IntArray) -> Hardware:
        """Return the hardware with what is bought by the step bought by the lane."""
        found = super().hardware_of(npus, technology)
        stepped = (found.per_step * found.slope).sum(axis=1)
        return replace(found, per_lane=found.per_lane + stepped, per_step=np.zeros_like(found.per_step))


class _Slices(_Fractions):
    """Tables of parts and of lanes that come in fractions."""

    def hardware_of(self, npus: IntArray, technology: IntArray) -> Hardware:
        """Return the hardware with lanes in thin slices."""
        found = super().hardware_of(npus, technology)
        return replace(found, quantum=found.quantum / SLICES, fewest=found.fewest / SLICES)


class _FractionalProblem(Problem):
    """A problem in which a switch with half of its ports in use costs half."""

    @cached_property
    def tables(self) -> Tables:
        """The tables with parts in any fraction."""
        return _Fractions(**_fields(super().tables))


class _SlicedProblem(Problem):
    """A problem in which an NPU has fractions of lanes as well."""

    @cached_property
    def tables(self) -> Tables:
        """The tables with parts and lanes in fractions."""
        return _Slices(**_fields(super().tables))


def _fields(record: Problem | Tables) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def without_shares(problem: Problem) -> Problem:
    """Return the problem in which every group has all the bandwidth of its NPUs, and only NPUs reduce: LIBRA's."""
    return replace(problem, time=replace(problem.time, kits=()))


def edited(problem: str, folder: Path, edit: Callable[[dict[str, Any]], None]) -> Problem:
    """Return a problem with an edited copy of its catalogue."""
    named = str(load(problem).spec["fabric"]["catalog"])
    catalog: Any = read_source(MODELS_FILE.parent / f"{named}.yaml").data
    edit(catalog)
    path = folder / f"{problem}-edited.yaml"
    path.write_text(json.dumps(catalog))
    return load(problem, [f"fabric.catalog={path}"])


def without_spans(catalog: dict[str, Any]) -> None:
    """Take away the most NPUs of a domain."""
    for technology in catalog["technologies"].values():
        technology.pop("span", None)


def with_free_optics(catalog: dict[str, Any]) -> None:
    """Take away the prices of transceivers and NICs."""
    for part in catalog["parts"].values():
        if part["kind"] in _FREE:
            part["price_usd"] = 0


def load(name: str, assignments: Sequence[str] = ()) -> Problem:
    """Return a problem that comes with the package."""
    found = load_problem(name, list(assignments))
    assert isinstance(found, Problem)  # noqa: S101 - these are
    return found


@dataclass(frozen=True)
class Case:
    """A front, and what it holds.

    Attributes
    ----------
    effect : what is off; empty for the problem itself.
    designs : in the notation, the cheapest last.
    objectives : (2, n) s and USD.
    """

    effect: str
    designs: tuple[str, ...]
    objectives: FloatArray

    @property
    def structures(self) -> Counter[str]:
        """Designs of each structure: sizes, blocks and technologies."""
        return Counter(map(structure_of, self.designs))

    @property
    def mixes(self) -> Counter[str]:
        """Designs of each set of technologies."""
        return Counter(map(mix_of, self.designs))


def structure_of(design: str) -> str:
    """Return a design without its bandwidths; two NPUs with links between them are a ring, whatever the block.

    >>> structure_of("FC(2)@near:25_FC(8)@near:175_SW(64)@far:100")
    'RI(2)@near FC(8)@near SW(64)@far'
    """
    return " ".join(part.partition(":")[0].replace("FC(2)", "RI(2)") for part in design.split("_"))


def mix_of(design: str) -> str:
    """Return the technologies of a design, the innermost first.

    >>> mix_of("FC(8)@near:175_SW(64)@near:100_RI(2)@far:50")
    'near + far'
    """
    parts = (part.partition(":")[0].partition("@")[2] for part in design.split("_"))
    return " + ".join(dict.fromkeys(parts))


def variants(name: str, folder: Path) -> dict[str, tuple[Problem, bool]]:
    """Return the problem with one effect off at a time, and whether its designs are those of the problem itself."""
    problem = load(name)
    found = {"shares": (without_shares(problem), True), "whole parts": (_FractionalProblem(**_fields(problem)), True)}
    if problem.time.fidelity is not None:
        found["latency and chunks"] = load(name, ["time=libra"]), True
    found["whole lanes and parts"] = _SlicedProblem(**_fields(problem)), False
    found["spans"] = edited(name, folder, without_spans), False
    if any(t.name.startswith("optics") for t in problem.catalog.technologies):
        found["prices of optics and NICs"] = edited(name, folder, with_free_optics), True
    return found


def best(effect: str, problem: Problem, designs: Sequence[str]) -> Case:
    """Return those of some designs that none of them beats."""
    distinct = list(dict.fromkeys(designs))
    worth = problem.evaluate(distinct)
    legal = np.flatnonzero(worth.violation <= 0)
    values = worth.objectives[:, legal]
    _, first = np.unique(values, axis=1, return_index=True)
    kept = first[non_dominated(values[:, first])]
    return Case(effect, tuple(distinct[legal[k]] for k in kept), values[:, kept])


def searched(problem: Problem, evaluations: int, population: int) -> list[str]:
    """Return the designs of the front of a search."""
    front = search(problem, evaluations=evaluations, population=population, seed=SEED)
    return [str(row["design"]) for row in front.rows()]


@dataclass(frozen=True)
class Study:
    """What was found of a problem.

    Attributes
    ----------
    name : of the problem; `space` : its structures.
    missed, most : hypervolume that the search may miss at most, and that no front exceeds.
    cases : the front, and those with one effect off.
    """

    name: str
    space: int
    missed: float
    most: float
    cases: tuple[Case, ...]


def study(name: str, folder: Path) -> Study:
    """Search a problem with all effects and with one off at a time."""
    problem, others = load(name), variants(name, folder)
    front = search(problem, evaluations=EVALUATIONS, seed=SEED)
    proof = certify(problem, front)
    own = [str(row["design"]) for row in front.rows()]
    found = {effect: searched(other, LESS, POPULATION) for effect, (other, _) in others.items()}
    shared = [design for effect, (_, same) in others.items() if same for design in found[effect]]
    cases = [best("", problem, own + shared)]
    for effect, (other, _) in others.items():
        # Designs of a wider space are none of the problem, but the other way round they are.
        cases.append(best(effect, other, found[effect] + own + shared))
    return Study(name, len(problem.structures), proof.missed_hypervolume, proof.most_hypervolume, tuple(cases))


def summary(studies: Sequence[Study]) -> str:
    """Return a table of the fronts."""
    return markdown(
        ("problem", "structures", "certified to miss [%]", "on the front", "designs", "mixes"),
        [
            [one.name, f"{one.space}", f"{100 * one.missed / one.most:.1f}", f"{len(one.cases[0].structures)}",
             f"{len(one.cases[0].designs)}", f"{len(one.cases[0].mixes)}"]
            for one in studies
        ],
    )  # fmt: skip


def effects(studies: Sequence[Study]) -> str:
    """Return a table of what goes when an effect is switched off."""
    rows = []
    for one in studies:
        base = one.cases[0].structures
        for case in one.cases[1:]:
            here = case.structures
            left = sum(structure in here for structure in base)
            new = len(here) - left
            rows.append([one.name, case.effect, f"{len(here)}", f"{len(case.mixes)}", f"{left}", f"{new}"])
    return markdown(("problem", "off", "structures", "mixes", "that stay", "new"), rows)


def shapes(one: Study) -> str:
    """Return a table of the structures with most designs on a front, and without which effects they leave it."""
    base = one.cases[0]
    rows = []
    for structure, count in base.structures.most_common(_SHOWN):
        mine = [k for k, design in enumerate(base.designs) if structure_of(design) == structure]
        time, cost = base.objectives[:, mine] * np.array([[_MILLISECONDS], [1 / _MILLION]])
        gone = [case.effect for case in one.cases[1:] if structure not in case.structures]
        spans = (f"{cost.min():.4g} to {cost.max():.4g}", f"{time.max():.4g} to {time.min():.4g}")
        rows.append([f"`{structure}`", f"{count}", *spans, ", ".join(gone) or "none"])
    return markdown(("structure", "designs", "million USD", "ms", "leaves without"), rows)


def mixes(one: Study) -> str:
    """Return a table of the technology mixes of a front."""
    base = one.cases[0]
    rows = []
    for mix, count in base.mixes.most_common():
        gone = [case.effect for case in one.cases[1:] if mix not in case.mixes]
        rows.append([mix, f"{count}", ", ".join(gone) or "none"])
    return markdown(("technologies", "designs", "leave without"), rows)


def draw(studies: Sequence[Study]) -> None:
    """Draw the fronts, a colour and a marker for each mix of technologies."""
    every = list(dict.fromkeys(mix for one in studies for mix in one.cases[0].mixes))
    with picture("real_fabrics", 5.6) as figure:
        grid = figure.subplots(2, 3)
        for axes, one in zip(grid.ravel(), studies, strict=True):
            time, cost = one.cases[0].objectives
            for index, mix in enumerate(every):
                mine = np.array([mix_of(design) == mix for design in one.cases[0].designs])
                if mine.any():
                    style = {"color": COLOURS[index % len(COLOURS)], "marker": _MARKERS[index], "label": mix}
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
    with TemporaryDirectory() as where, ProcessPoolExecutor() as workers:
        everything = list(workers.map(partial(study, folder=Path(where)), NAMES))
    print(summary(everything), effects(everything), sep="\n\n")
    for one in everything:
        print(f"\n## {one.name}\n", shapes(one), "", mixes(one), sep="\n")
    draw(everything)
