"""The program of the terminal UI: a screen, and a thread that reads the store for it."""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from rich.segment import Segment
from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.events import Event, InputEvent
from textual.filter import LineFilter
from textual.message import Message
from textual.screen import Screen
from textual.theme import ThemeProvider

from evo_libra.control_characters import CONTROLS
from evo_libra.errors import EvoLibraError, InputError
from evo_libra.ui.tables.named_runs import looked_at
from evo_libra.ui.terminal import themes
from evo_libra.ui.terminal.keys import KEYS, key_names
from evo_libra.ui.terminal.main_screen import MainScreen
from evo_libra.ui.terminal.session import Scene, Session
from evo_libra.ui.terminal.view_model import State, wanted
from evo_libra.ui.terminal.widgets.dialogs import Palette

GRACE_SECONDS = 3.0
"""Time that a process has to leave a terminal that is gone."""


def on_hang_up(stream: int, gone: Callable[[], object]) -> None:
    """Call `gone` in a thread once the terminal of a stream is not there any more; end the process if that does not.

    A thread that reads such a terminal gets an end of file again and again: it takes a whole core, and Python waits for
    it before it exits.
    """
    if hasattr(select, "poll"):  # not on Windows, where a console ends its programs
        threading.Thread(target=_wait, args=(stream, gone), name="hang-up", daemon=True).start()


def _wait(stream: int, gone: Callable[[], object]) -> None:
    poll = select.poll()
    poll.register(stream, 0)  # nothing but the events that need no request: errors and hang-ups
    if any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll()):
        try:
            gone()
            time.sleep(GRACE_SECONDS)
        finally:
            end_process(1)


def end_process(code: int) -> NoReturn:
    """End the process with an exit code, whatever its threads do; what was printed is written first."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # the terminal may be gone
            stream.flush()
    os._exit(code)


class CleanLines(LineFilter):
    """Leaves out of each line what a terminal would obey; such characters take no room."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - other filters need it
        """Return the segments of a line without control characters."""
        if not any(CONTROLS.search(segment.text) for segment in segments):
            return segments
        return [Segment(CONTROLS.sub("", segment.text), segment.style, segment.control) for segment in segments]


_CLEAN = CleanLines()
UPDATES_PER_SECOND = 4.0
_PATIENCE = 0.5  # Seconds that reading waits for drawing, once.
_IN_PALETTE = ("app.command_palette", "app.quit", "Theme", "Quit", "Screenshot")


