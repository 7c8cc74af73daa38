from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from textual import events
from textual.command import CommandPalette

from evo_libra.ui.terminal.keys import KEYS, MOVES, key_names
from evo_libra.ui.terminal.widgets.dialogs import Choose, Form, Help
from evo_libra.ui.terminal.widgets.lists import Table
from evo_libra.ui.terminal.widgets.plots import Scatter

Drive = Callable[..., None]
pytestmark = pytest.mark.usefixtures("store")


@pytest.mark.slow
def test_runs_are_filtered_while_the_filter_is_typed(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        await driver.press("slash")
        await driver.type("status:done")
        await driver.until(lambda: len(driver.main.board.scene.runs) == 3)
        assert "runs 3 of 9" in driver.text
        await driver.press("enter", "j")
        await driver.until(lambda: driver.main.board.run.seed == 1)
        await driver.press("slash")
        await driver.type(" seed>many")
        await driver.until(lambda: driver.main.board.scene.error)
        assert "many" in driver.main.query_one("#queue").border_subtitle
        await driver.press("escape")
        await driver.until(lambda: len(driver.main.board.scene.runs) == 9)

    drive(look)


@pytest.mark.slow
def test_runs_are_sorted_by_key_and_by_mouse(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        await driver.press("s", "s")
        await driver.until(
            lambda: driver.main.board.scene.runs[0].status == "done" and driver.main.board.state.sort == "status"
        )
        await driver.pilot.click("#runs", offset=(6, 0))
        await driver.until(lambda: driver.main.board.state.sort == "id")
        await driver.pilot.click("#runs", offset=(6, 0))
        await driver.until(lambda: driver.main.board.scene.runs[0].engine == "random")

    drive(look)


@pytest.mark.slow
def test_several_runs_in_one_plot(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        await driver.press("m", "j", "m", "j", "j", "j")
        await driver.until(lambda: len(driver.main.board.scene.data) == 3)
        picture = driver.main.board.picture()
        assert [one.label for one in picture.fronts] == ["gpt3-4k nsga2 s4", "gpt3-4k nsga2 s0", "gpt3-4k nsga2 s1"]
        assert picture.styles == (2, 0, 1)
        assert "▲ gpt3-" in driver.text
        await driver.press("M")
        await driver.until(lambda: len(driver.main.board.scene.data) == 1)

    drive(look)


@pytest.mark.slow
def test_no_more_runs_than_can_be_told_apart(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        await driver.press(*["m", "j"] * 8)
        await driver.said("7 runs are marked")
        assert len(driver.main.board.state.marked) == 7

    drive(look)


@pytest.mark.slow
def test_objectives_axes_zoom_and_fit(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        first = driver.main.board.picture()
        assert "network cost [MUSD]" in driver.text.split("\n")[-8] + driver.text.split("\n")[-7]
        await driver.press("o")
        assert driver.main.board.picture().x_label == "iteration time [ms]"
        await driver.press("O")
        assert isinstance(driver.app.screen, Choose)
        await driver.press("up", "enter")
        assert driver.main.board.picture().x_label == "network cost [USD]"
        await driver.press("x", "y")
        picture = driver.main.board.picture()
        assert (picture.x.log, picture.y.log) == (not first.x.log, not first.y.log)
        await driver.press("plus")
        zoomed = driver.main.board.picture()
        assert zoomed.x.high - zoomed.x.low < picture.x.high - picture.x.low
        await driver.press("minus", "minus")
        assert driver.main.board.picture().x.high - driver.main.board.picture().x.low > picture.x.high - picture.x.low
        await driver.press("a")
        assert driver.main.board.picture().x == picture.x

    drive(look)


@pytest.mark.slow
def test_designs_are_stepped_through_clicked_zoomed_and_dragged(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        await driver.press("2", "g")
        await driver.settled()
        assert "design 0 of 21" in driver.text
        await driver.press("right", "down")
        assert "design 11 of 21" in driver.text
        plot = driver.main.query_one(Scatter)
        area = plot.area
        await driver.pilot.click("#plot", offset=(area.left + area.columns - 1, area.rows))
        await driver.pilot.pause()
        assert driver.main.board.state.design["cost_usd"] == pytest.approx(2e7)
        before = driver.main.board.picture()
        where = {"x": 20, "y": 5, "delta_x": 0, "delta_y": 0, "button": 0, "shift": False, "meta": False, "ctrl": False}
        plot.post_message(events.MouseScrollUp(plot, **where))
        await driver.pilot.pause()
        zoomed = driver.main.board.picture()
        assert zoomed.x.high - zoomed.x.low == pytest.approx(0.8 * (before.x.high - before.x.low))
        await driver.pilot.mouse_down("#plot", offset=(20, 10))
        await driver.pilot.hover("#plot", offset=(25, 12))
        await driver.pilot.mouse_up("#plot", offset=(25, 12))
        await driver.pilot.pause()
        assert driver.main.board.picture().x.low < zoomed.x.low
        assert driver.main.board.picture().y.low > zoomed.y.low

    drive(look)


@pytest.mark.slow
def test_a_query_chooses_designs_of_the_plot_and_the_table(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        await driver.settled()
        for query, said in (("time<<3", "character 6 of 'time<<3'"), ("#99", "none of 21 designs fits '#99'")):
            await driver.press("F", *query, "enter")
            await driver.said(said)
        await driver.press("F", *"#1,2,5", "enter")
        await driver.pilot.pause()
        assert driver.main.board.state.part == "#1,2,5"
        assert driver.main.board.data.front.frame["id"].to_list() == [1, 2, 5]
        await driver.press("f")
        await driver.pilot.pause()
        assert len(driver.main.query_one("#front", Table).rows) == 3

    drive(look)


@pytest.mark.slow
def test_tabs_show_design_front_and_log(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        await driver.settled()
        for text in ("topology", "technology", "gpt-3-libra tp=16", "equal bandwi"):
            assert text in driver.text
        await driver.press("f")
        await driver.until(lambda: "network" in driver.text)
        await driver.press("g", "j", "enter")
        assert driver.main.board.state.tab == "design"
        await driver.settled()
        assert "design 1 of 21" in driver.text
        await driver.press("v")
        await driver.until(lambda: "started on node" in driver.text)
        await driver.press("d", "1", "j", "j", "j")
        await driver.until(lambda: "no luck today" in driver.text)

    drive(look)


@pytest.mark.slow
def test_designs_are_compared_with_a_baseline(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        await driver.press("2", "g", "b", "G")
        await driver.settled()
        assert "against     design 0 of 21, gpt3" in driver.text
        assert "time        990 ms        +390.1 %" in driver.text
        assert "◇ baseline" in driver.text
        await driver.press("B")
        await driver.settled()
        assert "against     equal bandwidths, no larger total" in driver.text

    drive(look, size=(160, 40))


@pytest.mark.slow
def test_export_writes_tables_figures_and_text(drive: Drive, tmp_path: Path) -> None:
    async def look(driver: Any) -> None:
        await driver.press("m", "j")
        await driver.until(lambda: len(driver.main.board.scene.data) == 2)
        for name in ("out.csv", "new/out.json", "out.svg", "out.txt", "out.doc"):
            await driver.press("e")
            assert isinstance(driver.app.screen, Form)
            driver.app.screen.query_one("#field-file").value = name
            await driver.press("enter")
            await driver.said("cannot export to 'out.doc'" if name == "out.doc" else f"wrote {name}")

    drive(look)
    table = pl.read_csv(tmp_path / "out.csv")
    assert table.height == 42
    assert table["run"].unique().sort().to_list() == ["gpt3-4k nsga2 s0", "gpt3-4k nsga2 s1"]
    assert json.loads((tmp_path / "new/out.json").read_text()) == table.to_dicts()
    assert (tmp_path / "out.svg").read_text().startswith("<?xml")
    assert "network cost [MUSD]" in (tmp_path / "out.txt").read_text()


@pytest.mark.slow
def test_help_names_every_key_and_palette_does_what_they_do(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        await driver.press("question_mark")
        assert isinstance(driver.app.screen, Help)
        said = driver.text
        for _, keys in KEYS:
            for key in keys:
                assert key.long.split(",")[0][:60] in said
        await driver.press("escape", "ctrl+p")
        assert isinstance(driver.app.screen, CommandPalette)
        await driver.type("horizontal axis")
        await driver.until(lambda: "Plot: horizontal axis" in driver.text)
        log = driver.main.board.state.plot.log_x
        await driver.press("down", "enter")
        await driver.until(lambda: driver.main.board.state.plot.log_x is not log)

    drive(look, size=(120, 80))


def test_every_key_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "terminal.md").read_text(encoding="utf-8")
    keys = [f"| `{key_names(key.keys)}` | {key.long} |" for _, group in KEYS for key in group]
    moves = [f"| `{key}` | {what} |" for key, what in MOVES]
    assert [line for line in page.splitlines() if line.startswith("| `")] == [*keys, *moves]


@pytest.mark.slow
def test_frozen_display_stands_still(drive: Drive, write_run: Callable[..., Path]) -> None:
    async def look(driver: Any) -> None:
        await driver.press("space")
        assert "frozen" in driver.text
        write_run(9, "done")
        await driver.pilot.pause(0.3)
        assert len(driver.main.board.scene.every) == 9
        await driver.press("space")
        await driver.until(lambda: len(driver.main.board.scene.every) == 10)

    drive(look)


@pytest.mark.slow
def test_copy_keeps_the_design_and_quit_leaves(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        await driver.settled()
        await driver.press("ctrl+y")
        assert driver.app.clipboard.startswith("RI(4)@chiplet:95_FC(8)@package:21")
        await driver.press("q")
        assert driver.app._exit  # noqa: SLF001 - Textual tells nobody else

    drive(look)
