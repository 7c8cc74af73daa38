"""The interface of a problem to a search, which a problem written in Python implements, and its genome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.files.source import Source
from evo_libra.problem.objectives import COST, TIME, Objective

if TYPE_CHECKING:
    from evo_libra.chakra.trace import Node


@dataclass(frozen=True)
class Genome:
    """Bounds and kinds of the genes: an array of fixed length always decodes to a legal design.

    Attributes
    ----------
    names, lower, upper : of the (g,) genes; the bounds are inclusive.
    categorical : (g,) genes that are whole numbers, without a distance between them unless they are `ordered`.
    ordered : (g,) those of the categorical genes whose near numbers stand for similar things, so that steps between
        them make sense; empty for none.
    segments : (g,) number of the part that each gene belongs to, which crossover may pass on as a whole; empty for one.
    """

    names: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    categorical: BoolArray
    segments: tuple[int, ...] = ()
    ordered: tuple[bool, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def free(self) -> tuple[IntArray, IntArray, IntArray]:
        """Categories, ordered whole numbers and real genes, of those that have more than one value."""
        ranging = self.upper > self.lower
        ordered = np.array(self.ordered or [False] * len(self))
        kinds = (self.categorical & ~ordered, self.categorical & ordered, ~self.categorical)
        first, second, third = (np.flatnonzero(ranging & kind) for kind in kinds)
        return first, second, third

    def sample(self, random: np.random.Generator, count: int) -> FloatArray:
        """Return (g, count) random legal genes, uniform within the bounds."""
        values = random.random((count, len(self))).T
        lower, upper = self.lower[:, None], self.upper[:, None]
        whole = np.floor(values * (upper - lower + 1)) + lower
        return self.repair(np.where(self.categorical[:, None], whole, lower + values * (upper - lower)))

    def repair(self, genes: FloatArray) -> FloatArray:
        """Return (g, n) legal genes: whole numbers where they must be, all within the bounds."""
        whole = np.where(self.categorical[:, None], np.rint(genes), genes)
        return np.clip(whole, self.lower[:, None], self.upper[:, None])


@dataclass(frozen=True)
class Gene:
    """A gene with its bounds, inclusive.

    A `whole` number is a place in a list of choices; near numbers of `ordered` ones stand for similar choices.
    """

    name: str
    lower: float
    upper: float
    whole: bool = True
    ordered: bool = False


def genome_of(sections: Sequence[tuple[int, Sequence[Gene]]]) -> Genome:
    """Return the genome of sections, each with the number of its segment and its genes."""
    genes = [(segment, gene) for segment, mine in sections for gene in mine]
    return Genome(
        names=tuple(gene.name for _, gene in genes), lower=np.array([gene.lower for _, gene in genes]),
        upper=np.array([gene.upper for _, gene in genes]), categorical=np.array([gene.whole for _, gene in genes]),
        segments=tuple(segment for segment, _ in genes), ordered=tuple(gene.ordered for _, gene in genes),
    )  # fmt: skip


__all__ = [
    "COST", "TIME", "Configurable", "Evaluation", "Failure", "Failures", "HasDesignRows", "HasObjectives",
    "HasReferences", "HasTopologySteps", "HasTraces", "Objective", "ReadsDesigns", "Reference", "SearchProblem",
    "SearchSettings", "TopologySteps", "design_rows_of", "topology_steps_of",
]  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """The (g,) genes of a design that could not be evaluated, and why."""

    genes: FloatArray
    reason: str


KEPT_FAILURES = 10
"""Designs that could not be evaluated whose genes and reason are kept; all are counted."""


@dataclass(frozen=True)
class Failures:
    """Designs that could not be evaluated: their number, and the first `KEPT_FAILURES` of them."""

    count: int = 0
    first: tuple[Failure, ...] = ()

    @staticmethod
    def joined(parts: Iterable[Failures]) -> Failures:
        """Return the failures of several evaluations, one after the other."""
        failing = [part for part in parts if part.count]
        first = [failure for part in failing for failure in part.first]
        return Failures(sum(part.count for part in failing), tuple(first[:KEPT_FAILURES]))


NO_FAILURES = Failures()


@dataclass(frozen=True)
class Evaluation:
    """Objectives and violations of n designs.

    Attributes
    ----------
    objectives : (m, n) in SI, above 0 and minimised.
    violation : (n,) relative violations of constraints, summed; 0 where a design meets all.
    failures : the designs that could not be evaluated; a problem that evaluates in this process need not state them.
    """

    objectives: FloatArray
    violation: FloatArray
    failures: Failures = NO_FAILURES

    @staticmethod
    def joined(parts: Sequence[Evaluation]) -> Evaluation:
        """Return the evaluation of the designs of several ones, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return Evaluation(
            np.concatenate([part.objectives for part in parts], axis=1),
            np.concatenate([part.violation for part in parts]),
            Failures.joined(part.failures for part in parts),
        )


