"""Memory of an accelerator in a training step, by class (Korthikanti et al. 2022, equations 1 to 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.kernels import Array
from evo_libra.workload.models.layer_stack import Counted, DecoderLayer
from evo_libra.workload.plans.plans import FULL, NONE, Plans
from evo_libra.workload.training.expansion import expansions_of, spilled
from evo_libra.workload.training.layer_time import one_layer, share_of
from evo_libra.workload.training.offload import GRADIENT, WEIGHT, in_window, on_npu
from evo_libra.workload.training.training_setup import Setup

CLASSES = ("weights", "gradients", "states", "activations", "logits", "buffers")
"""Classes of memory, in the order of reports."""

BUFFERS = 1e9
"""Bytes of communication buffers (assumed)."""


def layers_of_stage(model: Decoder, plans: Plans) -> tuple[FloatArray, ...]:
    """Return the (n,) layers of each kind of the longest stage."""
    return model.stack.largest(np.ceil(model.layers / plans.pp))


@dataclass(frozen=True)
class Parameters:
    """Weights of an accelerator, of the first stage; every array is (n,).

    Attributes
    ----------
    dense : those that all NPUs of a data parallel group copy; `experts` : those of its routed experts.
    dense_copies, expert_copies : NPUs that hold the same.
    """

    dense: FloatArray
    experts: FloatArray
    dense_copies: FloatArray
    expert_copies: FloatArray

    @property
    def all(self) -> FloatArray:
        """Both."""
        return self.dense + self.experts

    @property
    def sharded(self) -> FloatArray:
        """Bytes left where the copies share them out."""
        return self.dense / self.dense_copies + self.experts / self.expert_copies


def parameters(setup: Setup, plans: Plans, *, embeddings: bool = True) -> Parameters:
    """Return the weights of an accelerator, but for those of norms and biases, which are less than 0.1 %.

    Parameters
    ----------
    embeddings : count the embedding table and the output head, too.
    """
    # A pipeline of one stage has the output head, too, where that is no copy of the embedding.
    tables = np.where((plans.pp == 1) & (not setup.decoder.tied), 2.0, 1.0) * embeddings
    return held_parameters(setup, plans, _first_stage(setup.decoder, plans), tables)


def _first_stage(model: Decoder, plans: Plans) -> list[Counted]:
    """Return the sublayers of a stage as long as the longest; one that is alone has the predictors, too."""
    parts = model.stack.parts(layers_of_stage(model, plans))
    return [*parts, *predictor_parts(model, 1.0 * model.predictors * (plans.pp == 1))]


def predictor_parts(model: Decoder, count: FloatArray) -> list[Counted]:
    """Return the sublayers of (n,) layers that predict further tokens; none of a model without them."""
    return [(count, part) for part in model.predictor] if model.predictors else []


def held_parameters(setup: Setup, plans: Plans, parts: Sequence[Counted], tables: FloatArray) -> Parameters:
    """Return the weights of an accelerator of some stage.

    Parameters
    ----------
    parts : sublayers of the stage.
    tables : (n,) how many of embedding and output head it has.
    """
    model, share = setup.decoder, share_of(plans)
    held = [tables * sum(matrix.weights for matrix in model.head.matrices(share)), np.zeros(1)]
    for count, part in parts:
        matrices = part.matrices(share)
        for routed in {matrix.routed for matrix in matrices}:
            weights = sum(matrix.weights for matrix in matrices if matrix.routed is routed)
            held[routed] = held[routed] + count * weights
    stage = np.asarray(plans.tp * plans.cp * plans.dp / plans.ep, dtype=np.float64)
    return Parameters(held[0], held[1], np.asarray(plans.cp * plans.dp, dtype=np.float64), stage)


def memory(setup: Setup, plans: Plans) -> dict[str, FloatArray]:
    """Return (n,) bytes of an accelerator of the first stage for each of `CLASSES`, wherever they lie.

    A weight has 2 bytes, a gradient 2 or 4 and the states 12; each is sharded from ZeRO's stage 3, 2 and 1 on. States
    that are elsewhere take nothing, and weights that come layer by layer take as much as a layer.
    """
    held = parameters(setup, plans)

    def of(stage: int) -> FloatArray:
        return np.where(plans.zero >= stage, held.sharded, held.all)

    kept = {"weights": 2.0 * of(3), "gradients": setup.gradient_bytes * of(2), "states": 12.0 * of(1)}
    return {
        **(kept if setup.offload is None else _left(setup, plans, kept)),
        "activations": activations(setup, plans),
        "logits": (1 + setup.decoder.predictors)
        * plans.tokens(setup.sequence)
        * setup.decoder.head.kept(share_of(plans)),
        "buffers": np.full(1, BUFFERS),
    }


def expanded(setup: Setup, plans: Plans, used: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return (n,) bytes of classes of memory that lie in expansion memory, of (n,) bytes of every class."""
    if not setup.expansions:
        return {}
    return spilled(used, setup.usable, expansions_of(setup.expansions, plans.expansion)[0])


