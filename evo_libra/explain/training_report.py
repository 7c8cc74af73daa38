"""A training step on a network: where its time and memory go, and what training costs with it."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import GIGA, FloatArray, Population
from evo_libra.explain.time_record import Memory, OptimizerStream, Training
from evo_libra.problem.figures import system_watts
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.loops import WeightedLoop, channel_of
from evo_libra.workload.plans.plans import NPU
from evo_libra.workload.serving.serving_step import ServingStep
from evo_libra.workload.training.planned_step import stream_units
from evo_libra.workload.training.races import SecondsOf, Traffic
from evo_libra.workload.training.training_step import TrainingStep

_DAY = 86_400.0
_MILLI = 1e-3
_MWH = 3.6e9
_ROUNDING, _SAME = 1e-12, 1.0 - 1e-9
"""Streams that differ by rounding bind together."""


def training_report(problem: Problem, loop: WeightedLoop, step: TrainingStep, population: Population) -> Training:
    """Return the report of the first design of a population.

    The parts of the split add up to the step's time. Energy is that of NPUs under load and of the network; it is left
    out where no source gives one of them, and days and energy of the training where the file does not say its tokens.
    """
    split, first = step_split(problem, loop, step, population), population.select([0])
    streams = optimizer_streams(problem, loop, step, population)
    seconds = sum(split.values())
    return Training(
        npu=step.accelerator.name,
        split_ms={part: time / _MILLI for part, time in split.items()},
        optimizer_streams=streams,
        memory=memory_of(problem, step, first),
        samples_per_s=step.samples / seconds,
        samples_per_s_per_npu=step.samples / seconds / problem.npus,
        **_throughput(problem, step, seconds),
        **_energy(problem, step, population, seconds),
    )


def memory_of(problem: Problem, step: TrainingStep | ServingStep, first: Population) -> Memory:
    """Return the memory that each class takes of an NPU of a design, and the NPU's capacity."""
    capacity = problem.sources.npu.figures(first.technology)[0]
    return Memory(
        memory_GB={kind: bytes_ / GIGA for kind, bytes_ in step.memory.items()},
        expansion_GB={kind: bytes_ / GIGA for kind, bytes_ in step.expanded.items()},
        memory_total_GB=step.total_memory / GIGA,
        memory_limit_GB=None if capacity is None else float(capacity[0]) / GIGA,
    )


def _throughput(problem: Problem, step: TrainingStep, seconds: float) -> dict[str, float]:
    """Return what is only known of language models: tokens, days, and the share of the peak rate in 16 bits."""
    if step.tokens is None or step.flop is None:
        return {}
    rate, tokens = step.tokens / seconds, step.training_tokens
    return {
        "model_flop_utilisation": step.flop / seconds / (step.accelerator.peak_rate("bf16") * problem.npus),
        "tokens_per_s": rate,
        "tokens_per_s_per_npu": rate / problem.npus,
        **({} if tokens is None else {"training_tokens": tokens, "training_days": tokens / rate / _DAY}),
    }


def _energy(problem: Problem, step: TrainingStep, population: Population, seconds: float) -> dict[str, float]:
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
            for chain in race.chains:
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
    times = problem.time.channel_times(population.select([0]))

    def seconds_of(traffic: Traffic) -> FloatArray:
        stream, units = stream_units(traffic, loop.degrees, loop.merging)
        operations = float(np.ravel(traffic.operations)[0])
        if not units or loop.degrees[traffic.group] == 1:
            return np.zeros(1)
        return np.asarray(times[channel_of(loop, stream)] * (units / operations))

    return seconds_of
