"""The interface of a section of the genome, and a genome made of sections."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population, Schedule
from evo_libra.problem.allocate import TrafficTable
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.pricing.pricing import DimensionChoice, Pricing, Topologies
from evo_libra.problem.protocol import Gene, Genome, genome_of
from evo_libra.problem.time_models.time_model import TimeModel


class Segment(IntEnum):
    """Parts of the genome that crossover may pass on as a whole."""

    TOPOLOGY = 0
    COLLECTIVES = 1
    BANDWIDTH = 2
    PLAN = 3
    SPARES = 4


def _nothing() -> Any:  # noqa: ANN401 - an array of any kind
    return np.empty(0)


@dataclass(frozen=True)
class Draft:
    """Decisions of the sections on n designs so far; each section fills in its fields from those before it.

    Attributes
    ----------
    structure : (n,) index into the combinations of the space.
    block : (d, n) place of each dimension's block among its choices.
    topologies : the networks without their bandwidths.
    schedule : how collectives run; None under LIBRA's time.
    bandwidth : (d, n) B/s.
    budget : (n,) USD that the bandwidths are the best ones for; only where bandwidths are solved for.
    in_box : whether the bandwidths are known to be within their box.
    spares : (n,) spare NPUs; None where no design has any.
    """

    structure: IntArray = field(default_factory=_nothing)
    block: IntArray = field(default_factory=_nothing)
    topologies: Topologies | None = None
    schedule: Schedule | None = None
    bandwidth: FloatArray = field(default_factory=_nothing)
    budget: FloatArray = field(default_factory=_nothing)
    in_box: bool = False
    spares: IntArray | None = None

    def decided(self, **decisions: Any) -> Draft:  # noqa: ANN401 - those of the fields
        """Return the draft with more decisions.

        The record is copied as a whole: field by field it takes five times as long, as long as a sum over 650 designs.
        """
        draft = object.__new__(Draft)
        vars(draft).update(vars(self), **decisions)
        return draft

    @property
    def networks(self) -> Topologies:
        """The topologies, once they are decided."""
        assert self.topologies is not None, "sections are in order"  # noqa: S101 - internal error
        return self.topologies

    @property
    def population(self) -> Population:
        """The designs, once all is decided."""
        networks = self.networks
        return Population(
            npus=networks.npus, block=networks.block, technology=networks.technology, bandwidth=self.bandwidth,
            schedule=self.schedule, plan=networks.plan, spares=self.spares,
        )  # fmt: skip


@dataclass(frozen=True)
class Rules:
    """The parts of a problem that sections need.

    `budgets` are the smallest and the largest useful budget in USD, where a budget is traded against time; `spares` the
    numbers of spare NPUs that designs may have.
    """

    choices: tuple[DimensionChoice, ...]
    pricing: Pricing
    time: TimeModel
    traffic: TrafficTable
    constraints: tuple[Constraint, ...]
    optimal: bool
    budgets: tuple[float, float] | None
    spares: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Section(ABC):
    """A section of the genome: some genes, and the decisions about a design that they stand for."""

    rules: Rules
    segment: ClassVar[Segment]

    @abstractmethod
    def genes(self) -> Sequence[Gene]:
        """Return the genes with their bounds."""

    @abstractmethod
    def decode(self, genes: FloatArray, draft: Draft) -> Draft:
        """Return the draft with the decisions of (k, n) genes of the section."""

    @abstractmethod
    def recognise(self, designs: Population, draft: Draft) -> Draft:
        """Return the draft with the decisions behind designs, -1 where none of the choices was taken."""

    @abstractmethod
    def encode(self, draft: Draft) -> FloatArray | IntArray:
        """Return the (k, n) genes of decisions, -1 where none of the choices was taken; `decode` undoes it."""

    @abstractmethod
    def covers(self, genes: FloatArray | IntArray, designs: Population) -> BoolArray:
        """Return (n,) whether every gene from `encode` that matters for a design is one of the choices."""


@dataclass(frozen=True)
class Sections:
    """The sections of a problem's genome, in the order of their genes."""

    sections: tuple[Section, ...]

    @staticmethod
    def of(rules: Rules, kinds: Sequence[Callable[[Rules], Section | None]]) -> Sections:
        """Return the sections of a problem; a kind returns None for a problem that has no such section."""
        return Sections(tuple(section for make in kinds if (section := make(rules)) is not None))

    @cached_property
    def genome(self) -> Genome:
        """The genes of all sections."""
        return genome_of([(section.segment, section.genes()) for section in self.sections])

    def decode(self, genes: FloatArray) -> Draft:
        """Return the designs of (g, n) legal genes."""
        draft, start = Draft(), 0
        # Samples come with the genes of a design side by side, in which order all that follows takes twice as long.
        genes = np.ascontiguousarray(genes)
        for section, count in zip(self.sections, self._counts, strict=True):
            draft = section.decode(genes[start : start + count], draft)
            start += count
        return draft

    def encode(self, draft: Draft) -> FloatArray:
        """Return the (g, n) legal genes of decisions."""
        return self.genome.repair(np.vstack([section.encode(draft) for section in self.sections]).astype(np.float64))

    def recognise(self, designs: Population) -> tuple[FloatArray, BoolArray]:
        """Return the (g, n) legal genes of designs, and (n,) whether the designs are in the space."""
        draft, covered = Draft(), np.ones(len(designs), dtype=np.bool_)
        for section in self.sections:
            draft = section.recognise(designs, draft)
            covered &= section.covers(section.encode(draft), designs)
        return self.encode(draft), covered

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        return tuple(len(section.genes()) for section in self.sections)
