from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from effort import costly
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from evo_libra.pictures.plots.axes import MAX_SERIES, axes_of, check_series, limits, position, ticks
from evo_libra.pictures.plots.scatter import scatter
from evo_libra.pictures.plots.series import Axis, Series, tick_label

if TYPE_CHECKING:
    from collections.abc import Sequence

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
MARKERS = "●○▲△■□◆◇✕"
ASCII_MARKERS = "ox+*#@%&="
PLAIN: dict[str, Any] = {
    "x_label": "cost [M$]",
    "y_label": "step time [s]",
    "log_x": False,
    "log_y": False,
    "style": False,
}

PICTURE = [
    "step time [s]                           ",
    "   │⠐                                   ",
    "  1┤ ⠈⢀                                 ",
    "   │    ⡀                               ",
    "   │                                    ",
    "   │                                    ",
    "0.5┤           ⠁                        ",
    "   │                                    ",
    "   │                                   ⠄",
    "   └┬──────┬──────┬──────┬──────┬──────┬",
    "   20     40     60     80     100   120",
    "● front                        cost [M$]",
]

Plot = tuple[list[Series], dict[str, Any]]

patient = settings(deadline=None)  # A busy machine is no failure.
widths = st.integers(30, 120)
heights = st.integers(10, 40)
finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=0, exclude_min=True, allow_nan=False, allow_infinity=False)


def series_of(x: Sequence[Any], y: Sequence[Any], label: str = "front") -> Series:
    return Series(np.array(x, dtype=np.float64), np.array(y, dtype=np.float64), label)


def area(plot: str, *, corner: str = "└") -> list[str]:
    """Return the lines of the drawn area: above the horizontal axis and right of the upright one."""
    lines = plot.split("\n")
    bottom = next(row for row, line in enumerate(lines) if re.fullmatch(rf" *[{corner}][─┬+-]+", line))
    left = lines[bottom].index(corner)
    return [line[left + 1 :] for line in lines[1:bottom]]


