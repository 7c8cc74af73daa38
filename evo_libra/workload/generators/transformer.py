"""Transformers with tensor and data parallelism, as in LIBRA's study (ISPASS 2024)."""

from __future__ import annotations

from dataclasses import replace

from evo_libra.collective import Collective
from evo_libra.workload.generators import BYTES_PER_ELEMENT, floating_point
from evo_libra.workload.workload import Layer, Phase, Workload

_WEIGHTS_PER_SQUARE = 12
"""Weights of one layer over hidden^2: query, key, value, output 4, the two MLP matrices 8."""


def transformer(
    name: str, *, hidden: int, layers: int, sequence: int, batch: int, tensor_parallel: int, rate: float
) -> Workload:
    """Generate one training iteration of a transformer.

    Each of the three phases of a matrix product takes the same compute. The activations are all-reduced over the
    tensor-parallel group after the output projection and after the MLP (forward), and before the query and the MLP
    (backward); the output projection's input gradient is gathered from its shards. All weight gradients are all-reduced
    over the data-parallel group at the first row, which the backward pass reaches last.

    Parameters
    ----------
    name : of the workload.
    hidden, layers, sequence, batch : hyper-parameters; the batch is that of one data-parallel replica.
    tensor_parallel : NPUs in the tensor-parallel group ``tp``.
    rate : FLOP/s of one NPU.
    """
    tokens = sequence * batch
    activations = float(BYTES_PER_ELEMENT * tokens * hidden)
    projection = floating_point(2.0 * tokens * hidden * hidden / tensor_parallel, rate)
    scores = floating_point(2.0 * tokens * sequence * hidden / tensor_parallel, rate)
    wide = floating_point(8.0 * tokens * hidden * hidden / tensor_parallel, rate)
    norm = floating_point(2.0 * tokens * hidden, rate)
    gather = replace(projection, collective=Collective.ALL_GATHER, size=activations / tensor_parallel, group="tp")

    def reduced(phase: Phase) -> Phase:
        return replace(phase, collective=Collective.ALL_REDUCE, size=activations, group="tp")

    rows = [
        Layer("query", projection, reduced(projection), projection),
        Layer("key", projection, projection, projection),
        Layer("value", projection, projection, projection),
        Layer("scores", scores, scores, scores),
        Layer("attention", scores, scores, scores),
        Layer("output", reduced(projection), gather, projection),
        Layer("mlp-up", wide, reduced(wide), wide),
        Layer("mlp-down", reduced(wide), wide, wide),
        Layer("norm", norm, norm, norm),
    ]
    named = [replace(row, name=f"layer{number}.{row.name}") for number in range(layers) for row in rows]
    weights = float(_WEIGHTS_PER_SQUARE * hidden * hidden * layers * BYTES_PER_ELEMENT / tensor_parallel)
    gradients = replace(projection, collective=Collective.ALL_REDUCE, size=weights, group="dp")
    return Workload(name, (replace(named[0], weight_gradient=gradients), *named[1:]))
