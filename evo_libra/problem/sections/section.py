"""The interface of a section of the genome."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from evo_libra.arrays import BoolArray, FloatArray, IntArray, Population, Schedule
from evo_libra.problem.allocate import TrafficTable
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.pricing.pricing import DimensionChoice, Pricing, Topologies
from evo_libra.problem.protocol import Gene
from evo_libra.problem.time_models.time_model import TimeModel


class Segment(IntEnum):
    """Parts of the genome that crossover may pass on as a whole."""

    TOPOLOGY = 0
    COLLECTIVES = 1
    BANDWIDTH = 2


@dataclass(frozen=True)
class Draft:
    """What sections have decided so far of n designs; each section fills in its fields from those before it.

    Attributes
    ----------
    structure : (n,) index into the structures of the space.
    block : (d, n) place of each dimension's block among its choices.
    topologies : the networks without their bandwidths.
    schedule : how collectives run; None under LIBRA's time.
    bandwidth : (d, n) B/s.
    budget : (n,) USD that the bandwidths are the best ones for; only where bandwidths are solved for.
    in_box : whether the bandwidths are known to be within their box.
    """

    structure: IntArray | None = None
    block: IntArray | None = None
    topologies: Topologies | None = None
    schedule: Schedule | None = None
    bandwidth: FloatArray | None = None
    budget: FloatArray | None = None
    in_box: bool = False

    @property
    def networks(self) -> Topologies:
        """The topologies, once they are decided."""
        assert self.topologies is not None, "sections are in order"  # noqa: S101 - our mistake
        return self.topologies


@dataclass(frozen=True)
class Rules:
    """The parts of a problem that sections need.

    `budgets` are the smallest and the largest useful budget in USD, where a budget is traded against time.
    """

    choices: tuple[DimensionChoice, ...]
    pricing: Pricing
    time: TimeModel
    traffic: TrafficTable
    constraints: tuple[Constraint, ...]
    optimal: bool
    budgets: tuple[float, float] | None


class Section(ABC):
    """A section of the genome: some genes, and the decisions about a design that they stand for."""

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