def dots(lines: Sequence[str]) -> set[tuple[int, int]]:
    """Return (row, column) of every braille dot, counted from the top left."""
    places = ((0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (3, 0), (3, 1))
    return {
        (4 * row + down, 2 * column + right)
        for row, line in enumerate(lines)
        for column, character in enumerate(line)
        if 0x2800 <= ord(character) <= 0x28FF
        for bit, (down, right) in enumerate(places)
        if (ord(character) - 0x2800) >> bit & 1
    }


@st.composite
def any_series(
    draw: st.DrawFn,
    values_x: st.SearchStrategy[float],
    values_y: st.SearchStrategy[float],
    labels: st.SearchStrategy[str],
) -> list[Series]:
    points = draw(st.lists(st.lists(st.tuples(values_x, values_y), max_size=12), max_size=MAX_SERIES))
    return [series_of([x for x, _ in group], [y for _, y in group], draw(labels)) for group in points]


@st.composite
def any_plot(draw: st.DrawFn, labels: st.SearchStrategy[str]) -> Plot:
    log_x, log_y = draw(st.booleans()), draw(st.booleans())
    series = draw(any_series(positive if log_x else finite, positive if log_y else finite, labels))
    options = {
        "width": draw(widths),
        "height": draw(heights),
        "x_label": draw(labels),
        "y_label": draw(labels),
        "log_x": log_x,
        "log_y": log_y,
        "style": draw(st.booleans()),
        "ascii_only": draw(st.booleans()),
    }
    return series, options


def test_a_plot_looks_like_this() -> None:
    plot = scatter([series_of([20, 22, 25, 30, 50, 120], [1.1, 1, 0.9, 0.8, 0.5, 0.2])], width=40, height=12, **PLAIN)
    assert plot.split("\n") == PICTURE


@given(any_plot(labels=st.text(max_size=50)))
@costly(100)
def test_any_finite_input_fills_exactly_the_requested_size(case: Plot) -> None:
    series, options = case
    lines = ESCAPE.sub("", scatter(series, **options)).split("\n")
    assert len(lines) == options["height"]
    assert {cell_len(line) for line in lines} == {options["width"]}


@given(any_plot(labels=st.just("a")))
@costly(100)
def test_every_point_lies_in_the_drawn_area(case: Plot) -> None:
    series, options = case
    plot = ESCAPE.sub("", scatter(series, **options))
    lines = area(plot, corner="+" if options["ascii_only"] else "└")
    points = sum(one.x.size for one in series)
    if options["ascii_only"] or (not options["style"] and len(series) != 1):
        markers = ASCII_MARKERS if options["ascii_only"] else MARKERS
        drawn = sum(character in markers for line in lines for character in line)
        shown = {character for line in lines for character in line} & set(markers)
        last = max((which for which, one in enumerate(series) if one.x.size), default=None)
        assert last is None or markers[last] in shown
    else:
        drawn = len(dots(lines))
        assert len(dots(plot.split("\n"))) == drawn, "a dot is outside of the area"
    if points:
        assert 1 <= drawn <= points
    else:
        assert "no points" in plot


def test_bars_stand_behind_points_and_the_axis_holds_them() -> None:
    x, y = np.array([20.0, 80.0, 110.0]), np.array([1.0, 0.5, 0.4])
    bars = np.array([[0.8, 0.4, np.nan], [1.4, 0.8, np.nan]])
    lines = scatter([Series(x, y, "front", bars)], width=60, height=12, **PLAIN).splitlines()
    assert lines[0].rstrip() == "step time [s]   ┊ bar: four of five measured figures"
    signs = np.array([list(line) for line in lines[1:9]]) == "┊"
    first, second = np.flatnonzero(signs.any(axis=0)).tolist()  # the third point has no bar
    # From 0.8 to 1.4 and from 0.4 to 0.8: the first one ends where the second one begins.
    assert signs[:, first].sum() >= 3
    assert np.flatnonzero(signs[:, first]).max() <= np.flatnonzero(signs[:, second]).min() + 1


@pytest.mark.slow
@patient
@given(
    points=st.sets(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1),
    width=widths,
    height=heights,
    style=st.booleans(),
)
def test_points_apart_have_a_dot_each(points: set[tuple[int, int]], width: int, height: int, *, style: bool) -> None:
    corners = {(0, 0), (9, 4)}
    everything = sorted(points | corners)
    series = series_of([x for x, _ in everything], [y for _, y in everything])
    plot = ESCAPE.sub("", scatter([series], width=width, height=height, **PLAIN | {"style": style}))
    assert len(dots(area(plot))) == len(everything)


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=6), widths, heights)
@costly(100)
def test_no_point_is_lost_among_others(points: list[tuple[float, float]], width: int, height: int) -> None:
    ends = [
        (min(x for x, _ in points), min(y for _, y in points)),
        (max(x for x, _ in points), max(y for _, y in points)),
    ]

    def drawn(shown: list[tuple[float, float]]) -> set[tuple[int, int]]:
        plot = scatter([series_of(*zip(*shown, strict=True))], width=width, height=height, **PLAIN)
        return dots(area(plot))

    assert drawn(points + ends) == set().union(*(drawn([*ends, point]) for point in points))


@pytest.mark.parametrize("parts", [1, 2])
def test_dots_that_share_a_character_all_stay(parts: int) -> None:
    line = np.linspace(0, 1, 2001)
    series = [series_of(line[part::parts], line[part::parts]) for part in range(parts)]
    plot = ESCAPE.sub("", scatter(series, width=60, height=20, **PLAIN | {"style": True}))
    columns = {column for _, column in dots(area(plot))}
    assert columns == set(range(min(columns), max(columns) + 1))
    assert len(columns) > 100


@patient
@given(widths, heights)
def test_larger_values_lie_further_right_and_further_up(width: int, height: int) -> None:
    one_each = [series_of([2.0 * i], [3.0 * i], "") for i in range(4)]
    lines = area(scatter(one_each, width=width, height=height, **PLAIN))
    places = [next((-row, line.index(m)) for row, line in enumerate(lines) if m in line) for m in MARKERS[:4]]
    assert all(a < b and c < d for (a, c), (b, d) in itertools.pairwise(places))
    assert places[0][1] <= 0.05 * width
    assert places[-1][1] >= len(lines[0]) - 1 - 0.05 * width


