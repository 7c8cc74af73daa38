"""What the gain of memory expansion hangs on, and the largest difference of the clusters of the sweep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

from evo_libra.arrays import FloatArray
from evo_libra.validation import comet
from evo_libra.workload.plans.plans import Plans

EXPERIMENT = Path(__file__).parents[2] / "experiments" / "comet.yaml"
yaml = YAML(typ="safe")


@pytest.mark.slow
def test_gradients_scattered_once_a_step_give_the_gain_of_the_abstract(monkeypatch: pytest.MonkeyPatch) -> None:
    """The abstract of arXiv 2211.16648 says up to 1.4; how often its ZeRO scatters is not known."""

    def once(self: Plans, global_batch: int) -> FloatArray:
        return np.ones(len(self.microbatches(global_batch)))

    monkeypatch.setattr(Plans, "scatters", once)
    monkeypatch.setattr(comet, "sweep", comet.sweep.__wrapped__)
    assert comet.gain(comet.AT) == pytest.approx(comet.GAIN, abs=0.05)


@pytest.mark.slow
def test_up_to_eight_sequences_in_a_microbatch_gain_more_than_the_abstract_says() -> None:
    rows = {row.id: row.ours for source in comet.COMET for row in source.rows()}
    one, _, several, difference = rows.values()
    assert one < comet.GAIN < several
    assert difference == pytest.approx(comet.fastest(between=12.5) / comet.fastest("h100-80gb", 100, 512))
    assert 5.9 < difference < 6.0


def test_more_memory_and_faster_networks_never_slow_the_fastest_plan() -> None:
    # So the ends of the capacities hold the largest and the smallest time of each cluster.
    times = [comet.fastest("h100-80gb", 50, capacity) for capacity in comet.CAPACITIES]
    assert times == sorted(times, reverse=True)
    assert comet.fastest(between=12.5) > comet.fastest(between=50)


def test_the_experiment_has_the_clusters_of_the_row() -> None:
    sweep = yaml.load(EXPERIMENT.read_text())["runs"]["clusters"]
    shapes = [
        f"SW(8)@node:{inside}_SW(128)@pod:{gbps:g}" for inside in comet.BOXES.values() for gbps in comet.INTER_GBPS
    ]
    assert sweep["zip"]["fabric.shape"] == shapes
    assert sweep["zip"]["npu"] == [npu for npu in comet.BOXES for _ in comet.INTER_GBPS]
    assert tuple(sweep["grid"]["memory.expansion.capacity_GB"]) == comet.CAPACITIES
