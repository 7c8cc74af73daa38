"""Why ASTRA-sim's time of exported files differs from what the search saw, a sentence for each reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import NANO, Population
from evo_libra.astra_sim.cluster import ONE_AT_A_TIME, Cluster, ExportedGroup
from evo_libra.astra_sim.loops import ROUNDED, Communication
from evo_libra.chakra.groups import Groups
from evo_libra.chakra.trace import Node
from evo_libra.collective import Collective, NextStage
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.problem.time_models.time_model import TimeModel
from evo_libra.timing.machine import Machine
from evo_libra.timing.quirks import ONE_DIMENSION_GROUPS
from evo_libra.timing.traces.execute import execute
from evo_libra.timing.traces.operations import Action
from evo_libra.timing.traces.process_groups import GROUP_ENDPOINT
from evo_libra.workload.layers.workload import Phase
from evo_libra.workload.plans.plan_rules import plan_values
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.trace_nodes import DimensionGroup, ListedGroup
from evo_libra.workload.training.races import CONTEXT, DATA, PIPELINE, TENSOR
from evo_libra.workload.training.stage_layers import layers_of_stages
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
        "hides messages between stages behind a pass, and counts none in that time"
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
    if setup.shares_head:
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
            f"If products hide a collective of {TENSOR}, it is two: one of all but 1/{degrees[TENSOR]} of the bytes "
            "alongside products, and one of the rest. Each has latencies and chunks of its own, and each pass through "
            "a layer hides its own; the search takes parts of the time of a whole one, and the sum of all layers."
        )
    elif tensor and plan.sequence_parallel[0] and setup.stack.hides_gather and _unlike(setup):
        yield "Each layer hides what it gathers again by itself; in the search the sum of all layers does."
    if plan.overlap_dp[0] and degrees[DATA] > 1:
        yield (
            "Weights and gradients travel in a bucket for each layer, each with latencies and chunks of its own, "
            "alongside the layer before or after it and in order with all other communication; in the search all but "
            "one layer's share of them overlaps a whole pass."
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


@dataclass(frozen=True)
class Prediction:
    """When ASTRA-sim will say that traces are finished: ns at which the last and the first NPU has finished.

    `late` collectives have members that begin apart and are taken to end together, so that times may be too long. The
    ns of each collective are those until the last member ends, of each message those until it has arrived.
    """

    last: int
    first: int
    late: int
    communication: Mapping[Communication, int]


def predict(
    traces: Sequence[Sequence[Node]], groups: Groups, machine: Machine, tell: Callable[[str], None] | None = None
) -> Prediction:
    """Return when ASTRA-sim will say that traces are finished.

    The traces are those of all NPUs; equal ones are best the same object. Raises `InputError` if something in the
    traces cannot run. `tell` is told each collective before its time is predicted.
    """
    done = execute(traces, groups, machine, tell=tell)
    program, times = done.program, done.taking
    found: dict[Communication, int] = {}
    for at, operation in enumerate(program.operations):
        if operation.action in (Action.COLLECTIVE, Action.SEND):
            # The first class that has one stands for all.
            found.setdefault(
                (program.names[at].rpartition(".")[2], operation.collective, operation.size), int(times[at])
            )
    return Prediction(int(done.finish.max()), int(done.finish.min()), len(done.late), found)


def modelled_seconds(
    kinds: Iterable[Communication], loop: WeightedLoop, time: TimeModel, design: Population
) -> dict[Communication, float]:
    """Return the seconds that a design's problem gives to each collective and message of one of its workloads."""
    places = time.placed(design.npus)
    return {
        (group, what, size): float(
            time.seconds(what or NextStage(), size, places[loop.layouts[group], group], design)[0]
        )
        for group, what, size in kinds
    }


@dataclass(frozen=True)
class Case:
    """A workload on a design.

    Attributes
    ----------
    loop : the workload.
    placed : where its groups run.
    modelled : seconds of its communication by the problem.
    prediction : what will come of its traces.
    rounded : ns by which whole nanoseconds make its computations longer.
    """

    loop: WeightedLoop
    placed: Mapping[str, ExportedGroup]
    modelled: Mapping[Communication, float]
    prediction: Prediction
    rounded: float

    def differs(self, group: str) -> bool:
        """Tell whether ASTRA-sim takes another time than the problem for communication of a process group."""
        kinds = [kind for kind in self.modelled if kind[0] == group]
        return any(abs(self.modelled[kind] / NANO - self.prediction.communication[kind]) > ROUNDED for kind in kinds)