def test_a_logarithmic_axis_spaces_decades_evenly() -> None:
    options = PLAIN | {"log_x": True, "log_y": True}
    drawn = dots(area(scatter([series_of([1, 10, 100, 1000], [1, 10, 100, 1000])], width=80, height=30, **options)))
    rows, columns = (np.sort([place[axis] for place in drawn]) for axis in (0, 1))
    assert len(drawn) == 4
    assert np.ptp(np.diff(rows)) <= 1
    assert np.ptp(np.diff(columns)) <= 1
    assert np.diff(columns).min() > 30


def test_a_point_is_in_line_with_its_ticks() -> None:
    plot = scatter([series_of([0, 40, 100], [0, 40, 100])], width=60, height=20, **PLAIN)
    lines = plot.split("\n")
    marks, labels = next((line, lines[row + 1]) for row, line in enumerate(lines) if "└" in line)
    row = next(line for line in lines if line.strip().startswith("40┤"))
    column = next(index for index, character in enumerate(row) if 0x2800 < ord(character) < 0x2900)
    assert marks[column] == "┬"
    assert "40" in labels[column - 1 : column + 2]


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("count", [1, 5])
def test_equal_values_are_drawn_in_the_middle(count: int, *, log: bool) -> None:
    options = PLAIN | {"log_x": log, "log_y": log}
    lines = area(scatter([series_of([7.0] * count, [3.0] * count)], width=61, height=21, **options))
    ((row, column),) = dots(lines)
    assert abs(row - (4 * len(lines) - 1) / 2) <= 1
    assert abs(column - (2 * len(lines[0]) - 1) / 2) <= 1


def test_differences_that_no_label_could_show_are_drawn_as_equal() -> None:
    plot = scatter([series_of([1e9, 1e9 + 1e-3], [1, 1 + 1e-15])], width=61, height=21, **PLAIN)
    assert np.ptp(list(dots(area(plot))), axis=0).max() <= 1  # The middle may lie between two dots.
    told_apart = scatter([series_of([1e9, 1e9 + 2e3], [1, 1 + 1e-15])], width=61, height=21, **PLAIN)
    assert np.ptp(list(dots(area(told_apart))), axis=0).max() > 90
    assert re.search(r" 1G +1\.000001G +1\.000002G\n", told_apart)


@pytest.mark.parametrize("series", [[], [series_of([], [], "first")], [series_of([], [], "first"), series_of([], [])]])
@pytest.mark.parametrize("style", [False, True])
def test_no_points_are_told(series: list[Series], *, style: bool) -> None:
    plot = ESCAPE.sub("", scatter(series, width=40, height=10, **PLAIN | {"style": style}))
    lines = plot.split("\n")
    assert sum("no points" in line for line in lines) == 1
    assert lines[0].startswith("step time [s]")
    assert plot.count("│") == 6
    assert all(one.label in plot for one in series)


def test_an_empty_series_stays_in_the_legend() -> None:
    plot = scatter([series_of([], [], "none"), series_of([1, 2], [1, 2], "two")], width=60, height=12, **PLAIN)
    assert "● none   ○ two" in plot.split("\n")[-1]
    assert not any("●" in line for line in area(plot))
    assert sum(line.count("○") for line in area(plot)) == 2


def test_labels_are_at_the_top_left_and_at_the_lower_right() -> None:
    lines = scatter([series_of([1, 2], [1, 2])], width=60, height=12, **PLAIN).split("\n")
    assert lines[0].startswith("step time [s]")
    assert lines[-1].endswith("cost [M$]")
    assert lines[-1].startswith("● front ")


def test_the_x_label_stays_below_the_ticks_when_the_legend_is_long() -> None:
    series = [series_of([i], [i], f"RI(8) FC({i})") for i in range(9)]
    lines = scatter(series, width=60, height=24, **PLAIN).split("\n")
    ticks_row = next(row for row, line in enumerate(lines) if "└" in line) + 1
    assert lines[ticks_row + 1].endswith("cost [M$]")
    legend = "\n".join(lines[ticks_row + 1 :])
    assert all(f"{marker} RI(8) FC({i})" in legend for i, marker in enumerate(MARKERS))


def test_long_names_are_cut_but_each_keeps_its_entry() -> None:
    series = [series_of([i], [i], f"{i}" * 200) for i in range(9)]
    lines = scatter(series, width=30, height=10, **PLAIN).split("\n")
    assert all(re.search(f"{marker} {i}", "\n".join(lines[-3:])) for i, marker in enumerate(MARKERS))
    assert len(area("\n".join(lines))) >= 4


