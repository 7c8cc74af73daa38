from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_fabrics import has_tied_digits, random_fabric

from evo_libra.errors import InputError
from evo_libra.network.fabrics.evaluation import REGULAR, WITH_TIED_DIGITS
from evo_libra.network.fabrics.layered import LayeredFabric
from evo_libra.network.fabrics.named import parse_named
from evo_libra.network.fabrics.paths import path_lengths
from evo_libra.network.fabrics.population import Figures, evaluate, fabrics_of
from evo_libra.network.fabrics.traffic import Policy, Traffic, throughput

POLICIES = (
    Policy("shortest", "none"), Policy("shortest", "server"), Policy("shortest", "any"), Policy("striped", "none"),
    Policy("striped", "server"),
)  # fmt: skip
NAMED = ("zcube(4, 2)", "zcube(16, 2)", "bcube(8, 2)", "hpn(256, 16)", "rail-only(256, 8)", "roft(256, 16)")
LARGE = ("zcube(128, 2)", "bcube(128, 2)", "hpn(16384, 256)", "rail-only(16384, 128)", "roft(16384, 128)")


def assert_same(fabric: LayeredFabric, traffic: list[Traffic], policy: Policy) -> None:
    """Compare a population of one with the figures of the single fabric."""
    found = evaluate(fabrics_of([fabric]), traffic, policy)
    assert found.outcome.tolist() == [REGULAR]
    try:
        lengths = path_lengths(fabric, policy.forwarding)
    except InputError:
        assert np.isinf([found.mean, found.diameter]).all()
    else:
        assert (found.mean[0], found.diameter[0]) == (pytest.approx(lengths.mean, rel=1e-12), lengths.diameter)
    for one, seconds in zip(traffic, found.seconds[:, 0], strict=True):
        try:
            rate = throughput(fabric, one, policy).rate
        except InputError:
            assert np.isinf(seconds)
        else:
            assert 1 / seconds == pytest.approx(rate, rel=1e-12)


def test_zcube_by_hand() -> None:
    """ZCube(4, 2) in two servers of 8: each NPU sends 25 GB/s to the NPU of the other server on its rail.

    These NPUs differ in the bit of 8 only, so that one switch joins them, over one of two ports. With both ports the
    other half goes up, over to the first layer, and down.
    """
    fabrics, pairs = fabrics_of([parse_named("zcube(4, 2)")]), [Traffic("data", 8, 2)]
    for policy, rate in ((Policy("shortest", "none"), 25e9), (Policy("striped", "none"), 50e9)):
        found = evaluate(fabrics, pairs, policy)
        assert 1 / found.seconds[0, 0] == pytest.approx(rate)
    assert found.diameter.tolist() == [3.0]


@pytest.mark.parametrize("name", NAMED)
def test_named_fabrics(name: str) -> None:
    fabric = parse_named(name)
    last = fabric.npus // fabric.server
    traffic = [Traffic("experts", fabric.server, last), Traffic("data", fabric.server, last)]
    for policy in POLICIES:
        assert_same(fabric, [*traffic, Traffic("pipeline", fabric.npus // 2, 2)], policy)


@pytest.mark.parametrize("name", LARGE)
def test_named_fabrics_of_16384_npus(name: str) -> None:
    plan = [Traffic("data", 8, 256), Traffic("pipeline", 2048, 8), Traffic("experts", 8, 256)]
    assert_same(parse_named(name), plan, Policy("striped", "server"))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.data())
def test_random_fabrics(seed: int, data: st.DataObject) -> None:
    """Random fabrics, groups and policies; groups may lie anywhere in the numbers of NPUs."""
    policy, bits = data.draw(st.sampled_from(POLICIES)), data.draw(st.sampled_from((6, 8)))
    fabric = random_fabric(seed, 2**bits, "any")
    if fabric.within or has_tied_digits(fabric):
        return
    kinds = data.draw(st.lists(st.sampled_from(("experts", "data", "pipeline")), min_size=1, max_size=3))
    cuts = [sorted(data.draw(st.sets(st.integers(0, bits), min_size=2, max_size=2))) for _ in kinds]
    spans = [(low, min(high, low + 4)) for low, high in cuts]
    traffic = [Traffic(kind, 2**low, 2 ** (high - low)) for kind, (low, high) in zip(kinds, spans, strict=True)]
    assert_same(fabric, traffic, policy)


def test_a_fabric_comes_back_from_arrays() -> None:
    named = [parse_named(name) for name in ("roft(256, 16)", "hpn(256, 16)", "zcube(16, 2)")]
    fabrics = fabrics_of(named)
    assert [fabrics.fabric(design) for design in range(len(fabrics))] == named


def test_tied_digits_are_said() -> None:
    found = evaluate(fabrics_of([parse_named("zcube(4, 3)")]), [Traffic("data", 8, 8)], POLICIES[0])
    assert found.outcome.tolist() == [WITH_TIED_DIGITS]
    assert np.isinf(found.seconds).all()


@pytest.mark.parametrize(("name", "said"), [
    ("zcube(3, 2)", "9 is no power of two"),
    ("dragonfly(2)", "links within a layer"),
    ("bcube(2, 4)", "4 layers of switches; allowed: 3 at most"),
])  # fmt: skip
def test_fabrics_without_a_form_in_arrays_are_named(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        fabrics_of([parse_named(name)])


@pytest.mark.parametrize(("traffic", "policy", "said"), [
    (Traffic("bulk", 8, 2), POLICIES[0], "unknown traffic 'bulk'"),
    (Traffic("data", 8, 3), POLICIES[0], "24 is no power of two"),
    (Traffic("data", 8, 64), POLICIES[0], "do not divide 256 NPUs"),
    (Traffic("pipeline", 1, 32), POLICIES[0], "16 stages at most"),
    (Traffic("data", 8, 2), Policy("striped", "any"), "a stripe might come back"),
])  # fmt: skip
def test_wrong_questions(traffic: Traffic, policy: Policy, said: str) -> None:
    with pytest.raises(InputError, match=said):
        evaluate(fabrics_of([parse_named("zcube(16, 2)")]), [traffic], policy)


@pytest.mark.slow
def test_compiled_figures_are_the_same_to_the_last_bit() -> None:
    pytest.importorskip("numba")
    random = [random_fabric(seed, 256, "any") for seed in range(200)]
    known = [one for one in random if not one.within and one.server == 8]
    traffic = [Traffic("experts", 8, 32), Traffic("data", 4, 32), Traffic("pipeline", 16, 16)]
    for policy in POLICIES:
        plain, fast = (evaluate(fabrics_of(known), traffic, policy, compiles=fast) for fast in (False, True))
        for field in Figures.__dataclass_fields__:
            assert np.array_equal(vars(plain)[field], vars(fast)[field]), field
