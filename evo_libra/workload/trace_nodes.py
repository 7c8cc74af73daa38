"""Nodes of traces whose computations are given in seconds, and whose process groups have a place on a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from evo_libra.arrays import NANO
from evo_libra.chakra.trace import Attribute, CollectiveType, Node
from evo_libra.chakra.write import collective_node, compute_node
from evo_libra.collective import Collective

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

After = tuple[int, ...]
"""Nodes that must finish first."""

NOTHING: After = ()


def in_group(node: Node, name: str) -> Node:
    """Return a collective of a communicator group in the group of another name."""
    return _with(node, pg_name=Attribute("string", name))


def between(node: Node, source: int, destination: int) -> Node:
    """Return a send or a receive with other ends."""
    return _with(node, comm_src=Attribute("int32", source), comm_dst=Attribute("int32", destination))


def _with(node: Node, **attributes: Attribute) -> Node:
    return replace(node, attributes=MappingProxyType({**node.attributes, **attributes}))


def operations_of(nanoseconds: int) -> int:
    """Return the operations that take some ns at 1 TFLOP/s; half a ns more, as ASTRA-sim rounds down what it gets."""
    return nanoseconds * _PER_NANOSECOND + _PER_NANOSECOND // 2


class TraceWriter:
    """Collects the nodes of a trace; each method returns what waits for what it has added: the nodes to finish first.

    Process groups that have more than one NPU have a place. Computations take whole nanoseconds; those of none, and
    collectives of groups of one NPU, have no node. `rounded` counts the ns by which computations became longer.
    """

    def __init__(self, places: Mapping[str, GroupPlace]) -> None:
        self.places, self.nodes, self.rounded = places, list[Node](), 0.0

    def compute(self, name: str, seconds: float, after: After) -> After:
        """Add a computation."""
        nanoseconds = round(seconds / NANO)
        self.rounded += nanoseconds - seconds / NANO
        if not nanoseconds:
            return after
        number, operations = len(self.nodes), operations_of(nanoseconds)
        return self.add(compute_node(number, f"{name}.compute", operations=operations, size=1, data=after))

    def collective(
        self, name: str, what: Collective, size: int, group: str, after: After, *, control: After = ()
    ) -> After:
        """Add a collective of some bytes, of an all-gather those of a shard; `control` is what is done before it."""
        place = self.places.get(group)
        if place is None:
            return after
        kind, label = CollectiveType[what.name], f"{name}.{what.value}.{group}"
        where = {"involved": place.involved} if isinstance(place, DimensionGroup) else {"group": place.name}
        return self.add(collective_node(len(self.nodes), label, kind, size, data=after, control=control, **where))

    def add(self, node: Node) -> After:
        """Add any node, which has the next number."""
        self.nodes.append(node)
        return (node.id,)
