"""Memory of an accelerator that serves: weights, the cache of keys and values, and what software takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.models.kernels import Array
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.serving.decoding import step_share
from evo_libra.workload.serving.serving_plans import ServingPlans, with_split_experts
from evo_libra.workload.serving.serving_setup import RESERVED, ServingSetup
from evo_libra.workload.training.memory import layers_of_stage, parameters

Layers = Sequence[FloatArray]
"""(n,) layers of each kind."""


def cache_bytes(setup: ServingSetup, plans: Plans, tokens: Array, layers: Layers | None = None) -> FloatArray:
    """Return (n,) bytes of the cache of a sequence of (n,) tokens in an accelerator.

    `layers` are those whose cache counts, those of the longest stage when left out.
    """
    share, model = step_share(plans), setup.decoder
    counts = layers_of_stage(model, plans) if layers is None else layers
    each = (count * part.cache(share, tokens, setup.cell) for count, part in model.stack.parts(counts))
    return sum(each, np.zeros(1))


def context_bytes(setup: ServingSetup, plans: Plans, layers: Layers) -> FloatArray:
    """Return (n,) bytes of the cache that a token with the average context moves in some layers."""
    share = step_share(plans)
    works = [(count, part.step(share, setup.context, setup.cell)) for count, part in setup.decoder.stack.parts(layers)]
    return sum((count * work.moved for count, work in works if work is not None), np.zeros(1))


def cache_of_prompt(setup: ServingSetup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of the cache of a prompt in an accelerator, of the longest stage."""
    return cache_bytes(setup, plans, setup.prompt)


def serving_memory(setup: ServingSetup, plans: Plans) -> dict[str, FloatArray]:
    """Return (n,) bytes of an accelerator by class; every user's request has its longest context.

    A first stage holds the embedding and a last one the head; a single stage holds both.
    """
    return _memory(setup, plans, plans.micro_batch * cache_bytes(setup, plans, setup.longest))


def memory_of_pools(setup: ServingSetup, plans: ServingPlans) -> dict[str, FloatArray]:
    """Return (n,) bytes by class of an accelerator of the pool whose accelerators need more.

    A replica that only processes prompts has one in each stage, and keeps their caches until they are sent.
    """
    found = serving_memory(setup, plans.plans)
    if plans.ahead is None:
        return found
    ahead = prompt_memory(setup, plans.ahead)
    more = (plans.prefill > 0) & (sum(ahead.values(), np.zeros(1)) > sum(found.values(), np.zeros(1)))
    return {kind: np.where(more, ahead[kind], bytes_) for kind, bytes_ in found.items()}


def prompt_memory(setup: ServingSetup, plans: Plans) -> dict[str, FloatArray]:
    """Return (n,) bytes by class of an accelerator of a replica that only processes prompts, one in each stage."""
    return _memory(setup, plans, plans.pp * cache_of_prompt(setup, plans))


def _memory(setup: ServingSetup, plans: Plans, cache: FloatArray) -> dict[str, FloatArray]:
    """Return (n,) bytes of an accelerator by class beside the cache."""
    weights = setup.weight_bytes * parameters(setup.forward, with_split_experts(plans)).all
    return {"weights": weights, "cache": cache, "software": np.full(1, RESERVED)}
