"""Time of a training step as a function of the seconds that a byte of each stream takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective, Pattern, pattern_of
from evo_libra.workload.step.kernels import Kernels
from evo_libra.workload.step.layer import LayerTime, LayerTraffic, layer_time, layer_traffic
from evo_libra.workload.step.memory import Parameters, layers_of_stage, parameters
from evo_libra.workload.step.plans import FULL, Plans
from evo_libra.workload.step.training_setup import Setup

TENSOR, CONTEXT, EXPERT, PIPELINE, DATA, EXPERT_DATA = "tp", "cp", "ep", "pp", "cp+dp", "edp"
"""Process groups: an expert parallel group and its copies (``edp``) share out the NPUs of ``tp``, ``cp`` and ``dp``."""


class Send(Enum):
    """What is no collective: a message of each NPU of a group to the next one."""

    NEXT = "send to the next stage"


@dataclass(frozen=True)
class Traffic:
    """Collectives or messages that run some times in a step, beside compute that hides as much as it lasts.

    Attributes
    ----------
    part : of the step that waits for them.
    group : process group.
    operation : what runs.
    size : (n,) bytes of one: the whole message, of an all-gather the gathered one.
    operations : (n,) how many run at a time.
    count : (n,) times in a step; `idle` : (n,) times more while the pipeline fills and drains.
    window : (n,) seconds of compute beside them each time; 0 hides nothing.
    """

    part: str
    group: str
    operation: Collective | Send
    size: FloatArray
    operations: FloatArray
    count: FloatArray
    idle: FloatArray
    window: FloatArray

    @property
    def pattern_bytes(self) -> FloatArray:
        """(n,) bytes of the pattern of traffic that run at a time; an all-reduce is two reduce-scatters."""
        return self.size * self.operations * (2.0 if self.operation is Collective.ALL_REDUCE else 1.0)

    @property
    def pattern(self) -> Pattern:
        """How the bytes are spread over the dimensions."""
        return Pattern.NEIGHBOUR if isinstance(self.operation, Send) else pattern_of(self.operation)

    def exposed(self, seconds: FloatArray) -> FloatArray:
        """Return (n,) seconds that nothing hides, of those that they take at a time."""
        return np.maximum(seconds - self.window, 0.0)


SecondsPerByte = Mapping[tuple[str, Pattern], FloatArray]
"""(n,) seconds of a byte of each group and pattern."""


@dataclass(frozen=True)
class StepTime:
    """Time of a step: compute, and what of its traffic is exposed.

    Attributes
    ----------
    compute : (n,) seconds of each part: ``compute``, ``head``, ``optimizer`` and the compute within ``bubble``.
    traffic : what is sent.
    """

    compute: Mapping[str, FloatArray]
    traffic: tuple[Traffic, ...]

    def __call__(self, seconds_per_byte: SecondsPerByte) -> FloatArray:
        """Return (n,) seconds of a step."""
        time = sum(self.compute.values(), np.zeros(1))
        for sent, exposed in self._exposed(seconds_per_byte):
            time = time + (sent.count + sent.idle) * exposed
        return np.asarray(time)

    def split(self, seconds_per_byte: SecondsPerByte) -> dict[str, FloatArray]:
        """Return (n,) seconds of each part of a step; they add up to its time."""
        parts = dict(self.compute)
        for sent, exposed in self._exposed(seconds_per_byte):
            parts[sent.part] = parts.get(sent.part, np.zeros(1)) + sent.count * exposed
            parts["bubble"] = parts["bubble"] + sent.idle * exposed
        return parts

    def _exposed(self, seconds_per_byte: SecondsPerByte) -> Iterator[tuple[Traffic, FloatArray]]:
        for sent in self.traffic:
            yield sent, sent.exposed(sent.pattern_bytes * seconds_per_byte[sent.group, sent.pattern])


@dataclass(frozen=True)
class _Stage:
    """Layers of the longest stage, by kind: how many, and the compute and communication of one."""

    layers: tuple[tuple[FloatArray, LayerTime, LayerTraffic], ...]

    @property
    def forward(self) -> FloatArray:
        return sum((count * time.forward for count, time, _ in self.layers), np.zeros(1))

    @property
    def backward(self) -> FloatArray:
        return sum((count * (time.backward + time.recomputed) for count, time, _ in self.layers), np.zeros(1))

    @property
    def compute(self) -> FloatArray:
        return self.forward + self.backward


def _stage(setup: Setup, plans: Plans) -> _Stage:
    dense, routed = layers_of_stage(setup.decoder, plans)
    kinds = [(dense, False)] if np.any(dense) else []
    kinds += [(routed, True)] if np.any(routed) else []
    return _Stage(tuple(
        (count, layer_time(setup, plans, routed=kind), layer_traffic(setup, plans, routed=kind))
        for count, kind in kinds
    ))  # fmt: skip


def step_time(setup: Setup, plans: Plans) -> StepTime:
    """Return the time of a training step under each plan.

    A pipeline runs 1F1B, interleaved where a plan has virtual stages (Narayanan et al. 2021, section 2.2): the slowest
    stage sets the pace of all microbatches, and the pipeline fills and drains once.
    """
    steps = _Steps(plans, plans.microbatches(setup.global_batch), (plans.pp - 1) / plans.vp)
    stage, kernels = _stage(setup, plans), setup.kernels
    held = parameters(setup, plans)
    compute = {
        "compute": steps.micro * stage.compute,
        "head": steps.micro * _head(setup, plans, kernels),
        "bubble": steps.fill * stage.compute,
        "optimizer": kernels.moved(30.0 * np.where(plans.zero >= 1, held.sharded, held.all)),
    }
    traffic = [sent for layer in stage.layers for sent in _layer_traffic(setup, steps, layer)]
    traffic += [*_pipeline_traffic(setup, steps, stage), *_data_traffic(setup, steps, stage, held)]
    return StepTime(compute, tuple(traffic))


_NONE, _ONE = np.zeros(1), np.ones(1)


@dataclass(frozen=True)
class _Steps:
    """Plans, their (n,) microbatches, and the microbatches' time that the pipeline takes to fill and drain."""

    plans: Plans
    micro: FloatArray
    fill: FloatArray

    def every(
        self,
        part: str,
        group: str,
        operation: Collective | Send,
        size: FloatArray,
        operations: FloatArray | float,
        times: FloatArray = _ONE,
        window: FloatArray = _NONE,
    ) -> Traffic:
        """Return what each microbatch sends so many times."""
        count = np.asarray(operations, dtype=np.float64).reshape(-1)
        return Traffic(part, group, operation, size, count, times * self.micro, times * self.fill, window)


