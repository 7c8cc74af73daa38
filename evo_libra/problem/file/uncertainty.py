"""From the ranges of a problem file to scenarios, where some objective or constraint is over scenarios."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.network.bill import parts_of
from evo_libra.network.blocks import Kit, Range
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.file.time import time_spec
from evo_libra.problem.file.uncertainty_spec import WeightSpec
from evo_libra.problem.file.workloads import normalised_weights
from evo_libra.problem.objectives import MEASURES, Measure
from evo_libra.problem.scenarios import Scenarios, draw
from evo_libra.problem.statistics import NAMED
from evo_libra.problem.system import SystemBill
from evo_libra.problem.time_models.loops import WeightedLoop

_VALUE = NAMED.index("value")
_WEIGHTS, _NPUS, _AROUND = 1, 2, 3
"""Streams of random numbers beside that of the prices of parts, which is that of `evo-libra prices`."""


class UncertaintyLoader:
    """Reads the scenarios of a problem file; `asked` are the names of its objectives and constraints by their key."""

    def __init__(self, file: ProblemFile, asked: Sequence[tuple[str, str]]) -> None:
        self.spec, self.fail = file.spec, file.fail
        self.asked = [(key, name) for key, name in asked if MEASURES[name].statistic is not None]

    def scenarios(
        self, kits: Sequence[Kit], npus: Sequence[Accelerator], loops: Sequence[WeightedLoop],
        system: SystemBill | None,
    ) -> Scenarios | None:  # fmt: skip
        """Return the scenarios; None where nothing asks for them.

        An `InputError` names what is asked for over scenarios although nothing of it varies.
        """
        if not self.asked:
            return None
        drawn = self._prices(kits)
        varies = (drawn != drawn[:, :1]).any(axis=1)
        parts = tuple(name for name, one in zip(parts_of(kits), varies.tolist(), strict=True) if one)
        weights, prices = self._weights(loops), self._npu_prices(npus)
        found = Scenarios(parts, _beyond(drawn[varies]), weights, prices, self._around(system))
        for key, name in self.asked:
            if not _varies(MEASURES[name], found):
                raise self.fail((key,), f"{name} is over scenarios, and {self._certain(MEASURES[name])}")
        return found

    def _prices(self, kits: Sequence[Kit]) -> FloatArray:
        """Return (part, s) USD, as `evo-libra prices` draws them."""
        ranges = [part.price for part in parts_of(kits).values()]
        settings = self.spec.uncertainty
        return draw(
            ranges if settings.prices else [_fixed(one.value) for one in ranges], settings.scenarios, settings.seed
        )

    def _weights(self, loops: Sequence[WeightedLoop]) -> FloatArray:
        """Return the (w, s) weights beyond the stated ones."""
        given = [one.weight for one in self.spec.workloads]
        ranges = [Range(one.low, one.value, one.high) if isinstance(one, WeightSpec) else _fixed(one) for one in given]
        settings = self.spec.uncertainty
        weight = draw(ranges, settings.scenarios, (settings.seed, _WEIGHTS))
        if time_spec(self.spec).weights == "normalised":
            weight = normalised_weights(weight, np.array([loop.workload.compute for loop in loops]))
        return _beyond(weight)

    def _npu_prices(self, npus: Sequence[Accelerator]) -> FloatArray:
        """Return the (a, s) USD of accelerators beyond the middle of their ranges."""
        settings, ranges = self.spec.uncertainty, []
        for npu in npus:
            low, high = npu.price if npu.price is not None and settings.prices else (0.0, 0.0)
            ranges.append(Range(low, (low + high) / 2.0, high))
        return _beyond(draw(ranges, settings.scenarios, (settings.seed, _NPUS)))

    def _around(self, system: SystemBill | None) -> FloatArray:
        """Return the (row, s) USD of pieces of what is bought around network and NPUs beyond the middle of ranges."""
        settings = self.spec.uncertainty
        known = [row.price or _fixed(0.0) for row in (() if system is None else system.rows)]
        ranges = known if settings.prices else [_fixed(0.0) for _ in known]
        return _beyond(draw(ranges, settings.scenarios, (settings.seed, _AROUND))) if ranges else np.zeros((0, 1))

    def _certain(self, measure: Measure) -> str:
        """Return why a measure has the same figure in every scenario, as part of a sentence."""
        reasons = ["no workload's weight is a range"] if measure.timed else []
        if measure.paid or measure.priced:
            varied = self.spec.uncertainty.prices
            reasons.append("no price is a range" if varied else "`uncertainty.prices` is false")
        return " and ".join(reasons)


def _varies(measure: Measure, scenarios: Scenarios) -> bool:
    return bool(
        (measure.timed and scenarios.weight.any())
        or (measure.paid and len(scenarios.price))
        or (measure.priced and (scenarios.npu_price.any() or scenarios.around_price.any()))
    )


def _beyond(figures: FloatArray) -> FloatArray:
    return np.asarray(figures - figures[:, _VALUE : _VALUE + 1])


def _fixed(value: float) -> Range:
    return Range(value, value, value)
