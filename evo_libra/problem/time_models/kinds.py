"""Kinds of workloads by name, for all who ask what a workload is and make none.

Most problems have one kind. To import the others takes longer than a short search.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evo_libra.timing.trace_time import TracedWorkload
    from evo_libra.workload.plans.plan_table import PlanTable
    from evo_libra.workload.plans.tabulated import TabulatedTime
    from evo_libra.workload.serving.serving_step import ServingStep
    from evo_libra.workload.serving.serving_table import ServingTable
    from evo_libra.workload.training.training_step import TrainingStep
    from evo_libra.workload.training.training_table import TrainingTable

__all__ = [
    "PlanTable", "ServingStep", "ServingTable", "TabulatedTime", "TracedWorkload", "TrainingStep", "TrainingTable",
]  # fmt: skip


class _Kind:
    """Stands in `isinstance` for classes of some modules: a class that nobody has imported has no instances."""

    def __init__(self, *places: tuple[str, str]) -> None:
        self.places = places

    def __instancecheck__(self, value: object) -> bool:
        modules = [(sys.modules.get(module), name) for module, name in self.places]
        return any(isinstance(value, getattr(module, name, ())) for module, name in modules)

    def __or__(self, other: _Kind) -> _Kind:
        return _Kind(*self.places, *other.places)


if not TYPE_CHECKING:
    TracedWorkload = _Kind(("evo_libra.timing.trace_time", "TracedWorkload"))
    ServingStep = _Kind(("evo_libra.workload.serving.serving_step", "ServingStep"))
    ServingTable = _Kind(("evo_libra.workload.serving.serving_table", "ServingTable"))
    PlanTable = _Kind(("evo_libra.workload.plans.plan_table", "PlanTable"))
    TabulatedTime = _Kind(("evo_libra.workload.plans.tabulated", "TabulatedTime"))
    TrainingStep = _Kind(("evo_libra.workload.training.training_step", "TrainingStep"))
    TrainingTable = _Kind(("evo_libra.workload.training.training_table", "TrainingTable"))
