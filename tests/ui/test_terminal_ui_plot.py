from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.pictures.plots.axes import limits
from evo_libra.pictures.plots.canvas import Canvas
from evo_libra.pictures.plots.scatter import scatter
from evo_libra.pictures.plots.series import ASCII, UNICODE, Role, line_of
from evo_libra.ui.terminal.plot_view import (
    Picture,
    PlotView,
    Points,
    next_fit,
    next_objectives,
    objectives_of,
    panned,
    picture_of,
    toggled_log,
    zoomed,
)
from evo_libra.ui.terminal.scatter_drawing import draw, draw_progress, nearest, place_of, position_in

FRONT = {"time_ms": np.array([100.0, 200.0, 400.0]), "cost_usd": np.array([4e6, 2e6, 1e6])}
CLOUD = {"time_ms": np.array([300.0, 5000.0]), "cost_usd": np.array([5e6, 2e8])}
ONE = Points("one", 0, FRONT, {})
patient = settings(max_examples=60)


def picture(view: PlotView | None = None, *runs: Points, **more: Any) -> Picture:
    return picture_of(view or PlotView(), runs or (ONE,), **more)


def test_second_objective_is_across_and_first_up_unless_chosen() -> None:
    assert objectives_of(PlotView(), ["time_ms", "cost_usd", "power_W"]) == ("cost_usd", "time_ms")
    assert objectives_of(PlotView(x="power_W", y="cost_usd"), ["time_ms", "cost_usd", "power_W"]) == (
        "power_W",
        "cost_usd",
    )
    assert objectives_of(PlotView(x="power_W"), ["time_ms"]) == ("time_ms", "time_ms")
    assert objectives_of(PlotView(), []) == ("", "")


def test_next_objectives_show_every_pair_both_ways_once() -> None:
    columns = ["a", "b", "c"]
    view, seen = PlotView(), []
    for _ in range(6):
        seen.append(objectives_of(view, columns))
        view = next_objectives(view, columns)
    assert len(set(seen)) == 6
    assert objectives_of(view, columns) == seen[0]
    assert next_objectives(PlotView(), ["a"]) == PlotView()


def test_window_follows_points_until_it_is_zoomed() -> None:
    first = picture()
    moved = Points("one", 0, {name: 2 * values for name, values in FRONT.items()}, {})
    assert limits(picture(None, moved).x)[1] == pytest.approx(2 * limits(first.x)[1])
    view = zoomed(PlotView(), first, 0.5)
    assert picture(view, moved).x == picture(view).x


def test_zoom_keeps_the_place_it_is_at() -> None:
    first = picture()
    view = zoomed(PlotView(), first, 0.5, (0.25, 1.0))
    second = picture(view)
    assert second.x.low + 0.25 * (second.x.high - second.x.low) == pytest.approx(
        first.x.low + 0.25 * (first.x.high - first.x.low)
    )
    assert second.y.high == pytest.approx(first.y.high)
    assert second.y.high - second.y.low == pytest.approx(0.5 * (first.y.high - first.y.low))


@pytest.mark.slow
@given(factors=st.lists(st.sampled_from([0.5, 0.8, 1.25, 3.0]), max_size=80), log=st.booleans())
@patient
def test_however_far_one_zooms_it_can_be_drawn(factors: list[float], *, log: bool) -> None:
    view = PlotView(log_x=log, log_y=log)
    for factor in factors:
        view = zoomed(view, picture(view), factor, (0.3, 0.6))
    shown = picture(view)
    assert shown.x.high > shown.x.low
    assert draw(shown, 60, 20, UNICODE).area is not None


def test_pan_moves_by_parts_of_the_window_and_fit_comes_back() -> None:
    first = picture()
    view = panned(PlotView(), first, 0.1, -0.2)
    second = picture(view)
    assert second.x.low - first.x.low == pytest.approx(0.1 * (first.x.high - first.x.low))
    assert second.y.low - first.y.low == pytest.approx(-0.2 * (first.y.high - first.y.low))
    assert picture(next_fit(view)).x == first.x


def test_fit_takes_the_front_first_and_all_designs_next() -> None:
    run = Points("one", 0, FRONT, CLOUD)
    assert limits(picture(None, run).x)[1] < 5e6
    every = next_fit(PlotView())
    assert limits(picture(every, run).x)[1] > 2e8
    assert next_fit(every) == PlotView()


def test_axes_are_linear_where_a_value_is_not_positive() -> None:
    zero = Points("one", 0, {**FRONT, "time_ms": np.array([0.0, 1.0, 2.0])}, {})
    shown = picture(None, zero)
    assert (shown.x.log, shown.y.log) == (True, False)
    assert picture(toggled_log(PlotView(), x=True)).x.log is False


def test_other_objectives_forget_the_window() -> None:
    view = replace(zoomed(PlotView(), picture(), 0.5), x="time_ms", y="cost_usd", window=None)
    assert view.window is None
    assert picture(view).x_label == "iteration time [ms]"


def test_runs_with_other_objectives_are_left_out() -> None:
    other = Points("two", 1, {"power_W": np.array([1.0])}, {})
    assert [one.label for one in picture(None, ONE, other).fronts] == ["one"]


def test_selected_and_baseline_are_pointed_out() -> None:
    chosen = {"time_ms": 200.0, "cost_usd": 2e6}
    shown = picture(None, ONE, selected=chosen, baseline={"time_ms": 400.0, "cost_usd": 1e6})
    canvas = draw(shown, 60, 20, UNICODE)
    assert "◆" in canvas.plain()
    assert "◇ baseline" in canvas.plain()
    assert canvas.area is not None
    assert 0 < position_in(shown)[0] < 1
    assert position_in(replace(shown, selected=None)) == (0.5, 0.5)