class TerminalUI(App[None]):
    """A view of a folder of results, and the requests to what runs there.

    Parameters
    ----------
    updates : how often the store is read [1/s].
    cache : where the catalogue's index lies; see `Catalogue.open`.
    """

    CSS_PATH = "terminal.tcss"
    TITLE = "evo-libra"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key.keys, key.action.removeprefix("app."), key.short, show=bool(key.short), id=key.action)
        for _, keys in KEYS
        for key in keys
        if key.action.startswith("app.")
    ]

    @dataclass
    class Arrived(Message):
        """The store was read."""

        scene: Scene
        drawn: threading.Event | None = None

    def __init__(
        self,
        results: Path,
        *,
        light: bool = False,
        ascii_only: bool = False,
        updates: float | None = None,
        cache: Path | None = None,
    ) -> None:
        super().__init__()
        self.register_theme(themes.DARK)
        self.register_theme(themes.LIGHT)
        self.theme = themes.LIGHT.name if light else themes.DARK.name
        self._results, self._cache = results, cache
        self._seconds = 1.0 / (updates or UPDATES_PER_SECOND)
        self.main = MainScreen(results, ascii_only=ascii_only)
        self._state, self._at_once = State(), False
        self._wake, self._leaving = threading.Event(), threading.Event()
        self._exited = False

    def exit(self, *details: Any, **named: Any) -> None:  # noqa: ANN401 - as Textual's own
        """Leave; see `textual.app.App.exit`."""
        self._exited = True
        super().exit(*details, **named)

    async def on_event(self, event: Event) -> None:
        """Handle an event; keys that come while the UI leaves find no screen, and are dropped."""
        if not (isinstance(event, InputEvent) and (self._exited or not self.is_running)):
            await super().on_event(event)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the colours that the theme does not have."""
        return themes.variables(self.current_theme)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return what every line that is drawn passes through."""
        return [*super().get_line_filters(), _CLEAN]

    def get_default_screen(self) -> Screen[object]:
        """Return the main screen."""
        return self.main  # type: ignore[return-value] # a screen that returns nothing

    def on_mount(self) -> None:
        """Begin to read, once the first screen is drawn: what the reader imports would hold that up."""
        self.call_after_refresh(self._read)
        self._leave_on_signals()

    def _leave_on_signals(self) -> None:
        """Leave the terminal as it was when the program is ended from outside, and end when the terminal does."""
        import asyncio  # noqa: PLC0415 - Textual has it already

        if threading.current_thread() is not threading.main_thread() or self.is_headless:
            return
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                loop.add_signal_handler(getattr(signal, name), self.exit)

        def leave() -> None:
            with contextlib.suppress(RuntimeError):  # it is leaving already
                loop.call_soon_threadsafe(self.exit)

        on_hang_up(sys.stdin.fileno(), leave)

    def on_unmount(self) -> None:
        """Let the reader end."""
        self._leaving.set()
        self._wake.set()

    @work(thread=True, group="store")
    def _read(self) -> None:
        """Read the store until the program ends; what it says is posted, never waited for."""
        try:
            session = Session(self._results, self._cache)
        except EvoLibraError as error:
            self.call_from_thread(self.exit, None, 2, str(error))
            return
        # The list of runs is there before the first front is, which takes Polars to read.
        last = session.look(wanted(self._state), data=False)
        self.post_message(self.Arrived(last))
        last = session.glance(wanted(self._state))
        if last.data:
            # To import Polars now would hold up the drawing of what was read without it.
            drawn = threading.Event()
            self.post_message(self.Arrived(last, drawn))
            drawn.wait(_PATIENCE)
        while not self._leaving.is_set():
            self._wake.clear()
            state, now, self._at_once = self._state, self._at_once, False
            if not state.frozen:
                scene = session.look(wanted(state), now=now)
                if scene is not last:
                    last = scene
                    self.post_message(self.Arrived(scene))
            self._wake.wait(None if state.frozen else self._seconds)
        session.close()

    def on_terminal_ui_arrived(self, event: Arrived) -> None:
        """Show what was read."""
        if not self.main.board.state.frozen:
            self.main.board.take(event.scene)
        if event.drawn is not None:
            self.call_after_refresh(event.drawn.set)
        elif event.scene.data and not gc.isenabled():
            self.call_after_refresh(_collect_from_now_on)

    def on_main_screen_wants(self, event: MainScreen.Wants) -> None:
        """Read other things than before."""
        changed = wanted(event.state) != wanted(self._state) or event.state.frozen != self._state.frozen
        self._state = event.state
        self._at_once = self._at_once or event.now
        if changed or event.now:
            self._wake.set()

    def action_light_or_dark(self) -> None:
        """Change between light and dark."""
        self.theme = themes.LIGHT.name if self.current_theme.dark else themes.DARK.name

    def action_command_palette(self) -> None:
        """Show the palette."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def search_themes(self) -> None:
        """Show the palette of themes."""
        self.push_screen(Palette(providers=[ThemeProvider], placeholder="Search for themes"))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Return what the palette offers: every key's action, and the themes."""
        for title, keys in KEYS if screen is self.main else ():
            for key in keys:
                if key.action not in _IN_PALETTE:
                    call = partial(self.main.run_action, key.call)
                    yield SystemCommand(f"{title}: {key.long}", f"key {key_names(key.keys)}", call)
        for command in super().get_system_commands(screen):
            if command.title in _IN_PALETTE:
                yield command


def _collect_from_now_on() -> None:
    """End what `evo_libra.ui.terminal.app` has begun; what is there by now stays until the program ends."""
    gc.freeze()
    gc.enable()


_CRASHED = 1  # what Textual returns after an exception


def run_ui(results: Path, *, light: bool, ascii_only: bool) -> int:
    """Run the terminal UI until the user leaves it; return the exit code. Without a terminal raise an InputError."""
    looked_at(results)
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.__stderr__ or sys.stderr)):
        raise InputError("the terminal UI needs a terminal; `evo-libra results` prints the same to a file or a pipe")
    if 0 in os.get_terminal_size(sys.stdout.fileno()):  # Textual and Rich then lay out for two sizes in turns, for ever
        raise InputError("the terminal says that it has no rows or no columns; `stty rows 24 cols 80` sets both")
    # Nothing that imports make is ever garbage: to look for it takes a sixth of the time until the first plot.
    gc.disable()
    import asyncio  # noqa: PLC0415 - Textual takes a while, and may not be needed

    encoding = (sys.stdout.encoding or "ascii").lower()
    app = TerminalUI(results, light=light, ascii_only=ascii_only or not encoding.startswith("utf"))
    asyncio.run(show(app))
    return app.return_code or 0


async def show(app: TerminalUI) -> None:
    """Run the UI until it ends; after an exception inside it the process ends at once, with the terminal restored.

    Threads of the UI may wait for something that does not come any more, and Python would wait for them.
    """
    crashed = True
    try:
        await app.run_async()
        crashed = app.return_code == _CRASHED
    finally:
        if crashed:
            error = sys.exc_info()[1]
            if error is not None:  # Textual itself could not end
                sys.excepthook(type(error), error, error.__traceback__)
            end_process(_CRASHED)
