"""A decoding step: one token for each of some sequences, through one layer or the head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.models.decoder import Experts
from evo_libra.workload.models.kernels import Array
from evo_libra.workload.models.layer import attention_widths, kv_heads
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.serving.serving_setup import ServingSetup


@dataclass(frozen=True)
class LayerStep:
    """Seconds of a layer in a decoding step; every array is (n,).

    Attributes
    ----------
    products : of its matrix products.
    cache : of attention, which reads the cache of keys and values.
    """

    products: FloatArray
    cache: FloatArray


def sequences(plans: Plans) -> FloatArray:
    """Return (n,) sequences that a stage decodes at a time: the stages of a pipeline share out a replica's users."""
    return np.asarray(np.ceil(plans.micro_batch / plans.pp))


def layer_step(setup: ServingSetup, plans: Plans, *, routed: bool) -> LayerStep:
    """Return the time of a layer with the average context of a request; `routed` is whether it has experts."""
    rows = sequences(plans)
    products = _projections(setup, plans, rows)
    products = products + (_experts(setup, plans, rows) if routed else _feed_forward(setup, plans, rows))
    return LayerStep(products, _attention(setup, plans, rows))


def head_step(setup: ServingSetup, plans: Plans, rows: Array) -> FloatArray:
    """Return (n,) seconds of the output head for some tokens; it has the precision of the weights."""
    return few_rows(setup, rows, setup.decoder.vocabulary / plans.tp, setup.decoder.hidden)


def few_rows(
    setup: ServingSetup, rows: Array, n: Array, k: Array, *, matrices: Array = 1.0, read: Array = 1.0
) -> FloatArray:
    """Return the time of products of few rows with (k, n) weights: the longer of FLOP and weights, and a fixed time.

    Parameters
    ----------
    rows : of one matrix.
    matrices : that are multiplied by one kernel; `read` : how many of them are.
    """
    npu, constants = setup.accelerator, setup.accelerator.decode_constants()
    work = 2.0 * rows * n * k * matrices / setup.kernels.rate(setup.products)
    weights = setup.weight_bytes * n * k * read / (npu.memory_bandwidth * constants.bandwidth)
    return np.asarray(np.maximum(work, weights) + constants.fixed)


def _projections(setup: ServingSetup, plans: Plans, rows: FloatArray) -> FloatArray:
    model, heads = setup.decoder, setup.decoder.heads / plans.tp
    _, values = attention_widths(model)
    out = few_rows(setup, rows, model.hidden, heads * values)
    if model.latent is None:
        both = model.head_width * (heads + 2.0 * kv_heads(model, plans))
        return out + few_rows(setup, rows, both, model.hidden)
    latent = model.latent
    narrow = (latent.query_rank or 0) + latent.kv_rank + latent.rope_width
    # The matrices of keys and values are multiplied with queries and results, so that the cache stays narrow.
    wide = few_rows(setup, rows, heads * latent.key_width, latent.query_rank or model.hidden)
    return (
        out
        + few_rows(setup, rows, narrow, model.hidden)
        + wide
        + few_rows(setup, rows, heads * latent.nope_width, latent.kv_rank)
        + few_rows(setup, rows, heads * values, latent.kv_rank)
    )


def _feed_forward(setup: ServingSetup, plans: Plans, rows: FloatArray) -> FloatArray:
    return _two_products(setup, rows, setup.decoder.feed_forward / plans.tp)


def _two_products(
    setup: ServingSetup, rows: Array, width: Array, *, matrices: Array = 1.0, read: Array = 1.0
) -> FloatArray:
    model = setup.decoder
    first = few_rows(setup, rows, width * (1 + model.gated), model.hidden, matrices=matrices, read=read)
    return first + few_rows(setup, rows, model.hidden, width, matrices=matrices, read=read)


def experts_read(experts: Experts, plans: Plans, rows: Array) -> FloatArray:
    """Return (n,) the part of experts that are read for some tokens of each NPU, which reach them at random."""
    chance = experts.per_token / experts.count
    return np.asarray(1.0 - (1.0 - chance) ** np.maximum(rows * plans.ep / plans.tp, 1.0))


def _experts(setup: ServingSetup, plans: Plans, rows: FloatArray) -> FloatArray:
    """Return the time of router, experts and shared experts.

    Tokens reach experts at random: an expert's weights are read if one of the group's tokens comes to it.
    """
    model, experts = setup.decoder, setup.decoder.experts
    assert experts is not None  # noqa: S101 - callers have asked
    tokens, chance = rows * plans.ep / plans.tp, experts.per_token / experts.count
    local = experts.count / plans.ep
    read = local * experts_read(experts, plans, rows)
    width = float(experts.feed_forward)
    time = few_rows(setup, rows, experts.count, model.hidden)
    time = time + _two_products(setup, tokens * chance, width, matrices=local, read=read)
    if experts.shared_feed_forward:
        time = time + _two_products(setup, rows, experts.shared_feed_forward / plans.tp)
    return time


def _attention(setup: ServingSetup, plans: Plans, rows: FloatArray) -> FloatArray:
    model, npu, heads = setup.decoder, setup.accelerator, setup.decoder.heads / plans.tp
    latent, constants = model.latent, npu.decode_constants()
    copies = kv_heads(model, plans) if latent is None else np.ones(1)
    bytes_ = rows * setup.context * setup.token_bytes * copies
    widths = 2 * model.head_width if latent is None else 2 * latent.kv_rank + latent.rope_width
    work = 2.0 * rows * setup.context * heads * widths / setup.kernels.rate("bf16")
    return np.asarray(np.maximum(work, bytes_ / (npu.memory_bandwidth * constants.bandwidth)) + constants.fixed)
