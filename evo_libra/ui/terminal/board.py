"""State that the parts of the main screen share: the user's choice, the contents of the store, and messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from textual.screen import ModalScreen, Screen
from textual.worker import get_current_worker

from evo_libra.errors import EvoLibraError
from evo_libra.experiment.run.record import RunRecord
from evo_libra.named_code import own_trust, trust, trusted_names
from evo_libra.ui.terminal import view_model
from evo_libra.ui.terminal.details import Design
from evo_libra.ui.terminal.plot_view import Picture
from evo_libra.ui.terminal.queue_view import in_ascii
from evo_libra.ui.terminal.session import RunData, Scene
from evo_libra.ui.terminal.view_model import State
from evo_libra.ui.terminal.widgets.dialogs import Reading

Severity = Literal["information", "warning", "error"]
Answer = TypeVar("Answer")


class Board:
    """The state of the main screen, which its parts read and change; `changed` shows another state."""

    def __init__(
        self, screen: Screen[None], results: Path, *, ascii_only: bool, changed: Callable[[State, bool], None]
    ) -> None:
        self.screen, self.results, self.ascii_only = screen, results, ascii_only
        self.state, self.scene = State(), Scene()
        self._changed = changed

    @property
    def run(self) -> RunRecord | None:
        """The selected run."""
        return view_model.selected_run(self.state, self.scene)

    @property
    def data(self) -> RunData:
        """The data of the selected run."""
        return view_model.selected_data(self.state, self.scene)

    @property
    def design(self) -> Design | None:
        """The selected design."""
        return view_model.selected_design(self.state, self.scene)

    def picture(self) -> Picture:
        """Return what the plot shows now."""
        return view_model.picture(self.state, self.scene)

    def change(self, state: State, *, now: bool = False) -> None:
        """Take another state and show it; `now` reads the store at once, since something was asked of it."""
        self.state = view_model.settled(state, self.scene) if self.scene.every else state
        self._changed(self.state, now)

    def update(self, **changes: Any) -> None:  # noqa: ANN401 - of any kind
        """Change some attributes of the state."""
        self.change(replace(self.state, **changes))

    def select(self, index: int) -> None:
        """Select a row of the front."""
        if self.data.front is not None:
            self.change(view_model.with_design(self.state, self.data.front, index))

    def take(self, scene: Scene) -> None:
        """Take other contents of the store and show them."""
        self.scene = scene
        state = view_model.settled(self.state, scene)
        if state is self.state:
            self._changed(state, False)  # noqa: FBT003 - nothing was asked
        else:
            self.change(state)

    def spelt(self, text: str) -> str:
        """Return a text as it can be shown."""
        return in_ascii(text) if self.ascii_only else text

    def say(self, text: str, severity: Severity = "information") -> None:
        """Say something for a few seconds."""
        self.screen.notify(text, severity=severity, markup=False, timeout=8 if severity == "error" else 5)

    def say_later(self, text: str, severity: Severity = "information") -> None:
        """Say something, from another thread."""
        if not get_current_worker().is_cancelled:
            self.screen.app.call_from_thread(self.say, text, severity)

    def attempt(self, work: Callable[[], None], severity: Severity = "warning") -> None:
        """Do something that may fail, and say why it failed."""
        try:
            work()
        except EvoLibraError as error:
            self.say(str(error), severity)

    def ask(self, dialog: ModalScreen[Answer | None], take: Callable[[Answer], None]) -> None:
        """Show a dialog, and take its answer unless the user leaves it without one."""
        self.screen.app.push_screen(dialog, lambda answer: None if answer is None else take(answer))

    def read_in_thread(self, work: Callable[[], list[tuple[str, str]]], group: str) -> None:
        """Work out titles and texts in another thread, and show them; what is wrong is said."""

        def work_and_show() -> None:
            try:
                parts = [(self.spelt(title), self.spelt(text)) for title, text in work()]
            except EvoLibraError as error:
                self.say_later(str(error), "warning")
                return
            if not get_current_worker().is_cancelled:
                self.screen.app.call_from_thread(self._read, Reading(parts))

        self.in_thread(work_and_show, group, exclusive=True)

    def _read(self, dialog: Reading) -> None:
        """Show a text unless the user has gone on to another dialog meanwhile."""
        if self.screen.is_active:
            self.screen.app.push_screen(dialog)

    def in_thread(self, work: Callable[[], None], group: str, *, exclusive: bool = False) -> None:
        """Do something in another thread, which trusts the code that this one does."""
        names = trusted_names()

        def work_with_trust() -> None:
            with own_trust():
                trust(*names)
                work()

        self.screen.run_worker(work_with_trust, group=group, exclusive=exclusive, thread=True)

    def say_in_thread(self, work: Callable[[], str], group: str) -> None:
        """Do something in another thread, say how it ended, and read the store."""

        def work_and_say() -> None:
            try:
                self.say_later(work())
            except EvoLibraError as error:
                self.say_later(str(error), "error")
            self.screen.app.call_from_thread(partial(self.change, self.state, now=True))

        self.in_thread(work_and_say, group)
