"""The page in a browser: it opens, brushes, selects, filters, sorts, exports, prints, and asks for nothing."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evo_libra.front.front import Front
from evo_libra.report.charts import attainment_chart, convergence_chart
from evo_libra.report.data import Source, report_document
from evo_libra.report.page import frame
from evo_libra.report.records import Document, Reference

Show = Callable[..., Any]


def middle(tab: Any, selector: str) -> dict[str, float]:
    box = tab.locator(selector).bounding_box()
    assert box is not None
    return dict(box)


@pytest.mark.slow
def test_it_opens_with_all_designs_drawn(show: Show, document: Document) -> None:
    shown = show(document)
    assert shown.selected == len(document.rows.id)
    for canvas in ("scatter-front", "parallel-front", "scatter-top"):
        painted = shown.value(
            f"(() => {{ const c = el('{canvas}'), all = c.getContext('2d').getImageData(0, 0, c.width, c.height);"
            " let n = 0; for (let i = 3; i < all.data.length; i += 4) n += all.data[i] > 0; return n; })()"
        )
        assert painted > 100, canvas
    assert document.title in shown.tab.title()


@pytest.mark.slow
def test_its_policy_forbids_requests(show: Show, document: Document) -> None:
    shown = show(document)
    refused = shown.tab.evaluate(
        "new Promise((done) => { addEventListener('securitypolicyviolation',"
        " (event) => done(event.effectiveDirective)); new Image().src = 'http://127.0.0.1:9/x.png'; })"
    )
    assert refused == "img-src"
    assert len(shown.said) == 1, "the browser names the violation"
    shown.said.clear()
    # What a policy stops is told as asked for, too.
    shown.asked.remove("http://127.0.0.1:9/x.png")


@pytest.mark.slow
def test_a_rectangle_selects_in_all_views_and_escape_takes_it_back(
    show: Show, document: Document, source: Source
) -> None:
    shown = show(document)
    box = middle(shown.tab, "#scatter")
    shown.drag(box["x"] + 120, box["y"] + 60, box["x"] + 330, box["y"] + 330)
    area = shown.value("state.area")
    time, cost = (np.array(one.values, dtype=float) for one in document.columns if one.kind == "objective")
    inside = (time >= area["y"]["low"]) & (time <= area["y"]["high"])
    inside &= (cost >= area["x"]["low"]) & (cost <= area["x"]["high"])
    assert 0 < inside.sum() < len(source.front)
    assert shown.selected == inside.sum()
    rows = shown.tab.locator("#body [data-row]").evaluate_all("all => all.map((one) => Number(one.dataset.row))")
    assert set(rows) <= set(np.flatnonzero(inside).tolist())
    shown.tab.keyboard.press("Escape")
    assert shown.selected == len(source.front)


@pytest.mark.slow
def test_a_drag_along_an_axis_selects_a_range_and_a_click_takes_it_back(show: Show, document: Document) -> None:
    shown = show(document)
    shown.tab.locator("#parallel").scroll_into_view_if_needed()
    axis = shown.value("lines.axes.findIndex((one) => one.field.key === 'bandwidth[0]_GBps')")
    assert axis >= 0
    box, x = middle(shown.tab, "#parallel"), shown.value(f"lines.axes[{axis}].x")
    shown.drag(box["x"] + x, box["y"] + 60, box["x"] + x, box["y"] + 170)
    limits = shown.value("state.ranges.get('bandwidth[0]_GBps')")
    values = next(one.values for one in document.columns if one.key == "bandwidth[0]_GBps")
    expected = sum(value is not None and limits["low"] <= value <= limits["high"] for value in values)
    assert 0 < expected < len(values)
    assert shown.selected == expected
    shown.tab.mouse.click(box["x"] + x, box["y"] + 250)
    assert shown.selected == len(values)


@pytest.mark.slow
def test_the_filter_is_the_query_language_of_fronts(show: Show, document: Document, source: Source) -> None:
    shown = show(document)
    limit = float(source.front.frame["time_ms"].median())  # type: ignore[arg-type]
    for query in (
        f"time < {limit / 1e3!r} s family:{document.families[0].name.lower()}",
        "#0,2",
        "-technology[0]:*a* cost>1kUSD",
    ):
        shown.tab.fill("#filter", query)
        assert shown.selected == len(source.front.where(query)), query
    before = shown.selected
    shown.tab.fill("#filter", "time<<3")
    assert shown.selected == before, "a query with a mistake chooses nothing new"
    assert shown.text("#said") == "character 6 of 'time<<3': '<3' is no number, such as 5ms"
    assert shown.tab.get_attribute("#filter", "aria-invalid") == "true"
    shown.tab.fill("#filter", "nothing-like-that")
    assert shown.selected == 0


@pytest.mark.slow
def test_the_legend_hides_and_shows_a_family(show: Show, document: Document) -> None:
    shown = show(document)
    first = shown.tab.locator("#legend button").first
    name, _, size = first.inner_text().strip().rpartition("(")
    first.click()
    assert shown.selected == len(document.rows.id) - int(size.rstrip(")").replace(",", "")), name
    assert first.get_attribute("aria-pressed") == "false"


@pytest.mark.slow
def test_the_table_sorts_and_a_click_opens_a_design(show: Show, parts_document: Document) -> None:
    shown = show(parts_document)
    head = shown.tab.locator("#head th", has_text="network cost")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    shown.tab.locator("#body [data-row]").first.click()
    costs = next(one.values for one in parts_document.columns if one.key == "cost_usd")
    row = shown.value("state.picked")
    assert costs[row] == min(value for value in costs if value is not None)
    text = shown.text("#detail")
    detail = parts_document.details[str(row)]
    assert f"#{parts_document.rows.id[row]}" in text
    assert all(sentence in text for sentence in detail.sentences)
    assert all(figure in text for figure in dict(detail.figures).values())
    assert all(cell.strip() in text for line in detail.tables[0].rows if line is not None for cell in line)
    assert shown.tab.locator("#detail svg").count() == 1
    assert f"evo-libra explain 'results/parts#{parts_document.rows.id[row]}'" in text
    assert "GB/s per NPU" in (shown.tab.locator("#detail svg").text_content() or "")


@pytest.mark.slow
def test_it_opens_with_the_design_to_buy_and_the_design_stays_in_view(show: Show, document: Document) -> None:
    shown = show(document)
    assert document.verdict[0].startswith(f"Buy #{document.rows.id[document.buy[0]]} ")
    assert shown.value("state.picked") == document.buy[0]
    assert shown.tab.locator("#detail svg").count() == 1
    assert shown.value("state.bars") is False
    shown.tab.locator("#table").scroll_into_view_if_needed()
    shown.tab.locator("#body [data-row]").nth(3).click()
    box = middle(shown.tab, "#detail h2")
    assert 0 < box["y"] < 900


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_cover_neither_points_nor_names(show: Show, parts_document: Document, scheme: str) -> None:
    shown = show(parts_document, color_scheme=scheme)
    names, places = shown.value("[written, points]")
    assert len(names) > 1
    for left, top, right, bottom in names:
        assert not [1 for x, y in places if left < x < right and top < y < bottom]
        assert (
            sum(left < other[2] and other[0] < right and top < other[3] and other[1] < bottom for other in names) == 1
        )


@pytest.mark.slow
def test_the_plot_is_saved_as_a_picture(show: Show, document: Document) -> None:
    shown = show(document)
    with shown.tab.expect_download() as waiting:
        shown.tab.click("[data-key=i]")
    assert waiting.value.suggested_filename == "front.png"
    assert Path(waiting.value.path()).read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_bars_end_at_the_plot(show: Show, parts_document: Document) -> None:
    shown = show(parts_document)
    shown.tab.check("#bars")
    painted = shown.value(
        "(() => { const c = el('scatter-front'), ratio = c.width / c.clientWidth;"
        " const from = Math.ceil((view.width - EDGE.right + 8) * ratio);"
        " const all = c.getContext('2d').getImageData(from, 0, c.width - from, c.height).data;"
        " let n = 0; for (let i = 3; i < all.length; i += 4) n += all[i] > 0; return n; })()"
    )
    assert painted == 0


@pytest.mark.slow
def test_a_click_on_a_point_opens_it(show: Show, document: Document) -> None:
    shown = show(document)
    box = middle(shown.tab, "#scatter")
    row = len(document.rows.id) // 2
    x, y = shown.value(f"[toX(state.x.data[{row}]), toY(state.y.data[{row}])]")
    shown.tab.mouse.click(box["x"] + x, box["y"] + y)
    found = shown.value("state.picked")
    assert found >= 0
    assert shown.value(f"Math.hypot(toX(state.x.data[{found}]) - {x}, toY(state.y.data[{found}]) - {y})") < 3


@pytest.mark.slow
def test_keys_walk_the_table_and_change_axes_themes_and_help(show: Show, document: Document) -> None:
    shown = show(document)
    shown.tab.evaluate("show(-1)")
    for key, expected in (("n", 0), ("n", 1), ("ArrowDown", 2), ("p", 1), ("ArrowUp", 0), ("p", 0)):
        shown.tab.keyboard.press(key)
        assert shown.value("state.picked") == expected
    before = shown.value("theme.back")
    shown.tab.keyboard.press("t")
    assert shown.value("theme.back") != before
    shown.tab.keyboard.press("?")
    assert shown.tab.locator("#help").is_visible()
    shown.tab.keyboard.press("n")
    assert shown.value("state.picked") == 0, "keys belong to the dialog"
    shown.tab.keyboard.press("Escape")
    assert not shown.tab.locator("#help").is_visible()
    shown.tab.keyboard.press("/")
    shown.tab.keyboard.type("n")
    assert shown.value("state.picked") == 0, "keys belong to the filter"
    for key in ("Escape", "z", "z", "x"):
        shown.tab.keyboard.press(key)
    assert shown.tab.evaluate("document.activeElement.id") == "x"


@pytest.mark.slow
def test_names_beside_points_cover_no_other_name(show: Show, document: Document) -> None:
    values = {one.key: one.values[0] for one in document.columns if one.kind == "objective"}
    near = [Reference(f"reference-{n}", "", values, "") for n in range(5)]  # all of them at one place
    shown = show(replace(document, references=near))
    boxes = shown.value("written")
    assert len(boxes) >= len(near)
    for n, (left, top, right, bottom) in enumerate(boxes):
        assert not any(left < r and le < right and top < b and t < bottom for le, t, r, b in boxes[:n])


@pytest.mark.slow
def test_axes_can_be_any_column_and_linear(show: Show, document: Document) -> None:
    shown = show(document)
    shown.tab.select_option("#x", "bandwidth[0]_GBps")
    shown.tab.uncheck("#log-y")
    assert shown.value("[view.y.log, state.x.key]") == [False, "bandwidth[0]_GBps"]
    assert shown.value("ticks(view.y, 9).length") >= 2


@pytest.mark.slow
def test_ticks_are_at_least_two_and_lie_on_the_axis(show: Show, document: Document) -> None:
    shown = show(document)
    for low, high in ((1, 1.0001), (210, 220), (3e5, 2e7), (1, 1e12), (0.5, 9), (0.02, 0.03)):
        for log in ("true", "false"):
            found = shown.value(f"ticks({{log: {log}, low: {low}, high: {high}}}, 6)")
            assert len(found) >= 2, (low, high, log)
            assert min(found) >= low * (1 - 1e-9)
            assert max(found) <= high * (1 + 1e-9)


@pytest.mark.slow
def test_it_exports_what_is_selected_as_csv(show: Show, document: Document, source: Source, tmp_path: Path) -> None:
    shown = show(document)
    shown.tab.fill("#filter", "time_ms<1000000 sw")
    with shown.tab.expect_download() as waited:
        shown.tab.click("[data-key='c']")
    waited.value.save_as(tmp_path / "designs.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "designs.csv").read_text())))
    assert len(rows) == shown.selected
    known = {str(row["id"]): row for row in source.front.rows()}
    for row in rows:
        assert float(row["cost_usd"]) == pytest.approx(known[row["id"]]["cost_usd"], rel=1e-6)
        assert float(row["time_ms"]) == pytest.approx(known[row["id"]]["time_ms"], rel=1e-6)
        assert row["design"] == known[row["id"]]["design"]


@pytest.mark.slow
def test_several_results_have_colours_and_a_batch_its_pictures(show: Show, source: Source) -> None:
    worse = source.front.frame.with_columns(pl.col("time_ms") * 1.2)
    other = Source("other", Front(worse, source.front.objectives))
    points = source.front.frame.select("time_ms", "cost_usd").to_numpy().T
    surfaces = {"a": {level: points * factor for level, factor in ((0, 1.0), (50, 1.1), (100, 1.3))}}
    charts = [
        attainment_chart(surfaces, {"a": 3}, source.front.objectives),
        convergence_chart({"a": [np.array([[10.0, 100.0], [0.2, 0.9]])] * 3}),
    ]
    document = report_document([source, other], title="two", charts=[one for one in charts if one is not None])
    shown = show(document)
    assert shown.tab.locator("#legend button").all_inner_texts()[0].split()[1] in ("turing-nlg-4k", "other")
    assert shown.tab.locator(".charts h2").all_inner_texts() == ["Attainment", "Convergence"]
    assert shown.tab.locator(".charts svg path").count() > 10


def pages_of(paper: bytes) -> int:
    """Return the number of pages of a PDF."""
    assert paper.startswith(b"%PDF")
    return len(re.findall(rb"/Type\s*/Page[^s]", paper))


def long_verdict(document: Document) -> Document:
    """Return a report of three results that all say much."""
    sentence = "Next best: #0 4 gb300-nvl72 / 2 x 400G / sn5600 fat tree 1:1, which costs 3.96 MUSD more. "
    return replace(document, verdict=[*document.verdict, *[4 * sentence] * 12], charts=3 * document.charts)


PAPERS: Mapping[str, Callable[[Document], Document]] = {
    "as it is": lambda document: document,
    "long verdicts": long_verdict,
    "no design": lambda document: replace(document, buy=[]),
}


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize("change", PAPERS.values(), ids=PAPERS)
@pytest.mark.parametrize("of", ["document", "parts_document", "wafer_document", "orders_document", "tokens_document"])
def test_it_prints_on_two_pages(
    show: Show, request: pytest.FixtureRequest, of: str, change: Callable[[Document], Document], paper: str
) -> None:
    shown = show(change(request.getfixturevalue(of)))
    assert pages_of(shown.tab.pdf(format=paper, print_background=True)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("of", ["document", "orders_document"])
def test_paper_has_the_verdict_the_network_and_the_tornado(show: Show, request: pytest.FixtureRequest, of: str) -> None:
    document = request.getfixturevalue(of)
    shown = show(document)
    shown.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    # What is wider than the page makes the browser shrink all of it.
    assert shown.value("document.documentElement.scrollWidth") <= 1300
    assert shown.value("el('list').scrollWidth <= el('list').clientWidth + 1")
    assert all(shown.tab.locator(part).first.is_visible() for part in (".verdict", "#scatter", "#detail figure svg"))
    titles = [one.inner_text() for one in shown.tab.locator(".charts h2").all() if one.is_visible()]
    assert titles == [one.title for one in document.charts if one.printed]
    assert (of == "orders_document") == bool(titles)


@pytest.mark.slow
def test_paper_says_what_the_table_leaves_out(show: Show) -> None:
    shown = show(many(100))
    shown.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    rows = shown.tab.locator("#body [data-row]").count()
    assert shown.value("el('table').dataset.rest") == f"{100 - rows} more designs are in the page itself"
    assert 8 <= rows <= 40


@pytest.mark.slow
def test_the_theme_of_the_screen_comes_back_from_paper(show: Show, document: Document) -> None:
    shown = show(document, color_scheme="dark")
    shown.tab.keyboard.press("n")
    shown.tab.pdf(format="A4", print_background=True)
    assert shown.value("getComputedStyle(document.documentElement).colorScheme") == "dark"
    shown.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert shown.value("getComputedStyle(document.documentElement).colorScheme") == "light"


@pytest.mark.slow
def test_a_hostile_text_stays_text(show: Show, source: Source) -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    frame_ = pl.DataFrame({"id": [0, 1], "a_ms": [1.0, 2.0], "b": [2.0, 1.0], "what": [evil, "b"]})
    document = report_document(
        [Source(evil, Front(frame_, ("a_ms", "b")), facts={evil: evil})], title=evil, notes=[evil]
    )
    shown = show(replace(document, rule=evil))
    shown.tab.keyboard.press("n")
    assert evil in shown.text("#detail")
    assert evil in shown.text("#body")
    assert shown.text("h1") == evil
    assert source.front.objectives


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 520])
def test_it_fits_a_narrow_window(show: Show, parts_document: Document, width: int) -> None:
    shown = show(parts_document, width, 900)
    shown.tab.keyboard.press("n")
    assert shown.value("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_rows_are_there_before_any_frame_is_drawn(show: Show, document: Document) -> None:
    """A page in the background, or one that a program takes a picture of, gets no frames."""
    shown = show(document)
    assert len(document.rows.id) <= shown.value("FEW_ROWS")
    rows = "document.querySelectorAll('#body [data-row]').length"
    assert shown.value(f"(() => {{ el('body').replaceChildren(); update(); return {rows}; }})()") > 0


@pytest.mark.slow
def test_a_notebook_shows_the_page_in_a_frame(show: Show, document: Document) -> None:
    shown = show(f"<!doctype html><title>notebook</title>{frame(document)}")
    inner = shown.tab.frame_locator("iframe")
    inner.locator("html[data-ready=true]").wait_for(state="attached")
    assert inner.locator("#count").inner_text().startswith(f"{len(document.rows.id)} of")


def many(count: int) -> Document:
    """A front of three objectives with the columns of a network of four dimensions."""
    random = np.random.default_rng(0)
    first, second = random.random(count), random.random(count)
    genes = {f"bandwidth[{d}]_GBps": 1 + 500 * random.random(count) for d in range(4)}
    frame_ = pl.DataFrame({
        "id": np.arange(count), "time_ms": 200 + 5000 * first, "cost_usd": 1e6 + 1e8 * second,
        "power_kW": 1e3 * (3 - first - second), "design": [f"RI({2 + n % 12})_SW({64 + n % 3})" for n in range(count)],
        **genes,
    })  # fmt: skip
    front = Front(frame_.sort("time_ms"), ("time_ms", "cost_usd", "power_kW"))
    return report_document([Source("many", front)], title="many")


@pytest.mark.slow
def test_20_000_designs_stay_fluid(show: Show) -> None:
    document = many(20_000)
    assert len(document.rows.id) == 20_000
    shown = show(document)
    painted = shown.tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert painted < 1500
    meter = shown.tab.context.new_cdp_session(shown.tab)
    # Of the page's own thread, whatever else the machine does.
    meter.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        metrics = {one["name"]: one["value"] for one in meter.send("Performance.getMetrics")["metrics"]}
        return float(metrics["TaskDuration"]) * 1e3

    shown.tab.evaluate("window.frames_ = 0; (function count() { window.frames_++; requestAnimationFrame(count); })()")
    shown.settle()
    box = middle(shown.tab, "#scatter")
    before, start = busy(), shown.tab.evaluate("window.frames_")
    shown.drag(box["x"] + 100, box["y"] + 60, box["x"] + 400, box["y"] + 300, steps=30)
    frames = shown.tab.evaluate("window.frames_") - start
    assert 0 < shown.selected < 20_000
    assert (busy() - before) / max(frames, 1) < 50, "ms of work in a frame"