@given(any_plot(labels=st.text(max_size=20)))
@costly(100)
def test_ascii_only_means_it(case: Plot) -> None:
    series, options = case
    assert scatter(series, **options | {"ascii_only": True}).isascii()


@pytest.mark.parametrize("label", ["a\tb\nc", "\x1b[31mred", "宽宽", "e\u0301\u0302x", "a\u200bb"])
def test_characters_that_would_break_columns_are_shown_as_question_marks(label: str) -> None:
    plot = scatter([series_of([1], [1], label)], width=40, height=10, **PLAIN | {"y_label": label})
    assert "?" in plot.split("\n")[0]
    assert "\x1b" not in plot
    assert len(plot.split("\n")) == 10


def test_style_changes_colours_only() -> None:
    series = [series_of([1, 2, 3], [3, 2, 1])]
    plain, coloured = (scatter(series, width=60, height=12, **PLAIN | {"style": style}) for style in (False, True))
    assert "\x1b" not in plain
    assert coloured != plain
    assert Text.from_ansi(coloured).plain == plain


def test_each_series_has_its_colour_in_points_and_in_the_legend() -> None:
    series = [series_of([i], [i], f"name {i}") for i in range(MAX_SERIES)]
    text = Text.from_ansi(scatter(series, width=120, height=30, **PLAIN | {"style": True}))
    points, legend = (
        [str(span.style) for span in text.spans if set(text.plain[span.start : span.end]) <= characters]
        for characters in ({chr(code) for code in range(0x2801, 0x2900)}, {"●"})
    )
    assert len(set(points)) == len(points) == MAX_SERIES
    assert points[::-1] == legend  # The highest point is found first.


def test_later_series_lie_over_earlier_ones() -> None:
    series = [series_of([1, 5], [1, 5], "a"), series_of([5], [5], "b")]
    lines = area(scatter(series, width=40, height=12, **PLAIN))
    assert sum(line.count("●") for line in lines) == 1
    assert sum(line.count("○") for line in lines) == 1


@pytest.mark.parametrize(("width", "height"), [(29, 10), (30, 9), (0, 0), (-5, 40)])
def test_too_small_a_plot_is_refused(width: int, height: int) -> None:
    with pytest.raises(ValueError, match="at least 30 x 10"):
        scatter([series_of([1], [1])], width=width, height=height, **PLAIN)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("axis", ["x", "y"])
def test_values_that_are_not_finite_are_refused(bad: float, axis: str) -> None:
    x, y = ([1.0, bad], [1.0, 2.0]) if axis == "x" else ([1.0, 2.0], [1.0, bad])
    with pytest.raises(ValueError, match=f"'front': a value of {axis} is not finite"):
        scatter([series_of(x, y)], width=40, height=12, **PLAIN)


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_a_logarithmic_axis_refuses_values_that_are_not_positive(bad: float) -> None:
    series = [series_of([1, 2], [bad, 1])]
    check_series(series, log_x=True, log_y=False)
    with pytest.raises(ValueError, match="a value of y is not positive"):
        check_series(series, log_x=False, log_y=True)
    with pytest.raises(ValueError, match="a value of x is not positive"):
        check_series([series_of([bad], [1])], log_x=True, log_y=False)


def test_points_that_do_not_pair_are_refused() -> None:
    with pytest.raises(ValueError, match=r"x has shape \(2,\) and y \(3,\)"):
        check_series([series_of([1, 2], [1, 2, 3])], log_x=False, log_y=False)
    with pytest.raises(ValueError, match="shape"):
        check_series([series_of([[1, 2]], [[1, 2]])], log_x=False, log_y=False)


def test_more_series_than_can_be_told_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="10 series; at most 9"):
        scatter([series_of([1], [1])] * 10, width=40, height=12, **PLAIN)


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (0.0, "0"),
        (0.25, "0.25"),
        (0.1 + 0.2, "0.3"),
        (1.0, "1"),
        (50.0, "50"),
        (999.0, "999"),
        (999.9999999999, "1k"),
        (1000.0, "1k"),
        (1500.0, "1.5k"),
        (-2e3, "-2k"),
        (1e7, "10M"),
        (2.5e10, "25G"),
        (1e14, "100T"),
        (1e15, "1e15"),
        (0.0005, "0.0005"),
        (2e-5, "2e-5"),
        (1e-12, "1e-12"),
        (1e300, "1e300"),
    ],
)
def test_tick_labels_are_compact(value: float, label: str) -> None:
    assert tick_label(value) == label


