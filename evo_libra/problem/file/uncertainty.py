"""From the ranges of a problem file to scenarios, where some objective or constraint is over scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.network.blocks import Kit, Range
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.file.time import time_spec
from evo_libra.problem.file.uncertainty_spec import WeightSpec
from evo_libra.problem.file.workloads import normalised_weights
from evo_libra.problem.needs import NPU_PRICE
from evo_libra.problem.npu_choice import NpuChoice
from evo_libra.problem.objectives import MEASURES, Measure
from evo_libra.problem.time_models.loops import WeightedLoop

if TYPE_CHECKING:
    from evo_libra.problem.orders import OrderBook
    from evo_libra.problem.scenarios import Scenarios
    from evo_libra.problem.system_bill import SystemBill

_WEIGHTS = 1
"""Stream of random numbers; those of prices are others."""


class UncertaintyLoader:
    """Reads the scenarios of a problem file; `asked` are the names of its objectives and constraints by their key."""

    def __init__(self, file: ProblemFile, asked: Sequence[tuple[str, str]]) -> None:
        self.spec, self.fail = file.spec, file.fail
        self.asked = [(key, name) for key, name in asked if MEASURES[name].statistic is not None]

    def scenarios(
        self, kits: Sequence[Kit], npu: NpuChoice, loops: Sequence[WeightedLoop], system: SystemBill,
        book: OrderBook | None = None,
    ) -> Scenarios | None:  # fmt: skip
        """Return the scenarios; None where nothing asks for them.

        An `InputError` names what is asked for over scenarios although nothing of it varies.
        """
        if not self.asked:
            return None
        from evo_libra.problem.order_scenarios import scenarios_of  # noqa: PLC0415 - few problems have scenarios

        settings = self.spec.uncertainty
        found = scenarios_of(
            kits, npu, system=system, book=book, weight=self._weights(loops), drawn=settings.scenarios,
            seed=settings.seed, vary=settings.prices,
        )  # fmt: skip
        for key, name in self.asked:
            if not _varies(MEASURES[name], found):
                raise self.fail((key,), f"{name} is over scenarios, and {self._certain(MEASURES[name])}")
        return found

    def _weights(self, loops: Sequence[WeightedLoop]) -> FloatArray:
        """Return the (w, s) weights beyond the stated ones."""
        from evo_libra.problem.scenarios import beyond, draw  # noqa: PLC0415 - few problems have scenarios

        given = [one.weight for one in self.spec.workloads]
        ranges = [Range(one.low, one.value, one.high) if isinstance(one, WeightSpec) else _fixed(one) for one in given]
        settings = self.spec.uncertainty
        weight = draw(ranges, settings.scenarios, (settings.seed, _WEIGHTS))
        if time_spec(self.spec).weights == "normalised":
            weight = normalised_weights(weight, np.array([loop.workload.compute for loop in loops]))
        return beyond(weight)

    def _certain(self, measure: Measure) -> str:
        """Return why a formula has the same figure in every scenario, as part of a sentence."""
        reasons = ["no workload's weight is a range"] if measure.timed else []
        if measure.paid or NPU_PRICE in measure.needs:
            varied = self.spec.uncertainty.prices
            reasons.append("no price is a range" if varied else "`uncertainty.prices` is false")
        return " and ".join(reasons)


def _varies(measure: Measure, scenarios: Scenarios) -> bool:
    return bool(
        (measure.timed and scenarios.weight.any())
        or (measure.paid and len(scenarios.price))
        or (NPU_PRICE in measure.needs and (scenarios.npu_price.any() or scenarios.around_price.any()))
    )


def _fixed(value: float) -> Range:
    return Range(value, value, value)
