"""Training and serving on a network: where time and memory go, what users see, and what each costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from evo_libra.arrays import GIGA, FloatArray, Population
from evo_libra.explain.time_record import Memory, OptimizerStream, Serving, Simulated, Training
from evo_libra.problem.figures import NONE_LEFT, left_of, system_watts
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.loops import WeightedLoop, channel_of
from evo_libra.workload.plans.plans import NPU
from evo_libra.workload.serving.load import closed_loop, load_times
from evo_libra.workload.serving.observed import LONGEST, OFF, observed, passes
from evo_libra.workload.serving.serving_plans import DEGREES
from evo_libra.workload.serving.serving_step import ServingStep
from evo_libra.workload.training.planned_step import all_units
from evo_libra.workload.training.races import SecondsOf, StepTime, Traffic
from evo_libra.workload.training.training_step import TrainingStep

_DAY = 86_400.0
_MILLI = 1e-3
_MWH = 3.6e9
_ROUNDING, _SAME = 1e-12, 1.0 - 1e-9
"""Streams that differ by rounding bind together."""


def _npu_name(problem: Problem, name: str, population: Population) -> str:
    """Return what an accelerator is called; that of an order stands for all systems that are bought."""
    if problem.book is None:
        return name
    order = problem.book.orders[int(problem.book.place(population.select([0]))[0])]
    return problem.book.products.systems[order.system].npu


def training_report(problem: Problem, loop: WeightedLoop, step: TrainingStep, population: Population) -> Training:
    """Return the report of the first design of a population.

    The parts of the split add up to the step's time. Energy is that of NPUs under load and of the network; it is left
    out where no source gives one of them, and days and energy of the training where the file does not say its tokens.
    """
    split, first = step_split(problem, loop, step, population), population.select([0])
    streams = optimizer_streams(problem, loop, step, population)
    seconds, npus = sum(split.values()), first.npus[:, 0].prod()
    return Training(
        npu=_npu_name(problem, step.accelerator.name, population),
        stated_batch=_stated_batch(step),
        split_ms={part: time / _MILLI for part, time in split.items()},
        optimizer_streams=streams,
        memory=memory_of(problem, step, first),
        samples_per_s=step.samples / seconds,
        samples_per_s_per_npu=step.samples / seconds / float(npus),
        **_throughput(step, seconds, float(npus)),
        **_energy(problem, step, population, seconds),
    )


def _stated_batch(step: TrainingStep) -> int | None:
    """Return the sequences that the file asks for, where a step has others."""
    stated = 0 if step.planned is None else step.planned[0].stated_batch
    return stated if stated not in (0, step.samples) else None


def memory_of(problem: Problem, step: TrainingStep | ServingStep, first: Population) -> Memory:
    """Return the memory that each class takes of an NPU of a design, and the NPU's capacity."""
    capacity = problem.sources.npu.figures(first.technology)[0]
    return Memory(
        memory_GB={kind: bytes_ / GIGA for kind, bytes_ in step.memory.items()},
        expansion_GB={kind: bytes_ / GIGA for kind, bytes_ in step.expanded.items()},
        memory_total_GB=step.total_memory / GIGA,
        memory_limit_GB=None if capacity is None else float(capacity[0]) / GIGA,
    )


def _throughput(step: TrainingStep, seconds: float, npus: float) -> dict[str, Any]:
    """Return what is only known of language models: tokens, days, and the share of the peak rate in 16 bits."""
    if step.tokens is None or step.flop is None:
        return {}
    rate, tokens = step.tokens / seconds, step.training_tokens
    return {
        "model_flop_utilisation": step.flop / seconds / (step.accelerator.peak_rate("bf16") * npus),
        "tokens_per_s": rate,
        "tokens_per_s_per_npu": rate / npus,
        **({} if tokens is None else {"training_tokens": tokens, "training_days": tokens / rate / _DAY}),
    }


def _energy(problem: Problem, step: TrainingStep, population: Population, seconds: float) -> dict[str, Any]:
    if step.accelerator.power is None or not problem.pricing.kits or problem.sources.system.lacking("watts"):
        return {}
    watts = float(system_watts(problem.measure(population, timed=False))[0])
    found = {"power_MW": watts / 1e6, "energy_kJ": watts * seconds / 1e3}
    if step.tokens is None:
        found["energy_per_sample_J"] = watts * seconds / step.samples
    else:
        found["energy_per_token_J"] = watts * seconds / step.tokens
        if step.training_tokens is not None:
            found["training_energy_MWh"] = found["energy_per_token_J"] * step.training_tokens / _MWH
    return found


def step_split(problem: Problem, loop: WeightedLoop, step: TrainingStep, population: Population) -> dict[str, float]:
    """Return the seconds of each part of a step on the first design; what the plan does not have is left out."""
    seconds_of = traffic_seconds(problem, loop, population)
    split = {part: float(np.ravel(seconds)[0]) for part, seconds in step.time.split(seconds_of).items()}
    # Streams that take as long as each other may differ in the last digits.
    return {part: seconds for part, seconds in split.items() if seconds > _ROUNDING * sum(split.values())}