def _head(setup: Setup, plans: Plans, kernels: Kernels) -> FloatArray:
    """Return the time of the output head and the loss, which the last stage has."""
    tokens, words = plans.tokens(setup.sequence), setup.decoder.vocabulary / plans.tp
    product = kernels.product(tokens, words, setup.decoder.hidden, setup.head_precision)
    time = setup.stack.compute * (product.forward + product.backward + kernels.moved(20.0 * tokens * words))
    return time / plans.pp if setup.balanced else time


def _layer_traffic(setup: Setup, steps: _Steps, layer: tuple[FloatArray, LayerTime, LayerTraffic]) -> list[Traffic]:
    """Return what the layers of a kind send: nothing overlaps but for what `_tensor_overlap` lists."""
    layers, time, sent = layer
    passes = 2.0 + (steps.plans.recompute == FULL)
    alone = np.where(steps.plans.overlap_tp, 1.0 / steps.plans.tp, 1.0)
    found = [
        steps.every("tensor", TENSOR, Collective.ALL_REDUCE, sent.tensor, layers * sent.pairs * passes * alone),
        steps.every("context", CONTEXT, Collective.ALL_GATHER, sent.context, layers * (1.0 + passes)),
        *_tensor_overlap(setup, steps, layers, time, sent),
    ]
    if sent.expert.any():
        found.append(steps.every("expert", EXPERT, Collective.ALL_TO_ALL, sent.expert, 2.0 * layers * passes))
    return found


