"""Units of the sections of problem files, by hand: what a figure with its unit becomes in SI."""

from __future__ import annotations

import pytest

from evo_libra.network.catalog.hosts import HostSpec
from evo_libra.problem.file.hardware_spec import ExpansionSpec
from evo_libra.problem.file.offload import expansions_of_file, offload_of
from evo_libra.problem.file.training_spec import OptimizerSpec
from evo_libra.workload.training.expansion import NO_EXPANSION, Expansion
from evo_libra.workload.training.offload import OffloadHost, ParameterServer

HOST = HostSpec.model_validate({
    "npus": 4, "link_GBps": 32, "memory_GB": 512, "memory_GBps": 200, "GFLOPS": 1000, "ssds": 8, "ssd_GBps": 3.0,
})  # fmt: skip


def test_an_npu_has_its_part_of_a_host() -> None:
    # A link of its own, and a fourth of memory, of its bandwidth, of FLOP/s, and of 8 SSDs of 3 GB/s.
    found = offload_of(OptimizerSpec(placement="host"), HOST)
    assert found is not None
    assert found.host == OffloadHost(32e9, 128e9, 50e9, 250e9, 6e9)
    assert (found.server, found.checkpoints) == (None, False)
    assert offload_of(OptimizerSpec(placement="npu"), HOST) is None


def test_checkpoints_alone_are_offloaded_too() -> None:
    found = offload_of(OptimizerSpec(placement="npu", checkpoints="host"), HOST)
    assert found is not None
    assert found.checkpoints


def test_servers_have_the_rates_of_all_of_them() -> None:
    own = {"memory_GBps": 200, "GFLOPS": 1000, "ssds": 2, "ssd_GBps": 3.0}
    spec = OptimizerSpec.model_validate({
        "placement": "network", "server": {"count": 3, "link_GBps": 50, "host": own},
    })  # fmt: skip
    found = offload_of(spec, None)
    assert found is not None
    assert found.server == ParameterServer(150e9, 600e9, 3000e9, 18e9)
    assert found.host is None


@pytest.mark.parametrize(("capacity", "bandwidth", "shared", "expected"), [
    (64, 32, 1, (Expansion(64e9, 32e9),)),
    (64, 32, 4, (Expansion(64e9, 8e9),)),  # NPUs share the bandwidth
    ((0, 64), (32, 16), 1, (NO_EXPANSION, Expansion(64e9, 16e9), Expansion(64e9, 32e9))),
])  # fmt: skip
def test_choices_of_expansion_memory(
    capacity: object, bandwidth: object, shared: int, expected: tuple[Expansion, ...]
) -> None:
    spec = ExpansionSpec.model_validate({
        "capacity_GB": capacity, "bandwidth_GBps": bandwidth, "shared_by": shared, "price_usd": 1.0, "power_W": 1.0,
    })  # fmt: skip
    assert expansions_of_file(spec) == expected
    assert expansions_of_file(None) == ()
