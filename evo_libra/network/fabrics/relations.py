"""Relations of a fabric as digits: a link ties some digits of its two ends to each other, and leaves others free."""

from __future__ import annotations

from dataclasses import dataclass

from evo_libra.network.fabrics.layered import Between, LayeredFabric, Within, clique


@dataclass(frozen=True)
class Tie:
    """A digit of ``size`` values that is equal at both ends: ``node // place % size``."""

    lower_place: int
    upper_place: int
    size: int


@dataclass(frozen=True)
class Relation:
    """The links of one kind: all pairs of nodes whose tied digits are equal.

    Attributes
    ----------
    lower, upper : layers of the two ends; one layer for links within it, where no node is joined to itself.
    ties : the tied digits.
    rate : B/s of a link, one way.
    parallel : links of a joined pair.
    is_server : whether the links are those inside a server.
    """

    lower: int
    upper: int
    ties: tuple[Tie, ...]
    rate: float
    parallel: int = 1
    is_server: bool = False

    @property
    def is_within(self) -> bool:
        """Whether both ends are in one layer."""
        return self.lower == self.upper


def relations_of(fabric: LayeredFabric) -> tuple[Relation, ...] | None:
    """Return the relations of a fabric, its servers last; None where one is not of digits."""
    found = [_of_between(fabric, between) for between in fabric.between]
    found += [one for within in fabric.within for one in _of_within(within)]
    if fabric.server > 1:
        found.append(_of_clique(0, fabric.npus, 1, fabric.server, fabric.server_rate, is_server=True))
    relations = tuple(one for one in found if one is not None)
    return relations if len(relations) == len(found) else None


def _of_between(fabric: LayeredFabric, between: Between) -> Relation | None:
    """Return the ties of links between layers: the joined blocks, and what ``(E p + m) mod u`` keeps of p.

    As E divides u, the quotient of the upper node by E is ``p mod (u / E)``, and its remainder m is free.
    """
    lower = fabric.layers[between.lower] // between.lower_blocks
    upper = fabric.layers[between.upper] // between.upper_blocks
    if upper % between.links:
        return None
    inner = Tie(1, between.links, upper // between.links)
    ties = (Tie(lower, upper, between.upper_blocks), inner)
    return Relation(between.lower, between.upper, _whole(*ties), between.rate, between.parallel)


def _of_within(within: Within) -> list[Relation | None]:
    """Return a relation for each dimension whose nodes are all joined; a single None for other affine maps."""
    sizes = within.sizes
    full = {clique(sizes, dimension): dimension for dimension in range(len(sizes))}
    if not set(within.maps) <= set(full):
        return [None]
    dimensions = sorted({full[one] for one in within.maps})
    return [_of_dimension(within, dimension) for dimension in dimensions if sizes[dimension] > 1]


def _of_dimension(within: Within, dimension: int) -> Relation:
    place, nodes = 1, 1
    for index, size in enumerate(within.sizes):
        place *= size if index < dimension else 1
        nodes *= size
    return _of_clique(within.layer, nodes, place, within.sizes[dimension], within.rate, is_server=False)


def _of_clique(layer: int, nodes: int, place: int, size: int, rate: float, *, is_server: bool) -> Relation:
    """Return the links of all nodes that differ in one digit only."""
    above = place * size
    ties = _whole(Tie(1, 1, place), Tie(above, above, nodes // above))
    return Relation(layer, layer, ties, rate, is_server=is_server)


def _whole(*ties: Tie) -> tuple[Tie, ...]:
    return tuple(tie for tie in ties if tie.size > 1)
