"""Compute and communication of a layer, for one microbatch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.kernels import Kernels, Product
from evo_libra.workload.plans.plans import FULL, SELECTIVE, Plans
from evo_libra.workload.training.training_setup import Setup


@dataclass(frozen=True)
class LayerTime:
    """Seconds of compute of a layer; every array is (n,).

    Attributes
    ----------
    forward, backward : of the passes, without recomputation.
    recomputed : of what the backward pass runs again of the forward pass.
    products : the linear layers within, whose compute can hide communication.
    """

    forward: FloatArray
    backward: FloatArray
    recomputed: FloatArray
    products: Product


def layer_time(setup: Setup, plans: Plans, *, routed: bool) -> LayerTime:
    """Return the compute of a layer.

    Parameters
    ----------
    routed : whether the layer has experts.
    """
    kernels = setup.kernels
    tokens = plans.tokens(setup.sequence)
    attention, projections = _attention(setup, kernels, plans, tokens)
    feed_forward = _experts if routed else _feed_forward
    products, (activation, gradient) = feed_forward(setup, kernels, plans, tokens)
    products = projections + products
    # Two norms and two residual additions with dropout.
    split = np.where(plans.sequence_parallel, plans.tp, 1)
    common = kernels.moved(22.0 * tokens * setup.decoder.hidden / split)
    scale = setup.stack.compute
    forward = scale * (products.forward + attention[0] + activation + common)
    backward = scale * (products.backward + attention[1] + gradient + common)
    core = scale * attention[0] * (not setup.fused_attention)
    recomputed = np.where(plans.recompute == FULL, forward, np.where(plans.recompute == SELECTIVE, core, 0.0))
    return LayerTime(forward, backward, recomputed, products * scale)


def _attention(
    setup: Setup, kernels: Kernels, plans: Plans, tokens: FloatArray
) -> tuple[tuple[FloatArray, FloatArray], Product]:
    model, tp, length = setup.decoder, plans.tp, setup.sequence
    heads = model.heads / tp
    queries, values = attention_widths(model)
    work = tokens * length * heads * (queries + values)
    if setup.fused_attention:
        core = kernels.fused_attention(work, length)
    else:
        core = kernels.unfused_attention(2.0 * work, plans.micro_batch * length**2 * model.heads / (plans.cp * tp))
    return core, _projections(setup, kernels, plans, tokens)


def attention_widths(model: Decoder) -> tuple[int, int]:
    """Return the width of a head's queries and keys, and of its values."""
    if model.latent is None:
        return model.head_width, model.head_width
    return model.latent.nope_width + model.latent.rope_width, model.latent.value_width


def kv_heads(model: Decoder, plans: Plans) -> FloatArray:
    """Return (n,) key and value heads of an NPU; below one a head is copied."""
    return np.maximum(model.kv_heads / plans.tp, 1.0)


def _projections(setup: Setup, kernels: Kernels, plans: Plans, tokens: FloatArray) -> Product:
    model, heads = setup.decoder, setup.decoder.heads / plans.tp

    def product(n: FloatArray | float, k: FloatArray | float) -> Product:
        return kernels.product(tokens, n, k, setup.precision)

    queries, values = attention_widths(model)
    out = product(model.hidden, heads * values)
    if model.latent is None:
        return product(model.head_width * (heads + 2.0 * kv_heads(model, plans)), model.hidden) + out
    latent = model.latent
    # The way down to the latent widths is not split over the tensor parallel group.
    down = product((latent.query_rank or 0) + latent.kv_rank + latent.rope_width, model.hidden)
    up = product(heads * queries, latent.query_rank or model.hidden) + product(
        heads * (latent.nope_width + values), latent.kv_rank
    )
    return down + up + out


def _feed_forward(
    setup: Setup, kernels: Kernels, plans: Plans, tokens: FloatArray
) -> tuple[Product, tuple[FloatArray, FloatArray]]:
    return _two_products(setup, kernels, tokens, setup.decoder.feed_forward / plans.tp)


def _two_products(
    setup: Setup, kernels: Kernels, tokens: FloatArray, width: FloatArray | float
) -> tuple[Product, tuple[FloatArray, FloatArray]]:
    hidden, gated = setup.decoder.hidden, setup.decoder.gated
    first = kernels.product(tokens, width * (1 + gated), hidden, setup.precision)
    second = kernels.product(tokens, hidden, width, setup.precision)
    moved = tokens * width
    return first + second, (kernels.moved((4 + 2 * gated) * moved), kernels.moved((6 + 4 * gated) * moved))


def _experts(
    setup: Setup, kernels: Kernels, plans: Plans, tokens: FloatArray
) -> tuple[Product, tuple[FloatArray, FloatArray]]:
    experts, hidden = setup.decoder.experts, setup.decoder.hidden
    assert experts is not None  # noqa: S101 - callers have asked
    mine = tokens / plans.tp
    router = kernels.product(mine, experts.count, hidden, "bf16")
    each = mine * experts.per_token * plans.ep / experts.count
    products, (forward, backward) = _two_products(setup, kernels, each, float(experts.feed_forward))
    local = experts.count / plans.ep
    permuted = kernels.moved(8.0 * mine * experts.per_token * hidden)
    products, forward, backward = products * local + router, forward * local + permuted, backward * local + permuted
    if experts.shared_feed_forward:
        shared, moved = _two_products(setup, kernels, tokens, experts.shared_feed_forward / plans.tp)
        products, forward, backward = products + shared, forward + moved[0], backward + moved[1]
    return products, (forward, backward)


@dataclass(frozen=True)
class LayerTraffic:
    """What a layer sends for one microbatch; every array is (n,).

    Attributes
    ----------
    tensor : bytes of an all-reduce of the tensor parallel group; with sequence parallelism it is a reduce-scatter and
        all-gather, which are as many bytes (Korthikanti et al. 2022, section 4.2.2).
    pairs : such all-reduces of a pass; routed experts have an all-to-all instead of theirs.
    context : bytes of keys and values that the context parallel group gathers in the forward pass; the backward pass
        gathers and scatters them.
    expert : bytes of an NPU's tokens on the way to their experts, or back.
    """

    tensor: FloatArray
    pairs: int
    context: FloatArray
    expert: FloatArray


def layer_traffic(setup: Setup, plans: Plans, *, routed: bool) -> LayerTraffic:
    """Return the communication of a layer.

    A collective of few bytes does not reach the bandwidth of a large one: each counts as if it had `half_message` more.
    """
    model, tokens = setup.decoder, plans.tokens(setup.sequence)
    experts = model.experts if routed else None
    kept = sum(attention_widths(model)) * kv_heads(model, plans)
    if model.latent is not None:
        kept = np.asarray(float(model.latent.kv_rank + model.latent.rope_width))
    return LayerTraffic(
        2.0 * tokens * model.hidden + setup.half_message,
        1 if experts is not None and not experts.shared_feed_forward else 2,
        2.0 * tokens * plans.cp * kept + setup.half_message,
        2.0 * model.hidden * (np.zeros(1) if experts is None else tokens / plans.tp * experts.per_token),
    )