@pytest.mark.parametrize(
    ("low", "high", "log", "cells", "expected"),
    [
        (1e6, 4e7, True, 85, [1e6, 2e6, 5e6, 1e7, 2e7]),
        (680, 920, True, 85, [700, 750, 800, 850, 900]),
        (1, 1e6, True, 60, [1, 10, 100, 1e3, 1e4, 1e5, 1e6]),
        (1, 1e30, True, 60, [1, 1e5, 1e10, 1e15, 1e20, 1e25, 1e30]),
        (0.1, 0.9, False, 60, [0.2, 0.4, 0.6, 0.8]),
        (0, 200, False, 60, [0, 50, 100, 150, 200]),
    ],
)
def test_ticks_are_round(low: float, high: float, cells: int, expected: list[float], *, log: bool) -> None:
    x, _ = axes_of([series_of([low, high], [1, 1])], log_x=log, log_y=False)
    assert np.allclose(ticks(x, cells, across=True), expected)


@patient
@given(
    values=st.lists(positive, min_size=1, max_size=3),
    log=st.booleans(),
    cells=st.integers(12, 150),
    across=st.booleans(),
)
@example(values=[3.874675120456049e190, 2.225073858507203e-309], log=True, cells=12, across=True)
def test_ticks_lie_on_the_axis_in_order_and_differ_in_their_labels(
    values: list[float], cells: int, *, log: bool, across: bool
) -> None:
    x, _ = axes_of([series_of(values, values)], log_x=log, log_y=False)
    shown = ticks(x, cells, across=across)
    assert 1 <= len(shown) <= 8
    assert len({tick_label(value) for value in shown}) == len(shown)
    assert all(a < b for a, b in itertools.pairwise(shown))
    low, high = limits(x)
    assert low - 1e-9 * abs(low) <= shown[0] <= shown[-1] <= high + 1e-9 * abs(high)


@patient
@given(values=st.lists(positive, min_size=1, max_size=3), log=st.booleans(), cells=st.integers(30, 150))
@example(values=[35.0, 2.894998833206535e78], log=True, cells=30)
def test_an_axis_has_two_ticks_at_least(values: list[float], cells: int, *, log: bool) -> None:
    x, _ = axes_of([series_of(values, values)], log_x=log, log_y=False)
    assert len(ticks(x, cells, across=True)) > 1
    assert len(ticks(x, cells // 4, across=False)) > 1


@pytest.mark.slow
@given(any_plot(labels=st.just("a")))
@costly(100)
def test_tick_labels_do_not_touch(case: Plot) -> None:
    series, options = case
    plot = ESCAPE.sub("", scatter(series, **options)).split("\n")
    corner = "+" if options["ascii_only"] else "└"
    row = next(row for row, line in enumerate(plot) if re.fullmatch(rf" *[{corner}][─┬+-]+", line))
    marks = len(re.findall(r"[┬+]", plot[row].split(corner, 1)[1]))
    assert len(plot[row + 1].split()) == marks
    assert all(re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?[kMGT]?", label) for label in plot[row + 1].split())


@patient
@given(st.lists(finite, min_size=1, max_size=10))
def test_positions_are_parts_of_the_axis(values: list[float]) -> None:
    x, _ = axes_of([series_of(values, values)], log_x=False, log_y=False)
    at = position(x, np.array(values))
    assert ((at >= 0) & (at <= 1)).all()
    assert np.array_equal(at, np.maximum.accumulate(at[np.argsort(values)])[np.argsort(np.argsort(values))])


def test_position_and_limits_of_known_axes() -> None:
    assert position(Axis(0.0, 2.0, log=True), np.array([1.0, 10.0, 100.0])).tolist() == [0.0, 0.5, 1.0]
    assert position(Axis(-1.0, 3.0, log=False), np.array([-1.0, 0.0, 3.0])).tolist() == [0.0, 0.25, 1.0]
    assert limits(Axis(0.0, 2.0, log=True)) == (1.0, 100.0)
    assert limits(Axis(0.0, 2.0, log=False)) == (0.0, 2.0)
