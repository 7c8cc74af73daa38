"""Path lengths by hand, by digits next to the graph, and next to brute force."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest
from brute_force import distance, links
from random_fabrics import has_tied_digits, random_fabric

from evo_libra.errors import InputError
from evo_libra.network.fabrics.layered import Between, LayeredFabric
from evo_libra.network.fabrics.named import parse_named
from evo_libra.network.fabrics.paths import one_switch_failed, path_lengths
from evo_libra.network.fabrics.routing import FORWARDING


def test_zcube_by_hand() -> None:
    """Of 15 other NPUs of ZCube(4, 2), 3 + 3 share a switch (2 links), and 9 do not (3 links): (12 + 27) / 15 = 2.6.

    After a switch has failed, its 4 NPUs are 4 links apart: 12 ordered pairs of 240 have 2 links more: 2.7.
    """
    fabric = replace(parse_named("zcube(4, 2)"), server=1)
    assert path_lengths(fabric, "none").mean == pytest.approx(2.6)
    assert one_switch_failed(fabric, "none").mean == pytest.approx(2.7)
    assert (path_lengths(fabric, "none").diameter, one_switch_failed(fabric, "none").diameter) == (3.0, 4.0)


@pytest.mark.slow
def test_dragonfly_differs_by_source() -> None:
    """The dragonfly of h = 4 has no digits. Its NPUs have two mean path lengths, 4.69573 for a quarter of them."""
    found = path_lengths(replace(parse_named("dragonfly(4)"), server=1), "none")
    assert found.method == "graph"
    assert found.mean == pytest.approx(0.25 * 4.69573 + 0.75 * 4.67299, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zcube(4, 3)", "bcube(8, 2)", "roft(64, 8)", "rail-only(64, 8)", "zcube-partial(4)"])
def test_digits_are_the_graph(name: str) -> None:
    fabric = parse_named(name)
    for lengths in (path_lengths, one_switch_failed):
        by_digits, by_graph = (lengths(fabric, "server", method) for method in ("digits", "graph"))
        assert (by_digits.method, by_graph.method) == ("digits", "graph")
        assert by_digits.mean == pytest.approx(by_graph.mean, rel=1e-12)
        assert by_digits.diameter == by_graph.diameter


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_fabrics_are_brute_force(seed: int) -> None:
    forwarding = FORWARDING[seed % 3]
    fabric = random_fabric(seed, 64, forwarding)
    graph = links(fabric)
    found = [
        distance(fabric, graph, (npu, target), forwarding)
        for target in range(0, 64, 9)
        for npu in range(64)
        if npu != target
    ]
    whole = path_lengths(fabric, forwarding)
    assert whole.method == "digits"
    assert whole.diameter >= max(found) - 1e-9
    if not has_tied_digits(fabric):
        # All NPUs are alike.
        assert whole.mean == pytest.approx(sum(found) / len(found), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_failures_of_random_fabrics_are_the_graph(seed: int) -> None:
    fabric = random_fabric(100 + seed, 32, "any")
    by_digits, by_graph = (one_switch_failed(fabric, "any", method) for method in ("digits", "graph"))
    assert by_digits.mean == pytest.approx(by_graph.mean, rel=1e-12)


def test_some_random_fabrics_have_tied_digits() -> None:
    """Otherwise the tests above say nothing of them."""
    assert 1 < sum(has_tied_digits(random_fabric(seed, 64, FORWARDING[seed % 3])) for seed in range(6)) < 6


def test_npus_without_a_path_are_named_with_the_forwarding_that_joins_them() -> None:
    fabric = parse_named("bcube(8, 2)")
    with pytest.raises(
        InputError, match="NPU 9 has no path to NPU 0 with forwarding 'none'; forwarding 'server' joins them"
    ):
        path_lengths(fabric, "none")
    with pytest.raises(InputError, match="with forwarding 'server'; forwarding 'any' joins them"):
        path_lengths(replace(fabric, server=1), "server")
    with pytest.raises(
        InputError, match="NPU 1 has no path to NPU 0 with forwarding 'any', and no wider forwarding joins"
    ):
        path_lengths(replace(parse_named("rail-only(128, 8)"), server=1), "any")
    with pytest.raises(
        InputError, match=r"unknown forwarding 'server2'; allowed: none, server, any; did you mean 'server'\?"
    ):
        path_lengths(fabric, "server2")


def test_a_switch_that_cuts_npus_off() -> None:
    """The only port of an NPU of a fat tree goes to one leaf."""
    found = one_switch_failed(replace(parse_named("roft(64, 8)"), server=1), "any")
    assert (found.mean, found.diameter) == (inf, inf)


@pytest.mark.slow
def test_a_graph_beyond_its_cap_is_refused() -> None:
    """Four links of an NPU to blocks of five switches are no digit: 4,096 kinds of NPUs times 20,480 switches."""
    fabric = LayeredFabric((20480, 20480), (Between(0, 1, 4096, 4096, 4, rate=1.0),), server=1)
    with pytest.raises(
        InputError, match="a fabric of 20,480 NPUs whose digits do not say all: 163,840 links as seen from"
    ):
        one_switch_failed(fabric, "any")
