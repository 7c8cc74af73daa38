"""A folder of results with runs of every status, written by hand: the same on every machine and at any time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import textual.app
import textual.pilot
from textual.pilot import Pilot

from evo_libra import load_problem
from evo_libra.experiment.run.origin import origin_of
from evo_libra.experiment.run.record import program
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.experiment.store.messages import Progress, request, tell_progress
from evo_libra.experiment.store.search_state import write_checkpoint
from evo_libra.files.integrity import checksum
from evo_libra.front.archive import Archive, Collection
from evo_libra.front.front import Front
from evo_libra.searching.engine import EngineState
from evo_libra.searching.loop import Snapshot
from evo_libra.ui.terminal.app import TerminalUI

OBJECTIVES = [
    {"name": "time", "column": "time_ms", "scale": 1e-3, "label": "iteration time [ms]"},
    {"name": "cost", "column": "cost_usd", "scale": 1.0, "label": "network cost [USD]"},
]
BUDGET = 20_000
Write = Callable[..., Path]
Drive = Callable[..., None]


def front_values(count: int, better: float) -> tuple[np.ndarray, np.ndarray]:
    """Return times [ms] and costs [USD] along a curve."""
    cost = np.geomspace(3e5, 2e7, count)[::-1]
    return 190 + better * 2.4e8 / cost, cost


def front_frame(count: int, better: float) -> Front:
    time, cost = front_values(count, better)
    notation = [
        f"RI(4)@chiplet:{40 + 5 * n}_FC(8)@package:{10 + n}_RI(16)@node:{6 + n / 2}_SW(8)@pod:2" for n in range(count)
    ]
    frame = pl.DataFrame({"id": np.arange(count), "time_ms": time, "cost_usd": cost, "design": notation})
    return Front(frame, ("time_ms", "cost_usd"))


@pytest.fixture(scope="session")
def problem_data() -> Any:
    return origin_of("gpt3-4k", []).data


@pytest.fixture(scope="session")
def identity() -> Any:
    return dict(load_problem("gpt3-4k").identity())


@pytest.fixture(scope="session")
def genome() -> Any:
    return load_problem("gpt3-4k").genome


@pytest.fixture
def write_run(tmp_path: Path, problem_data: Any, identity: Any, genome: Any) -> Write:
    """Return what writes a run into the folder of results, and returns its folder."""
    results = tmp_path / "results"
    results.mkdir()

    def write(
        seed: int, status: str, *, name: str = "gpt3-4k", label: str = "", engine: str = "nsga2", share: float = 1.0,
        better: float = 1.0, designs: int = 21, python: bool = False,
    ) -> Path:  # fmt: skip
        folder = results / name / f"{engine}-0000{seed:04d}-e{BUDGET}-s{seed}"
        folder.mkdir(parents=True)
        source = {"problem": "gpt3-4k", "set": [], "data": None if python else problem_data, "folder": str(tmp_path)}
        manifest = {
            "name": name, "engine": engine, "seed": seed, "population": 100, "budget": BUDGET, "keep": "front",
            "hash": f"{seed:064x}", "search": f"{seed:064x}", "program": program() if status != "stale" else "older",
            "objectives": OBJECTIVES, "experiment": "", "label": label, "problem": identity, "source": source,
            "method": {}, "seconds": None, "workers": None,
            "started": "2026-01-01T00:00:00Z", "versions": {}, "git": None, "machine": {}, "command": [],
        }  # fmt: skip
        run = RunFolder(folder)
        run.write_json("manifest.json", manifest)
        evaluations = int(BUDGET * share)
        for step in range(1, 21):
            volume = 1.0 - 0.6 / step
            tell_progress(RunFolder(folder), Progress(step, evaluations * step // 20, step + 1, volume, step / 2))
        (folder / "run.log").write_text(f"2026-01-01 00:00:00 started on node:{seed}\n")
        front = front_frame(designs, better)
        if status in ("done", "stale"):
            front.write(folder / "front.parquet")
            files = {"front.parquet": checksum(folder / "front.parquet")}
            done = {"evaluations": BUDGET, "front": designs, "hypervolume": 0.97, "wall_s": 10.0}
            run.write_json("done.json", {**done, "ended": "", "restarts": 0, "files": files})
        elif share > 0:
            values = np.array([front.frame["time_ms"].to_numpy() * 1e-3, front.frame["cost_usd"].to_numpy()])
            archive = Archive(genome.sample(np.random.default_rng(seed), designs), values)
            state = Snapshot(EngineState({}, {}), Collection(archive), evaluations)
            write_checkpoint(RunFolder(folder), state, f"{seed:064x}")
        if status == "failed":
            run.write_json("failed.json", {"error": "no luck today", "time": 0})
        if status == "paused":
            request(results, f"{name}/{folder.name}", "pause")
        return folder

    return write


@pytest.fixture
def store(write_run: Write, tmp_path: Path) -> Path:
    """Return a folder of results with runs of every status but running, and an experiment that is queued."""
    for seed, better in ((0, 1.0), (1, 1.1), (2, 0.9)):
        write_run(seed, "done", better=better)
    write_run(3, "failed", share=0.2)
    write_run(4, "paused", share=0.5, better=1.4)
    write_run(5, "interrupted", share=0.7, better=1.3)
    write_run(6, "stale", engine="random", better=2.0, designs=6)
    results = tmp_path / "results"
    batch = results / ".batches" / "sweep"
    batch.mkdir(parents=True)
    queued = {
        "name": "gpt3-4k", "engine": "nsga2", "population": 100, "budget": BUDGET, "hash": "q", "search": "q",
        "label": "npus=1024", "method": {},
    }  # fmt: skip
    runs = [{**queued, "id": f"gpt3-4k/nsga2-00009999-e{BUDGET}-s{seed}", "seed": seed} for seed in (7, 8)]
    plan = {"experiment": "sweep", "file": str(tmp_path / "sweep.yaml"), "runs": runs}
    RunFolder(batch).write_json("plan.json", plan)
    return results


def at_work(pump: Any) -> bool:
    """Tell whether what handles the messages of a widget does anything but wait for the next one."""
    queue = pump._message_queue  # noqa: SLF001 - nothing else tells
    waiting = bool(queue.ready_event._waiters)  # noqa: SLF001 - the same
    return pump.is_running and (not waiting or not queue.empty() or bool(pump._next_callbacks))  # noqa: SLF001 - the same


async def quiet(app: TerminalUI) -> None:
    """Wait until no widget has a message that waits or is worked at, some turns of the event loop long.

    Textual itself waits until the process takes little time of a processor, which a process of a busy machine always
    does. A message whose handling waits for something else, such as a dialog, is not waited for longer than `TURNS`.
    """
    still = 0
    for _ in range(TURNS):
        await asyncio.sleep(0.001)
        screens = [widget for screen in app.screen_stack for widget in screen.walk_children(with_self=True)]
        still = 0 if any(map(at_work, (app, *screens))) else still + 1
        if still > STILL:
            return


TURNS, STILL = 2000, 4
"""Turns of the event loop: how many a message may take, and in how many others come that a message has sent."""

LOOKS = 5000
"""Looks at something that is waited for, with turns of the event loop in between: then it never comes."""


class Driver:
    """A terminal UI without a terminal, and the keys that go to it."""

    def __init__(self, app: TerminalUI, pilot: Pilot[None]) -> None:
        self.app, self.main, self.pilot = app, app.main, pilot

    @property
    def text(self) -> str:
        """What the screen says."""
        lines = self.app.screen._compositor.render_strips()  # noqa: SLF001 - there is no other way to read a screen
        return "\n".join(line.text.rstrip() for line in lines)

    def _drawn(self) -> bool:
        """Return whether the screen is laid out: one that has just come has no text, one of a single cell never has."""
        return not self.app.is_running or self.app.size.area == 1 or bool(self.text.strip())

    async def until(self, what: Callable[[], object]) -> None:
        """Wait for something and for a screen with a text; that it does not come is a failure."""
        for _ in range(LOOKS):
            if what() and self._drawn():
                return
            await self.pilot.pause(0.02)
        raise AssertionError(f"it never comes:\n{self.text}")

    def _read(self) -> bool:
        """Return whether the selected run's files are read, and not just glanced at."""
        data = self.main.board.scene.data.get(self.main.board.state.run)
        return data is not None and bool(data.front is not None or data.note)

    async def settled(self) -> None:
        """Wait until the selected run's files are read, and its design is explained."""
        await self.until(self._read)
        await self.until(lambda: "working out" not in self.text and self.main.panes.asked is None)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        """Press keys."""
        await self.pilot.press(*keys)
        await self.pilot.pause()
        await self.until(self._drawn)

    async def type(self, text: str) -> None:
        """Type a text."""
        await self.press(*("space" if letter == " " else letter for letter in text))

    async def select(self, name: str) -> None:
        """Go to the run of a name."""
        run_id = next(run for run, known in self.main.board.scene.names.items() if known == name)
        await self.press("1", "g", *["j"] * [run.id for run in self.main.board.scene.runs].index(run_id))
        await self.until(lambda: self.main.board.state.run == run_id and self._read())
        await self.pilot.pause()

    async def said(self, text: str) -> None:
        """Wait until the UI says something."""
        await self.until(lambda: any(text in note.message for note in self.app._notifications))  # noqa: SLF001 - the same


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    """Return what shows the folder of results in a terminal UI and hands it to a test."""
    monkeypatch.chdir(tmp_path)

    def run(test: Callable[[Driver], Coroutine[Any, Any, None]], size: tuple[int, int] = (120, 40), **how: Any) -> None:
        async def body() -> None:
            app = TerminalUI(Path("results"), cache=tmp_path / "cache", updates=20, **how)
            app.animation_level = "none"  # a picture of a screen is not of the middle of a movement
            for module in (textual.app, textual.pilot):
                monkeypatch.setattr(module, "wait_for_idle", lambda *_: quiet(app))
            monkeypatch.setattr(Pilot._wait_for_screen, "__defaults__", (None,))  # noqa: SLF001 - 30 s otherwise
            async with app.run_test(size=size) as pilot:
                driver = Driver(app, pilot)
                if any((tmp_path / "results").iterdir()):
                    await driver.until(lambda: app.main.board.scene.every)
                    await driver.settled()
                    app.main.panes.fit_later()  # what was drawn first may not have had its width yet
                    await driver.settled()
                await test(driver)

        asyncio.run(body())

    return run
