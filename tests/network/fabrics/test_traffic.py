"""Throughput by hand, and by a simulation of all messages."""

from __future__ import annotations

import random
from dataclasses import replace
from math import inf

import pytest
from effort import THOROUGH
from random_fabrics import random_fabric
from simulated import simulated_rate

from evo_libra.errors import InputError
from evo_libra.network.fabrics.layered import Between, LayeredFabric
from evo_libra.network.fabrics.named import parse_named
from evo_libra.network.fabrics.routing import FORWARDING
from evo_libra.network.fabrics.traffic import KINDS, PATHS, Policy, Traffic, slow_downs, throughput

_FEW_64, _FEW_256 = (500, 100) if THOROUGH else (10, 2)


def gigabytes(name: str, traffic: Traffic, paths: str = "shortest", forwarding: str = "server") -> float:
    return throughput(parse_named(name), traffic, Policy(paths, forwarding)).rate / 1e9


def test_rail_mates_use_one_port_of_zcube_or_both() -> None:
    """NPUs 16 apart share a switch of layer 2: 25 GB/s. Striped, half goes from layer 1 over layer 2 and back.

    In the data steps of two members 16 apart, 16 NPUs of a switch of layer 1 send 12.5 GB/s each over its 16 links.
    """
    pairs = Traffic("data", 16, 2)
    assert gigabytes("zcube(16, 2)", pairs) == pytest.approx(25.0)
    assert gigabytes("zcube(16, 2)", pairs, "striped") == pytest.approx(50.0)
    assert gigabytes("hpn(128, 16)", pairs) == pytest.approx(50.0)
    assert gigabytes("roft(64, 8)", pairs) == pytest.approx(50.0)


def test_an_all_to_all_of_one_switch_has_the_rate_of_the_port() -> None:
    fabric = replace(parse_named("bcube(8, 1)"), server=1)
    assert throughput(fabric, Traffic("experts", 1, 8), Policy("shortest", "none")).rate == pytest.approx(25e9)


def test_messages_inside_a_server_have_its_rate() -> None:
    assert gigabytes("zcube(16, 2)", Traffic("pipeline", 2, 4), "striped") == pytest.approx(450.0)


def test_data_waits_for_each_step() -> None:
    """Of 2 (1 - 1/4) bytes, 1 goes at 450 GB/s between NPUs of a server, 1/2 at 25 GB/s between servers."""
    assert gigabytes("zcube(16, 2)", Traffic("data", 4, 4)) == pytest.approx(1.5 / (1 / 450 + 0.5 / 25))


def drawn(seed: int, npus: int) -> tuple[LayeredFabric, Traffic, Policy]:
    draw = random.Random(seed)  # noqa: S311 - no secret
    forwarding = FORWARDING[seed % 3]
    paths = "shortest" if forwarding == "any" else draw.choice(PATHS)
    traffic = Traffic(KINDS[seed // 3 % 3], draw.choice((1, 2, 8)), draw.choice((4, 8)))
    return random_fabric(seed, npus, forwarding), traffic, Policy(paths, forwarding)


@pytest.mark.slow
@pytest.mark.costly
@pytest.mark.parametrize(
    ("seed", "npus"), [*((seed, 64) for seed in range(_FEW_64)), *((seed, 256) for seed in range(_FEW_256))]
)
def test_random_fabrics_are_the_simulation(seed: int, npus: int) -> None:
    fabric, traffic, policy = drawn(seed, npus)
    simulated = simulated_rate(fabric, traffic, policy)
    if simulated is None:
        with pytest.raises(InputError, match="has no path to NPU"):
            throughput(fabric, traffic, policy)
    else:
        assert throughput(fabric, traffic, policy).rate == pytest.approx(simulated, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zcube(4, 3)", "rail-only(128, 8)", "zcube-partial(4)"])
@pytest.mark.parametrize("kind", KINDS)
def test_digits_are_the_graph(name: str, kind: str) -> None:
    question = parse_named(name), Traffic(kind, 8, 8), Policy("striped", "server")
    by_digits, by_graph = (throughput(*question, method) for method in ("digits", "graph"))
    assert (by_digits.method, by_graph.method) == ("digits", "graph")
    assert by_digits.rate == pytest.approx(by_graph.rate, rel=1e-12)


@pytest.mark.parametrize(
    ("traffic", "policy", "sentence"),
    [
        (
            Traffic("expert", 8, 8),
            Policy("shortest", "any"),
            "unknown traffic 'expert'; allowed: experts, data, pipeline; did",
        ),
        (
            Traffic("data", 8, 5),
            Policy("shortest", "any"),
            "data groups of 5 NPUs, 8 apart, do not divide 64 NPUs; allowed",
        ),
        (
            Traffic("experts", 8, 1),
            Policy("shortest", "any"),
            "experts groups of 1 NPUs, 8 apart, do not divide 64 NPUs",
        ),
        (
            Traffic("data", 8, 8),
            Policy("shortst", "any"),
            "unknown paths 'shortst'; allowed: shortest, striped; did you m",
        ),
        (
            Traffic("data", 8, 8),
            Policy("striped", "any"),
            "paths 'striped' with forwarding 'any': a stripe might come bac",
        ),
        (
            Traffic("experts", 1, 64),
            Policy("striped", "none"),
            "NPU 9 has no path to NPU 0 with forwarding 'none'; ",
        ),
    ],
)
def test_wrong_questions(traffic: Traffic, policy: Policy, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        throughput(parse_named("bcube(8, 2)"), traffic, policy)
    assert str(error.value).startswith(sentence)


def test_steps_of_data_halve_the_bytes() -> None:
    fabric = LayeredFabric((24, 4), (Between(0, 1, 4, 4, 1, rate=25e9),), server=1)
    with pytest.raises(InputError, match="data groups of 6 NPUs, 1 apart; allowed: powers of two"):
        throughput(fabric, Traffic("data", 1, 6), Policy("shortest", "none"))


@pytest.mark.slow
def test_a_leaf_that_fails_takes_ports() -> None:
    """A ToR of HPN is one of two of its NPUs. A leaf of a tree of rails is one of 8, and the server forwards."""
    data = Traffic("data", 8, 8)
    assert slow_downs(parse_named("hpn(128, 16)"), data, Policy("striped", "none"))[0] == pytest.approx(2.0)
    tree = slow_downs(parse_named("roft(4096, 64)"), Traffic("data", 8, 64), Policy("shortest", "server"))
    assert tree[0] == pytest.approx(8 / 7, rel=1e-3)
    assert slow_downs(parse_named("roft(64, 8)"), data, Policy("shortest", "none"))[0] == inf


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zcube(4, 2)", "zcube(2, 3)", "hpn(32, 8)"])
@pytest.mark.parametrize("kind", KINDS)
def test_failures_by_digits_are_the_graph(name: str, kind: str) -> None:
    question = parse_named(name), Traffic(kind, 2, 4), Policy("striped", "server")
    by_digits, by_graph = (slow_downs(*question, method) for method in ("digits", "graph"))
    assert by_digits == pytest.approx(by_graph, rel=1e-12)
