"""The figures, objectives and violations of designs, and the parts of a problem that figures come from."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import TILE, FloatArray, IntArray, Population, columns
from evo_libra.problem.constraints import BANDWIDTH, Constraint, violation
from evo_libra.problem.figures import Figures, TotalCostOfOwnership, TrainingFigures, left_of, served_figures
from evo_libra.problem.needs import FAULTS, WATTS
from evo_libra.problem.npu_choice import NO_NPU, NpuChoice
from evo_libra.problem.objectives import MEASURES, values
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.pricing.pricing import Pricing, Topologies
from evo_libra.problem.protocol import Evaluation, Objective
from evo_libra.problem.system_bill import NOTHING_AROUND, SystemBill
from evo_libra.problem.time_models.loops import Times, no_times
from evo_libra.problem.time_models.time_model import TimeModel

if TYPE_CHECKING:
    from evo_libra.problem.faults import Faults
    from evo_libra.problem.network_faults import NetworkFaults
    from evo_libra.problem.scenarios import Scenarios


@dataclass(frozen=True)
class FigureSources:
    """The parts of a problem that only some files have.

    Attributes
    ----------
    tco : figures of the total cost of ownership, where the file has some.
    training : memory and tokens of training steps and serving, where some workload is one; the tokens where each is.
    npu : the accelerators that designs may have; none where the file names none.
    scenarios : of uncertain prices and weights, where an objective or a constraint is over scenarios.
    faults : failures, checkpoints and spares, where the file has some.
    system : the bill of everything besides network and accelerators.
    """

    tco: TotalCostOfOwnership | None = None
    training: TrainingFigures | None = None
    npu: NpuChoice = NO_NPU
    scenarios: Scenarios | None = None
    faults: Faults | None = None
    system: SystemBill = NOTHING_AROUND

    @property
    def spares(self) -> tuple[int, ...]:
        """The numbers of spare NPUs that designs may have, ascending."""
        return (0,) if self.faults is None else self.faults.spare_choices

    def network_faults(self, pricing: Pricing) -> NetworkFaults | None:
        """Return the failures of networks, and of what runs on them; None where the file has none."""
        if self.faults is None:
            return None
        assert isinstance(pricing, BillOfMaterials), "the loader has checked"  # noqa: S101 - internal error
        from evo_libra.problem.network_faults import NetworkFaults  # noqa: PLC0415 - few problems have failures

        return NetworkFaults(pricing, self.faults)

    def trained(self, time: TimeModel, designs: Population) -> TrainingFigures | None:
        """Return memory and tokens of training steps, with the memory that the plans of designs need."""
        if self.training is None or not time.tables:
            return self.training
        memory, tokens = self.training.memory, self.training.tokens
        for loop, plan in zip(time.open_loops, designs.plans, strict=True):
            memory = np.maximum(memory, columns(loop.workload.memory, plan))
            if tokens is not None and len(loop.workload.tokens) > 1:
                tokens = tokens + loop.weight * columns(loop.workload.tokens, plan)
        return replace(self.training, memory=memory, tokens=tokens)

    def left(self, time: TimeModel, designs: Population) -> list[FloatArray]:
        """Return (n,) shares of the replicas of each workload that answer while a server or a tray is out."""
        if self.npu.stopped is None:
            return []
        stopped = self.npu.stopped[self.npu.place(designs.technology)]
        return [left_of(groups, size, stopped) for groups, size in time.groups_that_answer(designs)]

    def pinned(self, time: TimeModel, designs: Population, plan: Sequence[int]) -> FigureSources:
        """Return the sources where each workload that leaves plans open has that of the first design."""
        return replace(self, training=self.trained(time, designs), system=self.system.pinned(plan))


NO_SOURCES = FigureSources()
"""Those of a file with a network and tables of layers alone."""


@dataclass(frozen=True)
class Evaluator:
    """Evaluates the designs of a problem, whose fields these are; see `Problem`."""

    npus: int
    pricing: Pricing
    time: TimeModel
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    sources: FigureSources

    @cached_property
    def _needs(self) -> frozenset[str]:
        """The needs of objectives and constraints."""
        return frozenset().union(*(MEASURES[o.name].needs for o in self.objectives), *self._limits)

    @property
    def _limits(self) -> list[frozenset[str]]:
        """The needs of each constraint of an objective."""
        return [MEASURES[c.quantity].needs for c in self.constraints if c.quantity != BANDWIDTH]

    @cached_property
    def network_faults(self) -> NetworkFaults | None:
        """Failures of networks, and of what runs on them; None where the file has none."""
        return self.sources.network_faults(self.pricing)

    def evaluate(self, designs: Population, topologies: Topologies, traffic: FloatArray | None = None) -> Evaluation:
        """Return the objectives and the violation of designs, in tiles.

        Their topologies are those of their pricing, their traffic that of `TimeModel.traffic`, where it is known.
        """
        tiles = (slice(start, start + TILE) for start in range(0, len(designs), TILE))
        known = (lambda _: None) if traffic is None else (lambda tile: traffic[..., tile])
        return Evaluation.joined([
            self.evaluate_tile(designs.select(tile), topologies.select(tile), known(tile)) for tile in tiles
        ])  # fmt: skip

    def evaluate_tile(
        self, designs: Population, topologies: Topologies, traffic: FloatArray | None, *, in_box: bool = False
    ) -> Evaluation:
        """Return what `evaluate` does for few designs; bandwidths `in_box` are known to be within it."""
        figures = self._figures(designs, topologies, self.time.times(designs, traffic), self._needs)
        objectives = values(self.objectives, figures)
        return Evaluation(objectives, self._violation(designs, topologies, figures, in_box=in_box))

    def _figures(
        self, designs: Population, topologies: Topologies, times: Times,
        needs: AbstractSet[str] = frozenset({WATTS, FAULTS}),
    ) -> Figures:  # fmt: skip
        sources = self.sources
        cost, watts = topologies.totals(designs.bandwidth, power=WATTS in needs)
        faults = self.network_faults if FAULTS in needs else None
        useful = None if faults is None else faults.useful(topologies, designs.bandwidth, designs.spares)
        capacity, drawn, price = sources.npu.figures(designs.technology)
        around = sources.system.pieces(designs)
        around_cost, around_watts = sources.system.totals(around)
        stated = Figures(
            time=self.time.weighted(times.workloads), cost=cost, watts=watts, npus=designs.npus, block=designs.block,
            bandwidth=designs.bandwidth, tco=sources.tco, training=sources.trained(self.time, designs),
            npu_capacity=capacity, npu_watts=drawn, npu_price=price, useful=useful, spares=designs.spares,
            served=served_figures(times.first, times.token, sources.left(self.time, designs)),
            around_cost=around_cost, around_watts=around_watts,
        )  # fmt: skip
        if sources.scenarios is None:
            return stated
        bought = self.pricing.pieces(topologies, designs.bandwidth, sources.scenarios.parts)
        if designs.spares is not None:
            bought = bought * self.of_spares(designs)
        npu, tokens = sources.npu.place(designs.technology), self.time.tokens(designs)
        drawn_figures = sources.scenarios.figures(
            stated, bought=bought, times=times.workloads, npu=npu, tokens=tokens, around=around
        )
        return replace(stated, scenarios=drawn_figures)

    def measure(self, designs: Population, *, timed: bool = True) -> Figures:
        """Return the figures of designs that all objectives are computed from; times only if they are asked for."""
        times = self.time.times(designs) if timed else no_times(self.time.loops, len(designs))
        return self._figures(designs, self.built(designs), times)

    def of_spares(self, designs: Population) -> FloatArray:
        """Return (n,) bought networks per working one, as spares have as much network as NPUs at work."""
        return np.asarray(1.0 + (0 if designs.spares is None else designs.spares) / np.full(len(designs), self.npus))

    def built(self, designs: Population, structure: IntArray | None = None) -> Topologies:
        """Return the topologies of designs, at the prices and watts of networks for all NPUs and the spare ones.

        The (n,) combinations are those of `Pricing.built`.
        """
        found = self.pricing.built(designs, structure)
        return found if designs.spares is None else found.times(self.of_spares(designs))

    def violation(self, designs: Population) -> FloatArray:
        """Return (n,) the violation of limits; no times are computed unless a constraint needs them."""
        limited = [MEASURES[c.quantity] for c in self.constraints if c.quantity != BANDWIDTH]
        figures = self.measure(designs, timed=any(measure.of_times for measure in limited))
        return self._violation(designs, self.built(designs), figures)

    def _violation(
        self, designs: Population, topologies: Topologies, figures: Figures, *, in_box: bool = False
    ) -> FloatArray:
        total = np.zeros(len(designs)) if in_box else self.pricing.outside(designs)
        for constraint in self.constraints:
            if not constraint.ports:
                total += self.excess(constraint, figures, designs)
        total += topologies.excess(designs.bandwidth)
        return total

    def excess(self, constraint: Constraint, figures: Figures, designs: Population) -> FloatArray:
        """Return (n,) the relative violation of a constraint by designs, whose figures are known."""
        if constraint.quantity != BANDWIDTH:
            return constraint.excess(figures)
        return violation(constraint, constraint.coefficients(designs.technology), designs.bandwidth)
