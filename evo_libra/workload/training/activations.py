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
from evo_libra.workload.plans.plans import FULL, NONE, Plans
from evo_libra.workload.training.layer_time import one_layer, share_of
from evo_libra.workload.training.stage_layers import StageLoads, parts_of, stage_loads
from evo_libra.workload.training.training_setup import Setup

WITH_GRADIENTS = 1.5
"""Bytes of a layer that runs again with the gradients of its activations, over those of the layer."""


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
    inputs = layers * ELEMENT * setup.decoder.hidden / _split(plans)
    return np.asarray(plans.tokens(setup.sequence) * np.where(plans.recompute == FULL, inputs, kept))


def _part_bytes(setup: Setup, plans: Plans, part: Sublayer) -> Array:
    """Return (n,) bytes that a sublayer keeps of a token where not all of it runs again."""
    share, element = share_of(plans), ELEMENT_BYTES.get(setup.precision, ELEMENT)
    kept = part.kept(share, element) + kept_bytes(_entering(setup), element) / _split(plans)
    core = sum(one.kept(fused=setup.fused_attention) for one in part.cores(share, setup.sequence))
    # Selective recomputation leaves the scores of attention that is not fused.
    return kept + (core if setup.fused_attention else np.where(plans.recompute == NONE, core, 0.0))


def _entering(setup: Setup) -> tuple[Kept, ...]:
    """Return what a sublayer keeps of the stream: the input of its norm, that of its products, and dropout's mask."""
    hidden = float(setup.decoder.hidden)
    stream = Kept(hidden), Kept(hidden, activation=False, product=True, modules=(NORM,))
    return (*stream, Kept(0.5 * hidden)) if setup.dropout else stream


def _split(plans: Plans) -> BoolArray | FloatArray:
    """Return (n,) NPUs that share out the stream of activations."""
    return np.where(plans.sequence_parallel, plans.tp, 1)


def recomputed_layer(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of the largest layer that runs again as if it kept all, with its gradients; 0 of none."""
    full = plans.recompute == FULL
    if not full.any():
        return np.zeros(1)
    sizes = [layer_activations(setup, plans, layer) for layer in layer_kinds(setup)]
    return np.where(full, WITH_GRADIENTS * np.maximum.reduce(np.broadcast_arrays(*sizes)), 0.0)


def layer_activations(setup: Setup, plans: Plans, layer: DecoderLayer) -> FloatArray:
    """Return (n,) bytes of the activations of a microbatch in a layer that keeps all of them."""
    none = replace(plans, recompute=np.full(1, NONE))
    parts = [_part_bytes(setup, none, part) for _, part in one_layer(layer)]
    return np.asarray(plans.tokens(setup.sequence) * sum(parts))


def layer_kinds(setup: Setup) -> list[DecoderLayer]:
    """Return the kinds of layers of a model, that of its predictors among them."""
    model = setup.decoder
    return [*model.stack.kinds, *([model.predictor] if model.predictors else [])]
