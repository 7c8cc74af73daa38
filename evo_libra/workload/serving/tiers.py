"""Expansion memory of serving: what of the weights and the cache lies there, and how long its reads take.

A step of decoding reads each weight once, and of the cache only what requests have by then: less than the room that is
kept for their longest contexts, and in a pipeline only that of one group of requests. A prompt reads the weights, too,
and only writes to the cache. So the cache is colder, and it goes to the expansion first. With experts, weights that few
tokens reach may be colder still: the same order holds there, which is an approximation.

Reads run beside the compute of a pass, as in training: the slower one of the two counts, with the bytes of each class
over its own tier. The NPU's own memory counts as if it held everything, so that no expansion makes a pass faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.serving.cache import Layers
from evo_libra.workload.serving.decoding import step_share
from evo_libra.workload.serving.serving_plans import with_split_experts
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.training.expansion import spilled
from evo_libra.workload.training.memory import layers_of_stage, parameters

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
    """What lies in the expansion: (n,) bytes of `weights`, and the (n,) part of the `cache`."""

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
            unread = unread + count * matrix.weights * (1.0 - matrix.part_read(rows))
    return np.asarray(1.0 - unread / parameters(setup.forward, with_split_experts(plans)).all)
