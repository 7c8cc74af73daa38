from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evo_libra.errors import InputError
from evo_libra.experiment.execution.plan import write_plan
from evo_libra.experiment.file.expansion import load_experiment
from evo_libra.experiment.results.catalogue import Catalogue
from evo_libra.experiment.run.origin import build, origin_of
from evo_libra.experiment.run.spec import Experiment, manifest_of, run_of
from evo_libra.experiment.store.claim import Lease
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.experiment.store.messages import all_requested, requested
from evo_libra.named_code import ANY, trust
from evo_libra.ui.terminal import new_run as launch
from evo_libra.ui.terminal.widgets.dialogs import Confirm, Form
from evo_libra.ui.terminal.widgets.editor import Editor

Drive = Callable[..., None]
QUEUED = "npus=1024 nsga2 s7"


@pytest.fixture
def batch(store: Path) -> Iterator[Path]:
    """Return a batch that somebody executes."""
    folder = store / ".batches" / "sweep"
    with Lease(folder, "sweep"):
        yield folder


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...], str]]:
    """Return the batches that were started: file, which runs again, options; none of them really is."""
    calls: list[tuple[str, tuple[str, ...], str]] = []

    def start(path: Path, results: Path, *, again: tuple[str, ...] = (), options: str = "") -> str:
        assert results == Path("results")
        if "missing" in path.name:
            raise InputError("no such file")
        calls.append((path.name, tuple(again), options))
        return "started"

    monkeypatch.setattr(launch, "start", start)
    return calls


def queued_id(seed: int) -> str:
    return f"gpt3-4k/nsga2-00009999-e20000-s{seed}"


@pytest.mark.slow
@pytest.mark.usefixtures("batch")
def test_runs_at_work_are_paused_resumed_and_stopped(drive: Drive, store: Path) -> None:
    async def look(driver: Any) -> None:
        await driver.select(QUEUED)
        await driver.press("r")
        await driver.said("waits for a worker")
        await driver.press("p")
        await driver.said("pause requested")
        assert requested(store, queued_id(7)) == "pause"
        await driver.until(lambda: driver.main.board.run.status == "paused")
        await driver.press("r")
        await driver.said("resume requested")
        assert requested(store, queued_id(7)) == "resume"
        await driver.press("ctrl+x")
        assert isinstance(driver.app.screen, Confirm)
        await driver.press("escape")
        assert requested(store, queued_id(7)) == "resume"
        await driver.press("ctrl+x", "enter")
        await driver.said("stop requested")
        assert requested(store, queued_id(7)) == "stop"

    drive(look)


@pytest.mark.slow
@pytest.mark.usefixtures("batch")
def test_whole_batches_are_paused_resumed_and_stopped(drive: Drive, store: Path) -> None:
    async def look(driver: Any) -> None:
        await driver.select(QUEUED)
        await driver.press("P")
        assert requested(store, ".batches/sweep") == "pause"
        await driver.until(lambda: driver.main.board.scene.requests.get(".batches/sweep") == "pause")
        await driver.press("r")
        assert requested(store, ".batches/sweep") == "resume"
        await driver.press("ctrl+x")
        await driver.pilot.click("#answer-1")
        await driver.said("all of sweep: stop requested")
        assert requested(store, ".batches/sweep") == "stop"

    drive(look)


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_leaving_stops_nothing_unless_asked(drive: Drive, store: Path) -> None:
    async def leave(driver: Any) -> None:
        await driver.press("q")
        assert driver.app._exit  # noqa: SLF001 - Textual tells nobody else

    async def stop_and_leave(driver: Any) -> None:
        await driver.press("Q")
        assert "Stop sweep, and leave?" in driver.text
        await driver.pilot.click("#answer-stop")
        await driver.until(lambda: driver.app._exit)  # noqa: SLF001 - Textual tells nobody else

    before = all_requested(store)
    with Lease(store / ".batches" / "sweep", "sweep"):
        drive(leave)
        assert all_requested(store) == before
        drive(stop_and_leave)
        assert requested(store, ".batches/sweep") == "stop"