def optimizer_streams(
    problem: Problem, loop: WeightedLoop, step: TrainingStep, population: Population
) -> tuple[OptimizerStream, ...]:
    """Return what runs side by side where the optimizer is not on the NPUs, or something lies in expansion memory.

    That is of a pass, and of the update after them; the longest one binds. There is no entry where all is on the NPUs.
    """
    if step.planned is None or (int(step.planned[1].optimizer[0]) == NPU and not any(step.expanded.values())):
        return ()
    seconds_of, found = traffic_seconds(problem, loop, population), dict[str, dict[str, float]]()
    for race in step.time.races:
        if race.name and (race.count + race.idle)[0]:
            mine = found.setdefault(race.name, {})
            # A partial chain begins with the compute of another one.
            for chain in (one for one in race.chains if not one.partial):
                seconds = float(np.ravel(chain.seconds(seconds_of))[0])
                mine[chain.part] = max(mine.get(chain.part, 0.0), seconds)
    return tuple(
        OptimizerStream(pass_=name, stream=part, time_ms=seconds / _MILLI, binds=seconds >= max(parts.values()) * _SAME)
        for name, parts in found.items()
        for part, seconds in parts.items()
        if seconds
    )


def traffic_seconds(problem: Problem, loop: WeightedLoop, population: Population) -> SecondsOf:
    """Return the seconds of an operation of some traffic of a workload on the first design, as a function."""
    first = population.select([0])
    times = problem.time.channel_times(first)

    def seconds_of(traffic: Traffic) -> FloatArray:
        operations = float(np.ravel(traffic.operations)[0])
        found = np.zeros(1)
        for stream, units in all_units(traffic, loop.degrees, loop.merging):
            if units and loop.degrees[traffic.group] > 1:
                channel = channel_of(loop, stream)
                # A simulation sends messages of other sizes, too.
                if channel not in times:
                    times[channel] = problem.time.channel_seconds(channel, first)
                found = found + times[channel] * (units / operations)
        return found

    return seconds_of


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
    mean, most = _under_load(step, seconds_of)
    return Serving(
        npu=_npu_name(problem, step.accelerator.name, population),
        input=step.setup.prompt,
        output=round(step.setup.answer, 1) if step.setup.lengths is not None else int(step.setup.answer),
        concurrency=step.concurrency,
        replicas=step.replicas,
        prefill_replicas=step.prefill,
        prefill_parallelism=_prefill_parallelism(step),
        users=step.users,
        ttft_one_user_ms=alone / _MILLI,
        ttft_ms=upper / _MILLI,
        ttft_mean_ms=mean,
        ttft_p95_ms=most,
        tpot_ms=token / _MILLI,
        request_ms=request / _MILLI,
        tokens_per_s=rate,
        tokens_per_s_per_npu=rate / float(first.npus[:, 0].prod()),
        tokens_per_s_one_out=_one_out(problem, loop, first, rate),
        **_costs(problem, first),
        prefill_ms=_split(step.phases.prefill, seconds_of),
        decode_ms=_split(step.phases.decode, seconds_of),
        transfer_ms=_split(step.phases.transfer, seconds_of) if step.prefill else None,
        simulated=simulated,
        not_simulated=reason,
        memory=memory_of(problem, step, first),
    )


def _one_out(problem: Problem, loop: WeightedLoop, first: Population, rate: float) -> float | None:
    """Return the tokens/s of a workload that are left while a server or a tray is out."""
    npu, known = problem.sources.npu, loop.workload.groups_that_answer
    if npu.stopped is None or known is None:
        return None
    groups, size = known
    left = float(left_of(groups, size, npu.stopped[npu.place(first.technology)])[0])
    return rate * left if left > NONE_LEFT else 0.0


def first_tokens(
    problem: Problem, loop: WeightedLoop, step: ServingStep, population: Population
) -> tuple[float | None, float | None]:
    """Return ms of first tokens of the first design in a steady state, on average and for 19 of 20; None as there."""
    return _under_load(step, traffic_seconds(problem, loop, population))


def _under_load(step: ServingStep, seconds_of: SecondsOf) -> tuple[float | None, float | None]:
    """Return ms of first tokens in a steady state, of a plan whose replicas process prompts and have no pipeline."""
    if step.prefill or step.parallelism["pp"] > 1 or any(step.expanded.values()):
        return None, None
    found = closed_loop(load_times(step.setup, step.serving_plan, seconds_of), step.concurrency)
    return (found.first / _MILLI, found.first_p95 / _MILLI) if found.stable else (None, None)


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


def _costs(problem: Problem, first: Population) -> dict[str, Any]:
    """Return what a token of all workloads together costs, as far as it is known."""
    figures = problem.measure(first)
    counted = figures.training is not None and figures.training.tokens is not None
    if figures.npu_watts is None or not problem.pricing.kits or not counted or problem.sources.system.lacking("watts"):
        return {}
    found = {"energy_per_token_J": float(MEASURES["energy-per-token"].value(figures)[0])}
    if figures.npu_price is not None and figures.tco is not None and not problem.sources.system.lacking("price"):
        found["usd_per_Mtoken"] = float(MEASURES["usd-per-Mtoken"].value(figures)[0])
    return found
