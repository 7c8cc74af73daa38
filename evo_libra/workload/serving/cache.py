"""Memory of an accelerator that serves: weights, the cache of keys and values, and what software takes."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.models.layer import kv_heads
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.serving.serving_plans import ServingPlans, with_split_experts
from evo_libra.workload.serving.serving_setup import RESERVED, ServingSetup
from evo_libra.workload.training.memory import layers_of_stage, parameters


def cache_per_token(setup: ServingSetup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of the cache of a token in an accelerator, of the longest stage."""
    dense, routed = layers_of_stage(setup.decoder, plans)
    heads = kv_heads(setup.decoder, plans) if setup.decoder.latent is None else np.ones(1)
    return np.asarray((dense + routed) * heads * setup.token_bytes)


def cache_of_prompt(setup: ServingSetup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of the cache of a prompt in an accelerator, of the longest stage."""
    return setup.prompt * cache_per_token(setup, plans)


def serving_memory(setup: ServingSetup, plans: Plans) -> dict[str, FloatArray]:
    """Return (n,) bytes of an accelerator by class; every user's request has its longest context.

    A first stage holds the embedding and a last one the head; a single stage holds both.
    """
    return _memory(setup, plans, np.asarray(plans.micro_batch * setup.longest))


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
    return _memory(setup, plans, np.asarray(plans.pp * float(setup.prompt)))


def _memory(setup: ServingSetup, plans: Plans, tokens: FloatArray) -> dict[str, FloatArray]:
    """Return (n,) bytes of an accelerator by class with the cache of some tokens."""
    weights = setup.weight_bytes * parameters(setup.forward, with_split_experts(plans)).all
    cache = tokens * cache_per_token(setup, plans)
    return {"weights": weights, "cache": cache, "software": np.full(1, RESERVED)}