def test_message_stands_where_there_are_no_points() -> None:
    assert draw(picture_of(PlotView(), [], message="no runs yet"), 40, 12, UNICODE).plain().strip() == "no runs yet"


def test_points_are_found_where_they_are_drawn() -> None:
    shown = picture()
    canvas = draw(shown, 80, 24, UNICODE)
    rows, columns = np.nonzero(canvas.role == Role.FRONT)
    rows, columns = rows[rows < 21], columns[rows < 21]
    assert canvas.area is not None
    found = {nearest(canvas.area, shown.fronts[0], int(c), int(r)) for r, c in zip(rows, columns, strict=True)}
    assert found == {0, 1, 2}
    assert nearest(canvas.area, shown.fronts[0], 40, 1) is None


def test_a_place_is_a_share_of_the_axes() -> None:
    canvas = draw(picture(), 80, 24, UNICODE)
    assert canvas.area is not None
    assert place_of(canvas.area, canvas.area.left, canvas.area.rows) == (0.0, 0.0)
    assert place_of(canvas.area, 79, 1) == (1.0, 1.0)
    assert place_of(canvas.area, 0, 100) == (0.0, 0.0)


def test_each_front_keeps_its_colour_and_marker() -> None:
    two = Points("two", 3, {"time_ms": np.array([150.0]), "cost_usd": np.array([1.5e6])}, {})
    canvas = draw(picture(None, two, ONE), 80, 24, UNICODE)
    assert "△ two" in canvas.plain()
    assert "● one" in canvas.plain()
    assert (canvas.role == Role.FRONT + 3).sum() >= 2


def test_crowded_fronts_are_dots_unless_there_are_no_colours() -> None:
    cost = np.geomspace(1e6, 1e8, 2000)
    run = Points("one", 1, {"time_ms": 1e10 / cost, "cost_usd": cost}, {})
    assert "○" not in draw(picture(None, run), 60, 20, UNICODE).plain()
    assert "○" in draw(picture(None, run), 60, 20, UNICODE, colour=False).plain()
    assert draw(picture(None, run), 60, 20, ASCII).plain().isascii()


@pytest.mark.slow
@given(width=st.integers(0, 90), height=st.integers(0, 30), fronts=st.integers(1, 8), ascii_only=st.booleans())
@patient
def test_any_size_can_be_drawn(width: int, height: int, fronts: int, *, ascii_only: bool) -> None:
    runs = [replace(ONE, label=f"a long name of a run, number {n}", style=n) for n in range(fronts)]
    runs[0] = replace(runs[0], designs=CLOUD)
    shown = picture_of(PlotView(), runs, selected={"time_ms": 200.0, "cost_usd": 2e6})
    canvas = draw(shown, width, height, ASCII if ascii_only else UNICODE)
    assert canvas.text.shape == (height, width)
    for row in range(height):
        assert "".join(text for text, _ in canvas.runs(row)) == "".join(canvas.text[row])


def test_progress_fills_what_is_done_and_leaves_what_is_to_come() -> None:
    canvas = draw_progress([10, 20, 30], [0.1, 0.5, 0.9], 60, 60, 2, UNICODE)
    top, bottom = canvas.plain().split("\n")
    assert bottom.rstrip() == " " * 9 + "▁" * 10 + "█" * 11
    assert top.rstrip() == " " * 19 + "▁" * 10 + "█"
    assert draw_progress([], [], 60, 60, 2, UNICODE).plain().strip() == ""


def test_progress_of_one_value_is_full() -> None:
    assert "█" in draw_progress([10], [0.5], 10, 20, 1, UNICODE).plain()
    assert draw_progress([10], [0.5], 10, 20, 1, ASCII).plain().isascii()


def test_texts_that_do_not_fit_are_cut() -> None:
    canvas = Canvas.blank(5, 1)
    canvas.write(0, 3, "word", Role.LABEL)
    assert canvas.plain() == "   wo"


@given(st.integers(1, 12), st.integers(0, 12), st.sampled_from(["", "a", "no runs yet"]))
def test_a_hint_is_the_same_line_with_and_without_a_canvas(width: int, column: int, text: str) -> None:
    canvas = Canvas.blank(width, 1)
    canvas.write(0, min(column, width), text, Role.HINT)
    assert canvas.lines() == [line_of(width, min(column, width), text)]


@pytest.mark.parametrize(("size", "unit"), [(1e-9, "ns"), (1e-4, "us"), (1.0, "ms"), (1e4, "min"), (12e6, "d")])
def test_times_are_shown_in_the_unit_that_suits_them(size: float, unit: str) -> None:
    one = Points("one", 0, {**FRONT, "time_ms": FRONT["time_ms"] * size}, {})
    shown = picture(None, one)
    canvas = draw(shown, 60, 20, UNICODE)
    assert canvas.plain().startswith(f"iteration time [{unit}]")
    assert canvas.area is not None
    assert canvas.area.y == shown.y  # as is where the mouse looks for designs
    text = scatter([shown.fronts[0]], width=60, height=20, x_label=shown.x_label, y_label=shown.y_label, log_x=True,
                   log_y=True, style=False)  # fmt: skip
    assert text.startswith(f"iteration time [{unit}]")
    labels = [line.split("┤")[0].strip() for line in text.splitlines() if "┤" in line]
    assert all("e" not in label and label[-1] not in "kMGT" for label in labels), labels
    assert labels == [line.split("┤")[0].strip() for line in canvas.plain().splitlines() if "┤" in line]
