"""Memory of an accelerator in a training step, by class: the sum of the fullest stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.kernels import ELEMENT_BYTES, Array
from evo_libra.workload.models.layer_stack import Counted
from evo_libra.workload.plans.plans import SHARDED_GRADIENTS, SHARDED_WEIGHTS, Plans
from evo_libra.workload.plans.recomputation import FULL
from evo_libra.workload.plans.schedules import copies_of_weights
from evo_libra.workload.training.activations import (
    kept_activations,
    layer_kinds,
    recomputed_layer,
    waiting_of_stages,
)
from evo_libra.workload.training.expansion import expansions_of, spilled
from evo_libra.workload.training.layer_time import one_layer, share_of
from evo_libra.workload.training.offload import GRADIENT, STATES, WEIGHT, in_window, on_npu
from evo_libra.workload.training.stage_layers import StageLoads, parts_of, predictor_parts, stage_loads
from evo_libra.workload.training.training_setup import Setup
from evo_libra.workload.training.wide_layers import wide_share

CLASSES = ("weights", "gradients", "states", "gathered", "activations", "backward", "logits", "buffers")
"""Classes of memory, in the order of reports: `gathered` are sharded weights that are whole while their layer computes,
`backward` is what a layer that runs backwards needs for a time, and `logits` those of the loss, with what it makes of
them."""

BUFFERS = 1e9
"""Bytes of communication buffers (assumed)."""

OF_WEIGHT = 16.0
"""Bytes of a weight, its gradient and its states where all are sharded. With gradients of 4 bytes the master copy of
the states is all that there is of the weight (PyTorch's FSDP); with those of 2 a weight of 2 bytes is next to it."""


def layers_of_stage(model: Decoder, plans: Plans) -> tuple[FloatArray, ...]:
    """Return the (n,) layers of each kind of the longest stage."""
    return model.stack.largest(np.ceil(model.layers / plans.pp))


@dataclass(frozen=True)
class Parameters:
    """Weights of an accelerator, of the first stage; every array is (n,).

    Attributes
    ----------
    dense : those that all NPUs of a data parallel group copy; `experts` : those of its routed experts.
    dense_copies, expert_copies : NPUs that hold the same, or that share it out where shards have copies.
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
    return Parameters(held[0], held[1], np.asarray(plans.cp * plans.dp / plans.replicate, dtype=np.float64), stage)


def memory(setup: Setup, plans: Plans) -> dict[str, FloatArray]:
    """Return (n,) bytes of an accelerator of the fullest stage for each of `CLASSES`, wherever they lie.

    States have at most 12 bytes of a weight, a gradient 2 or 4, and a weight as many as its precision needs; each is
    sharded from ZeRO's stage 1, 2 and 3 on. States that are elsewhere take nothing, and weights that come layer by
    layer take as much as a layer. The loss and a layer that runs again do not meet, so that the larger one counts.
    """
    every = memory_of_stages(setup, plans)
    shape = np.broadcast_shapes(*(bytes_.shape for bytes_ in every.values()))
    classes = {kind: np.broadcast_to(bytes_, shape) for kind, bytes_ in every.items()}
    fullest = np.argmax(sum(classes.values(), np.zeros(1)), axis=0)[None]
    return {kind: np.take_along_axis(bytes_, fullest, axis=0)[0] for kind, bytes_ in classes.items()}


def memory_of_stages(setup: Setup, plans: Plans) -> dict[str, FloatArray]:
    """Return (s, n) bytes of each of `CLASSES` on stages that can be the fullest."""
    loads, window = stage_loads(setup, plans), in_window(plans) & (setup.offload is not None)
    layers = held_parameters(setup, plans, parts_of(setup.decoder, loads.layers), np.zeros(1))
    tables, copies = held_parameters(setup, plans, (), loads.tables), copies_of_weights(plans)

    def of(stage: int, bytes_: Array, of_table: float) -> FloatArray:
        whole = bytes_ * layers.all + of_table * tables.all
        return np.where(plans.zero >= stage, (bytes_ * layers.sharded + of_table * tables.sharded) / copies, whole)

    gradients = float(setup.gradient_bytes)
    master = OF_WEIGHT - STATES - gradients
    sharded = plans.zero == SHARDED_WEIGHTS
    kept = {
        "weights": np.where(
            sharded, of(SHARDED_WEIGHTS, master, master), of(SHARDED_WEIGHTS, weight_bytes(setup, plans), WEIGHT)
        ),
        "gradients": of(SHARDED_GRADIENTS, gradients, gradients),
        "states": of(1, setup.state_bytes, setup.state_bytes),
    }
    one = _layer_at_a_time(setup, plans)
    # Software that goes by layers has the next one whole, too.
    ahead = 2.0 if setup.stack.at_a_time == inf else 1.0
    whole = np.where(plans.reshard, np.minimum(ahead * one, layers.all), layers.all)
    gathered = WEIGHT * (whole + tables.all)
    # Before they are scattered, gradients of a virtual stage, or of a layer, are whole.
    scattered = gradients * np.where(plans.vp > 1, layers.all / plans.vp, one)
    again = recomputed_layer(setup, plans) + np.where((plans.zero >= SHARDED_GRADIENTS) & ~window, scattered, 0.0)
    loss = loads.loss * loss_bytes(setup, plans)
    return {
        **(kept if setup.offload is None else _left(setup, plans, kept)),
        "gathered": np.where(sharded & ~window, gathered, 0.0),
        "activations": _on_npu(setup, plans, loads),
        "backward": np.where(again > loss, again, 0.0),
        "logits": np.where(again > loss, 0.0, loss),
        "buffers": np.full((1, 1), BUFFERS),
    }


def _layer_at_a_time(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) weights that software gathers, or whose gradients it scatters, at a time: a layer or matrices."""
    largest = largest_layer(setup, plans, tables=False)
    if setup.stack.at_a_time == inf:
        return largest
    parts = [part for layer in layer_kinds(setup) for part in layer]
    matrices = [matrix.weights for part in parts for matrix in part.matrices(share_of(plans))]
    matrix = np.maximum.reduce(np.broadcast_arrays(*matrices))
    return np.minimum(largest, np.maximum(matrix, setup.stack.at_a_time))


def weight_bytes(setup: Setup, plans: Plans) -> Array:
    """Return (n,) bytes of a weight of linear layers: of 8 bits and fewer once for each layout that products take.

    A product takes its operands along the dimension over which it sums. If it takes no other layout, or if scales of
    blocks follow that dimension, the backward pass needs the transposed weight, too.
    """
    one = ELEMENT_BYTES.get(setup.products, WEIGHT)
    transposed = one < WEIGHT and not setup.accelerator.gemm_constants(setup.products).any_layout
    narrow, wide = one * (2.0 if transposed else 1.0), wide_share(setup, plans)
    return narrow + wide * (WEIGHT - narrow) if wide.any() else narrow


def loss_bytes(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of the logits and of what the loss makes of them, once more for each predictor.

    The head keeps its input whole, and the norm before it its own.
    """
    head, split = setup.decoder.head, np.where(plans.sequence_parallel, plans.tp, 1)
    inputs = WEIGHT * setup.decoder.hidden * (1.0 + 1.0 / split)
    one = inputs + setup.loss_bytes * head.logits(share_of(plans))
    return np.asarray((1 + setup.decoder.predictors) * plans.tokens(setup.sequence) * one)


def _on_npu(setup: Setup, plans: Plans, loads: StageLoads) -> FloatArray:
    """Return (s, n) bytes of waiting activations on the NPU; of those in the host two layers' are on their way."""
    waiting, away = waiting_of_stages(setup, plans, loads), offloaded_share(setup, plans)
    if not away.any():
        return waiting
    sizes = [kept_activations(setup, plans, one_layer(layer), 1.0) for layer in layer_kinds(setup)]
    window = np.where(away > 0.0, 2.0 * np.maximum.reduce(np.broadcast_arrays(*sizes)), 0.0)
    return np.minimum(waiting, waiting * (1.0 - away) + window)


def offloaded_share(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) the share of waiting activations that is in the memory of hosts: that of layers, or of all inputs."""
    if setup.offload is None:
        return np.zeros(1)
    layers = sum(layers_of_stage(setup.decoder, plans), np.zeros(1))
    inputs = (plans.recompute == FULL) & setup.offload.checkpoints
    return np.where(inputs, 1.0, np.minimum(plans.offloaded / layers, 1.0))


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


def largest_layer(setup: Setup, plans: Plans, *, tables: bool = True) -> FloatArray:
    """Return (n,) weights that an NPU has of the largest layer, or of the embedding, where tables count."""
    none, one = np.zeros(1), np.ones(1)
    sizes = [held_parameters(setup, plans, one_layer(layer), none).all for layer in layer_kinds(setup)]
    sizes += [held_parameters(setup, plans, (), one).all] if tables else []
    return np.asarray(np.maximum.reduce(np.broadcast_arrays(*sizes)))


def offloaded_activations(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of the activations of a microbatch that go to hosts and come back."""
    return stage_activations(setup, plans) * offloaded_share(setup, plans)


def stage_activations(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of the activations of a microbatch on a stage as long as the longest."""
    layers = sum(layers_of_stage(setup.decoder, plans), np.zeros(1)) + setup.decoder.predictors * (plans.pp == 1)
    return kept_activations(setup, plans, _first_stage(setup.decoder, plans), layers)
