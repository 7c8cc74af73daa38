"""A training loop as the nodes of an execution trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from evo_libra.arrays import NANO
from evo_libra.chakra.trace import Attribute, CollectiveType, Node
from evo_libra.chakra.write import collective_node, compute_node
from evo_libra.workload.workload import Phase, Workload

_PER_NANOSECOND = 1000
"""Operations that take a nanosecond at 1 TFLOP/s."""


@dataclass(frozen=True)
class DimensionGroup:
    """A process group that is all NPUs of some dimensions: of those involved."""

    involved: tuple[bool, ...]


@dataclass(frozen=True)
class ListedGroup:
    """A process group whose members are listed; its name stands for that of the NPU's own list (see `in_group`)."""

    name: str


GroupPlace = DimensionGroup | ListedGroup


def training_nodes(workload: Workload, overlap: str, places: Mapping[str, GroupPlace]) -> tuple[Node, ...]:
    """Return the nodes of one iteration; process groups that have more than one NPU have a place.

    Forward layers, then backward layers from the last one on, each with its input gradient before its weight gradient.
    Without overlap, ``none``, they are one chain. With ``tp-dp`` the collective of an input gradient runs beside the
    compute and the collective of the weight gradient, and the next layer waits for both. Computations take whole
    nanoseconds; those of none, and collectives of groups of one NPU, have no node.
    """
    trace, after = _Trace(places), _NOTHING
    for layer in workload.layers:
        after = trace.phase(f"{layer.name}.forward", layer.forward, after)
    for layer in reversed(workload.layers):
        inputs, weights = f"{layer.name}.input-gradient", f"{layer.name}.weight-gradient"
        if overlap == "none":
            after = trace.phase(weights, layer.weight_gradient, trace.phase(inputs, layer.input_gradient, after))
            continue
        computed = trace.compute(inputs, layer.input_gradient, after)
        first = trace.collective(inputs, layer.input_gradient, computed)
        second = trace.phase(weights, layer.weight_gradient, computed)
        # What only one of the two waits for has been done when the other begins.
        after = second if first == computed else first if second == computed else (*first, *second)
    return tuple(trace.nodes)


def in_group(node: Node, name: str) -> Node:
    """Return a collective of a communicator group in the group of another name."""
    attributes = {**node.attributes, "pg_name": Attribute("string", name)}
    return replace(node, attributes=MappingProxyType(attributes))


def operations_of(nanoseconds: int) -> int:
    """Return the operations that take some ns at 1 TFLOP/s; half a ns more, as ASTRA-sim rounds down what it gets."""
    return nanoseconds * _PER_NANOSECOND + _PER_NANOSECOND // 2


_After = tuple[int, ...]
_NOTHING: _After = ()


class _Trace:
    """Collects nodes; each method returns what waits for what it has added: the nodes that must finish first."""

    def __init__(self, places: Mapping[str, GroupPlace]) -> None:
        self.places, self.nodes = places, list[Node]()

    def phase(self, name: str, phase: Phase, after: _After) -> _After:
        return self.collective(name, phase, self.compute(name, phase, after))

    def compute(self, name: str, phase: Phase, after: _After) -> _After:
        nanoseconds = round(phase.compute / NANO)
        if not nanoseconds:
            return after
        return self.add(
            compute_node(len(self.nodes), f"{name}.compute", operations=operations_of(nanoseconds), size=1, data=after)
        )

    def collective(self, name: str, phase: Phase, after: _After) -> _After:
        place = self.places.get(phase.group)
        if phase.collective is None or place is None:
            return after
        kind, size = CollectiveType[phase.collective.name], round(phase.size)
        label = f"{name}.{phase.collective.value}.{phase.group}"
        if isinstance(place, DimensionGroup):
            return self.add(collective_node(len(self.nodes), label, kind, size, involved=place.involved, data=after))
        return self.add(collective_node(len(self.nodes), label, kind, size, group=place.name, data=after))

    def add(self, node: Node) -> _After:
        self.nodes.append(node)
        return (node.id,)
