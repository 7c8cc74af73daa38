"""Which design, why, and beside another one: asked with keys of the terminal UI."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from evo_libra import load_problem, search
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.explain.comparison import Comparison, Named, winners
from evo_libra.explain.drawn_network import drawn_network
from evo_libra.explain.recommend import knee
from evo_libra.pictures.networks.characters import network_lines
from evo_libra.ui.terminal import answers
from evo_libra.ui.terminal.session import Scene
from evo_libra.ui.terminal.view_model import State, settled
from evo_libra.ui.terminal.widgets.dialogs import Reading
from evo_libra.ui.terminal.widgets.lists import Sheet

Drive = Callable[..., None]


def test_the_first_answer_says_what_the_front_recommends() -> None:
    front = search(load_problem("gpt3-4k"), evaluations=1000)
    (first, *found), rows = answers.which_one(front), front.recommend()
    assert first[0] == "verdict"
    assert first[1].startswith("Buy #")
    assert "Next best: #" in first[1]
    assert len(found) == len(rows)
    for (title, text), row in zip(found, rows, strict=True):
        assert title.startswith(f"#{row['id']} ")
        assert row["reason"] in text
        assert row["runner_up_is"] in text


@pytest.mark.slow
@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("key", "said"),
    [("w", "why: "), ("E", "one step away"), ("D", "which one wins when")],
)
def test_a_key_answers_and_escape_leaves(drive: Drive, key: str, said: str) -> None:
    async def look(driver: Any) -> None:
        await driver.press("2", "right", "right", key)
        await driver.until(lambda: isinstance(driver.app.screen, Reading))
        await driver.until(lambda: said in driver.text)
        await driver.press("j", "k", "j", "escape")
        assert driver.app.screen is driver.main

    drive(look, size=(120, 60))


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_a_baseline_is_what_a_design_stands_beside(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        await driver.press("2", "g", "b", "G", "D")
        await driver.until(lambda: isinstance(driver.app.screen, Reading))
        run = RunFolder(driver.main.board.run.folder)
        ids = run.read_front().frame["id"]
        await driver.until(lambda: f"first   #{ids[0]} " in driver.text and f"second  #{ids[-1]} " in driver.text)

    drive(look, size=(120, 60))


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_the_knee_is_that_of_the_commands(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        board = driver.main.board
        values = board.data.front.frame.select(board.data.front.objectives).to_numpy().T
        assert board.design.objectives["time_ms"] == values[0][knee(values)]

    drive(look)


@pytest.mark.slow
def test_a_design_that_is_not_known_is_said(drive: Drive, write_run: Callable[..., Any]) -> None:
    write_run(1, "interrupted", share=0.5)

    async def look(driver: Any) -> None:
        for key in ("E", "D"):
            await driver.press(key)
            await driver.said("the design is not known yet")

    drive(look)


@pytest.mark.slow
@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_key_draws_the_network_of_the_selected_design(drive: Drive, ascii_only: bool) -> None:  # noqa: FBT001 - pytest's
    async def look(driver: Any) -> None:
        await driver.press("2", "right", "N", "N")
        await driver.settled()
        board, sheet = driver.main.board, driver.main.query_one("#network-sheet", Sheet)
        drawn = drawn_network(board.design.notation, load_problem("gpt3-4k"))
        assert sheet.text == "\n".join(network_lines(drawn, sheet.columns, ascii_only=ascii_only))
        assert "dimension 3: SW(8) pod" in driver.text
        await driver.press("2", "G")
        await driver.settled()
        assert f"{board.design.notation.split('chiplet:')[1].split('_')[0]} GB/s per NPU" in sheet.text

    drive(look, ascii_only=ascii_only, size=(120, 60))


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_it_opens_on_the_run_at_work(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        scene: Scene = driver.main.board.scene
        runs = [replace(run, status="running") if run.seed == 4 else run for run in scene.runs]
        working = replace(scene, runs=runs)
        assert settled(State(), working).run == next(run.id for run in runs if run.status == "running")
        assert settled(State(run="gone"), working).run == runs[0].id
        assert settled(State(), scene).run == scene.runs[0].id

    drive(look)


def test_winners_name_who_is_faster() -> None:
    one, two = (
        Named(name="", design="", figures={"time_ms": time, "cost_usd": cost})
        for time, cost in ((2.0, 1.0), (1.0, 2.0))
    )
    alike = dict.fromkeys(("network", "plan", "time", "busy", "money", "system", "prices", "bandwidths", "batches"), ())
    found = Comparison(first=one, second=two, second_is="", of_two_problems=False, **alike)
    today = "when the bandwidth of any one technology is a quarter to four times today's."
    assert list(winners(found)) == [
        "The first stays cheaper, whatever any single part costs.", f"The second stays faster {today}",
    ]  # fmt: skip
    assert list(winners(replace(found, second=one)))[1] == f"Both stay as fast {today}"
