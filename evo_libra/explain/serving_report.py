"""Serving on a network: what users see, where its time and memory go, and what an answer costs."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import Population
from evo_libra.explain.time_record import Serving, Simulated
from evo_libra.explain.training_report import memory_of, traffic_seconds
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.workload.serving.observed import LONGEST, OFF, observed, passes
from evo_libra.workload.serving.serving_plans import DEGREES
from evo_libra.workload.serving.serving_step import ServingStep
from evo_libra.workload.training.races import SecondsOf, StepTime

_MILLI = 1e-3


def serving_report(problem: Problem, loop: WeightedLoop, step: ServingStep, population: Population) -> Serving:
    """Return the report of the first design of a population.

    The parts of prefill are those of one prompt, the parts of decode those of a step that gives each user of a replica
    a token. Costs of a token are left out where the file or no source gives a figure of them. ``simulated`` is what a
    simulation says, request by request, of one replica, or of the smallest part of both pools; ``not_simulated`` says
    why there is none.
    """
    first = population.select([0])
    seconds_of = traffic_seconds(problem, loop, first)
    request, upper, token, alone = (
        float(np.ravel(time(seconds_of))[0])
        for time in (step.times.request, step.times.first, step.times.token, step.times.alone)
    )
    rate = step.tokens / request
    simulated, reason = _simulated(step, seconds_of, token, rate)
    return Serving(
        npu=step.accelerator.name,
        input=step.setup.prompt,
        output=round(step.setup.answer, 1) if step.setup.lengths is not None else int(step.setup.answer),
        concurrency=step.concurrency,
        replicas=step.replicas,
        prefill_replicas=step.prefill,
        prefill_parallelism=_prefill_parallelism(step),
        users=step.users,
        ttft_one_user_ms=alone / _MILLI,
        ttft_ms=upper / _MILLI,
        tpot_ms=token / _MILLI,
        request_ms=request / _MILLI,
        tokens_per_s=rate,
        tokens_per_s_per_npu=rate / float(first.npus[:, 0].prod()),
        **_costs(problem, first),
        prefill_ms=_split(step.phases.prefill, seconds_of),
        decode_ms=_split(step.phases.decode, seconds_of),
        transfer_ms=_split(step.phases.transfer, seconds_of) if step.prefill else None,
        simulated=simulated,
        not_simulated=reason,
        memory=memory_of(problem, step, first),
    )


def _prefill_parallelism(step: ServingStep) -> dict[str, int]:
    """Return the degrees of replicas that only process prompts, where they are others."""
    ahead = step.serving_plan.ahead
    return {} if ahead is None else {name: int(getattr(ahead, name)[0]) for name in DEGREES}


def _simulated(step: ServingStep, seconds_of: SecondsOf, token: float, rate: float) -> tuple[Simulated | None, str]:
    """Return what a simulation says, and by how many percent the formula is off; or why there is none."""
    if any(step.expanded.values()):
        return None, "the simulation has no expansion memory"
    events = passes(step.setup, step.serving_plan)
    if events > LONGEST:
        return None, f"about {events:.2g} passes through a stage are more than {LONGEST:.2g}"
    found = observed(step.setup, step.serving_plan, seconds_of)
    off = {"tpot": token / found.token - 1.0, "tokens_per_s": rate / found.rate - 1.0}
    simulated = Simulated(
        ttft_one_by_one_ms=float(found.first[0]) / _MILLI,
        ttft_at_once_ms=float(found.first[1]) / _MILLI,
        tpot_ms=found.token / _MILLI,
        tokens_per_s=found.rate,
        formula_off_percent={name: 100.0 * value for name, value in off.items()},
        formula_holds=all(abs(value) <= OFF for value in off.values()),
    )
    return simulated, ""


def _split(phase: StepTime, seconds_of: SecondsOf) -> dict[str, float]:
    split = {part: float(np.ravel(seconds)[0]) / _MILLI for part, seconds in phase.split(seconds_of).items()}
    return {part: time for part, time in split.items() if time}


def _costs(problem: Problem, first: Population) -> dict[str, float]:
    """Return what a token of all workloads together costs, as far as it is known."""
    figures = problem.measure(first)
    counted = figures.training is not None and figures.training.tokens is not None
    if figures.npu_watts is None or not problem.pricing.kits or not counted or problem.sources.system.lacking("watts"):
        return {}
    found = {"energy_per_token_J": float(MEASURES["energy-per-token"].value(figures)[0])}
    if figures.npu_price is not None and figures.tco is not None and not problem.sources.system.lacking("price"):
        found["usd_per_Mtoken"] = float(MEASURES["usd-per-Mtoken"].value(figures)[0])
    return found
