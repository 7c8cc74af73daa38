"""Streams of hosts and parameter servers, and what plans with them must keep to: bytes of 1e9 weights by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.plans.plan_rules import host_bytes, host_limit, placement_allowed, placement_mistakes, plan_text
from evo_libra.workload.plans.plans import EVERY_LAYER, HOST, NETWORK, NPU, NVME, Plans, one_plan
from evo_libra.workload.plans.recomputation import FULL
from evo_libra.workload.training.memory import memory, parameters, stage_activations
from evo_libra.workload.training.offload import (
    HostUpdate,
    Offload,
    OffloadHost,
    OffloadStreams,
    ParameterServer,
    Stream,
    host_memory,
    in_window,
    offload_streams,
    on_npu,
)
from evo_libra.workload.training.step_time import streams_of
from evo_libra.workload.training.training_setup import Setup

MACHINE = OffloadHost(link=10e9, memory_capacity=40e9, memory_bandwidth=100e9, flop_rate=1e12, ssd_rate=5e9)
SERVER = ParameterServer(link=20e9, memory_bandwidth=200e9, flop_rate=2e12, ssd_rate=4e9)
BOTH = Offload(MACHINE, SERVER, checkpoints=True)
NONE = np.zeros(1)
BILLION = np.array([1e9])


def at(place: int, **plan: int) -> Plans:
    return one_plan(optimizer=place, **plan)


def seconds(streams: tuple[Stream, ...]) -> dict[str, float]:
    found = {stream.name: float(np.ravel(stream.seconds)[0]) for stream in streams}
    return {name: time for name, time in found.items() if time}


def of(place: int, offload: Offload = BOTH, served: float = 4e9, activations: float = 0.0) -> list[dict[str, float]]:
    """Return the streams of both passes and of the update, of 1e9 weights of an NPU and those of all servers."""
    found = offload_streams(offload, at(place), BILLION, np.array([served]), np.array([activations]))
    return [seconds(streams) for streams in (found.forward, found.backward, found.update)]


def test_an_optimizer_in_the_host_takes_gradients_and_returns_weights() -> None:
    # The update: 2 bytes of a gradient down (and of a weight up, at the same time) at 10 GB/s. In memory the gradient
    # comes in, 2 x (12 + 2) bytes are read and written, and 2 go out: 32 at 100 GB/s. 17 FLOP of a weight at 1 TFLOP/s.
    assert of(HOST) == [{}, {}, pytest.approx({"host link": 0.2, "host memory": 0.32, "host compute": 0.017})]


def test_weights_on_ssds_come_with_each_pass() -> None:
    # 2 bytes of a weight from the SSD at 5 GB/s, through memory twice, and over the link with each pass. The update
    # reads and writes 14 bytes of an SSD, and 2 + 12 + 28 + 12 + 2 = 56 of memory.
    passed = {"host link": 0.2, "host SSD": 0.4, "host memory": 0.04}
    found = of(NVME)
    assert found[:2] == [pytest.approx(passed)] * 2
    assert found[2] == pytest.approx({"host SSD": 2.8, "host memory": 0.56, "host compute": 0.017})


def test_a_serial_update_reads_computes_and_writes_in_turn() -> None:
    # In turn SSDs have 2 x 5 GB/s for reads, then for writes: 12 + 4 bytes of states and gradient are read, 12 + 2
    # written, 3 s, and between them memory takes 0.56 s, longer than 1e9 weights at 4e9 per second. Gradients of 4
    # bytes are written in the backward pass, more than the weights that are read.
    slow = replace(MACHINE, update=HostUpdate(rate=4e9, serial=True, gradient=4.0))
    _, backward, update = of(NVME, replace(BOTH, host=slow))
    assert update == pytest.approx({"host SSD": 3.56, "host memory": 0.56, "host compute": 0.25})
    assert backward["host SSD"] == pytest.approx(0.8)
    assert "host SSD" not in of(HOST, replace(BOTH, host=slow))[2]
    # In a pipeline the longer direction counts: 16 bytes are read.
    assert of(NVME, replace(BOTH, host=replace(MACHINE, update=HostUpdate(gradient=4.0))))[2]["host SSD"] == 3.2


def test_inputs_of_layers_go_to_the_host_and_come_back() -> None:
    # 5 GB: beside the weights, which come the other way, forwards; with them backwards.
    forward, backward, _ = of(NVME, activations=5e9)
    assert (forward["host link"], backward["host link"]) == (pytest.approx(0.5), pytest.approx(0.7))
    assert of(NPU, activations=5e9)[:2] == [pytest.approx({"host link": 0.5})] * 2


def test_servers_send_weights_and_take_gradients() -> None:
    # 4e9 weights: 2 bytes over the link at 20 GB/s each way. Forwards 2 bytes from SSDs and 4 of memory; backwards an
    # update with 14 bytes of SSDs and 4 + 56 of memory, and 17 FLOP.
    forward, backward, update = of(NETWORK)
    assert forward == pytest.approx({"server link": 0.4, "server SSD": 2.0, "server memory": 0.08})
    assert backward == pytest.approx(
        {"server link": 0.4, "server SSD": 14.0, "server memory": 1.2, "server compute": 0.034}
    )
    assert update == {}
    assert of(HOST, Offload(None, SERVER)) == [{}, {}, {}]


def test_a_host_without_ssds_has_no_such_stream() -> None:
    assert "host SSD" not in of(NVME, Offload(replace(MACHINE, ssd_rate=None)))[0]


def test_streams_of_both_kinds_run_side_by_side() -> None:
    one, two = (OffloadStreams((Stream(name, NONE),), (), (Stream(name, BILLION),)) for name in ("a", "b"))
    both = one.beside(two)
    assert [stream.name for stream in both.forward] == [stream.name for stream in both.update] == ["a", "b"]
    assert both.backward == ()


@pytest.mark.parametrize(("place", "bytes_", "window", "stays"), [
    # States of 12 bytes and a gradient of 2 in the host; 8 bytes of buffers where they are on SSDs.
    (NPU, 0.0, False, True), (HOST, 14e9, False, False), (NVME, 8e9, True, False), (NETWORK, 0.0, True, False),
])  # fmt: skip
def test_what_lies_where(place: int, bytes_: float, window: bool, stays: bool) -> None:  # noqa: FBT001 - a case
    waiting = np.array([3e9])
    assert host_memory(at(place), BILLION, waiting).tolist() == [bytes_ + 3e9]
    assert (in_window(at(place)).tolist(), on_npu(at(place)).tolist()) == ([window], [stays])


MODEL = decoder_of(
    "small",
    DecoderSpec.model_validate({
        "layers": 8, "hidden": 64, "heads": 8, "feed_forward": 256, "gated": False, "vocabulary": 1000,
        "source": "made up", "experts": {"count": 4, "per_token": 2, "feed_forward": 32},
    }),
)  # fmt: skip
SETUP = Setup(MODEL, accelerator("h100-80gb"), 128, 16, offload=BOTH)


def broken(plan: Plans, setup: Setup = SETUP) -> list[str]:
    keys = [key for key, _ in placement_mistakes(setup, plan)]
    assert placement_allowed(setup, plan).tolist() == [not keys]
    none = plan.take(np.array([], dtype=np.int64))  # other rules may leave no plan
    assert placement_allowed(setup, none).tolist() == []
    return keys


@pytest.mark.parametrize(("plan", "keys"), [
    (at(NPU, dp=4), []), (at(HOST, dp=4), []), (at(HOST, dp=4, zero=3), []),
    # Weights that come layer by layer are sharded.
    (at(NVME, dp=4, zero=2), ["zero"]), (at(NVME, dp=4, zero=3), []),
    # Servers add up one microbatch of each replica: 16 sequences of 4 x 4.
    (at(NETWORK, dp=4, zero=3, micro_batch=4), []), (at(NETWORK, dp=4, zero=3, micro_batch=2), ["global_batch"]),
    # They need copies: of weights that one NPU has alone there is nothing to add up.
    (at(NETWORK, tp=4, zero=3, micro_batch=16), ["dp"]), (at(NETWORK, cp=2, zero=3, micro_batch=16), []),
    (at(NETWORK, dp=2, ep=2, zero=3, micro_batch=8), ["dp"]),
    (at(NETWORK, tp=2, dp=2, ep=2, zero=3, micro_batch=8), []),
    (at(NETWORK, tp=2, dp=2, ep=4, zero=3, micro_batch=8), ["dp"]), (at(NPU, tp=4, micro_batch=16), []),
])  # fmt: skip
def test_what_a_place_needs_of_a_plan(plan: Plans, keys: list[str]) -> None:
    assert broken(plan) == keys


def test_a_host_holds_what_its_npus_need() -> None:
    # 14 bytes of each weight of an NPU, a quarter of them with ZeRO, and what waits of fully recomputed layers: 16 / 4
    # microbatches are more than the one stage, of 8 layers with 128 x 64 inputs of 2 bytes.
    held = 8 * (16_384 + 256) + 128_000 + 8 * 4 * 4_096
    assert host_bytes(SETUP, at(HOST, dp=4)).tolist() == [14 * held]
    assert host_bytes(SETUP, at(HOST, dp=4, zero=1)).tolist() == [14 * held / 4]
    assert host_bytes(SETUP, at(HOST, dp=4, recompute=FULL)).tolist() == [14 * held + 8 * 128 * 64 * 2]
    assert host_limit(SETUP) == 40e9
    assert host_limit(replace(SETUP, offload=Offload())) == np.inf
    less = replace(SETUP, offload=Offload(replace(MACHINE, memory_capacity=14.0 * held - 1)))
    assert broken(at(HOST, dp=4), less) == ["optimizer"]
    enough = replace(SETUP, offload=Offload(replace(MACHINE, memory_capacity=14.0 * held)))
    assert broken(at(HOST, dp=4), enough) == []


def test_servers_have_the_weights_of_every_stage_and_part() -> None:
    # Of 32 NPUs 4 hold the same dense weights, and 2 x 4 / 2 the same experts: all of them are 8 times those of an NPU.
    # 2 bytes of each at 20 GB/s.
    plan = at(NETWORK, tp=2, pp=4, dp=4, ep=2, zero=3, micro_batch=4)
    held = parameters(SETUP, plan)
    served = float(8 * held.dense[0] + 8 * held.experts[0])
    found = seconds(streams_of(SETUP, plan, held).forward)
    assert found["server link"] == pytest.approx(2 * served / 20e9, rel=1e-12)


def test_activations_of_some_layers_wait_in_the_host() -> None:
    """4 of 8 layers: half of what a microbatch keeps goes down the link with its forward pass and comes up again.

    The NPU keeps the other half, and two layers that are on their way; of all 8 layers these two remain.
    """
    setup = replace(SETUP, offload=Offload(MACHINE))
    plain, half, every = (at(NPU, pp=1, offloaded=layers) for layers in (0, 4, EVERY_LAYER))
    kept = float(stage_activations(setup, plain)[0])
    assert seconds(streams_of(setup, plain, parameters(setup, plain)).forward) == {}
    found = streams_of(setup, half, parameters(setup, half))
    assert seconds(found.forward) == seconds(found.backward) == pytest.approx({"host link": kept / 2 / 10e9})
    used = [float(memory(setup, plan)["activations"][0]) for plan in (plain, half, every)]
    assert used == pytest.approx([kept, kept / 2 + kept / 4, kept / 4])
    assert [float(host_bytes(setup, plan)[0]) for plan in (plain, half, every)] == pytest.approx([0, kept / 2, kept])
    assert [plan_text(plan).split()[-1] for plan in (plain, half, every)] == ["zero0", "offload4", "offload-all"]


def test_what_waits_has_to_fit_the_host() -> None:
    small = replace(SETUP, offload=Offload(replace(MACHINE, memory_capacity=1e6)))
    plan = at(NPU, offloaded=8)
    ((key, why),) = placement_mistakes(small, plan)
    assert key == "offload_layers"
    assert why.startswith("what waits for the backward pass needs 0.0 GB of the host's memory")
