from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_networks import random_network

from evo_libra.chakra.read import read_traces
from evo_libra.chakra.summary import summarise
from evo_libra.errors import InputError
from evo_libra.plugins.repurpose.assignment import blocks, contiguous
from evo_libra.plugins.repurpose.partition import Partition, partition
from evo_libra.plugins.repurpose.perceptron import Layer, Perceptron
from evo_libra.plugins.repurpose.problem import partition_traces, write_partition
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem

EVEN = np.ones(4)


def network_of(prefix: Path, **more: object) -> Problem:
    found = load_problem({
        "version": 1, "name": "mlp", "npus": more.pop("npus", 4),
        "fabric": {"catalog": "libra", "shape": "RI(2)@package_SW(2)@pod"},
        "workloads": [{"trace": str(prefix), **more}],
        "time": "libra", "objectives": ["time", "cost"], "bandwidth": "search",
    })  # fmt: skip
    assert isinstance(found, Problem)
    return found


def everything_sent() -> Partition:
    """Return two layers of 4 neurons, all of which read all: each worker sends its value to the three others."""
    network = Perceptron((Layer(np.ones((4, 4))), Layer(np.ones((4, 4)))), np.ones((3, 4)))
    owners = contiguous(network, blocks(4, EVEN), EVEN)
    return partition(network, owners, EVEN, [0.0, 0.0])


def test_the_time_is_that_of_a_hand(tmp_path: Path) -> None:
    found, batch = everything_sent(), 250_000_000
    assert [matrix.tolist() for matrix in found.matrices] == [(1 - np.eye(4, dtype=int)).tolist()] * 2
    write_partition(tmp_path / "mlp", found, batch=batch, value_bytes=4)
    # A message is 1 GB, and a worker sends three in each layer, one after the other: one over 50 GB/s to the worker
    # behind its switch, two over 100 GB/s to those that differ from it in the first dimension. A computation without a
    # rate takes a nanosecond.
    problem = network_of(tmp_path / "mlp")
    time = problem.evaluate("RI(2)@package:100_SW(2)@pod:50").objectives[0, 0]
    assert time == pytest.approx(2 * (2 / 100 + 1 / 50 + 1e-9), rel=1e-12)
    # With a roofline of 1 TFLOP/s a layer is 4 weights a sample, 8 operations, of 16 bytes of weights that are read
    # once: 2 ms at 1 TFLOP/s, twice.
    timed = network_of(tmp_path / "mlp", compute_TFLOPS=1, memory_GBps=1000)
    whole = timed.evaluate("RI(2)@package:100_SW(2)@pod:50").objectives[0, 0]
    assert whole == pytest.approx(time + 2 * 8 * batch / 1e12, rel=1e-6)


def test_the_traces_have_the_bytes_of_the_partition(tmp_path: Path) -> None:
    network = random_network(3)
    shares = np.ones(3)
    found = partition(network, contiguous(network, blocks(12, shares), shares), shares, [3e-3, 1e-2])
    paths = write_partition(tmp_path / "mlp", found, batch=5, value_bytes=2)
    assert [path.name for path in paths] == ["mlp.0.et", "mlp.1.et", "mlp.2.et"]
    assert len(read_traces(tmp_path / "mlp")) == 3
    sums = [summarise(path) for path in paths]
    matrix = np.sum(found.matrices, axis=0)
    for worker, summary in enumerate(sums):
        sent = {npu: volume.size for npu, volume in summary.sends.items()}
        assert sent == {npu: 10 * count for npu, count in enumerate(matrix[worker]) if count}
        received = {npu: volume.size for npu, volume in summary.receives.items()}
        assert received == {npu: 10 * count for npu, count in enumerate(matrix[:, worker]) if count}
        assert summary.compute.operations == 10 * found.work[:, worker].sum()
    assert sum(volume.size for one in sums for volume in one.sends.values()) == 10 * found.copies


def test_a_worker_without_neurons_is_refused() -> None:
    network = Perceptron((Layer(np.ones((1, 4))),), np.ones((3, 4)))
    shares = np.ones(2)
    owners = (np.zeros(4, dtype=np.int64), np.zeros(1, dtype=np.int64))
    with pytest.raises(InputError, match="worker 1 has nothing to do"):
        partition_traces(partition(network, owners, shares, [0.0]))
