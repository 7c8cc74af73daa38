"""Addresses: which digits relations cut, and which are tied together."""

from __future__ import annotations

from dataclasses import replace

from evo_libra.network.fabrics.digits import digits_of
from evo_libra.network.fabrics.layered import Between, LayeredFabric, Within, clique
from evo_libra.network.fabrics.named import parse_named
from evo_libra.network.fabrics.relations import Tie, relations_of


def places(name: str, *cuts: int, server: int = 1) -> list[list[tuple[int, int, int]]]:
    fabric = replace(parse_named(name), server=server)
    found = digits_of(fabric.layers, relations_of(fabric) or (), cuts)
    assert found is not None
    return [[(digit.place, digit.size, digit.component) for digit in layer] for layer in found.layers]


def test_zcube_has_two_digits() -> None:
    """NPU (x1, x0) is on switch x1 of layer 1 and x0 of layer 2."""
    assert places("zcube(4, 2)") == [[(1, 4, 0), (4, 4, 1)], [(1, 4, 1)], [(1, 4, 0)]]


def test_servers_and_traffic_cut_tied_digits_everywhere() -> None:
    """A server of eight is half of the low digit of 16, so that layer 2, which has this digit, is cut too."""
    assert places("zcube(16, 2)", server=8) == [
        [(1, 8, 0), (8, 2, 1), (16, 16, 2)],
        [(1, 16, 2)],
        [(1, 8, 0), (8, 2, 1)],
    ]
    assert places("zcube(16, 2)", 32, server=8)[1] == [(1, 2, 2), (2, 8, 3)]


def test_zcube_of_three_levels_ties_two_digits_of_the_npus() -> None:
    """NPU (x2, x1, x0) is on switches (x2, x1), (x2, x0) and (x1, x0).

    Switch (x2, i) of layer 2 is joined to switches (i, m) of layer 3, so that x0 and x1 are tied.
    """
    assert places("zcube(4, 3)") == [
        [(1, 4, 0), (4, 4, 0), (16, 4, 1)],
        [(1, 4, 0), (4, 4, 1)],
        [(1, 4, 0), (4, 4, 1)],
        [(1, 4, 0), (4, 4, 0)],
    ]


def test_ties_of_links_between_layers() -> None:
    """4 blocks of 4 on 2 blocks of 8, E = 2: block k mod 2, and (2 p + m) / 2 = p, tie 2 and 4 values."""
    fabric = LayeredFabric((16, 16), (Between(0, 1, 4, 2, 2, rate=1.0),), server=1)
    (relation,) = relations_of(fabric) or ()
    assert relation.ties == (Tie(4, 8, 2), Tie(1, 2, 4))


def test_full_meshes_are_digits_and_other_maps_are_not() -> None:
    down, sizes = Between(0, 1, 1, 1, 1, rate=1.0), (2, 4)
    mesh = LayeredFabric((16, 8), (down,), (Within(1, sizes, (clique(sizes, 1),), 1.0),), server=1)
    assert [one.ties for one in relations_of(mesh) or ()][1] == (Tie(1, 1, 2),)
    assert relations_of(parse_named("dragonfly(2)")) is None


def test_cuts_that_do_not_divide_one_another_have_no_digits() -> None:
    """Blocks of 6 and servers of 4 cut 24 NPUs at 4 and 6."""
    fabric = LayeredFabric((24, 4), (Between(0, 1, 4, 4, 1, rate=1.0),), server=4)
    assert digits_of(fabric.layers, relations_of(fabric) or ()) is None


def test_links_that_do_not_divide_the_block_have_no_digits() -> None:
    fabric = LayeredFabric((6, 6), (Between(0, 1, 1, 1, 4, rate=1.0),), server=1)
    assert relations_of(fabric) is None