def of_workload(case: Case, cluster: Cluster) -> Iterator[str]:
    """Yield the reasons that lie in a workload."""
    step = case.loop.workload.planned
    if step is not None:
        yield from step_differences(*step, case.loop.degrees, case.modelled)
    yield from _messages(case)
    yield from _lists(case, cluster)
    yield from _one_at_a_time(case, cluster)
    yield from _small_chunks(case, cluster)
    yield from _one_after_the_other(case)
    yield from _rounding(case)
    if case.prediction.late:
        yield (
            f"The members of {case.prediction.late} collectives begin apart and are predicted to end together, with "
            "the last of them; ASTRA-sim may let some go earlier."
        )


def _messages(case: Case) -> Iterator[str]:
    if case.differs(PIPELINE) and PIPELINE not in case.placed:
        yield (
            "ASTRA-sim charges a message between stages the first dimension in which its NPUs differ, with the "
            "bandwidth of a link in network.yml; the search charges the slowest dimension of the pipeline, with the "
            "bandwidth of an NPU."
        )


def _lists(case: Case, cluster: Cluster) -> Iterator[str]:
    sizes = cluster.network.npus
    for name, placed in case.placed.items():
        if isinstance(placed.place, DimensionGroup) or not case.differs(name):
            continue
        parts = [
            f"{e} of {n} NPUs of dimension {d}"
            for d, (e, n) in enumerate(zip(placed.extent, sizes, strict=True))
            if e > 1
        ]
        how = "one ring" if len(sizes) > 1 else "one dimension"
        endpoint = cluster.system.system.overheads.endpoint
        delay = (
            "" if endpoint == GROUP_ENDPOINT else f", {GROUP_ENDPOINT:g} ns before each message instead of {endpoint:g}"
        )
        yield (
            f"A group {name} has {' and '.join(parts)}: ASTRA-sim runs a group that is not whole dimensions as {how} "
            f"over its {placed.npus} members{delay}, on the links as they are, where the search took dimensions of the "
            "group's own size with the bandwidth that its members have there."
        )
    if len(sizes) == 1 and any(isinstance(placed.place, ListedGroup) for placed in case.placed.values()):
        yield ONE_DIMENSION_GROUPS.sentence


def _one_at_a_time(case: Case, cluster: Cluster) -> Iterator[str]:
    rows = cluster.system.system.implementations[Collective.ALL_TO_ALL]
    for d, row in enumerate(rows):
        users = [
            placed
            for name, collective, _ in case.modelled
            if collective is Collective.ALL_TO_ALL and isinstance((placed := case.placed[name]).place, DimensionGroup)
        ]  # fmt: skip
        if row == ONE_AT_A_TIME and any(placed.extent[d] > 1 for placed in users):
            yield (
                f"Dimension {d} has one bandwidth in network.yml, that of an NPU, with which direct would send to all "
                "others at once: the all-to-all is written as direct1, one message after the other, so its "
                "latency counts once for each."
            )


def _small_chunks(case: Case, cluster: Cluster) -> Iterator[str]:
    total, splits = int(np.prod(cluster.network.npus)), cluster.system.system.splits
    small = [
        name for name, collective, size in case.modelled
        if collective not in (None, Collective.ALL_GATHER)
        and case.placed[name].npus < total
        and size < splits * total
        and isinstance(case.placed[name].place, DimensionGroup)
        and case.differs(name)
    ]  # fmt: skip
    for name in dict.fromkeys(small):
        yield (
            f"Some messages of {name} are so small that their chunks have the least size, which in ASTRA-sim is a byte "
            f"for each of the {total} NPUs, and in the search one for each of the group's {case.placed[name].npus}."
        )


def _one_after_the_other(case: Case) -> Iterator[str]:
    if case.loop.overlap == "none":
        return
    both = [
        layer.name for layer in case.loop.workload.layers
        if (first := _communication(layer.input_gradient)) in case.modelled
        and _communication(layer.weight_gradient) in case.modelled
        and first is not None and case.modelled[first] > layer.weight_gradient.compute
    ]  # fmt: skip
    if both:
        yield (
            f"In {len(both)} layers, such as {both[0]}, the collective of the weight gradient comes while that of the "
            "input gradient is under way: an NPU of ASTRA-sim runs one collective at a time, the search runs both."
        )


def _communication(phase: Phase) -> Communication | None:
    return None if phase.collective is None else (phase.group, phase.collective, round(phase.size))


def _rounding(case: Case) -> Iterator[str]:
    if abs(case.rounded) > ROUNDED:
        yield f"Each computation is rounded to a nanosecond, which makes {case.rounded:+.3g} ns in all."
