"""What the figures of designs come from beside the time and the price of their networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import Population, columns
from evo_libra.problem.figures import TotalCostOfOwnership, TrainingFigures
from evo_libra.problem.npu_choice import NO_NPU, NpuChoice
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.pricing.pricing import Pricing
from evo_libra.problem.system_bill import NOTHING_AROUND, SystemBill
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
    system : what is bought beside network and accelerators.
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

    def pinned(self, time: TimeModel, designs: Population, plan: Sequence[int]) -> FigureSources:
        """Return the sources where each workload that leaves plans open has that of the first design."""
        return replace(self, training=self.trained(time, designs), system=self.system.pinned(plan))


NO_SOURCES = FigureSources()
"""Those of a file with a network and tables of layers alone."""
