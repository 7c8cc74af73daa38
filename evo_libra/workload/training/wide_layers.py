"""Layers whose products stay in bf16 where others are in fewer bits: their share of the stage that has most of them."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.training.training_setup import Setup


def wide_share(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) the share of a stage's layers that stay in bf16, of the stage with most of them.

    Layers at the start fill chunks of the first stage first, those at the end chunks of the last one, and with virtual
    stages those of their neighbours next. The stage that has most of either sets the pace.
    """
    start, end = setup.wide_layers
    if not start + end:
        return np.zeros(1)
    layers, stages = setup.decoder.layers, plans.pp.astype(float)
    chunk = layers / (stages * plans.vp)
    near = [_in_stage(count, chunk, stages, np.zeros(1)) for count in (start, end)]
    far = [_in_stage(count, chunk, stages, stages - 1.0) for count in (start, end)]
    most = np.maximum(near[0] + far[1], far[0] + near[1])
    return np.asarray(np.minimum(most * stages / layers, 1.0))


def _in_stage(count: int, chunk: FloatArray, stages: FloatArray, away: FloatArray) -> FloatArray:
    """Return (n,) how many layers at an end of the model a stage has that is some stages away from that end."""
    rounds = chunk * stages
    whole = np.floor(count / rounds)
    return np.asarray(whole * chunk + np.clip(count - whole * rounds - away * chunk, 0.0, chunk))
