from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.errors import InputError
from evo_libra.front import front as front_module
from evo_libra.front.archive import Archive, even_steps
from evo_libra.front.front import Front
from evo_libra.front.indicators import hypervolume


def test_hypervolume_of_a_corner_and_of_a_known_staircase() -> None:
    ideal, nadir = np.array([1.0, 1.0]), np.array([10.0, 10.0])
    assert hypervolume(np.array([[1.0], [1.0]]), ideal, nadir) == pytest.approx(1.1**2)
    stairs = np.array([[1.0, 10.0**0.5, 10.0], [10.0, 10.0**0.5, 1.0]])
    assert hypervolume(stairs, ideal, nadir) == pytest.approx(0.5 * 0.1 + 0.5 * 0.6 + 0.1 * 1.1)
    assert hypervolume(np.array([[100.0], [1.0]]), ideal, nadir) == 0.0


def front_of_points(count: int) -> Front:
    time = np.geomspace(1.0, 100.0, count)
    return Front(
        pl.DataFrame({"id": np.arange(count), "time_ms": time, "cost_usd": 1e6 / time}), ("time_ms", "cost_usd")
    )


def test_spread_keeps_both_ends_in_even_steps() -> None:
    rows = front_of_points(1001).spread(11)["time_ms"].to_numpy()
    np.testing.assert_allclose(rows, np.geomspace(1.0, 100.0, 11), rtol=0.01)
    assert len(front_of_points(5).spread(11)) == 5
    # Rows that are named come on top of them.
    front = front_of_points(1001)
    assert set(front.spread(11, (3, 5))["id"]) == set(front.spread(11)["id"]) | {3, 5}


def test_steps_are_even_on_logarithmic_axes_of_equal_length() -> None:
    # Times are at 0, 0.15, 0.24, 0.5 and 1 of two decades, costs at 1, 0.98, 0.95, 0.5 and 0 of two. From a design to
    # the next the larger change counts: 0.15, 0.09, 0.45 and 0.5, in all 1.19. Half of that is reached at the fourth.
    frame = pl.DataFrame({"time_ms": [1.0, 2.0, 3.0, 10.0, 100.0], "cost_usd": [100.0, 90.0, 80.0, 10.0, 1.0]})
    front = Front(frame, ("time_ms", "cost_usd"))
    assert front.spread(3)["time_ms"].to_list() == [1.0, 10.0, 100.0]
    assert front.spread(2)["time_ms"].to_list() == [1.0, 100.0]
    assert front.spread(4)["time_ms"].to_list() == [1.0, 10.0, 100.0]
    assert len(front.spread(5)) == 5
    flat = Front(frame.with_columns(cost_usd=pl.lit(7.0)), ("time_ms", "cost_usd"))
    # Times alone: 0.15, 0.09, 0.26 and 0.5; a third is reached at the fourth, as two thirds are at the fifth.
    assert flat.spread(4)["time_ms"].to_list() == [1.0, 10.0, 100.0]


def test_designs_that_rounding_keeps_are_dropped() -> None:
    little = 0.5 * front_module.NOISE
    # The second design is as fast as the first but for rounding, and cheaper; the fourth as cheap as the third, and
    # slower. The last two differ from each other by rounding alone, and both stay.
    time = [1.0, 1.0 + little, 2.0, 3.0, 4.0, 4.0 * (1.0 + little)]
    cost = [9.0, 5.0, 4.0, 4.0 * (1.0 - little), 3.0, 3.0 * (1.0 - little)]
    whole = Archive(np.arange(6.0)[None], np.array([time, cost]))
    assert front_module._without_noise(whole).genes[0].tolist() == [1.0, 2.0, 4.0, 5.0]  # noqa: SLF001 - a rule of its own
    # Twice the rounding is a difference.
    far = Archive(np.arange(2.0)[None], np.array([[1.0, 1.0 + 4.0 * little], [9.0, 5.0]]))
    assert len(front_module._without_noise(far)) == 2  # noqa: SLF001 - the same
    three = Archive(whole.genes, np.vstack([whole.objectives, np.ones(6)]))
    assert front_module._without_noise(three) is three  # noqa: SLF001 - of more objectives none is known to be dropped


def test_a_written_front_is_read_back(tmp_path: Path) -> None:
    front = front_of_points(7)
    for name in ("a", "b"):
        front.write(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    again = Front.read(tmp_path / "a")
    assert again.objectives == front.objectives
    assert again.frame.equals(front.frame)


def test_a_file_that_is_no_front_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("no")
    front_of_points(7).frame.write_parquet(tmp_path / "plain", metadata={"objectives": "time_ms,cost_usd"})
    for name, why in (("x", "no checksum"), ("missing", "cannot be read"), ("plain", "no checksum")):
        with pytest.raises(InputError, match=why):
            Front.read(tmp_path / name)


@given(st.integers(1, 10_000), st.integers(1, 3_000))
def test_even_steps_are_distinct_and_have_both_ends(count: int, most: int) -> None:
    steps = even_steps(count, most)
    assert len(steps) == min(count, most)
    assert (np.diff(steps) > 0).all()
    assert steps[0] == 0
    assert steps[-1] == count - 1 or most == 1
