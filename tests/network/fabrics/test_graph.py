"""Links one by one: affine maps by hand, and all links next to those of plain Python."""

from __future__ import annotations

import pytest
from brute_force import links
from random_fabrics import random_fabric

from evo_libra.network.fabrics.graph import edges_of, within_pairs
from evo_libra.network.fabrics.layered import AffineMap, LayeredFabric, Within, clique
from evo_libra.network.fabrics.named import parse_named


def pairs(*maps: AffineMap, sizes: tuple[int, ...]) -> set[tuple[int, int]]:
    return {(int(one), int(other)) for one, other in within_pairs(Within(1, sizes, maps, 1.0)).T}


def test_rings_and_tori_are_affine() -> None:
    """Node X is joined to X + m. In a torus of 3 x 2, node X1 + 3 X2."""
    ring = AffineMap((1,), ((1,),), (0,), 1)
    assert pairs(ring, sizes=(4,)) == {(0, 1), (1, 2), (2, 3), (0, 3)}
    along = AffineMap((1, 0), ((1, 0), (0, 1)), (0, 0), 1)
    across = AffineMap((0, 1), ((1, 0), (0, 1)), (0, 0), 1)
    rows = {(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)}
    assert pairs(along, across, sizes=(3, 2)) == rows | {(0, 3), (1, 4), (2, 5)}


def test_links_of_several_maps_are_one_and_loops_are_none() -> None:
    """X + 1, X + 2 in a ring of 3 are all its pairs; 2 X + 1 maps node 2 to itself, and 0 to 1, 1 to 0."""
    assert pairs(clique((3,), 0), AffineMap((1,), ((1,),), (0,), 1), sizes=(3,)) == {(0, 1), (1, 2), (0, 2)}
    assert pairs(AffineMap((0,), ((2,),), (1,), 1), sizes=(3,)) == {(0, 1)}


def flat(fabric: LayeredFabric) -> list[tuple[float, ...]]:
    first = [sum(fabric.layers[:layer]) for layer in range(len(fabric.layers))]
    upwards = [link for leaving in links(fabric).values() for link in leaving if link.source < link.target]
    ends = [[first[layer] + node for layer, node in (link.source, link.target)] for link in upwards]
    return sorted((*end, link.rate, link.parallel, link.inside) for end, link in zip(ends, upwards, strict=True))


@pytest.mark.parametrize(
    "fabric", [parse_named("dragonfly(2)"), *(random_fabric(seed, 64, "any") for seed in range(5))]
)
def test_all_links_are_those_of_plain_python(fabric: LayeredFabric) -> None:
    found = [
        (int(lower), int(upper), one.rate, one.parallel, one.is_server)
        for one in edges_of(fabric)
        for lower, upper in zip(one.lower, one.upper, strict=True)
    ]
    assert sorted(found) == flat(fabric)
