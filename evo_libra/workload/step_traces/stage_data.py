"""What the NPUs of one stage exchange with those that hold the same weights, as execution traces write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.collective import Collective
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.step_traces.layer_passes import Sent, number
from evo_libra.workload.training.memory import Parameters, held_parameters, predictor_parts
from evo_libra.workload.training.races import DATA, EXPERT_DATA
from evo_libra.workload.training.training_setup import Setup

_EACH_MICROBATCH = 3
"""Stage of ZeRO that gathers weights and reduces gradients with each microbatch."""


@dataclass(frozen=True)
class StageData:
    """Weights and gradients of a stage, and when they are exchanged.

    Attributes
    ----------
    weights : what NPUs gather, `gradients` : what they reduce, each for the whole stage.
    each : with each microbatch and not once in a step.
    beside : in a bucket for each layer beside the passes, and not all at once.
    embedding : bytes of the gradients that the first and the last stage sum of a tied embedding; 0 in other stages.
    optimizer : seconds.
    """

    weights: tuple[Sent, ...]
    gradients: tuple[Sent, ...]
    each: bool
    beside: bool
    embedding: float
    optimizer: float


def stage_data(setup: Setup, plan: Plans, stage: int, layers: Sequence[int]) -> StageData:
    """Return what a stage of some layers exchanges under the first plan.

    The first stage has the embedding. The last one has the output head, or the copy of the embedding that is its head.
    """
    held, zero, last = _held(setup, plan, stage, layers), int(plan.zero[0]), int(plan.pp[0]) - 1
    tied = setup.decoder.tied and last > 0 and stage in (0, last)
    groups = ((DATA, number(held.dense)), (EXPERT_DATA, number(held.experts)))
    reduced = Collective.REDUCE_SCATTER if zero else Collective.ALL_REDUCE
    return StageData(
        weights=tuple(Sent(group, Collective.ALL_GATHER, 2.0 * held_) for group, held_ in groups if zero and held_),
        gradients=tuple(Sent(group, reduced, setup.gradient_bytes * held_) for group, held_ in groups if held_),
        each=zero == _EACH_MICROBATCH, beside=bool(plan.overlap_dp[0]) and bool(layers),
        embedding=float(setup.gradient_bytes * setup.decoder.vocabulary * setup.decoder.hidden * tied),
        optimizer=number(setup.kernels.moved(30.0 * (held.sharded if zero else held.all))),
    )  # fmt: skip


def _held(setup: Setup, plan: Plans, stage: int, layers: Sequence[int]) -> Parameters:
    model, last = setup.decoder, int(plan.pp[0]) - 1
    # A model whose head is its embedding has one table where both are in one stage.
    tables = (stage == 0) + (stage == last and (last > 0 or not model.tied))
    own = [layer for layer in layers if layer < model.layers]
    predicting = np.array([float(len(layers) - len(own))])
    parts = [*model.stack.parts(model.stack.counts(own)), *predictor_parts(model, predicting)]
    return held_parameters(setup, plan, parts, np.array([float(tables)]))
