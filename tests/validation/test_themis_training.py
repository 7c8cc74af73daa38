"""Training under Themis: what the problems of the package are made of, by hand, and that the paper's order holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evo_libra import load_problem
from evo_libra.experiment.file.expansion import load_experiment
from evo_libra.problem.problem import Problem
from evo_libra.validation.themis import BASELINE, SMALLEST
from evo_libra.validation.themis_training import (
    IDEAL,
    PROBLEMS,
    designs,
    iteration_times,
    published_bars,
    published_speedups,
    training_speedups,
)

SENT = {"GNMT": 267_788_288, "DLRM": 1_329_694_368}
"""Bytes of gradients, which all 1,024 NPUs reduce."""


def compute_of(workload: str) -> float:
    problem = load_problem(PROBLEMS[workload])
    assert isinstance(problem, Problem)
    return sum(loop.workload.compute for loop in problem.time.loops)


@pytest.mark.parametrize("workload", SENT)
def test_compute_is_that_of_one_bar(workload: str) -> None:
    # Of the bar Ideal on 2D-SW_SW: communication takes 2 (1 - 1/1024) of the bytes over (150 + 100) 2^30 B/s.
    forward, backward, exchanged, reduced = published_bars(workload)[IDEAL][:, 0]
    communication = 2 * SENT[workload] * (1 - 1 / 1024) / (250 * 2**30)
    expected = communication * (forward + backward) / (exchanged + reduced)
    assert compute_of(workload) == pytest.approx(expected, rel=1e-5)


def test_compute_of_three_bars_is_nearly_that_of_one() -> None:
    # 287.2 us by the bar of the other models, where 120,385,616 B take 895.9 us; 289.5 us by three of the baseline.
    forward, backward, exchanged, reduced = published_bars("ResNet-152")[IDEAL][:, 0]
    communication = 2 * 120_385_616 * (1 - 1 / 1024) / (250 * 2**30)
    assert communication * (forward + backward) / (exchanged + reduced) == pytest.approx(287.2e-6, rel=1e-3)
    assert compute_of("ResNet-152") == pytest.approx(289.5e-6, rel=1e-9)


def test_two_parts_of_a_bar_give_the_same_compute() -> None:
    # Transformer-1T reduces 805 MB 12 times and gathers as much twice, which is 13 reductions, among 128 NPUs; then
    # 240 MB among 8 over the 100 2^30 B/s of the last dimension. The first part sets the compute, the second agrees.
    forward, backward, exchanged, reduced = published_bars("Transformer-1T")[IDEAL][:, 0]
    inside = 13 * 2 * 805_306_368 * (1 - 1 / 128) / (250 * 2**30)
    outside = 2 * 240_316_416 * (1 - 1 / 8) / (100 * 2**30)
    found = compute_of("Transformer-1T")
    assert found == pytest.approx(inside / exchanged * (forward + backward), rel=1e-5)
    assert found == pytest.approx(outside / reduced * (forward + backward), rel=1e-3)


@pytest.mark.slow
def test_the_experiment_has_the_networks_of_the_paper() -> None:
    experiment = load_experiment(Path(__file__).parents[2] / "experiments" / "themis.yaml")
    assert list(dict.fromkeys(run.problem["fabric"]["shape"] for run in experiment.runs)) == list(designs().values())
    assert {run.name for run in experiment.runs} == set(PROBLEMS.values())


def test_a_design_is_table_2() -> None:
    # 3000, 1400, 1200 and 800 Gb/s of 2^30 bit/s.
    assert designs()["4D-Ring_FC_Ring_SW"] == (
        "RI(4)@chiplet:402.653_FC(8)@package:187.905_RI(4)@node:161.061_SW(8)@pod:107.374"
    )
    assert designs()["2D-SW_SW"] == "SW(16)@package:161.061_SW(64)@pod:107.374"


@pytest.mark.parametrize("workload", PROBLEMS)
def test_no_scheduler_beats_the_ideal(workload: str) -> None:
    times = iteration_times(workload)
    assert (times[BASELINE] > times[SMALLEST]).all()
    assert (times[SMALLEST] > times[IDEAL]).all()


def test_an_iteration_by_hand() -> None:
    # GNMT on 2D-SW_SW computes 748,353 + 1,234,171 ns; the ideal all-reduce takes 2 (1 - 1/1024) 267,788,288 B over
    # 161.061 + 107.374 B/ns, 1,993,233 ns.
    assert iteration_times("GNMT")[IDEAL][0] == pytest.approx(3_975_757e-9, rel=1e-6)


@pytest.mark.parametrize("scheduler", [SMALLEST, IDEAL])
def test_published_speedups_are_read_as_published(scheduler: str) -> None:
    # Section 6.2: ResNet-152 up to 2.25; and here as many networks.
    found = published_speedups("ResNet-152")[scheduler]
    assert found.shape == training_speedups("ResNet-152")[scheduler].shape == (6,)
    assert np.argmax(found) == list(designs()).index("3D-SW_SW_SW_homo")
    assert round(float(published_speedups("ResNet-152")[SMALLEST].max()), 2) == 2.25
