"""The comparison at equal accuracy: its public network, what it picks, and the separate parts that it trains."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import repurpose_accuracy
from repurpose_accuracy import ALLOWED, NETWORKS, least, problem_of, without_moving
from repurpose_weights import SIZES, train

from evo_libra.plugins.repurpose.assignment import contiguous

PAGE = Path(__file__).parents[2] / "docs" / "studies" / "repurpose.md"


def test_the_public_network_takes_9_of_500_digits_for_another_one() -> None:
    problem = problem_of(NETWORKS["UCI digits"], 0)
    assert problem.network.error_rate() == 9 / 500
    assert [layer.outputs for layer in problem.network.layers] == [64, 32, 10]


def test_the_fewest_bytes_are_those_of_a_partition_that_is_good_enough() -> None:
    sent = [(100.0, 0.02), (80.0, 0.03), (60.0, 0.2)]
    assert [least(sent, allowed) for allowed in (0.01, 0.02, 0.03, 1.0)] == [None, 100.0, 80.0, 60.0]


@pytest.mark.slow
def test_partitions_send_less_the_more_may_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repurpose_accuracy, "ERRORS", (0.0, 0.1))
    problem = problem_of(None, 0)
    (all_sent, rate), (fewer, worse) = without_moving(
        problem, contiguous(problem.network, problem.family.inputs, problem.family.shares)
    )
    assert (all_sent, fewer) == (1896, 1388)
    assert rate <= worse


@pytest.mark.slow
def test_the_page_has_what_partitions_without_moving_send() -> None:
    lines = PAGE.read_text().partition("## At equal accuracy")[2].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| UCI")]
    problem = problem_of(NETWORKS["UCI digits"], 0)
    sent = without_moving(problem, contiguous(problem.network, problem.family.inputs, problem.family.shares))
    assert [float(row[3]) for row in rows] == [least(sent, 0.018 + more) for more in ALLOWED]


def test_separate_parts_have_no_weights_between_them() -> None:
    random = np.random.default_rng(0)
    masks = [random.random((b, a)) < 0.5 for a, b in itertools.pairwise(SIZES)]
    layers = train(random.random((64, SIZES[0])), random.integers(0, 10, 64), random, masks)
    for layer, mask in zip(layers, masks, strict=True):
        assert (layer.weights[~mask] == 0.0).all()
        assert (layer.weights[mask] != 0.0).all()
