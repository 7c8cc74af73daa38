"""Activations of a training step that wait for the backward pass, and what a layer needs that runs again.

Korthikanti et al. 2022 (arXiv 2205.05198), equations 1 to 6, with inputs of products in the precision of products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.workload.models.kernels import ELEMENT_BYTES, Array
from evo_libra.workload.models.layer_stack import Counted, DecoderLayer
from evo_libra.workload.models.layers.kept import ELEMENT, NORM, Kept, kept_bytes
from evo_libra.workload.models.layers.sublayer import Sublayer
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.plans.recomputation import FULL, NONE, OPERATIONS, kind_of, modules_of, runs_again
from evo_libra.workload.training.layer_time import one_layer, share_of
from evo_libra.workload.training.stage_layers import StageLoads, parts_of, stage_loads
from evo_libra.workload.training.training_setup import Setup
from evo_libra.workload.training.wide_layers import wide_share

OF_GRADIENTS = 0.5
"""Bytes of the gradients of activations in a sublayer's backward pass, over those of the activations."""


def waiting_activations(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of the activations that wait for the backward pass, wherever they are, of the fullest stage."""
    waiting = waiting_of_stages(setup, plans, stage_loads(setup, plans))
    return np.asarray(np.broadcast_to(waiting, np.broadcast_shapes(waiting.shape, plans.tp.shape)).max(axis=0))


def waiting_of_stages(setup: Setup, plans: Plans, loads: StageLoads) -> FloatArray:
    """Return (s, n) bytes of the activations that wait on some stages, wherever they are."""
    layers = sum(loads.waiting, np.zeros(1))
    return kept_activations(setup, plans, parts_of(setup.decoder, loads.waiting), layers)


def kept_activations(setup: Setup, plans: Plans, parts: Sequence[Counted], layers: Array) -> FloatArray:
    """Return bytes of the activations of a microbatch in some sublayers of a number of layers."""
    kept: Array = 0.0
    for count, part in parts:
        kept = kept + count * _part_bytes(setup, plans, part)
    inputs, kind = layers * ELEMENT * setup.decoder.hidden / _split(plans), kind_of(plans.recompute)
    kept = np.where(kind == FULL, inputs, kept + np.where(kind == OPERATIONS, inputs, 0.0))
    return np.asarray(plans.tokens(setup.sequence) * kept)


def _part_bytes(setup: Setup, plans: Plans, part: Sublayer) -> Array:
    """Return (n,) bytes that a sublayer keeps of a token where not all of it runs again."""
    share = share_of(plans)
    kept = sum((_bytes(setup, plans, one) for one in part.tensors(share)), np.zeros(1))
    kept = kept + sum((_bytes(setup, plans, one) for one in _entering(setup)), np.zeros(1)) / _split(plans)
    kept = kept - _left_out(setup, plans, part)
    core = sum(one.kept(fused=setup.fused_attention) for one in part.cores(share, setup.sequence))
    kind = kind_of(plans.recompute)
    if (kind == OPERATIONS).any():
        kept = np.where(kind == OPERATIONS, _by_operation(plans, part), kept)
    # Selective recomputation leaves the scores of attention that is not fused.
    return kept + (core if setup.fused_attention else np.where(kind == NONE, core, 0.0))


def _bytes(setup: Setup, plans: Plans, tensor: Kept) -> Array:
    """Return (n,) bytes of a token's tensor, of the stage with most layers whose products stay in bf16."""
    if tensor.outputs and not setup.stack.weighs_outputs:
        return 0.0
    element, inner = (ELEMENT_BYTES.get(one, ELEMENT) for one in (setup.products, setup.activation_input))
    narrow, wide = tensor.bytes(element, inner), wide_share(setup, plans)
    return narrow + wide * (tensor.bytes(ELEMENT, inner) - narrow) if wide.any() else narrow


def _left_out(setup: Setup, plans: Plans, part: Sublayer) -> Array:
    """Return (n,) bytes of a token's tensors that named modules give again."""
    named, found = modules_of(np.unique(plans.recompute).tolist()), np.zeros(1)
    for tensors, split in (part.tensors(share_of(plans)), 1.0), (_entering(setup), _split(plans)):
        for tensor in tensors if named else ():
            again = [runs_again(plans.recompute, module) for module in named if module in tensor.modules]
            if again:
                found = found + np.where(np.logical_or.reduce(again), _bytes(setup, plans, tensor) / split, 0.0)
    return found


def _by_operation(plans: Plans, part: Sublayer) -> Array:
    """Return (n,) bytes of a token that PyTorch keeps by operation: results of cores, and every second product."""
    share = share_of(plans)
    results = kept_bytes(tensor for tensor in part.tensors(share) if tensor.core)
    return results + ELEMENT * sum(part.outputs(share)[::2])


def _entering(setup: Setup) -> tuple[Kept, ...]:
    """Return what a sublayer keeps of the stream: the input of its norm, that of its products, and dropout's mask."""
    hidden = float(setup.decoder.hidden)
    stream = Kept(hidden), Kept(hidden, activation=False, product=True, modules=(NORM,))
    return (*stream, Kept(0.5 * hidden)) if setup.dropout else stream


def _split(plans: Plans) -> BoolArray | FloatArray:
    """Return (n,) NPUs that share out the stream of activations."""
    return np.where(plans.sequence_parallel, plans.tp, 1)


def recomputed_layer(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) bytes at a time of what runs again of a layer, that layer with the most of it.

    The backward pass begins at its last sublayer and frees each before the next one; the one that runs has gradients.
    """
    if not plans.recompute.any():
        return np.zeros(1)
    everything, most = replace(plans, recompute=np.full(1, NONE)), np.zeros(1)
    for layer in layer_kinds(setup):
        before: Array = 0.0
        for one in one_layer(layer):
            mine = kept_activations(setup, everything, [one], 0.0) - kept_activations(setup, plans, [one], 0.0)
            before = before + mine
            most = np.maximum(most, before + OF_GRADIENTS * mine)
    return np.where(plans.recompute == NONE, 0.0, most)


def layer_kinds(setup: Setup) -> list[DecoderLayer]:
    """Return the kinds of layers of a model, that of its predictors among them."""
    model = setup.decoder
    return [*model.stack.kinds, *([model.predictor] if model.predictors else [])]
