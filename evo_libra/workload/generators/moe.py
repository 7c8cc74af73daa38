"""Transformers whose layers are mixtures of experts, with tensor, expert and data parallelism."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evo_libra.collective import Collective
from evo_libra.workload.generators import BYTES_PER_ELEMENT, floating_point
from evo_libra.workload.workload import Layer, Phase, Workload

_ATTENTION = 4
"""Weights of attention over hidden^2: query, key, value, output."""
_MATRICES = 2
"""Matrices of an expert: up and down."""
REPLICAS = "ep+dp"
"""The NPUs that hold the same dense weights: expert parallelism is data parallelism for all but the experts."""


@dataclass(frozen=True)
class Mixture:
    """Hyper-parameters of a decoder of equal layers with experts.

    Attributes
    ----------
    hidden, expert_hidden : width of the model, and between the two matrices of an expert.
    experts, top_k : experts of a layer, and how many of them a token passes.
    layers, sequence, batch : the batch is that of one tensor-parallel group.
    """

    hidden: int
    expert_hidden: int
    experts: int
    top_k: int
    layers: int
    sequence: int
    batch: int


def moe(name: str, model: Mixture, *, tensor_parallel: int, expert_parallel: int, rate: float) -> Workload:
    """Generate one training iteration of a mixture of experts.

    All experts get equally many tokens. A tensor-parallel group cuts attention and each expert. It sends every token to
    the group of each of its experts and gets it back (an all-to-all of ``top_k * tokens * hidden`` elements over
    ``ep``, twice forward and twice backward), and sums the weighted outputs as a dense layer does (all-reduces over
    ``tp``). Gradients of the dense weights are all-reduced over ``ep+dp``, those of the experts over ``dp``, all at the
    first layer, which the backward pass reaches last.

    Parameters
    ----------
    name : of the workload.
    model : its hyper-parameters.
    tensor_parallel, expert_parallel : NPUs in the groups ``tp`` and ``ep``; the latter divides the experts.
    rate : FLOP/s of one NPU.
    """
    hidden, tokens = model.hidden, model.sequence * model.batch
    activations = float(BYTES_PER_ELEMENT * tokens * hidden)
    width = _ATTENTION * hidden + 2 * model.sequence
    attention = floating_point(2.0 * tokens * hidden * width / tensor_parallel, rate)
    router = floating_point(2.0 * tokens * hidden * model.experts, rate)
    expert = floating_point(2.0 * model.top_k * tokens * hidden * model.expert_hidden / tensor_parallel, rate)
    weighting = floating_point(2.0 * model.top_k * tokens * hidden, rate)

    def reduced(phase: Phase) -> Phase:
        return replace(phase, collective=Collective.ALL_REDUCE, size=activations, group="tp")

    def exchanged(phase: Phase) -> Phase:
        return replace(phase, collective=Collective.ALL_TO_ALL, size=model.top_k * activations, group="ep")

    rows = [
        Layer("attention", reduced(attention), reduced(attention), attention),
        Layer("dispatch", exchanged(router), reduced(router), router),
        Layer("expert-up", expert, exchanged(expert), expert),
        Layer("expert-down", exchanged(expert), expert, expert),
        Layer("combine", reduced(weighting), exchanged(weighting), weighting),
    ]
    first, second, third, *rest = (
        replace(row, name=f"layer{number}.{row.name}") for number in range(model.layers) for row in rows
    )
    # An NPU's share; the router is not cut.
    dense = model.layers * (_ATTENTION * hidden * hidden / tensor_parallel + hidden * model.experts)
    mine = model.experts // expert_parallel
    own = model.layers * _MATRICES * hidden * model.expert_hidden * mine / tensor_parallel
    return Workload(name, (_gradients(first, dense, REPLICAS), second, _gradients(third, own, "dp"), *rest))


def _gradients(layer: Layer, weights: float, group: str) -> Layer:
    """Return the layer with the all-reduce of the gradients of a number of weights."""
    size = weights * BYTES_PER_ELEMENT
    phase = replace(layer.weight_gradient, collective=Collective.ALL_REDUCE, size=size, group=group)
    return replace(layer, weight_gradient=phase)
