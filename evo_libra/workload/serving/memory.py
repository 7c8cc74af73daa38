"""Memory of an accelerator that serves: weights, the cache of keys and values, software, and expansion memory.

A step of decoding reads each weight once, and of the cache only what requests have by then: less than the room that is
kept for their longest contexts, and in a pipeline only that of one group of requests. A prompt reads the weights, too,
and only writes to the cache. So the cache is colder, and it goes to the expansion first. With experts, weights that few
tokens reach may be colder still: the same order holds there, which is an approximation.

Reads run next to the compute of a pass, as in training: the slower one of the two counts, with the bytes of each class
class over its own tier. The NPU's own memory counts as if it held everything, so that no expansion makes a pass faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.models.kernels import Array
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.serving.decoding import step_share
from evo_libra.workload.serving.experts import WORKSPACE, in_step
from evo_libra.workload.serving.serving_plans import ServingPlans, with_split_experts
from evo_libra.workload.serving.serving_setup import RESERVED, ServingSetup
from evo_libra.workload.training.expansion import spilled
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
    """Return (n,) bytes of an accelerator by class, given those of the cache."""
    ranks = np.where(in_step(plans), np.minimum(plans.ep // np.maximum(plans.tp, 1), _SERVER), 0)
    return {"weights": weight_bytes(setup, plans), "cache": cache, "software": RESERVED + WORKSPACE * ranks}


_SERVER = 8
"""Ranks that gather tokens in one place, at most; those of other servers come in parts (assumed)."""


def weight_bytes(setup: ServingSetup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of the weights of an accelerator, redundant experts among them."""
    found = parameters(setup.forward, with_split_experts(plans))
    held = setup.experts.held(setup.decoder.expert_count)
    return setup.weight_bytes * found.dense + setup.expert_bytes * held * found.experts


SPILLED = ("cache", "weights")
"""Classes of memory that may lie in the expansion, in the order in which they go there."""


def in_expansion(setup: ServingSetup, used: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return (n,) bytes of each of `SPILLED` that lie in the expansion; empty without one."""
    if not setup.expansion.capacity:
        return {}
    return spilled(used, setup.usable, np.full(1, setup.expansion.capacity), SPILLED)


def on_npu(setup: ServingSetup, used: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return (n,) bytes of each class that lie in the NPU's own memory."""
    away = in_expansion(setup, used)
    return {kind: bytes_ - away[kind] if kind in away else bytes_ for kind, bytes_ in used.items()}


@dataclass(frozen=True)
class ExpansionAccess:
    """Contents of the expansion: (n,) bytes of `weights`, and the (n,) part of the `cache`."""

    weights: FloatArray
    cache: FloatArray

    @staticmethod
    def of(setup: ServingSetup, used: Mapping[str, FloatArray]) -> ExpansionAccess | None:
        """Return what lies there, of (n,) bytes of every class; None without an expansion."""
        away = in_expansion(setup, used)
        return ExpansionAccess(away["weights"], away["cache"] / used["cache"]) if away else None

    def seconds(
        self, setup: ServingSetup, plans: Plans, layers: Layers, rows: FloatArray, cache: FloatArray
    ) -> FloatArray:
        """Return (n,) seconds of the accesses of a pass through some layers.

        Parameters
        ----------
        layers : (n,) of each kind; those of the longest stage have the weights that an NPU holds.
        rows : (n,) tokens that are computed.
        cache : (n,) bytes of their cache that are read or written.
        """
        held = sum(layers) / sum(layers_of_stage(setup.decoder, plans))
        bytes_ = held * self.weights * _weights_read(setup, plans, rows) + self.cache * cache
        return np.asarray(bytes_ / setup.expansion.bandwidth)


def _weights_read(setup: ServingSetup, plans: Plans, rows: FloatArray) -> FloatArray:
    """Return (n,) the part of the weights that a pass reads: all but experts that none of its tokens reaches."""
    share, unread = step_share(plans), np.zeros(1)
    for count, part in setup.decoder.stack.parts(layers_of_stage(setup.decoder, plans)):
        for matrix in part.step_matrices(share):
            unread = unread + count * setup.expert_bytes * matrix.weights * (1.0 - matrix.part_read(rows))
    return np.asarray(1.0 - unread / weight_bytes(setup, plans))
