from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from evo_libra.collective import Dispatch, NextStage, Pattern
from evo_libra.errors import InputError
from evo_libra.network.fabrics.traffic import Traffic
from evo_libra.problem.switch_fabrics.time import SLOWEST, FabricTime
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.workload.layers.iteration_time import IterationTime, Load, Message

LAYOUT = (("tp", 8), ("ep", 4), ("dp", 2), ("pp", 4))
DEGREES = {"tp": 8, "ep": 4, "dp": 2, "pp": 4, "ep+dp": 8, "tp+dp": 16, "all": 256}


def loop(streams: tuple[tuple[str, Load], ...], sizes: list[float], compute: float = 1.0) -> WeightedLoop:
    layouts = {**dict.fromkeys(DEGREES, LAYOUT), "all": ()}
    time = IterationTime(streams, compute, np.array(sizes), ())
    return WeightedLoop(cast("Any", None), DEGREES, layouts, weight=2.0, time=time)


def test_a_step_by_hand() -> None:
    """Of 8 GB in groups of 8, NPUs send 7 GB; of a message of 1 GB all, of 4 GB to 4 others 3 GB, in servers 7/8 of 1.

    With 1, 2 and 3 s per GB that is 7, 2 and 9 s, and in the server 0.875 GB at 100 GB/s; compute is 1 s, twice.
    """
    streams: tuple[tuple[str, Load], ...] = (
        ("ep+dp", Pattern.SHRINKING), ("pp", NextStage()), ("ep", Pattern.ALL_TO_ALL), ("tp", Pattern.SHRINKING)
    )  # fmt: skip
    time = FabricTime("", (loop(streams, [8e9, 1e9, 4e9, 1e9]),), server=8, server_rate=100e9)
    assert time.traffic == (Traffic("data", 8, 8), Traffic("pipeline", 64, 4), Traffic("experts", 8, 4))
    found = time(np.array([[1e-9], [2e-9], [3e-9]]))
    assert found == pytest.approx([2 * (1 + 7 + 2 + 9 + 0.00875)])


def test_tokens_go_once_for_all_their_experts() -> None:
    """Of two experts in 4 places, 4 (1 - (3/4)^2) = 1.75 places are reached; 3/4 of them elsewhere, per two copies."""
    time = FabricTime("", (loop((("ep", Dispatch(2)),), [1e9]),), server=8, server_rate=100e9)
    assert time(np.array([[1e-9]])) == pytest.approx([2 * (1 + 1.75 * 0.75 / 2)])


def test_groups_without_a_path_are_slow_and_finite() -> None:
    time = FabricTime("", (loop((("pp", NextStage()),), [3.0]),), server=8, server_rate=100e9)
    assert time(np.array([[np.inf]])) == pytest.approx([2 * (1 + 3 * SLOWEST)])


def test_groups_that_lie_around_others_are_refused() -> None:
    time = FabricTime("", (loop((("tp+dp", Pattern.SHRINKING),), [1.0]),), server=8, server_rate=100e9)
    with pytest.raises(InputError, match=r"the group tp\+dp lies around others"):
        _ = time.traffic


def test_other_traffic_is_refused() -> None:
    time = FabricTime("", (loop((("pp", Message(0, 1, 8)),), [1.0]),), server=8, server_rate=100e9)
    with pytest.raises(InputError, match="traffic of Message has no time on fabrics yet"):
        time(np.zeros((1, 1)))
