from __future__ import annotations

import io
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from evo_libra import Front, search
from evo_libra.experiment.store.claim import Lease
from evo_libra.pictures.plots import figure as module
from evo_libra.pictures.plots import scatter
from evo_libra.pictures.plots.figure import front_figure
from evo_libra.pictures.plots.scatter import knee_of
from evo_libra.pictures.plots.series import Series
from evo_libra.ui.commands.application import run

LABELS: dict[str, Any] = {
    "x_label": "cost [USD]",
    "y_label": "time [ms]",
    "title": "front",
    "log_x": True,
    "log_y": True,
}
COLOURS = ("0072b2", "e69f00", "009e73", "cc79a7", "d55e00", "56b4e9", "f0e442", "7f3c8d", "999999")


@pytest.mark.slow
@pytest.mark.parametrize("busy", [False, True])
def test_a_search_shows_its_front_before_it_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, busy: bool
) -> None:
    shown, draw = [], scatter.figure_of

    def look(*arguments: Any) -> bytes:
        shown.append(capsys.readouterr().out)
        (folder,) = tmp_path.glob("gpt3-4k/*")
        others.append(Lease(folder, "other") if busy else None)
        return draw(*arguments)

    others: list[Lease | None] = []
    monkeypatch.setattr(scatter, "figure_of", look)
    assert run(["search", "gpt3-4k", "--evaluations", "500", "--out", str(tmp_path)]) == 0
    assert "on the front\n" in shown[0]
    assert "plot " not in shown[0]
    # Whoever has begun the same search meanwhile draws its own.
    pictures = [*tmp_path.glob("gpt3-4k/*/front.png")]
    assert len(pictures) == (not busy)
    assert (capsys.readouterr().out == f"plot   {pictures[0]}\n") if pictures else True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "drawn"), [([], True), (["--no-plot"], False), (["--json"], False), (["--json", "--plot"], True)]
)
def test_a_search_draws_where_people_look(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], *, drawn: bool
) -> None:
    assert run(["search", "gpt3-4k", "--evaluations", "200", "--out", str(tmp_path), *words]) == 0
    assert bool([*tmp_path.glob("gpt3-4k/*/front.png")]) == drawn
    assert ("plot   " in capsys.readouterr().out) == (not words)


def front(count: int = 40, label: str = "RI(4) SW(32)", seed: int = 0) -> Series:
    cost = 10 ** np.random.default_rng(seed).uniform(6, 7.6, count)
    return Series(cost, 680 + 240 * (1e6 / cost) ** 0.8, label)


def written(path: Path, series: list[Series], **changes: Any) -> bytes:
    front_figure(series, **LABELS | changes, path=path)
    return path.read_bytes()


def svg(folder: Path, series: list[Series], **changes: Any) -> str:
    return written(folder / "figure.svg", series, **changes).decode()


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Return the list that collects the figures drawn from here on."""
    figures: list[Figure] = []

    def remembered(*args: Any, **options: Any) -> Figure:
        figures.append(Figure(*args, **options))
        return figures[-1]

    monkeypatch.setattr(module, "Figure", remembered)
    return figures


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
@pytest.mark.parametrize("count", [40, pytest.param(1500, marks=pytest.mark.slow)])
def test_the_same_points_give_the_same_bytes(tmp_path: Path, suffix: str, count: int) -> None:
    series = [front(count), front(count, "SW(32) SW(32)", seed=1)]
    first, second = (written(tmp_path / f"{name}{suffix}", series) for name in ("a", "b"))
    assert first == second
    assert first != written(tmp_path / f"c{suffix}", series[:1])


@pytest.mark.slow
def test_another_process_gives_the_same_bytes(tmp_path: Path) -> None:
    paths = [tmp_path / f"figure{suffix}" for suffix in (".png", ".pdf", ".svg")]
    program = f"""
