"""The problem `repurpose`: its objectives, its options, and what it says of a design."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evo_libra.errors import InputError
from evo_libra.experiment.run.origin import build, digest_of, origin_of, with_assignments
from evo_libra.explain.references import reference_points
from evo_libra.problem.file.registry import load_problem, problem_names

SMALL = ("weights=[12,10,6]", "workers=3")


def loaded(*assignments: str) -> Any:
    return load_problem("repurpose", assignments)


def test_the_packaged_weights_read_digits() -> None:
    problem = loaded()
    assert "repurpose" in problem_names()
    assert [one.name for one in problem.objectives] == ["traffic", "error", "imbalance", "error-rate"]
    assert problem.network.error_rate() == pytest.approx(0.042, abs=0.002)


@pytest.mark.slow
def test_objectives_are_those_of_the_partition_that_a_design_stands_for() -> None:
    problem = loaded(*SMALL)
    genes = problem.genome.sample(np.random.default_rng(0), 40)
    genes[:-1, 0] = problem.genome.upper[0]
    found, described = problem.evaluate_genes(genes).objectives, problem.describe(genes)
    assert found[0, 0] == problem.options.bytes
    assert described["copies"][0] == 0
    for n in range(40):
        prices = [described[f"price_{layer}"][n] for layer in (1, 2)]
        one = problem.partition(prices, described["slack_percent"][n])
        assert described["copies"][n] == one.copies
        assert found[:, n].tolist() == [max(one.copies, 1) * 4.0, max(one.error, 0.01), one.imbalance]
        alone = problem.evaluate_genes(genes[:, n : n + 1]).objectives[:, 0]
        assert alone.tolist() == found[:, n].tolist()


def test_references_are_computed_as_designs_are() -> None:
    problem = loaded(*SMALL, "bytes=2")
    points = {one.name: one for one in reference_points(problem)}
    assert list(points) == ["all sent", "contiguous", "random", "direct"]
    assert points["all sent"].figures["error_percent"] == 1.0
    assert points["all sent"].figures["traffic_B"] == 2 * (12 + 10) * 2
    assert all(one.figures["error_percent"] <= 10.0 for one in points.values())
    assert all(points[name].figures["traffic_B"] < points["all sent"].figures["traffic_B"] for name in list(points)[1:])


def test_options_make_another_problem(tmp_path: Path) -> None:
    first = origin_of("repurpose", SMALL)
    second = with_assignments(first, ["workers=[1, 2]"])
    assert build(second).family.shares.tolist() == [1.0, 2.0]
    assert digest_of(build(first)) != digest_of(build(second))
    weights = tmp_path / "w.npz"
    inputs = np.random.default_rng(0).random((9, 4))
    np.savez(weights, W1=np.eye(4), W2=np.ones((3, 4)), inputs=inputs)
    mine = origin_of("repurpose", ["weights=w.npz"], tmp_path)
    before = digest_of(build(mine))
    np.savez(weights, W1=np.eye(4), W2=np.ones((3, 4)), inputs=2.0 * inputs)
    assert digest_of(build(mine)) != before


@pytest.mark.parametrize(("assignments", "sentence"), [
    (["worker=3"], "did you mean 'workers'?"),
    (["workers=0"], "workers: found 0"),
    (["objectives=[traffic, eror]"], "did you mean 'error'?"),
    (["objectives=[traffic, traffic]"], "names one twice"),
    ([*SMALL, "objectives=[error-rate]"], "which the weights lack"),
    (["weights=none.npz"], "none.npz: cannot be read"),
])  # fmt: skip
def test_wrong_options_are_said_in_one_sentence(assignments: list[str], sentence: str) -> None:
    with pytest.raises(InputError) as error:
        _ = loaded(*assignments).objectives
    assert sentence in str(error.value)
    assert len(error.value.mistakes) == 1


def test_a_problem_without_options_refuses_them() -> None:
    with pytest.raises(InputError, match="with `configured`, which 'two-tier' lacks"):
        load_problem("two-tier", ["npus=2"])
