"""Random keys on every screen of the terminal UI: none of them may end it with an exception.

``EVO_LIBRA_RANDOM_KEYS=20000 python -m pytest -m slow tests/ui/test_random_keys.py`` presses as many; `.ci/run` presses
4,000.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from textual import events
from textual.command import CommandList, CommandPalette
from textual.geometry import Size
from textual.keys import _character_to_key

from evo_libra.ui.terminal import new_run as launch
from evo_libra.ui.terminal.keys import KEYS
from evo_libra.ui.terminal.widgets.editor import Editor

PER_SESSION = 250
SESSIONS = max(int(os.environ.get("EVO_LIBRA_RANDOM_KEYS", "500")) // PER_SESSION, 1)
LEAVING = ("q", "Q", "ctrl+q", "ctrl+c")
BOUND = [name for _, keys in KEYS for key in keys for name in key.keys.split(",")]
MOVING = [
    "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "shift+left", "shift+right", "shift+up",
    "j", "k", "g", "G", "h", "l",
]  # fmt: skip
TYPED = ["enter", "enter", "enter", "escape", "tab", "backspace", "delete", "ctrl+s", "ctrl+e", "ctrl+u", "ctrl+v"]
LETTERS = [_character_to_key(letter) for letter in "status:done>3é[/]\"'$\\{"]
SIZES = [(120, 40), (80, 24), (60, 15), (200, 60), (20, 5), (1, 1)]


def key_bursts(seed: int) -> Iterator[list[str]]:
    """Yield keys that come faster than the UI can follow, `PER_SESSION` of them in all."""
    rng = np.random.default_rng(seed)
    kinds, left = (BOUND, TYPED, MOVING, LETTERS), PER_SESSION
    while left > 0:
        chosen = rng.choice(len(kinds), size=rng.choice([1, 1, 2, 3, 5]), p=[0.4, 0.3, 0.2, 0.1])
        keys = [str(rng.choice(kinds[kind])) for kind in chosen]
        burst = [key for key in keys if key not in LEAVING][:left]
        left -= len(burst)
        yield burst


def press_at_once(app: Any, keys: list[str]) -> None:
    """Send keys as a terminal does, without a look at what they do."""
    for key in keys:
        event = events.Key(key, key if len(key) == 1 else None)
        event.set_sender(app)
        app._driver.send_message(event)  # noqa: SLF001 - the way keys come in


def resize(app: Any, size: tuple[int, int]) -> None:
    app._driver.send_message(events.Resize(Size(*size), Size(*size)))  # noqa: SLF001 - the way sizes come in


@pytest.fixture(autouse=True)
def harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no batches and no editor."""
    monkeypatch.setattr(launch, "start", lambda path, *_, **__: f"{path} is not started here")
    monkeypatch.setenv("VISUAL", "true")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SESSIONS))
@pytest.mark.usefixtures("store")
def test_no_keys_end_the_ui(drive: Callable[..., None], seed: int) -> None:
    rng = np.random.default_rng([seed, 1])

    async def body(driver: Any) -> None:
        for burst in key_bursts(seed):
            if rng.random() < 0.02:
                resize(driver.app, SIZES[rng.integers(len(SIZES))])
            press_at_once(driver.app, burst)
            await driver.pilot.pause()
            if driver.app._exited:  # noqa: SLF001 - the palette offers to leave
                return
            assert driver.app.is_running, burst

    drive(body)


MORE_KEYS = ("e", "O", "c", "w", "D", "r", "question_mark", "ctrl+p")


@pytest.mark.slow
@pytest.mark.parametrize("key", ["n", "E", "ctrl+x", *(pytest.param(key, marks=pytest.mark.slow) for key in MORE_KEYS)])
@pytest.mark.parametrize(
    "answer", [pytest.param("enter", marks=pytest.mark.slow), "escape", pytest.param("ctrl+s", marks=pytest.mark.slow)]
)
@pytest.mark.usefixtures("store")
def test_an_answer_given_twice_counts_once(drive: Callable[..., None], key: str, answer: str) -> None:
    async def body(driver: Any) -> None:
        await driver.press(key)
        press_at_once(driver.app, [answer] * 3)
        await driver.pilot.pause()
        assert driver.app.is_running

    drive(body)


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_tabs_that_change_faster_than_they_are_shown_settle(drive: Callable[..., None]) -> None:
    async def body(driver: Any) -> None:
        for _ in range(3):
            press_at_once(driver.app, ["N", "d", "f", "v", "N", "d", "N", "f"])
            await driver.pilot.pause()  # it comes back when nothing is left to do
        assert driver.app.is_running

    drive(body)


@pytest.mark.slow
@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(("answer", "starts"), [("ctrl+s", 1), ("escape", 0)])
def test_an_edited_problem_is_started_or_left_once(
    drive: Callable[..., None], monkeypatch: pytest.MonkeyPatch, answer: str, starts: int
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(launch, "start", lambda path, *_, **__: started.append(path) or f"{path} is started")

    async def body(driver: Any) -> None:
        await driver.press("n")
        await driver.type("dlrm-4k")
        press_at_once(driver.app, ["enter"] * 3)
        await driver.until(lambda: isinstance(driver.app.screen, Editor))
        press_at_once(driver.app, [answer] * 3)
        await driver.pilot.pause()
        while answer == "escape" and isinstance(driver.app.screen, Editor):
            await driver.press(answer)  # the first one leaves the text, so that an edit is not lost by one key
        await driver.until(lambda: not isinstance(driver.app.screen, Editor))
        await driver.until(lambda: len(started) == starts)
        assert driver.app.is_running

    drive(body)
    assert len(started) == starts


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_a_command_chosen_twice_in_the_palette_is_done_once(drive: Callable[..., None]) -> None:
    async def body(driver: Any) -> None:
        await driver.press("ctrl+p")
        await driver.type("freeze")
        await driver.until(lambda: driver.app.screen.query_one(CommandList).option_count == 1)
        await driver.press("down")
        press_at_once(driver.app, ["enter"] * 3)
        await driver.until(lambda: not isinstance(driver.app.screen, CommandPalette))
        await driver.pilot.pause()
        assert driver.app.is_running
        assert driver.main.board.state.frozen

    drive(body)


@pytest.mark.slow
@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "key", ["pageup", *(pytest.param(key, marks=pytest.mark.slow) for key in ("pagedown", "up", "down", "ctrl+home"))]
)
def test_keys_in_a_palette_that_finds_nothing_change_nothing(drive: Callable[..., None], key: str) -> None:
    async def body(driver: Any) -> None:
        await driver.press("ctrl+p")
        await driver.type("qqqq")
        await driver.until(lambda: driver.app.screen.query_one(CommandList).option_count == 0)
        await driver.press(key)
        assert driver.app.is_running

    drive(body)


@pytest.mark.slow
@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("key", ["pageup", "pagedown"])
def test_keys_in_a_palette_that_has_no_room_change_nothing(drive: Callable[..., None], key: str) -> None:
    async def body(driver: Any) -> None:
        await driver.press("ctrl+p")
        resize(driver.app, (1, 1))
        await driver.until(lambda: driver.app.size == Size(1, 1))
        await driver.press(key)
        assert driver.app.is_running

    drive(body)
