"""The longest stage of a pipeline: its compute and communication for one microbatch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.collective import Collective, Dispatch
from evo_libra.workload.plans.plans import DUALPIPE, Plans
from evo_libra.workload.plans.recomputation import FULL
from evo_libra.workload.training.layer_time import (
    PartTraffic,
    collectives_again,
    layer_time,
    part_traffic,
    reduced_bytes,
)
from evo_libra.workload.training.memory import layers_of_stage
from evo_libra.workload.training.races import CONTEXT, EXPERT, TENSOR, StepSequence, Traffic
from evo_libra.workload.training.stage_layers import predictor_parts
from evo_libra.workload.training.training_setup import Setup


@dataclass(frozen=True)
class Pass:
    """A forward or a backward pass, recomputation included; every array is (n,).

    Attributes
    ----------
    compute : seconds.
    products : seconds of the linear layers within.
    reduced : all-reduces of the tensor parallel group.
    """

    compute: FloatArray
    products: FloatArray
    reduced: FloatArray


@dataclass(frozen=True)
class Stage:
    """The longest stage.

    Attributes
    ----------
    layers : (n,) how many it has.
    forward, backward : its passes.
    weights : (n,) seconds of the gradients of weights.
    gathered : (n,) what sequence parallelism gathers again in the backward pass, as a number of all-reduces.
    reduced_bytes : (n,) bytes of an all-reduce.
    other : traffic of the context parallel group; `experts` : that of the expert parallel one.
    """

    layers: FloatArray
    forward: Pass
    backward: Pass
    weights: FloatArray
    gathered: FloatArray
    reduced_bytes: FloatArray
    other: tuple[Traffic, ...]
    experts: tuple[Traffic, ...] = ()


def predictors_of_stage(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) layers that predict further tokens of the longest stage.

    The last stage has them, and shares them with another stage of its rank in DualPipe. If stages count the loss as a
    layer, each has a share of them.
    """
    alone = np.where(plans.schedule == DUALPIPE, 2.0, 1.0)
    return np.asarray(setup.decoder.predictors / (plans.pp if setup.shares_head else alone))


def stage_of(setup: Setup, plans: Plans) -> Stage:
    """Return the longest stage under each plan."""
    counts = layers_of_stage(setup.decoder, plans)
    last = predictors_of_stage(setup, plans)
    parts = [*setup.decoder.stack.parts(counts), *predictor_parts(setup.decoder, last)]
    time, sent = layer_time(setup, plans, parts), [part_traffic(setup, plans, part) for _, part in parts]
    again = 1.0 * (plans.recompute == FULL)
    repeats = [collectives_again(plans, part) for _, part in parts]
    reduced = [count * one.reduces for (count, _), one in zip(parts, sent, strict=True)]
    pairs = sum(reduced, np.zeros(1))
    pairs_again = sum((count * repeat for count, repeat in zip(reduced, repeats, strict=True)), np.zeros(1))
    forward = Pass(time.forward, time.products.forward, pairs)
    products = time.products.backward + again * time.products.forward
    backward = Pass(time.backward + time.recomputed, products, pairs + pairs_again)
    other = tuple(
        found
        for (count, _), one, repeat in zip(parts, sent, repeats, strict=True)
        for found in _other(count, one, 2.0 + repeat)
    )
    gathered = np.where(plans.sequence_parallel, 0.5 * pairs, 0.0)
    layers = sum(counts, np.zeros(1))
    return Stage(
        layers=layers, forward=forward, backward=backward, weights=time.products.weights, gathered=gathered,
        reduced_bytes=reduced_bytes(setup, plans), other=tuple(one for one in other if one.group != EXPERT),
        experts=tuple(one for one in other if one.group == EXPERT),
    )  # fmt: skip


def _other(layers: FloatArray, sent: PartTraffic, passes: FloatArray) -> list[Traffic]:
    """Return what some layers send in context and expert parallel groups in a microbatch's passes."""
    found = list[Traffic]()
    if sent.context.any():
        gathers = layers * (1.0 + passes)
        found.append(Traffic("context", CONTEXT, Collective.ALL_GATHER, sent.context, gathers))
    for bytes_ in sent.exchanged:
        if bytes_.any():
            found.append(Traffic("context", CONTEXT, Collective.ALL_TO_ALL, bytes_, layers * passes))
    if sent.per_token:
        found.append(Traffic("expert", EXPERT, Dispatch(sent.per_token), sent.expert, 2.0 * layers * passes))
    return found


@dataclass(frozen=True)
class TensorTraffic:
    """Schedule of the tensor parallel communication of a microbatch.

    Attributes
    ----------
    alone : what compute waits for, one operation after the other.
    forward, backward : chains of the passes whose communication compute can hide.
    """

    alone: tuple[Traffic, ...]
    forward: tuple[StepSequence, ...]
    backward: tuple[StepSequence, ...]


def hidden_share(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) the share of overlapped traffic of tensor parallel groups that runs alongside products.

    It is the software's, from measured pairs. Otherwise a product is cut into as many pieces as the group has NPUs, and
    hides the communication of all but one of them.
    """
    measured = setup.stack.hides_tensor
    share = 1.0 - 1.0 / plans.tp if measured is None else np.where(plans.tp > 1, measured, 0.0)
    return np.where(plans.overlap_tp, share, 0.0)


def tensor_traffic(setup: Setup, plans: Plans, stage: Stage) -> TensorTraffic:
    """Return the tensor parallel communication of a microbatch.

    Without overlap, a stack may gather again alongside the gradients of weights.
    """

    def reduced(operations: FloatArray) -> tuple[Traffic, ...]:
        return _reduced(stage.reduced_bytes, operations, plans.sequence_parallel)

    hidden = hidden_share(setup, plans)
    beside = ~plans.overlap_tp & plans.sequence_parallel & setup.stack.hides_gather
    of_backward = stage.backward.reduced + stage.gathered
    everything = stage.forward.reduced + of_backward
    alone = reduced(everything * (1.0 - hidden) - np.where(beside, stage.gathered, 0.0))
    forward: tuple[StepSequence, ...] = ()
    backward: tuple[StepSequence, ...] = ()
    if plans.overlap_tp.any():
        window = np.where(plans.overlap_tp, stage.forward.products, 0.0)
        forward = (StepSequence(stage.forward.compute - window, reduced(hidden * stage.forward.reduced)),)
    if plans.overlap_tp.any() or beside.any():
        window = np.where(plans.overlap_tp, stage.backward.products, np.where(beside, stage.weights, 0.0))
        operations = np.where(beside, stage.gathered, hidden * of_backward)
        backward = (StepSequence(stage.backward.compute - window, reduced(operations)),)
    return TensorTraffic(alone, forward, backward)


def _reduced(size: FloatArray, operations: FloatArray, split: BoolArray) -> tuple[Traffic, ...]:
    """Return all-reduces of a tensor parallel group; sequence parallelism scatters and gathers in their place."""
    whole, parts = np.where(split, 0.0, operations), np.where(split, operations, 0.0)
    kinds = ((Collective.ALL_REDUCE, whole), (Collective.REDUCE_SCATTER, parts), (Collective.ALL_GATHER, parts))
    return tuple(Traffic("tensor", TENSOR, kind, size, count) for kind, count in kinds if count.any())
