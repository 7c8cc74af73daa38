"""A training loop as the nodes of an execution trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evo_libra.chakra.trace import Node
from evo_libra.workload.layers.workload import Layer, Phase
from evo_libra.workload.trace_nodes import NOTHING, After, GroupPlace, TraceWriter


def training_nodes(layers: Sequence[Layer], overlap: str, places: Mapping[str, GroupPlace]) -> tuple[Node, ...]:
    """Return the nodes of one iteration of a table of layers; process groups that have more than one NPU have a place.

    Forward layers, then backward layers from the last one on, each with its input gradient before its weight gradient.
    Without overlap, ``none``, they are one chain. With ``tp-dp`` the collective of an input gradient runs alongside the
    compute and the collective of the weight gradient, and the next layer waits for both.
    """
    trace, after = TraceWriter(places), NOTHING
    for layer in layers:
        after = _phase(trace, f"{layer.name}.forward", layer.forward, after)
    for layer in reversed(layers):
        inputs, weights = f"{layer.name}.input-gradient", f"{layer.name}.weight-gradient"
        if overlap == "none":
            after = _phase(trace, inputs, layer.input_gradient, after)
            after = _phase(trace, weights, layer.weight_gradient, after)
            continue
        computed = trace.compute(inputs, layer.input_gradient.compute, after)
        first = _collective(trace, inputs, layer.input_gradient, computed)
        second = _phase(trace, weights, layer.weight_gradient, computed)
        # Work that only one of the two waits for is done when the other begins.
        after = second if first == computed else first if second == computed else (*first, *second)
    return tuple(trace.nodes)


def _phase(trace: TraceWriter, name: str, phase: Phase, after: After) -> After:
    return _collective(trace, name, phase, trace.compute(name, phase.compute, after))


def _collective(trace: TraceWriter, name: str, phase: Phase, after: After) -> After:
    if phase.collective is None:
        return after
    return trace.collective(name, phase.collective, round(phase.size), phase.group, after)
