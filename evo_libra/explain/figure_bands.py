"""Bands of the figures that follow from a time with a band: what is per second, per token, and of a whole training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evo_libra.arrays import Population
from evo_libra.explain.time_record import Serving, Training
from evo_libra.problem.class_bands import step_factors
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.workload.plans.step_class import FIRST_TOKEN, TIME

Ends = tuple[float, float]

_TRAINED = ("training_days", "energy_kJ", "energy_per_sample_J", "energy_per_token_J", "training_energy_MWh")
"""Figures of a training step that are as much larger as it takes longer."""

_FIRST = ("ttft_one_user_ms", "ttft_ms")
_REQUESTED = ("tpot_ms", "request_ms", "energy_per_token_J", "usd_per_Mtoken")
"""Figures of serving that are as much larger as a token takes longer."""

_RATES = (
    "samples_per_s", "samples_per_s_per_npu", "tokens_per_s", "tokens_per_s_per_npu", "tokens_per_s_one_out",
    "model_flop_utilisation",
)  # fmt: skip
"""Figures that are as much smaller."""


def banded_training(report: Training, problem: Problem, loop: WeightedLoop, population: Population) -> Training:
    """Return the report of a step with the bands of its figures, which are those of its time or its inverse."""
    factors = step_factors(problem, population.select([0]), loop)
    ends = factors.get(TIME)
    return report if ends is None else replace(report, between=_between(report, dict.fromkeys(_TRAINED, ends), ends))


def banded_serving(report: Serving, problem: Problem, loop: WeightedLoop, population: Population) -> Serving:
    """Return the report of a served model with the bands of its figures; those of objectives are the same ones."""
    factors = step_factors(problem, population.select([0]), loop)
    if TIME not in factors:
        return report
    first = dict.fromkeys(_FIRST, factors[FIRST_TOKEN]) if FIRST_TOKEN in factors else {}
    grown = {**first, **dict.fromkeys(_REQUESTED, factors[TIME])}
    return replace(report, between=_between(report, grown, factors[TIME]))


def _between(report: Training | Serving, grown: Mapping[str, Ends], slowed: Ends) -> dict[str, Ends]:
    """Return the ends of the figures that a report has: `slowed` are the factors of the time that a rate is per."""
    inverse = 1.0 / slowed[1], 1.0 / slowed[0]
    factors = {**grown, **dict.fromkeys(_RATES, inverse)}
    values = {key: getattr(report, key, None) for key in factors}
    return {
        key: (value * factors[key][0], value * factors[key][1]) for key, value in values.items() if value is not None
    }
