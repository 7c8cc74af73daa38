"""Why the traces of a training step take another time than its formula, a sentence for each reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evo_libra.arrays import NANO
from evo_libra.astra_sim.loops import ROUNDED, Communication
from evo_libra.collective import Collective
from evo_libra.workload.plans.plan_rules import plan_values
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.training.races import CONTEXT, DATA, TENSOR
from evo_libra.workload.training.stage import layers_of_stages
from evo_libra.workload.training.training_setup import Setup


def step_differences(
    setup: Setup, plan: Plans, degrees: Mapping[str, int], seconds: Mapping[Communication, float]
) -> Iterator[str]:
    """Yield the reasons that lie in a plan; seconds are those of its communication by the problem."""
    value = plan_values(plan)
    if value["pp"] > 1:
        yield from _of_stages(setup, plan, value)
    yield from _of_overlap(setup, plan, degrees)
    yield from _of_other_collectives(degrees, seconds)


def _of_stages(setup: Setup, plan: Plans, value: Mapping[str, int]) -> Iterator[str]:
    stages = value["pp"]
    counts = [sum(map(len, chunks)) for chunks in layers_of_stages(setup, stages, value["vp"])]
    hidden = plan.overlap_pp[0] and value["vp"] > 1
    messages = (
        "hides messages between stages beside a pass, and counts none in that while"
        if hidden
        else "waits for each message between stages, which is a bound of such a schedule"
    )
    schedule = f"interleaved 1F1B with {value['vp']} virtual stages" if value["vp"] > 1 else "1F1B"
    yield (
        f"The traces run the schedule of {stages} stages, {schedule}, microbatch by microbatch, and each stage has its "
        "own layers and weights. The search counts the longest stage once for each microbatch and while the pipeline "
        f"fills and drains; it {messages}."
    )
    if min(counts) < max(counts):
        yield f"Stages have {min(counts)} to {max(counts)} layers; in the search all have {max(counts)}."
    if setup.balanced:
        yield f"The last stage computes the whole output head; in the search each of the {stages} stages has its share."
    if setup.decoder.mixed is not None:
        yield "Layers differ; in the search all stages have the layers of one with the most weights."
    elif len(setup.decoder.stack.kinds) > 1:
        yield "The first layers have no experts; in the search all stages have the layers of one with the most experts."
    if setup.decoder.tied:
        yield (
            "The first and the last stage exchange their gradients of the embedding at the same time; in the search "
            "one message follows the other."
        )


def _of_overlap(setup: Setup, plan: Plans, degrees: Mapping[str, int]) -> Iterator[str]:
    tensor = degrees[TENSOR] > 1
    if tensor and plan.overlap_tp[0]:
        yield (
            f"Where products hide a collective of {TENSOR}, it is two: one of all but 1/{degrees[TENSOR]} of the bytes "
            "beside the products, and one of the rest. Each has latencies and chunks of its own, and each pass through "
            "a layer hides its own; the search takes parts of the time of a whole one, and the sum of all layers."
        )
    elif tensor and plan.sequence_parallel[0] and setup.stack.hides_gather and _unlike(setup):
        yield "Each layer hides what it gathers again by itself; in the search the sum of all layers does."
    if plan.overlap_dp[0] and degrees[DATA] > 1:
        yield (
            "Weights and gradients travel in a bucket for each layer, each with latencies and chunks of its own, "
            "beside the layer before or after it and in order with all other communication; in the search all but "
            "one layer's share of them races a whole pass."
        )


def _unlike(setup: Setup) -> bool:
    return len(setup.decoder.stack.kinds) > 1


def _of_other_collectives(degrees: Mapping[str, int], seconds: Mapping[Communication, float]) -> Iterator[str]:
    what = {
        CONTEXT: "Backward passes scatter what {0} has gathered; the search counts that as gathering, which takes",
        TENSOR: "Backward passes gather again over {0}; the search counts half of that as scattering, which takes",
    }
    for group, sentence in what.items():
        pairs = [
            (time, seconds.get((group, Collective.ALL_GATHER, round(size / degrees[group]))))
            for (name, kind, size), time in seconds.items()
            if name == group and kind is Collective.REDUCE_SCATTER
        ]
        if any(other is not None and abs(time - other) / NANO > ROUNDED for time, other in pairs):
            yield f"{sentence.format(group)} another time."