import numpy as np
from pathlib import Path
from evo_libra.pictures.plots.figure import front_figure
from evo_libra.pictures.plots.series import Series
series = [Series(np.array([1.0, 2.0]), np.array([2.0, 1.0]), "a")]
for path in {list(map(str, paths))!r}:
    front_figure(series, **{LABELS!r}, path=Path(path))
"""
    environment = os.environ | {
        "PYTHONHASHSEED": "7",
        "SOURCE_DATE_EPOCH": "1",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    series = [Series(np.array([1.0, 2.0]), np.array([2.0, 1.0]), "a")]
    for path in paths:
        assert path.read_bytes() == written(tmp_path / f"here{path.suffix}", series), path.suffix


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffix", "start"), [(".png", b"\x89PNG"), (".PNG", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")]
)
def test_the_suffix_chooses_the_format_and_no_date_or_software_is_told(
    tmp_path: Path, suffix: str, start: bytes
) -> None:
    content = written(tmp_path / f"figure{suffix}", [front()])
    assert content.startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [f"figure{suffix}"]
    assert not re.search(rb"[Mm]atplotlib v|Creat(ionDate|or|ed)|dc:(date|creator)|Producer|Software|tIME", content)


@pytest.mark.parametrize("name", ["figure.jpg", "figure", "figure.tmp"])
def test_another_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=rf"'{name}'; allowed suffixes: .png, .pdf, .svg"):
        written(tmp_path / name, [front()])
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_users_settings_neither_matter_nor_change(tmp_path: Path) -> None:
    expected = written(tmp_path / "a.png", [front()])
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "black", "savefig.dpi": 30, "savefig.transparent": True}):
        before = dict(mpl.rcParams)
        assert written(tmp_path / "b.png", [front()]) == expected
        assert dict(mpl.rcParams) == before


@pytest.mark.slow
def test_the_size_fits_two_columns(tmp_path: Path) -> None:
    assert Image.open(io.BytesIO(written(tmp_path / "a.png", [front()]))).size == (1145, 640)
    assert 'width="515.52pt" height="288pt"' in svg(tmp_path, [front()])


@pytest.mark.slow
def test_fonts_are_embedded_as_truetype(tmp_path: Path) -> None:
    content = written(tmp_path / "a.pdf", [front()])
    assert b"/CIDFontType2" in content
    assert b"/Type3" not in content


@pytest.mark.slow
def test_every_point_is_drawn_in_the_colour_of_its_series(tmp_path: Path) -> None:
    series = [front(10 + i, f"name {i}", seed=i) for i in range(9)]
    content = svg(tmp_path, series)
    for one, colour in zip(series, COLOURS, strict=True):
        assert len(re.findall(rf"<use [^>]*fill: #{colour}; stroke: #000000", content)) == one.x.size + 1


@pytest.mark.slow
def test_markers_differ_in_shape(tmp_path: Path, drawn: list[Figure]) -> None:
    written(tmp_path / "a.png", [front(3, f"name {i}") for i in range(9)])
    lines = drawn[0].axes[0].lines
    assert len({str(line.get_marker()) for line in lines}) == 9
    assert {line.get_linestyle() for line in lines} == {"None"}


@pytest.mark.slow
def test_many_points_are_rasterised(tmp_path: Path) -> None:
    assert "<image" not in svg(tmp_path, [front(999)])
    assert "<image" in svg(tmp_path, [front(1000)])


def test_ten_series_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="10 series; at most 9"):
        written(tmp_path / "a.png", [front(2)] * 10)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("value", "message"), [(np.nan, "not finite"), (np.inf, "not finite"), (0.0, "not positive")])
def test_values_that_cannot_be_drawn_are_refused(tmp_path: Path, value: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        written(tmp_path / "a.png", [Series(np.array([1.0, value]), np.array([1.0, 2.0]), "a")])
    assert not list(tmp_path.iterdir())


RANGES = [(680, 920), (1e6, 4e7), (0.7, 55), (1e-9, 1e12), (3, 3), (1e-300, 1e300), (1000, 1001)]


@pytest.mark.slow
@pytest.mark.parametrize("ends", RANGES)
@pytest.mark.parametrize("log", [False, True])
def test_tick_labels_are_plain_and_do_not_overlap(
    tmp_path: Path, drawn: list[Figure], ends: tuple[float, float], *, log: bool
) -> None:
    values = np.array(ends, dtype=np.float64)
    written(tmp_path / "a.png", [Series(values, values, "a")], log_x=log, log_y=log)
    for axis in (drawn[0].axes[0].xaxis, drawn[0].axes[0].yaxis):
        labels = [label for label in axis.get_ticklabels(which="both") if label.get_text()]
        assert labels
        assert all(re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?[kMGT]?", label.get_text()) for label in labels)
        boxes = [label.get_window_extent() for label in labels]
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


@pytest.mark.slow
def test_times_are_shown_in_the_unit_that_suits_them(tmp_path: Path, drawn: list[Figure]) -> None:
    few = Series(np.array([1e6, 2e6]), np.array([0.0002, 0.0004]), "a")
    written(tmp_path / "figure.svg", [few])
    axes = drawn[0].axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("cost [MUSD]", "time [ns]")
    assert axes.lines[0].get_xdata().tolist() == pytest.approx([1, 2])  # type: ignore[union-attr]
    assert axes.lines[0].get_ydata().tolist() == pytest.approx([200, 400])  # type: ignore[union-attr]
    assert {label.get_text() for label in axes.get_yticklabels()} >= {"200", "300", "400"}


@pytest.mark.slow
def test_surfaces_show_times_in_the_unit_that_suits_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(module, "Figure", lambda *args, **more: figures.append(Figure(*args, **more)) or figures[0])
    line = np.array([[1e6, 2e6], [2e6, 1e6]])
    labels = {"x_label": "cost [USD]", "y_label": "time [ms]", "title": ""}
    module.attainment_figure({"a": [line, line, line]}, **labels, path=tmp_path / "figure.svg")
    assert figures[0].axes[0].get_ylabel() == "time [min]"
    assert figures[0].axes[0].lines[0].get_ydata().tolist() == pytest.approx([2e6 / 6e4, 1e6 / 6e4])  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_small_logarithmic_range_has_plain_numbers(tmp_path: Path, drawn: list[Figure]) -> None:
    values = np.array([0.7, 55.0])
    written(tmp_path / "a.png", [Series(values, values, "a")])
    assert [label.get_text() for label in drawn[0].axes[0].get_xticklabels()] == ["1", "2", "5", "10", "20", "50"]


@pytest.mark.slow
@pytest.mark.parametrize("log", [False, True])
def test_all_points_are_inside_the_axes(tmp_path: Path, drawn: list[Figure], *, log: bool) -> None:
    series = front(200)
    written(tmp_path / "a.png", [series], log_x=log, log_y=log)
    axes = drawn[0].axes[0]
    assert axes.get_xscale() == axes.get_yscale() == ("log" if log else "linear")
    shown = np.column_stack([series.x / 1e6, series.y])
    inside = axes.transAxes.inverted().transform(axes.transData.transform(shown))
    assert inside.min() > 0
    assert inside.max() < 1
    assert np.ptp(inside, axis=0).min() > 0.9


def square(skip: tuple[float, float] | None) -> Series:
    """Return points all over the unit square but near one corner."""
    x, y = (grid.ravel() for grid in np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21)))
    kept = np.full(x.shape, fill_value=True) if skip is None else np.hypot(x - skip[0], y - skip[1]) > 0.4
    return Series(x[kept], y[kept], "name")


@pytest.mark.slow
@pytest.mark.parametrize("corner", [(1.0, 1.0), (0.0, 1.0), (0.0, 0.0), (1.0, 0.0), None])
def test_the_legend_hides_no_point(tmp_path: Path, drawn: list[Figure], corner: tuple[float, float] | None) -> None:
    series = square(corner)
    written(tmp_path / "a.png", [series], log_x=False, log_y=False, y_label="height")
    axes = drawn[0].axes[0]
    legend = axes.get_legend() or drawn[0].legends[0]
    assert (axes.get_legend() is None) == (corner is None)
    box = legend.get_window_extent()
    places = axes.transData.transform(np.column_stack([series.x, series.y]))
    assert not any(box.contains(x, y) for x, y in places)


@pytest.mark.slow
def test_marked_points_have_a_ring_over_them(tmp_path: Path, drawn: list[Figure]) -> None:
    series = front(40)
    mark = Series(series.x[3:4], series.y[3:4], "knee, #3")
    written(tmp_path / "a.png", [series], mark=mark)
    ring = drawn[0].axes[0].lines[1]
    assert (ring.get_markerfacecolor(), ring.get_label()) == ("none", "knee, #3")
    assert ring.get_xdata().tolist() == pytest.approx([series.x[3] / 1e6])  # type: ignore[union-attr]
    assert [text.get_text() for text in drawn[0].axes[0].get_legend().get_texts()] == ["RI(4) SW(32)", "knee, #3"]


def test_the_picture_of_a_front_marks_its_knee() -> None:
    found = search("gpt3-4k", evaluations=500)
    mark = knee_of(found)
    assert mark is not None
    assert (mark.x[0], mark.y[0]) == (found.knee()["cost_usd"], found.knee()["time_ms"])
    assert mark.label == f"knee, #{found.knee()['id']}"
    assert knee_of(Front(found.frame[:3], found.objectives)) is None


@pytest.mark.slow
def test_a_series_without_a_name_is_not_in_the_legend(tmp_path: Path, drawn: list[Figure]) -> None:
    written(tmp_path / "a.png", [front(5, ""), front(5, "named")])
    written(tmp_path / "b.png", [front(5, "")])
    assert [text.get_text() for text in drawn[0].axes[0].get_legend().get_texts()] == ["named"]
    assert drawn[1].axes[0].get_legend() is None


@pytest.mark.slow
def test_long_names_leave_room_for_the_axes(tmp_path: Path, drawn: list[Figure]) -> None:
    written(tmp_path / "a.png", [front(5, "RI(8) FC(8) " * 30)])
    assert drawn[0].axes[0].get_position().width > 0.3


@pytest.mark.slow
def test_dollars_are_not_formulas(tmp_path: Path, drawn: list[Figure]) -> None:
    written(tmp_path / "a.png", [front(5, "$a$")], x_label="cost [$] per [$]", title=r"$\bad")
    axes = drawn[0].axes[0]
    assert not axes.xaxis.label.get_parse_math()
    assert not axes.get_legend().get_texts()[0].get_parse_math()


@pytest.mark.slow
@pytest.mark.parametrize("series", [[], [Series(np.empty(0), np.empty(0), "none")]])
@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_no_points_are_told(tmp_path: Path, drawn: list[Figure], series: list[Series], suffix: str) -> None:
    assert written(tmp_path / f"a{suffix}", series)
    assert [text.get_text() for text in drawn[0].axes[0].texts] == ["no points"]


@pytest.mark.slow
def test_bars_are_one_entry_of_the_legend_and_behind_the_points(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.array([1.0, 2.0]), np.array([2.0, 1.0])
    bars = np.array([[1.5, np.nan], [3.0, np.nan]])
    drawn: list[Figure] = []
    kept = module._add_legend  # noqa: SLF001 - what has drawn by then
    monkeypatch.setattr(module, "_add_legend", lambda figure, *rest: (drawn.append(figure), kept(figure, *rest)))
    front_figure([Series(x, y, "a", bars), Series(x, y, "b", bars)], **LABELS, path=io.BytesIO())
    (axes,) = drawn[0].axes
    assert [len(one.get_segments()) for one in axes.collections] == [1, 1]
    assert all(one.get_zorder() < line.get_zorder() for one in axes.collections for line in axes.lines)
    legend = axes.get_legend() or drawn[0].legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "bar: four of five measured figures"]
    assert axes.get_ylim()[1] >= 3.0
