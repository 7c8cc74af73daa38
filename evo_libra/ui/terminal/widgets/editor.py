"""A text to be edited: apart from other dialogs, as Textual's text area takes longer to import than all of them."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.widgets import Button, Static, TextArea

from evo_libra.ui.terminal.widgets.dialogs import Dialog


class Editor(Dialog[str]):
    """A text to be edited, here or in the user's own editor; `wrong` is what is wrong with it."""

    # A text area that indents takes escape as a way to the next widget; here it leaves, as in every dialog.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave_text", "Leave", priority=True),
        Binding("ctrl+s", "go", "Go", priority=True),
        Binding("ctrl+e", "edit", "Editor", priority=True),
    ]

    SHAPE = "box large"

    def __init__(self, question: str, text: str, button: str, wrong: str) -> None:
        super().__init__(question, [(f"{button} (^s)", "go"), ("$EDITOR (^e)", "edit")])
        self._text, self._wrong, self._warned = text, wrong, text

    def body(self) -> ComposeResult:
        """Make the text, and the line for what is wrong with it."""
        yield TextArea(self._text, id="text", tab_behavior="indent", compact=True)
        yield Static(self._wrong, id="wrong", markup=False)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Do what the button says."""
        actions = {"go": self.action_go, "edit": self.action_edit}
        actions.get(event.button.id or "", self.action_leave)()

    def action_leave_text(self) -> None:
        """Leave without an answer; a text that was edited takes a second key, so that one key loses no edit."""
        text = self.query_one(TextArea).text
        if text in (self._text, self._warned):
            self.action_leave()
            return
        self._warned = text
        self.query_one("#wrong", Static).update("The text was edited. Escape leaves without the changes.")

    def action_go(self) -> None:
        """Return the text."""
        self.answer(self.query_one(TextArea).text)

    def action_edit(self) -> None:
        """Let the user's own editor have the text."""
        area = self.query_one(TextArea)
        command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "experiment.yaml"
            path.write_text(area.text, encoding="utf-8")
            try:
                with self.app.suspend():
                    subprocess.run([*command, str(path)], check=False)  # noqa: S603 - the user's own editor
            except (SuspendNotSupported, OSError) as error:
                self.query_one("#wrong", Static).update(f"{command[0]} cannot be started: {error}")
                return
            area.text = path.read_text(encoding="utf-8")