@pytest.mark.slow
@pytest.mark.usefixtures("batch")
def test_failed_runs_of_a_batch_at_work_are_tried_again(drive: Drive, write_run: Callable[..., Path]) -> None:
    failed = write_run(7, "failed", share=0.1)
    failed.rename(failed.with_name(Path(queued_id(7)).name))

    async def look(driver: Any) -> None:
        await driver.until(
            lambda: any(run.status == "failed" and run.seed == 7 for run in driver.main.board.scene.every)
        )
        await driver.select(QUEUED)
        await driver.press("R")
        assert requested(Path("results"), queued_id(7)) == "retry"

    drive(look)


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_batches_and_single_runs_are_started(drive: Drive, started: list[Any]) -> None:
    async def look(driver: Any) -> None:
        await driver.select(QUEUED)
        await driver.press("r")
        assert "Start sweep? 2 of 2 runs to be executed" in driver.text
        await driver.type("--workers 2")
        await driver.press("enter")
        await driver.until(lambda: len(started) == 1)
        await driver.press("n")
        assert isinstance(driver.app.screen, Form)
        await driver.type("mine.yaml")
        await driver.press("enter")
        await driver.until(lambda: len(started) == 2)
        await driver.press("n")
        await driver.type("missing.yaml")
        await driver.press("enter")
        await driver.said("no such file")

    drive(look)
    assert started == [("sweep.yaml", (), "--workers 2"), ("mine.yaml", (), "")]


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_what_cannot_be_asked_is_said(drive: Drive, started: list[Any]) -> None:
    async def look(driver: Any) -> None:
        await driver.press("r")
        await driver.said("is done; c makes a copy")
        await driver.press("p")
        await driver.said("there is nothing to pause")
        await driver.press("R")
        await driver.said("only runs that failed")
        await driver.press("P")
        await driver.said("belongs to no batch")
        await driver.select("gpt3-4k nsga2 s3")
        await driver.press("r")
        await driver.said("is failed; R runs it again")
        await driver.select("gpt3-4k nsga2 s5")
        await driver.press("ctrl+x")
        await driver.said("no process is at work")

    drive(look)
    assert not started


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_escape_leaves_the_editor_and_asks_again_where_a_text_was_edited(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        await driver.press("c")
        assert isinstance(driver.app.screen, Editor)
        await driver.press("escape")
        await driver.until(lambda: not isinstance(driver.app.screen, Editor))
        await driver.press("c")
        driver.app.screen.query_one("#text").text = "edited"
        await driver.press("escape")
        await driver.until(lambda: "Escape leaves without the changes" in driver.text)
        await driver.press("escape")
        await driver.until(lambda: not isinstance(driver.app.screen, Editor))

    drive(look)


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_copy_is_edited_checked_and_really_run(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        await driver.press("c")
        assert isinstance(driver.app.screen, Editor)
        area = driver.app.screen.query_one("#text")
        good = area.text
        assert "problem: gpt3-4k\nengines: nsga2\nevaluations: 20000\npopulation: 100\nseeds: 0\n" in good
        area.text = good.replace("evaluations:", "evaluation:")
        await driver.press("ctrl+s")
        await driver.until(lambda: isinstance(driver.app.screen, Editor) and "unknown key 'evaluation'" in driver.text)
        driver.app.screen.query_one("#text").text = good.replace("20000", "300")
        await driver.press("ctrl+s")
        await driver.said("runs as process")
        await driver.until(
            lambda: any(run.budget == 300 and run.status == "done" for run in driver.main.board.scene.every)
        )

    drive(look)


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_a_problem_is_completed_edited_and_started(drive: Drive, started: list[Any], tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("problem: gpt3-4k\n")

    async def look(driver: Any) -> None:
        await driver.press("n")
        await driver.type("min")
        await driver.until(lambda: "mine.yaml" in driver.text)
        assert "dlrm-4k" not in driver.text
        await driver.press("ctrl+u")
        await driver.type("dlrm-4")
        field = driver.app.screen.query_one("#field-file")
        await driver.until(lambda: field._suggestion == "dlrm-4k")  # noqa: SLF001 - what the right arrow takes
        await driver.press("right", "enter")
        assert isinstance(driver.app.screen, Editor)
        area = driver.app.screen.query_one("#text")
        assert "name: dlrm-4k\nproblem: dlrm-4k\nengines: nsga2\nevaluations: 50000\n" in area.text
        good, area.text = area.text, area.text.replace("seeds:", "seed_s:")
        await driver.press("ctrl+s")
        await driver.until(lambda: isinstance(driver.app.screen, Editor) and "unknown key 'seed_s'" in driver.text)
        driver.app.screen.query_one("#text").text = good.replace("seeds: 0", "seeds: 5")
        await driver.press("ctrl+s")
        await driver.until(lambda: len(started) == 1)

    drive(look)
    assert started == [("dlrm-4k.yaml", (), "")]


@pytest.mark.parametrize("problem", ["dlrm-4k", "gpt3-4k"])
def test_a_problem_starts_as_the_same_run_as_its_search(tmp_path: Path, problem: str) -> None:
    path = launch.write_file(tmp_path, "mine", launch.search_text(problem, "mine"))
    assert [spec.id for spec in load_experiment(path).runs] == [run_of(origin_of(problem, [])).id]


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_a_problem_that_cannot_be_read_is_said(drive: Drive, started: list[Any], tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("workloads: [\n")
    (tmp_path / "odd.yaml").write_text("workloads: 3\n")

    async def look(driver: Any) -> None:
        for name in ("wrong.yaml", "odd.yaml"):
            await driver.press("n")
            await driver.type(name)
            await driver.press("enter")
            await driver.said(name)

    drive(look)
    assert not started


SEARCHES = {
    "threads": """
        set: {{"constraints": ["sum(bw) <= 900 GB/s"], npus: 4096}}
        keep: designs
        seconds: 30.5
        stagnation: 300
        growth: 0.002
        gap: 0.05
        gap_every: 500
        restarts: 2
        memetic: 0.125
        islands: 2
        start_from: [{done}, {stale}]
    """,
    "processes": """
        memetic: 0
        workers: 2
        timeout: 4.5
        asynchronous: true
    """,
}


@pytest.mark.slow
@pytest.mark.parametrize("begun", [True, False], ids=["begun", "queued"])
@pytest.mark.parametrize("keys", SEARCHES.values(), ids=SEARCHES)
def test_a_copy_has_every_key_of_the_run(drive: Drive, store: Path, tmp_path: Path, keys: str, *, begun: bool) -> None:
    found = {run.status: run.folder for run in Catalogue.open(store, tmp_path / "cache").runs()}
    text = textwrap.dedent(keys).format(**found)
    path = tmp_path / "whole.yaml"
    path.write_text(f"problem: gpt3-4k\nevaluations: 800\npopulation: 40\nseeds: 3\n{text}")
    (spec,) = load_experiment(path).runs
    if begun:
        RunFolder(store / spec.id).write_json("manifest.json", manifest_of(spec, build(spec.origin), [], Path()))
    else:
        write_plan(Experiment("whole", path, (spec,), 1.0), store)
    texts = []

    async def look(driver: Any) -> None:
        await driver.type("/budget:800")
        await driver.press("enter")
        await driver.until(lambda: driver.main.board.state.run == spec.id)
        await driver.press("c")
        texts.append(driver.app.screen.query_one("#text").text)

    drive(look)
    assert all(f"\n{line.split(':')[0]}:" in texts[0] for line in text.split("\n")[1:-1])
    path.write_text(texts[0])
    (copy,) = load_experiment(path).runs
    assert replace(copy, experiment=spec.experiment, label=spec.label) == spec


@pytest.mark.usefixtures("own_trust")
def test_a_copy_of_a_run_in_python_that_has_not_begun_lies_beside_its_module(store: Path, tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text("from problems.two_tier import problem\n")
    (tmp_path / "problems").symlink_to(Path(__file__).parents[2] / "problems")
    trust(ANY)
    spec = run_of(origin_of("toy:problem", [], tmp_path), evaluations=300)
    write_plan(Experiment("mine", tmp_path / "mine.yaml", (spec,), 1.0), store)
    catalogue = Catalogue.open(store, tmp_path / "cache")
    run, batches = catalogue.find(spec.id), catalogue.batches()
    text = launch.experiment_text(run, "copy", batches)
    assert "\n# The run names code, toy:problem: --trust-code runs it.\n" in text
    path = launch.write_experiment(store, run, "copy", text, batches)
    assert path == tmp_path / "copy.yaml"
    assert [one.id for one in load_experiment(path).runs] == [spec.id]


@pytest.mark.usefixtures("own_trust")
def test_whoever_starts_a_run_is_told_which_code_that_runs(store: Path, tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text("from problems.two_tier import problem\n")
    trust(ANY)
    spec = run_of(origin_of("toy:problem", [], tmp_path), evaluations=300)
    RunFolder(store / spec.id).write_json("manifest.json", manifest_of(spec, build(spec.origin), [], Path()))
    catalogue = Catalogue.open(store, tmp_path / "cache")
    run, other = catalogue.find(spec.id), next(one for one in catalogue.runs() if one.id != spec.id)
    assert (
        launch.with_warning("Go on?", run)
        == "Go on? The run names code, toy:problem: --trust-code among the options runs it."
    )
    assert launch.with_warning("Go on?", other) == "Go on?"


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_a_run_that_has_not_begun_and_whose_plan_does_not_tell_it_is_not_copied(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        await driver.select(QUEUED)
        await driver.press("c")
        await driver.said("has not begun, and its batch was planned by a version that did not keep 'source'")

    drive(look)
