"""Memory of an accelerator in a training step, by class (Korthikanti et al. 2022, equations 1 to 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.layer import attention_widths, kv_heads
from evo_libra.workload.plans.plans import FULL, NONE, Plans
from evo_libra.workload.training.expansion import expansions_of, spilled
from evo_libra.workload.training.offload import GRADIENT, WEIGHT, in_window, on_npu
from evo_libra.workload.training.training_setup import Setup

CLASSES = ("weights", "gradients", "states", "activations", "logits", "buffers")
"""Classes of memory, in the order of reports."""

BUFFERS = 1e9
"""Bytes of communication buffers (assumed)."""


def layers_of_stage(model: Decoder, plans: Plans) -> tuple[FloatArray, FloatArray]:
    """Return (n,) dense and routed layers of the longest stage."""
    most = np.ceil(model.layers / plans.pp)
    with_experts = np.minimum(most, model.expert_layers)
    return most - with_experts, with_experts


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
        """What is left where the copies share them out."""
        return self.dense / self.dense_copies + self.experts / self.expert_copies


def parameters(setup: Setup, plans: Plans, *, embeddings: bool = True) -> Parameters:
    """Return the weights of an accelerator, but for those of norms and biases, which are less than 0.1 %.

    Parameters
    ----------
    embeddings : count the embedding table and the output head, too.
    """
    # A pipeline of one stage has the output head, too, where that is no copy of the embedding.
    tables = np.where((plans.pp == 1) & (not setup.decoder.tied), 2.0, 1.0) * embeddings
    return held_parameters(setup, plans, layers_of_stage(setup.decoder, plans), tables)


def held_parameters(
    setup: Setup, plans: Plans, layers: tuple[FloatArray, FloatArray], tables: FloatArray
) -> Parameters:
    """Return the weights of an accelerator of some stage.

    Parameters
    ----------
    layers : (n,) dense and routed layers of the stage.
    tables : (n,) how many of embedding and output head it has.
    """
    model, (dense, routed) = setup.decoder, layers
    expert = 0.0 if model.experts is None else _two_matrices(model, model.experts.feed_forward) * model.experts.count
    shared = 0.0 if model.experts is None else _two_matrices(model, model.experts.shared_feed_forward) / plans.tp
    router = 0.0 if model.experts is None else model.experts.count * model.hidden
    every = _attention_weights(model, plans)
    held = dense * (every + _two_matrices(model, model.feed_forward) / plans.tp) + routed * (every + shared + router)
    held = held + tables * model.vocabulary * model.hidden / plans.tp
    stage = np.asarray(plans.tp * plans.cp * plans.dp / plans.ep, dtype=np.float64)
    return Parameters(held, routed * expert / plans.ep, np.asarray(plans.cp * plans.dp, dtype=np.float64), stage)


def _two_matrices(model: Decoder, width: int) -> float:
    return float(model.hidden * width * (2 + model.gated))


def _attention_weights(model: Decoder, plans: Plans) -> FloatArray:
    queries, values = attention_widths(model)
    out = values * model.heads * model.hidden / plans.tp
    if model.latent is None:
        mine = model.heads / plans.tp + 2.0 * kv_heads(model, plans)
        return np.asarray(model.hidden * model.head_width * mine + out)
    latent = model.latent
    down = model.hidden * ((latent.query_rank or 0) + latent.kv_rank + latent.rope_width)
    up = model.heads * (queries * (latent.query_rank or model.hidden) + (latent.nope_width + values) * latent.kv_rank)
    return np.asarray(down + up / plans.tp + out)


def memory(setup: Setup, plans: Plans) -> dict[str, FloatArray]:
    """Return (n,) bytes of an accelerator of the first stage for each of `CLASSES`, wherever they lie.

    A weight has 2 bytes, a gradient 2 or 4 and the states 12; each is sharded from ZeRO's stage 3, 2 and 1 on. States
    that are elsewhere take nothing, and weights that come layer by layer take as much as a layer.
    """
    held = parameters(setup, plans)

    def of(stage: int) -> FloatArray:
        return np.where(plans.zero >= stage, held.sharded, held.all)

    tokens = plans.tokens(setup.sequence)
    kept = {"weights": 2.0 * of(3), "gradients": setup.gradient_bytes * of(2), "states": 12.0 * of(1)}
    return {
        **(kept if setup.offload is None else _left(setup, plans, kept)),
        "activations": activations(setup, plans),
        "logits": 4.0 * tokens * setup.decoder.vocabulary / plans.tp,
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
    one, none = np.ones(1), np.zeros(1)
    kinds = [(one, none, none), (none, none, one)]
    if setup.decoder.experts is not None:
        kinds.append((none, one, none))
    sizes = [held_parameters(setup, plans, (dense, routed), tables).all for dense, routed, tables in kinds]
    return np.asarray(np.maximum.reduce(np.broadcast_arrays(*sizes)))


def activations(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of the activations that wait for the backward pass on the first stage.

    Where the inputs of layers wait in the host, it is what the layer that computes needs.
    """
    waiting = waiting_activations(setup, plans)
    if setup.offload is None or not setup.offload.checkpoints:
        return waiting
    layer = _layer_activations(setup, replace(plans, recompute=np.full(1, NONE)), routed=False)
    if setup.decoder.experts is not None:
        layer = np.maximum(layer, _layer_activations(setup, replace(plans, recompute=np.full(1, NONE)), routed=True))
    return np.where(plans.recompute == FULL, np.minimum(layer, waiting), waiting)


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
    dense, routed = layers_of_stage(setup.decoder, plans)
    stage = dense * _layer_activations(setup, plans, routed=False)
    if setup.decoder.experts is not None:
        stage = stage + routed * _layer_activations(setup, plans, routed=True)
    return stage


def _layer_activations(setup: Setup, plans: Plans, *, routed: bool) -> FloatArray:
    model, tokens = setup.decoder, plans.tokens(setup.sequence)
    split = np.where(plans.sequence_parallel, plans.tp, 1)
    common = tokens * model.hidden * (8.0 + 2.0 * setup.dropout) / split
    queries, values = attention_widths(model)
    heads = model.heads / plans.tp
    kept = 2.0 * tokens * ((queries + values) * (heads + kv_heads(model, plans)))
    scores = 5.0 * plans.micro_batch * setup.sequence**2 * model.heads / (plans.cp * plans.tp)
    core = 4.0 * tokens * heads if setup.fused_attention else scores
    core = np.where(plans.recompute == NONE, core, core if setup.fused_attention else 0.0)
    whole = common + kept + core + _feed_forward_activations(setup, plans, tokens, routed=routed)
    return np.where(plans.recompute == FULL, 2.0 * tokens * model.hidden / split, whole)


def _feed_forward_activations(setup: Setup, plans: Plans, tokens: FloatArray, *, routed: bool) -> FloatArray:
    model, gated = setup.decoder, setup.decoder.gated
    if not routed or model.experts is None:
        return np.asarray(tokens * (4 + 2 * gated) * model.feed_forward / plans.tp)
    each = model.experts.per_token * (4.0 * model.hidden + (4 + 2 * gated) * model.experts.feed_forward)
    return np.asarray(tokens / plans.tp * (each + (4 + 2 * gated) * model.experts.shared_feed_forward))