def memory_on_npu(setup: Setup, plans: Plans) -> dict[str, FloatArray]:
    """Return (n,) bytes of the NPU's own memory for each of `CLASSES`."""
    used = memory(setup, plans)
    away = expanded(setup, plans, used)
    return {kind: bytes_ - away[kind] if kind in away else bytes_ for kind, bytes_ in used.items()}


def _left(setup: Setup, plans: Plans, kept: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Return what is left on NPUs of weights, gradients and states, by where the optimizer is.

    Weights that are elsewhere come while the layer before computes, and gradients leave while the layer after does:
    of half a layer and half of the next one, so that the window is one layer.
    """
    window, layer = in_window(plans), largest_layer(setup, plans)
    return {
        "weights": np.where(window, WEIGHT * layer, kept["weights"]),
        "gradients": np.where(window, GRADIENT * layer, kept["gradients"]),
        "states": np.where(on_npu(plans), kept["states"], 0.0),
    }


def largest_layer(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) weights that an NPU has of the largest layer, or of the embedding."""
    none, one = np.zeros(1), np.ones(1)
    sizes = [held_parameters(setup, plans, one_layer(layer), none).all for layer in _kinds(setup.decoder)]
    table = held_parameters(setup, plans, (), one).all
    return np.asarray(np.maximum.reduce(np.broadcast_arrays(*sizes, table)))


def _kinds(model: Decoder) -> list[DecoderLayer]:
    return [*model.stack.kinds, *([model.predictor] if model.predictors else [])]


def activations(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of the activations that wait for the backward pass on the first stage.

    If the inputs of layers wait in the host, it is what the layer that computes needs.
    """
    waiting = waiting_activations(setup, plans)
    if setup.offload is None or not setup.offload.checkpoints:
        return waiting
    kept = replace(plans, recompute=np.full(1, NONE))
    sizes = [_kept(setup, kept, one_layer(layer), 1.0) for layer in _kinds(setup.decoder)]
    largest = np.maximum.reduce(np.broadcast_arrays(*sizes))
    return np.where(plans.recompute == FULL, np.minimum(largest, waiting), waiting)


def checkpoints(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of the inputs of the layers of a stage, which full recomputation keeps of a microbatch."""
    return np.where(plans.recompute == FULL, stage_activations(setup, plans), 0.0)


def waiting_activations(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of the activations that wait for the backward pass of the first stage, wherever they are.

    The first stage of 1F1B has as many microbatches in flight as there are stages, of an interleaved pipeline a part
    more.
    """
    micro = plans.microbatches(setup.global_batch)
    plain = np.minimum(micro, plans.pp)
    interleaved = plans.pp * (1.0 + (plans.pp - 1) / (plans.pp * plans.vp))
    return np.asarray(stage_activations(setup, plans) * np.where(plans.vp > 1, interleaved, plain))


def stage_activations(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of the activations of a microbatch on the first stage."""
    layers = sum(layers_of_stage(setup.decoder, plans), np.zeros(1)) + setup.decoder.predictors * (plans.pp == 1)
    return _kept(setup, plans, _first_stage(setup.decoder, plans), layers)


def _kept(setup: Setup, plans: Plans, parts: Sequence[Counted], layers: Array) -> FloatArray:
    """Return (n,) bytes of the activations of a microbatch in some sublayers of a number of layers."""
    share, fused = share_of(plans), setup.fused_attention
    split = np.where(plans.sequence_parallel, plans.tp, 1)
    norm, again = (4.0 + setup.dropout) * setup.decoder.hidden / split, plans.recompute != NONE
    kept: Array = 0.0
    for count, part in parts:
        core = sum(one.kept(fused=fused) for one in part.cores(share, setup.sequence))
        # Selective recomputation leaves the scores of attention that is not fused.
        core = core if fused else np.where(again, 0.0, core)
        kept = kept + count * (norm + part.kept(share) + core)
    inputs = layers * 2.0 * setup.decoder.hidden / split
    return plans.tokens(setup.sequence) * np.where(plans.recompute == FULL, inputs, kept)
