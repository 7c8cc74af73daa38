"""The time of collectives beyond their bytes, inside of servers and among them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.serving.phases import phases_of
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.stacks import SERVING_STACKS

XFT = SERVING_STACKS["xfastertransformer"]
SECONDS = st.floats(0, 1e-3)
DEGREES = st.sampled_from([1, 2, 4, 8, 16, 32])


def test_levels_are_inside_of_a_server_as_long_as_it_has_npus() -> None:
    """Two sockets of a server: the first doubling is inside, the two others to eight sockets are not."""
    stack = replace(XFT, hop=50e-6, server=2, server_hop=10e-6)
    found = stack.beyond_bytes(np.array([1.0, 2.0, 4.0, 8.0]))
    np.testing.assert_allclose(found, [0.0, 10e-6, 60e-6, 110e-6], rtol=1e-12)


@given(DEGREES, DEGREES, SECONDS)
def test_the_same_time_inside_and_outside_is_no_server(npus: int, server: int, seconds: float) -> None:
    plain = replace(XFT, hop=seconds)
    same = replace(plain, server=server, server_hop=seconds)
    np.testing.assert_allclose(same.beyond_bytes(npus), plain.beyond_bytes(npus), rtol=1e-12)
    one = replace(plain, server=1, server_hop=1.0)
    np.testing.assert_array_equal(one.beyond_bytes(npus), plain.beyond_bytes(npus))


@given(DEGREES, DEGREES, SECONDS, SECONDS, SECONDS)
def test_less_time_or_a_larger_server_is_never_slower(npus: int, server: int, a: float, b: float, c: float) -> None:
    inside, between, slower = sorted((a, b, c))
    stack = replace(XFT, hop=between, server=server, server_hop=inside)
    before = stack.beyond_bytes(npus)
    assert before <= replace(stack, hop=slower).beyond_bytes(npus)
    assert before <= replace(stack, server_hop=between).beyond_bytes(npus) * (1 + 1e-12)
    assert replace(stack, server=2 * server).beyond_bytes(npus) <= before * (1 + 1e-12)


@pytest.mark.parametrize(("tp", "seconds"), [(2, 10e-6), (8, 110e-6)])
def test_each_layer_waits_for_two_collectives(tp: int, seconds: float) -> None:
    stack = replace(XFT, hop=50e-6, server=2, server_hop=10e-6)
    setup = ServingSetup(decoder("llama-2-70b"), accelerator("h100-80gb"), 100, 10, stack=stack)
    found = phases_of(setup, one_plan(tp=tp)).decode.plain["overhead"]
    np.testing.assert_allclose(found, 2 * 80 * seconds, rtol=1e-12)
