"""How plans should be genes: one for each option, or one for the place in the list of all plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from common import markdown
from effects_off import load

from evo_libra import Front, Problem, search
from evo_libra.arrays import FloatArray, IntArray
from evo_libra.front.archive import non_dominated
from evo_libra.front.indicators import hypervolume
from evo_libra.problem.protocol import Gene
from evo_libra.problem.sections.section import Draft, Sections
from evo_libra.problem.sections.workload import PlanSection

NAMES = ("llama3-405b-16k", "deepseek-v3-2k", "mixed-models-4k")
SEEDS = (0, 1, 2, 3, 4)
EVALUATIONS = (5_000, 20_000)
POPULATION = 650
_MILLISECONDS = 1e3


def figures(front: Front) -> FloatArray:
    """Return the (2, n) s and USD of a front."""
    return np.array([front.frame["time_ms"].to_numpy() / _MILLISECONDS, front.frame["cost_usd"].to_numpy()])


def extent(fronts: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return best and worst values of the joint front of some fronts."""
    together = np.concatenate(fronts, axis=1)
    best = together[:, non_dominated(together)]
    return best.min(axis=1), best.max(axis=1)


@dataclass(frozen=True)
class IndexSection(PlanSection):
    """One ordered gene for each workload: the place of its plan in the list of those that fit the memory."""

    @cached_property
    def lists(self) -> tuple[IntArray, ...]:
        """The plans that fit, for each workload."""
        return tuple(np.flatnonzero(table.fitting) for table in self.tables)

    def genes(self) -> Sequence[Gene]:
        """Return one gene for each workload."""
        return [Gene(f"plan[{n}]", 0.0, len(plans) - 1.0, ordered=True) for n, plans in enumerate(self.lists)]

    def decode(self, genes: FloatArray, draft: Draft) -> Draft:
        """Return the draft with the plans that genes name."""
        plans = [some[gene.astype(np.int64)] for some, gene in zip(self.lists, genes, strict=True)]
        return replace(draft, topologies=replace(draft.networks, plan=np.array(plans)))

    def encode(self, draft: Draft) -> FloatArray | IntArray:
        """Return the genes of the plans of a draft."""
        chosen = zip(self.lists, draft.networks.plan, strict=True)
        return np.array([np.searchsorted(some, plan).clip(0, len(some) - 1) for some, plan in chosen])


class IndexProblem(Problem):
    """A problem whose plans are one gene for each workload."""

    @cached_property
    def sections(self) -> Sections:
        """The sections of the genome."""
        return Sections(tuple(
            IndexSection(section.rules, section.tables) if isinstance(section, PlanSection) else section
            for section in super().sections.sections
        ))  # fmt: skip


def by_index(problem: Problem) -> Problem:
    """Return the same problem with one gene for the plan of each workload."""
    return IndexProblem(**{field.name: getattr(problem, field.name) for field in fields(problem)})


@dataclass(frozen=True)
class Encodings:
    """Hypervolumes of each seed with a gene for each option, and with one for the place of the plan."""

    name: str
    evaluations: int
    options: tuple[float, ...]
    index: tuple[float, ...]


def encodings(name: str, *, evaluations: Sequence[int] = EVALUATIONS, seeds: Sequence[int] = SEEDS) -> list[Encodings]:
    """Search a problem with both encodings of plans; the axes are those of all fronts together."""
    problem = load(name)
    found = {
        (count, place): [figures(search(one, evaluations=count, population=POPULATION, seed=seed)) for seed in seeds]
        for count in evaluations
        for place, one in enumerate((problem, by_index(problem)))
    }
    ideal, nadir = extent([front for fronts in found.values() for front in fronts])
    reached = {key: tuple(hypervolume(one, ideal, nadir) for one in fronts) for key, fronts in found.items()}
    return [Encodings(name, count, reached[count, 0], reached[count, 1]) for count in evaluations]


def compared(found: Sequence[Encodings]) -> str:
    """Return a table of the median hypervolumes of both encodings."""
    rows = [
        [one.name, f"{one.evaluations:,}", *(f"{np.median(some):.4f}" for some in (one.options, one.index)),
         f"{sum(a > b for a, b in zip(one.options, one.index, strict=True))} of {len(one.index)}"]
        for one in found
    ]  # fmt: skip
    return markdown(("problem", "evaluations", "options", "index", "seeds in which options win"), rows)
