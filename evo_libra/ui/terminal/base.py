"""What the parts of the main screen share: state, scene, and how a change of them is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from textual.screen import Screen
from textual.worker import get_current_worker

from evo_libra.experiment.run.record import RunRecord
from evo_libra.ui.terminal import view_model
from evo_libra.ui.terminal.queue_view import in_ascii
from evo_libra.ui.terminal.session import Scene
from evo_libra.ui.terminal.view_model import State


class Base(Screen[None]):
    """The state of the main screen.

    Parameters
    ----------
    results : the folder of results.
    ascii_only : whether to use ASCII characters only.
    """

    def __init__(self, results: Path, *, ascii_only: bool) -> None:
        super().__init__()
        self.results, self.ascii_only = results, ascii_only
        self.state, self.scene = State(), Scene()

    @property
    def run(self) -> RunRecord | None:
        """The selected run."""
        return view_model.selected_run(self.state, self.scene)

    def change(self, state: State, *, now: bool = False) -> None:
        """Take another state and show it.

        Parameters
        ----------
        state : the state.
        now : read the store at once, since something was asked of it.
        """
        raise NotImplementedError

    def fit(self) -> None:
        """Fit the texts to the widths of the panes."""
        raise NotImplementedError

    def spelt(self, text: str) -> str:
        """Return a text as it can be shown."""
        return in_ascii(text) if self.ascii_only else text

    def say(self, text: str, severity: Literal["information", "warning", "error"] = "information") -> None:
        """Say something for a few seconds."""
        self.notify(text, severity=severity, markup=False, timeout=8 if severity == "error" else 5)

    def say_later(self, text: str, severity: Literal["information", "warning", "error"] = "information") -> None:
        """Say something, from another thread."""
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(self.say, text, severity)
