"""Optimizers elsewhere than on the NPUs: LuWu's equation, laws on random plans, and what a plan needs for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_steps import random_plans, seconds_of, setup_of

from evo_libra.arrays import FloatArray
from evo_libra.collective import PushPull, Streamed, unit_traffic
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.plans.plan_rules import placement_allowed, placement_mistakes, plan_text
from evo_libra.workload.plans.plans import HOST, IO, NETWORK, NPU, NVME, PLACEMENTS, Plans, one_plan
from evo_libra.workload.plans.recomputation import FULL
from evo_libra.workload.training.memory import largest_layer, memory, parameters
from evo_libra.workload.training.offload import Offload, OffloadHost, ParameterServer
from evo_libra.workload.training.races import PerByte, Traffic
from evo_libra.workload.training.step_time import step_time
from evo_libra.workload.training.training_setup import Setup

SEEDS = st.integers(0, 2**32 - 1)
LINK = 12.5e9
BED = Offload(OffloadHost(15.75e9, 256e9, 230.4e9, 845e9, 3.25e9), ParameterServer(LINK, 375e9, 1.83e12, 26e9))


def random_offload(random: np.random.Generator) -> Offload:
    host = OffloadHost(*(10 ** random.uniform(8, 12, 5)))
    return Offload(host, ParameterServer(*(10 ** random.uniform(8, 12, 4))), bool(random.random() < 0.5))


def placed(random: np.random.Generator, place: int | None = None) -> Plans:
    plans = random_plans(random)
    chosen = random.integers(0, len(PLACEMENTS), len(plans)) if place is None else np.full(1, place)
    return replace(plans, optimizer=chosen)


def used(setup: Setup, plans: Plans) -> FloatArray:
    return np.asarray(sum(memory(setup, plans).values(), np.zeros(1)))


def test_an_iteration_is_the_longest_stream_of_each_pass() -> None:
    setup = Setup(decoder("opt-175b"), accelerator("a100-40gb"), 1024, 128, gradient_bytes=2, offload=BED)
    plan = one_plan(dp=8, micro_batch=16, zero=3, recompute=FULL, optimizer=NETWORK)
    weights = float(parameters(setup, plan).all[0])

    def seconds(traffic: Traffic) -> FloatArray:
        return np.asarray(traffic.size / LINK if isinstance(traffic.operation, PushPull) else 0.0 * traffic.size)

    found = step_time(setup, plan)
    alone = step_time(replace(setup, offload=None), replace(plan, optimizer=np.array([NPU]))).split(seconds)
    # Three quarters of the compute are the backward pass, which computes the forward pass again.
    compute = float(alone["compute"][0])
    pull, ssd = 2.0 * weights / LINK, 14.0 * weights / 26e9
    assert compute * 0.26 < pull < compute * 0.74 < ssd, "the network binds forward, and the SSDs backward"
    expected = pull + ssd + float(alone["head"][0])
    assert float(found(seconds)[0]) == pytest.approx(expected, rel=1e-12)


CHANNELS = Offload(server=ParameterServer(18 * 128e9, np.inf, np.inf, np.inf))
"""The I/O channels of FRED's wafer, 2,304 GB/s together."""


def test_weights_stream_once_for_a_round_of_microbatches() -> None:
    # GPT-3 on FRED's wafer, MP2-DP5-PP2, 48 virtual stages, 2 microbatches: all weights of 2 B come in for the forward
    # pass and again for the backward one, by way of two links of 750 GB/s at each corner of the mesh.
    setup = Setup(decoder("gpt-3-175b"), accelerator("h100-80gb"), 1024, 80, gradient_bytes=2, offload=CHANNELS)
    plan = one_plan(tp=2, pp=2, vp=48, dp=5, micro_batch=8, zero=3, optimizer=IO)
    weights = float(parameters(setup, plan).all[0]) * 4

    def seconds(traffic: Traffic) -> FloatArray:
        return np.asarray(traffic.size / 1500e9 if isinstance(traffic.operation, Streamed) else 0.0 * traffic.size)

    degrees = {"all": 20, "tp": 2, "pp": 2, "cp+dp": 5, "cp": 1, "ep": 1, "dp": 5, "edp": 5}
    sent = [(one, count) for one, count in step_time(setup, plan).sent_by(degrees) if one.group in ("all", "cp+dp")]
    assert {type(one.operation) for one, count in sent if count and float(np.ravel(one.size)[0])} == {Streamed}
    assert sum(count * float(one.size[0]) for one, count in sent if one.group == "all") == pytest.approx(4 * weights)
    forward = next(race for race in step_time(setup, plan).races if race.name == "forward" and race.count.any())
    # Beside compute the mesh takes S at 1,500 GB/s and the channels at 2,304, half of it with each microbatch.
    streamed = next(chain for chain in forward.chains if chain.traffic)
    assert float(streamed.seconds(seconds)[0]) == pytest.approx(2 * weights / 2 / 1500e9)
    channels = next(chain for chain in forward.chains if chain.name == "server link")
    assert float(channels.compute[0]) == pytest.approx(2 * weights / 2 / 2304e9)


