"""The useful share of time, worked by hand: a stop in 10,000 s, checkpoints of 20 s, restarts of 300 s."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.network.catalog.failures import HOUR, YEAR
from evo_libra.problem.faults import LEAST, Faults, best_interval, spare_enough

FAULTS = Faults(
    per_year={"npu": 1.0, "host": 2.0, "software": 3.0}, repair_h={"npu": 1.0, "host": 10.0, "software": 0.0},
    checkpoint_s=20.0, interval_s=1000.0, restart_s=300.0, host_npus=8, spares=(0, 16),
)  # fmt: skip
STOPS = np.array([1e-4])


def test_pieces_that_fail() -> None:
    # 17 NPUs are on three hosts.
    assert FAULTS.pieces(17) == {"npu": 17, "host": 3, "software": 17}
    found = FAULTS.of_npus(17)
    assert found["npu"].tolist() == pytest.approx([17 / YEAR, 17 / YEAR * HOUR])
    assert found["host"].tolist() == pytest.approx([3 * 2 / YEAR, 3 * 2 / YEAR * 10 * HOUR])
    assert found["software"].tolist() == pytest.approx([17 * 3 / YEAR, 0.0])


def test_work_between_checkpoints() -> None:
    # Daly 2006, complete model, in mean times between stops: work / (e^(work + written) - 1), of 0.1 and 0.002.
    assert FAULTS.working(STOPS).tolist() == pytest.approx([0.1 / 0.1073835], rel=1e-6)
    assert FAULTS.intervals(STOPS).tolist() == [1000.0]
    # No stops: all of the time is work but for checkpoints, 1000 / 1020.
    assert FAULTS.working(np.zeros(1)).tolist() == pytest.approx([1000 / 1020])


def test_the_best_interval() -> None:
    # Young 1974: nearly sqrt(2 x 20 s x 1e4 s) = 632 s. Daly's series in root = sqrt(0.002 / 2) = 0.0316228:
    # 2 root (1 + root / 3 + root^2 / 9) - 0.002 = 0.0632456 x 1.0106520 - 0.002 = 0.0619193.
    assert best_interval(np.array([0.002])).tolist() == pytest.approx([0.0619193], abs=2e-6)
    free = FAULTS.model_copy(update={"interval_s": None})
    assert free.intervals(STOPS).tolist() == pytest.approx([619.19], abs=0.02)
    # exp(work + written) (1 - work) = 1 at work = 1/2 where written is log 2 - 1/2 = 0.1931472.
    assert best_interval(np.array([0.19314718056])).tolist() == pytest.approx([0.5])
    assert best_interval(np.array([100.0])).tolist() == pytest.approx([1.0])


def test_what_is_useful() -> None:
    # 1e-4 x 300 s of restarts, 0.02 units in repair that spares could stand in for, and 0.01 that wait: e^-0.06.
    figures = np.array([STOPS, [0.02], [0.01]])
    work = 0.1 / 0.1073835
    assert FAULTS.useful(figures, 0.0).tolist() == pytest.approx([0.9417645 * work], rel=1e-6)
    # With a spare unit: the job waits while two are in repair; e^-0.02 (1 + 0.02) of the time they are not.
    enough = 0.9801987 * 1.02
    assert FAULTS.useful(figures, np.array([1.0])).tolist() == pytest.approx([0.9607894 * enough * work], rel=1e-6)


def test_spare_units_in_repair() -> None:
    # Poisson: e^-2, e^-2 (1 + 2), e^-2 (1 + 2 + 2) for 0, 1 and 2 spare units and 2 in repair in the mean.
    found = spare_enough(np.full(3, 2.0), np.array([0.0, 1.0, 2.0]))
    assert found.tolist() == pytest.approx([0.1353353, 0.4060058, 0.6766764], rel=1e-6)


def test_no_share_is_nothing() -> None:
    assert FAULTS.useful(np.array([[1.0], [1e3], [1e3]]), 0.0).tolist() == [LEAST]
    assert FAULTS.useful(np.array([[0.0], [1e6], [0.0]]), np.array([1.0])).tolist() == pytest.approx([LEAST], rel=0.1)
