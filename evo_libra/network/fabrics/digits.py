"""Addresses as rows of digits, so that each relation ties whole digits, and which digits are tied together.

Places at which one relation cuts the addresses of a layer are cuts for its other relations, and go over ties to other
layers. If the cuts of each layer divide one another, the digits between them are independent of each other.
Digits that are tied, at once or by way of others, form a component. To permute the values of a component, the same way
in all its digits, changes no link.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from evo_libra.network.fabrics.relations import Relation, Tie

_Key = tuple[int, int]
"""A digit: its layer and its place."""


@dataclass(frozen=True)
class Digit:
    """One digit of the addresses of a layer: ``node // place % size``, and the component that it belongs to."""

    place: int
    size: int
    component: int


Ties = tuple[int | None, ...]


@dataclass(frozen=True)
class Digits:
    """The addresses of all layers.

    Attributes
    ----------
    layers : the digits of each layer, the lowest first.
    sizes : values of each component.
    relations : the links.
    counts : for each layer and component, the number of digits.
    ties : for each relation and component, and each digit of the upper layer, the place among the digits of the lower
        layer of the one that it is tied to; None for a free digit.
    """

    layers: tuple[tuple[Digit, ...], ...]
    sizes: tuple[int, ...]
    relations: tuple[Relation, ...]
    counts: tuple[tuple[int, ...], ...] = ()
    ties: tuple[tuple[Ties, ...], ...] = ()

    def members(self, layer: int, component: int) -> tuple[Digit, ...]:
        """Return the digits of a layer that belong to a component."""
        return tuple(digit for digit in self.layers[layer] if digit.component == component)


def digits_of(
    layers: tuple[int, ...], relations: tuple[Relation, ...], npu_cuts: tuple[int, ...] = ()
) -> Digits | None:
    """Return the addresses; None where cuts do not divide one another.

    Parameters
    ----------
    layers, relations : of a fabric.
    npu_cuts : further places at which addresses of NPUs are cut, for traffic that tells digits apart.
    """
    cuts = _cuts(layers, relations, npu_cuts)
    if cuts is None or any(high % low for layer in cuts for low, high in pairwise(layer)):
        return None
    sizes = {(layer, low): high // low for layer, places in enumerate(cuts) for low, high in pairwise(places)}
    names = _components(relations, sizes)
    order = {name: index for index, name in enumerate(dict.fromkeys(names.values()))}
    found = Digits(
        layers=tuple(
            tuple(Digit(low, sizes[layer, low], order[names[layer, low]]) for low, _ in pairwise(places))
            for layer, places in enumerate(cuts)
        ),
        sizes=tuple(sizes[name] for name in order),
        relations=relations,
    )
    components = range(len(found.sizes))
    return replace(
        found,
        counts=tuple(tuple(len(found.members(layer, one)) for one in components) for layer in range(len(layers))),
        ties=tuple(tuple(_ties(found, relation, one) for one in components) for relation in relations),
    )


def _ties(digits: Digits, relation: Relation, component: int) -> Ties:
    lower = [digit.place for digit in digits.members(relation.lower, component)]
    upper = [digit.place for digit in digits.members(relation.upper, component)]
    tied = {high: low for low, high in _tied_places(relation, [digit.place for digit in digits.layers[relation.lower]])}
    return tuple(lower.index(tied[place]) if place in tied else None for place in upper)


def _cuts(
    layers: tuple[int, ...], relations: tuple[Relation, ...], npu_cuts: tuple[int, ...]
) -> list[list[int]] | None:
    """Return the places at which each layer is cut; None where a cut lies within no digit of the other end."""
    cuts = [{1, nodes} for nodes in layers]
    cuts[0].update(npu_cuts)
    ties = [(relation.lower, relation.upper, tie) for relation in relations for tie in relation.ties]
    for lower, upper, tie in ties:
        cuts[lower].update((tie.lower_place, tie.lower_place * tie.size))
        cuts[upper].update((tie.upper_place, tie.upper_place * tie.size))
    before = 0
    while before < sum(map(len, cuts)):
        before = sum(map(len, cuts))
        for lower, upper, tie in ties:
            if not (_carry(cuts[lower], cuts[upper], tie) and _carry(cuts[upper], cuts[lower], _reversed(tie))):
                return None
    return [sorted(places) for places in cuts]


def _reversed(tie: Tie) -> Tie:
    return Tie(tie.upper_place, tie.lower_place, tie.size)


def _carry(cuts: set[int], others: set[int], tie: Tie) -> bool:
    """Add the cuts within a tied digit to the other end, if they divide it."""
    inside = [cut for cut in cuts if tie.lower_place < cut < tie.lower_place * tie.size]
    if any(cut % tie.lower_place or tie.size % (cut // tie.lower_place) for cut in inside):
        return False
    others.update(cut // tie.lower_place * tie.upper_place for cut in inside)
    return True


def _tied_places(relation: Relation, places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the places of the digits that a relation ties, at its lower end, and at its upper end."""
    for tie in relation.ties:
        inside = (place for place in places if tie.lower_place <= place < tie.lower_place * tie.size)
        yield from ((place, place // tie.lower_place * tie.upper_place) for place in inside)


def _components(relations: tuple[Relation, ...], sizes: Mapping[_Key, int]) -> dict[_Key, _Key]:
    """Return the first digit of the component of each digit."""
    names = {key: key for key in sizes}
    for relation in relations:
        places = [place for layer, place in sizes if layer == relation.lower]
        for low, high in _tied_places(relation, places):
            one, other = names[relation.lower, low], names[relation.upper, high]
            names = {key: min(one, other) if name in {one, other} else name for key, name in names.items()}
    return names
