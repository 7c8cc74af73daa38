"""A problem: a search space, and the objectives and violations of its designs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evo_libra.arrays import TILE, FloatArray, IntArray, Population
from evo_libra.errors import InputError
from evo_libra.network.catalog.technologies import Catalog
from evo_libra.network.fabric import Fabric
from evo_libra.problem.allocate import TrafficTable, useful_budgets
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.evaluator import NO_SOURCES, Evaluator, FigureSources
from evo_libra.problem.figures import Figures
from evo_libra.problem.fused import FusedEvaluation
from evo_libra.problem.needs import NPU_PRICE
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.pricing.catalog import pricing_of
from evo_libra.problem.pricing.pricing import DimensionChoice, Pricing, Topologies, misfits
from evo_libra.problem.protocol import Evaluation, Genome, Objective, SearchSettings
from evo_libra.problem.question import Question, identified_question
from evo_libra.problem.sections.network import BlockSection, SparesSection, StructureSection, bandwidth_section
from evo_libra.problem.sections.section import Draft, Rules, Sections
from evo_libra.problem.sections.workload import CollectiveSection, PlanSection
from evo_libra.problem.space import CountedStructures, Space
from evo_libra.problem.space_rules import unbuildable_dimensions
from evo_libra.problem.steps import StructureSteps
from evo_libra.problem.time_models.time_model import TimeModel
from evo_libra.problem.written_designs import Notation

if TYPE_CHECKING:
    from evo_libra.problem.bands import BandSource
    from evo_libra.problem.orders import OrderBook
    from evo_libra.problem.other_orders import OtherOrders
    from evo_libra.problem.written_orders import OrderNotation
    from evo_libra.timing.quirks import Quirk

SECTIONS = (StructureSection, BlockSection, PlanSection.of, CollectiveSection.of, SparesSection.of, bandwidth_section)
"""The kinds of sections of a genome, in order."""


_LOOKED_UP = 4
"""Combinations of a table for each design up to which designs are looked up there, with the figures of all of them."""


@dataclass(frozen=True)
class Problem:
    """A search space with an evaluator.

    Attributes
    ----------
    npus : NPUs of every design.
    catalog : the technologies of the space, innermost first.
    structures : sizes and technologies of the dimensions; `grown` : the same as they grow, dimension by
        dimension; None of orders, which are listed.
    choices : the open choices of each dimension.
    spec : the validated problem file as plain data.
    optimal : whether bandwidths are solved for instead of being genes; parts then come in any fraction.
    sources : the sources of figures besides the time and the price of the network.
    notes : what its file, or a file of a model, says and is not computed, with the size of its effect.
    band_sources : the reasons for which its figures may be off; see `evo_libra.problem.bands.bands_of`.
    book : the orders that the designs are; None where the file asks for a design; `others` : those of no design.
    """

    name: str
    npus: int
    catalog: Catalog
    structures: Space
    choices: tuple[DimensionChoice, ...]
    time: TimeModel
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    settings: SearchSettings
    spec: Mapping[str, Any]
    grown: CountedStructures | None
    optimal: bool
    sources: FigureSources = NO_SOURCES
    notes: tuple[Quirk, ...] = ()
    band_sources: tuple[BandSource, ...] = ()
    book: OrderBook | None = None
    others: OtherOrders | None = None

    def __repr__(self) -> str:
        dimensions = f"{len(self.choices)} dimension{'s' if len(self.choices) > 1 else ''} at most"
        workloads = ", ".join(loop.workload.name for loop in self.time.loops)
        return (
            f"Problem('{self.name}', {self.npus:,} NPUs, {dimensions}, {len(self.structures):,} combinations,\n"
            f"  technologies: {', '.join(dict.fromkeys(self.catalog.names))}\n"
            f"  workloads: {workloads}\n"
            f"  objectives: {', '.join(objective.name for objective in self.objectives)}\n"
            f"  constraints: {', '.join(constraint.text for constraint in self.constraints) or 'none'})"
        )

    @property
    def question(self) -> Question:
        """The question that its file asks: for an order, or a design."""
        return identified_question(self.spec)

    @property
    def counted(self) -> CountedStructures:
        """The combinations as they grow, dimension by dimension; an `InputError` says that they are orders."""
        if self.grown is None:
            raise InputError(f"the designs of '{self.name}' are orders, which are listed; there are no parts of them")
        return self.grown

    def relaxed(self) -> Problem:
        """Return the problem that bounds this one from below: LIBRA's time, parts in any fraction, solved bandwidths.

        An `InputError` says that the time may be less than LIBRA's.
        """
        if self.time.exact and not self.pricing.kits:
            return self
        if self.time.lower_bound is None:
            raise InputError(
                "proofs are of chunks that take the dimensions in order, one at a time in each, with an endpoint delay "
                f"of 2 ns or more; those of '{self.name}' may be faster than LIBRA's time, which bounds them"
            )
        kept = tuple(constraint for constraint in self.constraints if constraint.relaxed)
        return replace(self, time=self.time.lower_bound, constraints=kept, optimal=True)

    def identity(self) -> Mapping[str, Any]:
        """Return the validated problem file as plain data, without the settings of the search."""
        return {key: value for key, value in self.spec.items() if key != "search"}

    @cached_property
    def pricing(self) -> Pricing:
        """The prices of dimensions, and the topologies of the space."""
        return pricing_of(self.catalog, self.choices, self.npus, self.structures, fractional=self.optimal)

    @cached_property
    def traffic(self) -> TrafficTable:
        """The traffic of topologies."""
        return TrafficTable(self.structures, self.time)

    @property
    def buys(self) -> bool:
        """Whether some objective is of what a network costs or draws, which bandwidths are traded against."""
        measures = [MEASURES[objective.name] for objective in self.objectives]
        return any(measure.summed is not None or NPU_PRICE in measure.needs for measure in measures)

    @cached_property
    def sections(self) -> Sections:
        """The sections of the genome."""
        budgets = self.budgets() if self.optimal and self.buys else None
        spares = self.sources.spares
        if budgets is not None:
            budgets = budgets[0], budgets[1] * (1.0 + max(spares) / self.npus)
        rules = Rules(
            choices=self.choices, pricing=self.pricing, time=self.time, traffic=self.traffic,
            constraints=self.constraints, optimal=self.optimal, budgets=budgets, spares=spares,
        )  # fmt: skip
        return Sections.of(rules, SECTIONS)

    @property
    def genome(self) -> Genome:
        """The genes; see `evo_libra.problem.sections`."""
        return self.sections.genome

    @cached_property
    def fused(self) -> FusedEvaluation | None:
        """The fused evaluation of genes; None where the problem is of another kind."""
        return FusedEvaluation.of(self.sections, self.objectives)

    @cached_property
    def evaluator(self) -> Evaluator:
        """The evaluator of figures, objectives and violations of designs."""
        return Evaluator(
            npus=self.npus, pricing=self.pricing, time=self.time, objectives=self.objectives,
            constraints=self.constraints, sources=self.sources,
        )  # fmt: skip

    def budgets(self) -> tuple[float, float]:
        """Return the smallest and the largest budget in USD that can make a difference, linear constraints aside."""
        return useful_budgets(self.pricing, self.traffic, self.npus, self.constraints)

    def decode(self, genes: FloatArray) -> Population:
        """Return the designs of (g, n) legal genes; every one has the problem's number of NPUs."""
        return self.sections.decode(genes).population

    def design_rows(self, genes: FloatArray) -> FloatArray:
        """Return (r, n) numbers that are equal for (g, n) genes of equal designs."""
        if self.fused is not None:
            return self.fused.rows(genes)
        return self.decode(genes).rows()

    def step_topologies(self, genes: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return (g, n) genes of designs with one dimension in place of two, or the reverse; equal where none is."""
        stepped = genes.copy()
        stepped[0] = self._steps.random_steps(genes[0].astype(np.int64), random)
        return stepped

    @cached_property
    def _steps(self) -> StructureSteps:
        return StructureSteps(self.structures, len(self.catalog.technologies))

    def encode(
        self, structure: IntArray, block: IntArray, bandwidth: FloatArray, budget: FloatArray,
        plan: IntArray | None = None, collectives: IntArray | None = None, spares: IntArray | None = None,
    ) -> FloatArray:  # fmt: skip
        """Return the (g, n) genes of designs.

        They have (n,) combinations, (d, n) indices of blocks among their choices, and (d, n) B/s within the box, the
        best ones for (n,) USD; the budget is only used where bandwidths are solved for. If plans are open, there are
        (w, n) places of theirs, and under another time than LIBRA's (k, n) genes of how collectives run. Without (n,)
        spare NPUs they have the fewest.
        """
        draft = Draft(structure=structure, block=block, bandwidth=bandwidth, budget=budget, spares=spares)
        schedules = self.time.schedules
        if plan is not None or schedules.scheduled:
            networks = self.pricing.topologies(structure, block)
            draft = replace(draft, topologies=networks if plan is None else replace(networks, plan=plan))
        if schedules.scheduled and collectives is not None:
            draft = replace(draft, schedule=schedules.schedule(collectives, draft.networks.block))
        return self.sections.encode(draft)

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the objectives and the violation of (g, n) legal genes."""
        if self.fused is not None:
            return self.fused.evaluate(genes)
        tiles = [self._evaluate_tile(genes[:, start : start + TILE]) for start in range(0, genes.shape[1], TILE)]
        return Evaluation.joined(tiles)

    def _evaluate_tile(self, genes: FloatArray) -> Evaluation:
        draft = self.sections.decode(genes)
        designs, topologies = draft.population, draft.networks
        traffic = self.traffic.of(topologies)
        found = self.evaluator.evaluate_tile(designs, topologies, traffic, in_box=draft.in_box)
        if self.structures.table is not None and not self.time.tables:
            return found
        # Without a table, combinations that cannot hold a process group are still among those that genes name.
        return replace(found, violation=found.violation + ~self.traffic.fits(topologies))

    def measure(self, designs: Population, *, timed: bool = True) -> Figures:
        """Return the figures of designs that all objectives are computed from; times only if they are asked for."""
        return self.evaluator.measure(designs, timed=timed)

    def violation(self, designs: Population) -> FloatArray:
        """Return (n,) the violation that `evaluate` returns; no times are computed unless a constraint needs them."""
        return self.evaluator.violation(designs) + self.unbuildable(designs)

    def pinned(self, designs: Population) -> Problem:
        """Return the problem with the plans of the first design, where some are open."""
        if not self.time.tables:
            return self
        plan = designs.plans[:, 0].tolist()
        return replace(self, time=self.time.pinned(plan), sources=self.sources.pinned(self.time, designs, plan))

    def unbuildable(self, designs: Population) -> FloatArray:
        """Return (n,) how many dimensions break a rule of the space, or are not in whole ports."""
        structure = self._structures(designs)
        return self._unbuildable(designs, self.pricing.built(designs, structure), structure)

    def _structures(self, designs: Population) -> IntArray:
        """Return the (n,) places of designs in the table of combinations; -1 where there is none, or a long one."""
        table = self.structures.table
        if table is None or len(table) > _LOOKED_UP * len(designs):
            return np.full(len(designs), -1)
        return table.find(designs.npus, designs.technology)

    def _unbuildable(self, designs: Population, built: Topologies, structure: IntArray) -> FloatArray:
        wrong = unbuildable_dimensions(self, designs, structure) | misfits(built, designs.bandwidth)[1]
        return np.asarray(wrong.sum(axis=0), dtype=np.float64)

    def evaluate(self, designs: Population | str | Sequence[str]) -> Evaluation:
        """Return the objectives and the violation of any designs with the problem's number of NPUs.

        The designs are a population, or written in the notation with technologies and bandwidths in GB/s. Objectives
        are in SI (seconds, USD), in the order of `objectives`. The violation is that of the constraints, of the
        smallest and largest bandwidths, of ports, and of the rules of the space: sizes, blocks, technologies and their
        order, pins, and spares, and of scale-up domains that tensor parallel groups leave. Only a design of the space
        has none.

        Raises
        ------
        InputError : a design cannot be read, has another number of NPUs, or cannot hold a process group.

        >>> from evo_libra import load_problem
        >>> problem = load_problem("gpt3-4k")
        >>> found = problem.evaluate("RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20")
        >>> [f"{value:.6g}" for value in found.objectives[:, 0]]
        ['0.242113', '9.78129e+06']
        """
        population = designs if isinstance(designs, Population) else self.read(designs)
        structure = self._structures(population)
        built = self.evaluator.built(population, structure)
        known = (structure >= 0).all() and not self.time.tables
        found = self.evaluator.evaluate(population, built, self.traffic.of(built) if known else None)
        wrong = found.violation + self._unbuildable(population, built, structure)
        if self.time.keeps_inside:
            wrong = wrong + ~self.time.fits(population.npus, population.plan, population.technology)
        return replace(found, violation=wrong)

    @cached_property
    def notation(self) -> Notation | OrderNotation:
        """The notation of designs."""
        if self.book is not None:
            from evo_libra.problem.written_orders import OrderNotation  # noqa: PLC0415 - files of designs do not need it

            return OrderNotation(self.book, self.time)
        return Notation(
            npus=self.npus, depth=len(self.choices), catalog=self.catalog, time=self.time, npu=self.sources.npu,
            failing=self.sources.faults is not None, fewest=min(self.sources.spares),
        )  # fmt: skip

    def read(self, designs: str | Sequence[str]) -> Population:
        """Return the networks of designs in the notation; `evaluate` names the errors."""
        return self.notation.read(designs)

    def fabrics(self, population: Population) -> list[Fabric]:
        """Return networks as records, with the options that the problem leaves open of how collectives run on them."""
        return self.notation.fabrics(population)

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return the columns that describe designs: the notation, and each part of each dimension."""
        return self.notation.describe(self.decode(genes))
