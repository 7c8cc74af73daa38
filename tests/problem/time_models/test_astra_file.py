"""What keys of `time` become, and weights of workloads, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evo_libra.errors import InputError
from evo_libra.files.source import Source
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.catalog.technologies import Catalog, Technology
from evo_libra.problem.file.spec import TimeSpec
from evo_libra.problem.file.time import reader_of
from evo_libra.problem.file.workloads import normalised_weights
from evo_libra.problem.time_models.astra_file import astra_fidelity
from evo_libra.timing.fidelity import Fidelity
from evo_libra.timing.names import ALGORITHMS, SCHEDULERS, Policy, Scheduler

SOURCE = Source("p.yaml", {}, {})
CATALOG = Catalog("by-hand", "by hand", (
    Technology("node", 2.0, None, None, None, None, ("ring",), 30e-9),
    Technology("pod", 3.0, 10.0, 7.0, None, None, ("ring", "switch"), 500e-9),
))  # fmt: skip


def made(usual: str = "baseline", **keys: Any) -> Fidelity:
    return astra_fidelity(TimeSpec.model_validate({"model": "astra", **keys}), CATALOG, SOURCE, scheduler=usual)


def test_defaults_are_those_of_astra_sim() -> None:
    found = made()
    assert (found.chunks, found.schedulers, found.active, found.shrinking) == ((64,), (0,), 1, True)
    assert (found.overheads.endpoint, found.overheads.memory) == (10, np.inf)
    assert (found.policy, found.ocs_setting, found.message_on_link) == (None, 0.0, False)
    # Of a technology, its latency in ns.
    assert found.latency.tolist() == [30.0, 500.0]
    natural = {name: ALGORITHMS[found.algorithms[BLOCK_NAMES.index(name), 0]] for name in ("ring", "switch", "mesh-2d")}
    assert natural == {"ring": "ring", "switch": "halving-doubling", "mesh-2d": "ring"}


@pytest.mark.parametrize(("keys", "name", "expected"), [
    ({"chunks": 8}, "chunks", (8,)),
    ({"chunks": (8, 2, 8)}, "chunks", (8, 2)),
    ({"scheduler": "round-robin"}, "schedulers", (SCHEDULERS.index("round-robin"),)),
    ({"usual": "offline-greedy"}, "schedulers", (SCHEDULERS.index("offline-greedy"),)),
    ({"usual": "offline-greedy", "scheduler": "baseline"}, "schedulers", (0,)),
    ({"policy": "smallest-first"}, "policy", Policy.SMALLEST_FIRST),
    ({"active_chunks": 4}, "active", 4),
    ({"collective_optimization": "baseline"}, "shrinking", False),
    ({"ocs_setting_us": 25}, "ocs_setting", 25e-6),
    ({"message_bandwidth": "link"}, "message_on_link", True),
    ({}, "occupies", True),
    ({"scheduler": ("baseline", "themis-paper", "ideal"), "latency_occupies": False}, "occupies", False),
])  # fmt: skip
def test_keys(keys: dict[str, Any], name: str, expected: Any) -> None:
    assert getattr(made(**keys), name) == expected


def test_overheads_and_latencies_are_ns() -> None:
    found = made(endpoint_delay_ns=0, local_memory_GBps=1600, latency_ns=700)
    assert (found.overheads.endpoint, found.overheads.memory) == (0, 1600.0)
    assert found.latency.tolist() == [700.0, 700.0]
    assert made(latency_ns={"pod": 900}).latency.tolist() == [30.0, 900.0]


def test_algorithms_of_blocks() -> None:
    switch = BLOCK_NAMES.index("switch")
    given = made(algorithms={"switch": "direct"}).algorithms
    assert (given.shape[1], ALGORITHMS[given[switch, 0]]) == (1, "direct")
    # Of all, the natural one comes first; a ring has one.
    every = made(algorithms="search").algorithms
    assert [ALGORITHMS[index] for index in every[switch]] == ["halving-doubling", "ring", "direct"]
    assert [ALGORITHMS[index] for index in every[BLOCK_NAMES.index("ring")]] == ["ring"] * 3
    with pytest.raises(InputError, match="found direct; a ring runs ring"):
        made(algorithms={"ring": "direct"})


def test_policies_go_with_schedulers() -> None:
    with pytest.raises(InputError, match="allowed with the scheduler themis-paper: first-come, smallest-first"):
        made(scheduler=Scheduler.THEMIS_PAPER.key, policy="alternate")


def test_latency_that_only_delays_is_of_themis_paper() -> None:
    message = "latency_occupies: found false; with the scheduler round-robin it is true, allowed with false: baseline, "
    with pytest.raises(InputError, match=message):
        made(scheduler=("baseline", "round-robin"), latency_occupies=False)
    with pytest.raises(InputError, match="allowed with the scheduler baseline: first-come, smallest-first"):
        made(latency_occupies=False, policy="alternate")


def test_libras_time_has_no_keys() -> None:
    with pytest.raises(InputError, match="LIBRA's time has bandwidth only; this key belongs to astra and themis"):
        reader_of(TimeSpec(model="libra", chunks=4), CATALOG, SOURCE)


def test_weights_make_up_for_compute_times() -> None:
    # Weights 1 and 3 of 2 s and 4 s: the mean is 14 / 4 = 3.5 s, so that both count 3.5 s times their weight.
    assert normalised_weights(np.array([[1.0], [3.0]]), np.array([2.0, 4.0])).tolist() == [[1.75], [2.625]]
