"""FRED's runs: what follows from their files, and from strategies."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.validation.fred_runs import MESH, RUNS, SWEEPS, TREE_C, TREE_D, FredRun, FredSweep
from evo_libra.workload.training.training_step import TrainingStep

BY_NAME = {run.name: run for run in RUNS}


def step_of(run: FredRun) -> TrainingStep:
    problem = load_problem(run.problem)
    assert isinstance(problem, Problem)
    (loop,) = problem.time.loops
    assert isinstance(loop.workload, TrainingStep)
    return loop.workload


def test_resnet_is_themis_compute_and_an_exposed_all_reduce() -> None:
    # Compute of 16 images: 0.5 (105.8 + 183.7) us. The all-reduce of 60,192,808 gradients of 2 B sends 2 x 19/20 of
    # 120,385,616 B: at 1,500 GB/s on the mesh, at 3,000 on tree C, and 120,385,616 B at 3,000 GB/s on tree D.
    seconds = BY_NAME["ResNet-152"].seconds()
    assert seconds[MESH] == pytest.approx(144.75e-6 + 152.488e-6, rel=1e-5)
    assert seconds[TREE_C] == pytest.approx(144.75e-6 + 76.244e-6, rel=1e-5)
    assert seconds[TREE_D] == pytest.approx(144.75e-6 + 40.129e-6, rel=1e-5)


def test_compute_of_resnet_is_the_same_in_three_networks_of_themis() -> None:
    # Compute over the exposed all-reduce (figure 12), times that of 120,385,616 B between 100 and 1,000 MiB (figure 8).
    fractions = [(0.0439 + 0.0762, 0.8799), (0.0779 + 0.1354, 0.7867), (0.0743 + 0.1290, 0.7969)]
    ends = [(1846.9, 18326.7), (931.4, 9174.4), (992.8, 9781.5)]
    place = (120_385_616 / 2**20 - 100) / 900
    found = [
        (low + place * (high - low)) * compute / exposed
        for (low, high), (compute, exposed) in zip(ends, fractions, strict=True)
    ]
    assert found == pytest.approx([289.5] * 3, rel=0.004)


def test_groups_of_three_leave_two_npus_idle() -> None:
    step = step_of(BY_NAME["Transformer-17B"])
    assert step.parallelism == {"tp": 3, "cp": 1, "pp": 2, "vp": 1, "ep": 1, "dp": 3}
    assert step.layouts["tp"] == (("tp", 3), ("cp", 1), ("pp", 2), ("dp", 3), ("idle", 2))
    assert "leaves NPUs idle" in step.unexported


def test_all_reduces_of_tensor_parallel_groups() -> None:
    # 4 of each of 39 layers for 8 microbatches of 2 x 256 tokens: 1,248 all-reduces of 512 x 4,256 x 2 B.
    step = step_of(BY_NAME["Transformer-17B"])
    sent = [
        (one, count) for one, count in step.time.sent_by(step.degrees) if one.group == "tp" and one.part == "tensor"
    ]
    assert sum(count for _, count in sent) == 1248
    assert {float(np.ravel(one.size)[0]) for one, _ in sent} == {512 * 4256 * 2}


@pytest.mark.parametrize(("name", "weights"), [("GPT-3", 175e9), ("Transformer-1T", 1e12)])
def test_streaming_alone_would_gain_what_the_mesh_loses_of_the_channels(name: str, weights: float) -> None:
    # With endless compute only the stream is left: 2 x 2 B of each weight at 1,500 or 2,304 GB/s, and other traffic.
    seconds = BY_NAME[name].seconds(faster=1e6)
    assert seconds[MESH] > 4 * weights / 1500e9
    assert seconds[TREE_D] > 4 * weights / 2304e9
    assert seconds[MESH] / seconds[TREE_D] == pytest.approx(2304 / 1500, rel=0.25)


@pytest.mark.parametrize("name", ["ResNet-152", "Transformer-17B"])
def test_runs_that_do_not_stream_are_within_a_tenth(name: str) -> None:
    run = BY_NAME[name]
    assert run.speedups() == pytest.approx(run.published, rel=0.1)


def test_communication_of_gpt_3_is_what_its_links_are_faster() -> None:
    # Streams hide; all groups have 750 GB/s on the mesh, PP pairs 375, and 3,000 on tree D.
    assert BY_NAME["GPT-3"].exposed_gain() == pytest.approx(4.1, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_faster_npus_give_the_published_speedup(run: FredRun) -> None:
    factor = run.missing_speed()
    assert run.speedups(factor)[1] == pytest.approx(run.published[1], rel=0.01)
    assert run.speedups(0.9 * factor)[1] < run.published[1]


@pytest.mark.slow
@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep.name)
def test_averages_over_strategies(sweep: FredSweep) -> None:
    found = sweep.strategies()
    assert len({one.name for one in found}) == 18
    assert all(one.compute <= one.seconds[1] * (1 + 1e-12) <= one.seconds[0] * (1 + 1e-9) for one in found)
    time, exposed = sweep.gains()
    assert 1 < time < exposed
    # Compute that takes a part k of its time gives the published average: (C / k + E) / (C / k + e).
    compute = sum(one.compute for one in found)
    mesh, tree = (sum(one.seconds[k] for one in found) - compute for k in (0, 1))
    left = compute / sweep.missing_speed()
    assert (left + mesh) / (left + tree) == pytest.approx(sweep.speedup)
    assert sweep.beside_fastest() >= 1
