"""Communication of a pipeline: messages between stages, all-to-alls of experts alongside passes, copies of stages."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.collective import Collective, NextStage
from evo_libra.workload.plans.plans import DUALPIPE, ONE_F_ONE_B, Plans
from evo_libra.workload.plans.schedules import Idle, overlaps_experts, paired_passes
from evo_libra.workload.training.memory import Parameters
from evo_libra.workload.training.offload import WEIGHT
from evo_libra.workload.training.races import PIPELINE, TENSOR, StepOverlap, StepSequence, Traffic
from evo_libra.workload.training.stage import Stage
from evo_libra.workload.training.training_setup import Setup

_NONE, _ONE = np.zeros(1), np.ones(1)


@dataclass(frozen=True)
class ExpertOverlap:
    """All-to-alls of experts alongside the passes of another microbatch; every array is (n,).

    Attributes
    ----------
    micro : microbatches of a step.
    paired : forward passes next to a backward one, and as many backward passes.
    forward, backward : what each of them hides; empty where no plan overlaps.
    slowed : seconds by which a second of compute is longer next to the kernels that send.
    both_ways : whether microbatches come from both ends of the pipeline.
    """

    micro: FloatArray
    paired: FloatArray
    forward: tuple[Traffic, ...]
    backward: tuple[Traffic, ...]
    slowed: FloatArray
    both_ways: BoolArray

    def alone(self, idle: Idle) -> tuple[FloatArray, FloatArray]:
        """Return how many microbatches wait for these all-to-alls, and how many more while the pipeline idles.

        While DualPipe idles, a pair hides its own as well, and only the further backward pass waits for its half.
        """
        further = np.where((self.paired > 0) & self.both_ways, idle.both - idle.forward, idle.both)
        return self.micro - self.paired, further


def expert_overlap(setup: Setup, plans: Plans, stage: Stage, micro: FloatArray) -> ExpertOverlap:
    """Return the all-to-alls that a pair of passes hides.

    Each pass of a pair hides the communication of the other one. The pair takes the longer one of its compute and its
    communication, and so do both passes if each hides as large a part of it as of the compute.
    """
    both_ways = plans.schedule == DUALPIPE
    if not overlaps_experts(plans).any() or not stage.experts:
        return ExpertOverlap(micro, _NONE, (), (), slowed=_NONE, both_ways=both_ways)
    paired, taken = paired_passes(plans, micro), setup.expert_processors
    both = stage.forward.compute + stage.backward.compute
    forward, backward = (
        tuple(replace(sent, operations=sent.operations * run.compute / both) for sent in stage.experts)
        for run in (stage.forward, stage.backward)
    )
    slowed = np.array([taken / (1.0 - taken)])
    return ExpertOverlap(micro, paired, forward, backward, slowed=slowed, both_ways=both_ways)


def overlapped_messages(setup: Setup, plans: Plans) -> tuple[Traffic, ...]:
    """Return the messages between stages that a pass hides: of interleaved pipelines and of DualPipe."""
    overlapped = _overlaps_messages(plans) & (plans.pp > 1)
    if not overlapped.any():
        return ()
    whole = 2.0 * plans.tokens(setup.sequence) * setup.decoder.hidden
    count = np.where(overlapped, plans.vp, 0.0)
    return (Traffic("pipeline", PIPELINE, NextStage(), whole / plans.tp, count),)


def _overlaps_messages(plans: Plans) -> BoolArray:
    return np.asarray(plans.overlap_pp & ((plans.vp > 1) | (plans.schedule == DUALPIPE)))


def pipeline_waits(setup: Setup, plans: Plans, micro: FloatArray, fill: FloatArray) -> list[StepOverlap]:
    """Return the activations between stages that nothing hides, and the gradients of a tied embedding.

    Each NPU of a tensor parallel group sends its part, and the receivers gather the parts (Narayanan et al. 2021,
    section 4.1) unless sequence parallelism keeps them apart. Interleaved schedules can overlap what they send.
    """
    model, both = setup.decoder, np.where(plans.pp > 1, 2.0 * plans.vp, 0.0)
    whole = 2.0 * plans.tokens(setup.sequence) * model.hidden
    gathers = np.where(plans.sequence_parallel, 0.0, both)
    messages = Traffic("pipeline", PIPELINE, NextStage(), whole / plans.tp, both)
    parts = Traffic("pipeline", TENSOR, Collective.ALL_GATHER, setup.counted(whole, plans.tp), gathers)
    exposed = np.where(_overlaps_messages(plans), 0.0, micro)
    found = [
        StepOverlap((StepSequence(_NONE, (messages,)),), exposed, fill),
        StepOverlap((StepSequence(_NONE, (parts,)),), micro, fill),
    ]
    if model.tied:
        gradients = setup.gradient_bytes * model.vocabulary * model.hidden / plans.tp
        tied = Traffic("pipeline", PIPELINE, NextStage(), gradients, np.where(plans.pp > 1, 2.0, 0.0))
        found.append(StepOverlap((StepSequence(_NONE, (tied,)),), _ONE))
    return found


def weights_between(plans: Plans, stage: Stage, idle: Idle) -> list[StepOverlap]:
    """Return the gradients of weights that run while the pipeline would idle, as time that it does not; at most all."""
    if (plans.schedule == ONE_F_ONE_B).all():
        return []
    whole = idle.forward * stage.forward.compute + idle.backward * stage.backward.compute
    filled = np.minimum(idle.weights * stage.weights, whole)
    return [StepOverlap((StepSequence(filled),), _NONE, np.full(1, -1.0))]


def copies_of_stages(setup: Setup, plans: Plans, held: Parameters) -> list[StepOverlap]:
    """Return what the two ranks exchange that have the same two stages in DualPipe.

    Of the gradients of both stages each rank adds up one half, as many as a stage has; data parallel groups then have
    these. The sums, or with ZeRO the weights, come back on the same way.
    """
    if not (plans.schedule == DUALPIPE).any():
        return []
    twice = np.where(plans.schedule == DUALPIPE, 1.0, 0.0)
    back = np.where(plans.zero >= 1, WEIGHT, float(setup.gradient_bytes))
    sizes = (setup.gradient_bytes * held.all, back * held.all)
    sent = tuple(Traffic("data", PIPELINE, NextStage(), size, twice) for size in sizes)
    return [StepOverlap((StepSequence(_NONE, (one,)),), _ONE) for one in sent]