def test_what_streams_loads_each_dimension_once() -> None:
    extent = np.array([[20, 4], [1, 5]])
    np.testing.assert_allclose(unit_traffic(Streamed(), extent), [[1, 1], [0, 1 / 4]])


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=40)
def test_faster_hosts_and_servers_are_never_slower(seed: int) -> None:
    random = np.random.default_rng(seed)
    offload = random_offload(random)
    setup, plans, seconds = setup_of(random, offload=offload), placed(random), seconds_of(random)
    assert offload.host is not None
    assert offload.server is not None
    name = str(random.choice(["link", "memory_bandwidth", "flop_rate", "ssd_rate"]))
    faster = replace(
        offload, host=replace(offload.host, **{name: 2.0 * getattr(offload.host, name)}),
        server=replace(offload.server, **{name: 2.0 * getattr(offload.server, name)}),
    )  # fmt: skip
    before, after = (step_time(replace(setup, offload=one), plans)(seconds) for one in (offload, faster))
    assert (after <= before * (1 + 1e-12)).all()


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=40)
def test_beside_other_places_nothing_changes_on_the_npus(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup, plans, seconds = setup_of(random), placed(random, NPU), seconds_of(random)
    offered = replace(setup, offload=replace(random_offload(random), checkpoints=False))
    np.testing.assert_allclose(step_time(offered, plans)(seconds), step_time(setup, plans)(seconds), rtol=1e-14)
    np.testing.assert_array_equal(used(offered, plans), used(setup, plans))
    assert "opt" not in plan_text(plans)


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=40)
def test_states_that_leave_free_memory(seed: int) -> None:
    random = np.random.default_rng(seed)
    offload = random_offload(random)
    setup, plans = setup_of(random, offload=offload), random_plans(random)
    before = used(setup, plans)
    for place in (HOST, NVME, NETWORK, IO):
        moved = replace(plans, optimizer=np.full(1, place))
        assert (memory(setup, moved)["states"] == 0).all()
        # Weights that come layer by layer need the room of a layer, which ZeRO does not count.
        window = 0.0 if place == HOST else 4.0 * largest_layer(setup, plans)
        assert (used(setup, moved) <= (before + window) * (1 + 1e-12)).all()
    kept = replace(setup, offload=replace(offload, checkpoints=False))
    assert (before <= used(kept, plans) * (1 + 1e-12)).all(), "inputs of layers in the host free memory, too"


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=30)
def test_plans_are_computed_each_for_itself_and_parts_add_up(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup, plans, seconds = setup_of(random, offload=random_offload(random)), placed(random), seconds_of(random)
    whole = step_time(setup, plans)
    np.testing.assert_allclose(sum(whole.split(seconds).values()), whole(seconds), rtol=1e-12)
    one, n = np.array([7]), 7
    alone = type(seconds)({key: values[one] for key, values in seconds.items()})
    np.testing.assert_allclose(step_time(setup, plans.select(one))(alone), whole(seconds)[n : n + 1], rtol=1e-12)
    np.testing.assert_allclose(used(setup, plans.select(one)), np.broadcast_to(used(setup, plans), 16)[one], rtol=1e-12)


def test_servers_send_what_npus_would_exchange() -> None:
    setup = Setup(decoder("opt-175b"), accelerator("a100-40gb"), 1024, 128, offload=BED)
    plan = one_plan(dp=8, micro_batch=16, zero=3, recompute=FULL, overlap_dp=True)
    degrees = {"cp+dp": 8, "tp": 1, "cp": 1, "pp": 1, "ep": 1, "dp": 8, "edp": 8}

    def sent(place: int) -> dict[str, float]:
        time = step_time(setup, replace(plan, optimizer=np.array([place])))
        found: dict[str, float] = {}
        for traffic, count in time.sent_by(degrees):
            name = type(traffic.operation).__name__
            found[name] = found.get(name, 0.0) + count * float(np.ravel(traffic.size)[0])
        return {name: bytes_ for name, bytes_ in found.items() if bytes_}

    weights = float(parameters(setup, plan).all[0])
    assert sent(NETWORK) == {"PushPull": pytest.approx(4.0 * weights)}, "weights twice, gradients beside them"
    assert set(sent(NVME)) == {"Collective"}


def test_what_goes_to_a_server_shrinks_with_what_switches_added_up() -> None:
    extent = np.array([[4, 1, 8], [8, 1, 1], [2, 6, 4]])
    np.testing.assert_allclose(unit_traffic(PushPull(), extent), [[1, 0, 1], [1 / 4, 0, 0], [1 / 32, 1, 1 / 8]])


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"zero": 2, "optimizer": NVME}, "zero", "needs zero 3"),
        ({"micro_batch": 8, "optimizer": NETWORK}, "global_batch", "one microbatch of each replica"),
        ({"dp": 1, "micro_batch": 128, "optimizer": NETWORK}, "dp", "several NPUs"),
        ({"optimizer": HOST}, "optimizer", "GB of the host's memory"),
        ({"optimizer": NETWORK}, None, ""),
        ({"optimizer": NVME}, None, ""),
        ({"zero": 2, "optimizer": IO}, "zero", "the optimizer in io needs zero 3"),
        ({"dp": 1, "micro_batch": 1, "optimizer": IO}, None, ""),
    ],
)
def test_what_a_place_needs_of_a_plan(changes: dict[str, int], key: str | None, words: str) -> None:
    setup = Setup(decoder("opt-175b"), accelerator("a100-40gb"), 1024, 128, offload=BED)
    plan = one_plan(**{"dp": 8, "micro_batch": 16, "zero": 3, "recompute": FULL, **changes})
    found = dict(placement_mistakes(setup, plan))
    assert list(found) == ([] if key is None else [key])
    assert words in found.get(str(key), "")
    assert placement_allowed(setup, plan)[0] == (key is None)


def test_seconds_of_bytes_know_no_server_unless_they_are_told() -> None:
    with pytest.raises(KeyError):
        PerByte({})(Traffic("data", "cp+dp", PushPull(), np.ones(1), np.ones(1)))