FOLDED = 0.01
"""Relative difference of designs that share one place on a front: less than the error of times and prices."""


@dataclass(frozen=True)
class SearchSettings:
    """Default settings of a search, as for `evo_libra.searching.generations.search`.

    `memetic` is the share of the evaluations that are designs with better bandwidths, `epsilon` the relative difference
    of designs that count as one on the front; None for the default.
    `engine_choice` is why `auto` chose the engine; empty where it was named.
    """

    engine: str = "auto"
    evaluations: int = 50_000
    population: int = 650
    seed: int = 0
    memetic: float | None = None
    epsilon: float | None = None
    engine_choice: str = ""


class HasObjectives(Protocol):
    """The part of a problem that says which values of a design are judged."""

    @property
    def name(self) -> str:
        """Name, also of the folder of its results."""

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The objectives, in the order of the rows of `Evaluation.objectives`."""


@runtime_checkable
class SearchProblem(HasObjectives, Protocol):
    """A problem that engines can search."""

    @property
    def genome(self) -> Genome:
        """The genes."""

    @property
    def settings(self) -> SearchSettings:
        """Default settings of a search."""

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the objectives and the violation of (g, n) legal genes."""

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return table columns, units in their names, that describe the designs of (g, n) genes."""

    def identity(self) -> Mapping[str, Any]:
        """Return JSON-able data that changes whenever results would."""


@runtime_checkable
class ReadsDesigns(HasObjectives, Protocol):
    """A problem whose designs have a notation."""

    @property
    def npus(self) -> int:
        """NPUs of every design."""

    def evaluate(self, designs: Sequence[str]) -> Evaluation:
        """Return the objectives and the violation of designs in the notation; an `InputError` says what is wrong."""


@runtime_checkable
class HasDesignRows(Protocol):
    """A problem that knows which genes stand for one design, so that no search evaluates the design twice."""

    def design_rows(self, genes: FloatArray) -> FloatArray:
        """Return (r, n) numbers that are equal for (g, n) legal genes of equal designs, and for no others."""


TopologySteps = Callable[[FloatArray, np.random.Generator], FloatArray]
"""Returns genes of designs a step from those of other genes."""


@runtime_checkable
class HasTopologySteps(Protocol):
    """A problem that knows which topologies are a step from each other, however far apart their genes are."""

    def step_topologies(self, genes: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return (g, n) legal genes of designs a random step from those of (g, n) genes, equal where there is none."""


def topology_steps_of(problem: object) -> TopologySteps | None:
    """Return the function that makes steps between topologies; None where the problem knows of none."""
    return problem.step_topologies if isinstance(problem, HasTopologySteps) else None


def design_rows_of(problem: object) -> Callable[[FloatArray], FloatArray]:
    """Return the function that tells designs apart: the problem's own, else the genes are the design."""
    return problem.design_rows if isinstance(problem, HasDesignRows) else np.asarray


@runtime_checkable
class Configurable(Protocol):
    """A problem in Python with options, which ``--set KEY=VALUE`` changes."""

    def configured(self, options: Source, folder: Path) -> SearchProblem:
        """Return the problem with all options as given, as data with the place of each for errors.

        Paths in the options are relative to the folder. An `InputError` lists options that are wrong.
        """


@dataclass(frozen=True)
class Reference:
    """A design to compare a front with: name, what it is, its objectives (m,) in SI, and where it is from."""

    name: str
    design: str
    objectives: Sequence[float]
    source: str
    year: int


@runtime_checkable
class HasTraces(Protocol):
    """A problem in Python whose designs are work for NPUs."""

    def traces(self, row: Mapping[str, Any], batch: int) -> Sequence[Sequence[Node]]:
        """Return the execution trace of each NPU for a batch, of the design in a row of a front, by its columns."""


@runtime_checkable
class HasReferences(Protocol):
    """A problem in Python with designs to compare its fronts with."""

    def references(self) -> Sequence[Reference]:
        """Return the designs, which are shown next to a front."""