def _tensor_overlap(
    setup: Setup, steps: _Steps, layers: FloatArray, time: LayerTime, sent: LayerTraffic
) -> list[Traffic]:
    """Return the tensor parallel communication that compute can hide, and what sequence parallelism gathers again.

    A product in as many pieces as the group has NPUs hides the communication of all but one of them. Sequence
    parallelism gathers the inputs again for the gradients of weights.
    """
    plans, found = steps.plans, []
    forward = layers * (1.0 + (plans.recompute == FULL))
    if plans.overlap_tp.any():
        rest = sent.pairs * np.where(plans.overlap_tp, 1.0 - 1.0 / plans.tp, 0.0)
        with_gathers = rest * np.where(plans.sequence_parallel, 1.5, 1.0)
        found += [
            steps.every("tensor", TENSOR, Collective.ALL_REDUCE, sent.tensor, rest, forward, time.products.forward),
            steps.every(
                "tensor", TENSOR, Collective.ALL_REDUCE, sent.tensor, with_gathers, layers, time.products.backward
            ),
        ]
    if plans.sequence_parallel.any():
        gathers = sent.pairs * (plans.sequence_parallel & ~plans.overlap_tp)
        window = time.products.weights if setup.stack.hides_gather else _NONE
        found.append(steps.every("tensor", TENSOR, Collective.ALL_GATHER, sent.tensor, gathers, layers, window))
    return found


def _pipeline_traffic(setup: Setup, steps: _Steps, stage: _Stage) -> list[Traffic]:
    """Return the activations between stages, and the gradients of a tied embedding.

    Each NPU of a tensor parallel group sends its part, and the receivers gather the parts (Narayanan et al. 2021,
    section 4.1) unless sequence parallelism keeps them apart.
    """
    plans, model = steps.plans, setup.decoder
    whole = 2.0 * plans.tokens(setup.sequence) * model.hidden
    both = 2.0 * plans.vp * (plans.pp > 1)
    overlapped = plans.overlap_pp & (plans.vp > 1)
    gathers = both * ~plans.sequence_parallel
    found = [
        Traffic(
            "pipeline", PIPELINE, Send.NEXT, whole / plans.tp, both,
            np.where(overlapped, 0.0, steps.micro), steps.fill, _NONE,
        ),
        steps.every("pipeline", TENSOR, Collective.ALL_GATHER, whole + setup.half_message, gathers),
    ]  # fmt: skip
    if overlapped.any():
        micro = np.where(overlapped, steps.micro, 0.0)
        found.append(Traffic("pipeline", PIPELINE, Send.NEXT, whole / plans.tp, both, micro, _NONE, stage.compute))
    if model.tied:
        gradients = setup.gradient_bytes * model.vocabulary * model.hidden / plans.tp
        found.append(Traffic("pipeline", PIPELINE, Send.NEXT, gradients, 2.0 * (plans.pp > 1), _ONE, _NONE, _NONE))
    return found


def _data_traffic(setup: Setup, steps: _Steps, stage: _Stage, held: Parameters) -> list[Traffic]:
    """Return gradients and weights of the data parallel group, and of the copies of experts."""
    found = _gradients(setup, steps, stage, DATA, held.dense)
    if setup.decoder.experts is not None:
        found += _gradients(setup, steps, stage, EXPERT_DATA, held.experts)
    return found


def _gradients(setup: Setup, steps: _Steps, stage: _Stage, group: str, weights: FloatArray) -> list[Traffic]:
    """Return the reduce-scatter of gradients and the all-gathers of weights or, without ZeRO, of the sums.

    ZeRO's stage 3 runs all of them with each microbatch, and gathers once more for the backward pass. The backward pass
    hides the reduce-scatter and what it gathers, the forward pass its own all-gather, but for one layer's share.
    """
    plans = steps.plans
    each = plans.zero == 3  # noqa: PLR2004 - ZeRO's stage
    reduced, gathered = setup.gradient_bytes * weights, np.where(plans.zero >= 1, 2.0, setup.gradient_bytes) * weights
    early, late = 1.0 * (plans.zero >= 1), 1.0 * (each | (plans.zero == 0))
    count = np.where(each, steps.micro, _ONE)
    first = 1.0 / sum((layers for layers, *_ in stage.layers), _NONE)
    found = []

    def sent(size: FloatArray, share: FloatArray, operation: Collective, window: FloatArray) -> Traffic:
        return Traffic("data", group, operation, size, share, count, _NONE, window)

    alone = np.where(plans.overlap_dp, first, 1.0)
    found = [
        sent(reduced, alone, Collective.REDUCE_SCATTER, _NONE),
        sent(gathered, alone * (early + late), Collective.ALL_GATHER, _NONE),
    ]
    if plans.overlap_dp.any():
        rest, hides = 1.0 - alone, setup.stack.hides_data
        found += [
            sent(reduced + late * gathered, rest, Collective.REDUCE_SCATTER, hides * stage.backward),
            sent(gathered, rest * early, Collective.ALL_GATHER, hides * stage.forward),
        ]
    return found
