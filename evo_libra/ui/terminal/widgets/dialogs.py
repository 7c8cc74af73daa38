"""Questions to the user: boxes in the middle of the screen, which escape leaves without an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.command import CommandList, CommandPalette
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Button, Input, Label, OptionList, Static
from textual.widgets.option_list import Option

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer | None]):
    """A box with a question that takes one answer; keys and clicks that come after the answer change nothing.

    Parameters
    ----------
    question : the text at the top.
    buttons : label and id of each; the first one has the focus. A button to cancel follows them.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave")]
    SHAPE = "box"

    def __init__(self, question: str, buttons: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__()
        self._question, self._buttons = question, buttons

    def compose(self) -> ComposeResult:
        """Make the box."""
        with Vertical(classes=self.SHAPE):
            yield Static(self._question, markup=False, classes="question")
            yield from self.body()
            if self._buttons:
                with Horizontal(classes="buttons"):
                    for at, (label, name) in enumerate(self._buttons):
                        yield Button(label, id=name, variant="default" if at else "primary")
                    yield Button("Cancel", id="cancel")

    def body(self) -> ComposeResult:
        """Make what stands between the question and the buttons."""
        yield from ()

    def answer(self, answer: Answer | None) -> None:
        """Close the box and return an answer, unless the box is closed or another screen lies on top of it."""
        if self.is_active:
            self.dismiss(answer)

    def action_leave(self) -> None:
        """Leave without an answer."""
        self.answer(None)


class Confirm(Dialog[str]):
    """A question with a few answers, each with the text that is returned for it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "app.focus_previous", show=False),
        Binding("right", "app.focus_next", show=False),
    ]

    def __init__(self, question: str, answers: Sequence[tuple[str, str]]) -> None:
        super().__init__(question, [(label, f"answer-{answer}") for label, answer in answers])

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Return the answer."""
        name = event.button.id or ""
        self.answer(name.removeprefix("answer-") if name.startswith("answer-") else None)


@dataclass(frozen=True)
class Field:
    """A line to be filled in; its text is returned by its key, and the hint is shown while it is empty.

    Choices complete what is typed, with the key to the right; those that fit are listed below the line.
    """

    key: str
    label: str
    value: str = ""
    hint: str = ""
    choices: tuple[str, ...] = ()


class Form(Dialog[dict[str, str]]):
    """A few lines to be filled in."""

    def __init__(self, question: str, fields: Sequence[Field], button: str) -> None:
        super().__init__(question, [(button, "go")])
        self._fields = fields

    def body(self) -> ComposeResult:
        """Make the lines."""
        for field in self._fields:
            yield Label(field.label, markup=False)
            completed = SuggestFromList(field.choices) if field.choices else None
            yield Input(field.value, placeholder=field.hint, id=f"field-{field.key}", compact=True, suggester=completed)
            if field.choices:
                yield Static("", id=f"choices-{field.key}", markup=False, classes="choices")

    def on_input_changed(self, event: Input.Changed) -> None:
        """List the choices that fit what is typed."""
        field = next(field for field in self._fields if f"field-{field.key}" == event.input.id)
        if field.choices:
            self.query_one(f"#choices-{field.key}", Static).update(_fitting(field.choices, event.value))

    def _filled(self) -> dict[str, str]:
        return {field.key: self.query_one(f"#field-{field.key}", Input).value.strip() for field in self._fields}

    def on_input_submitted(self) -> None:
        """Return what is filled in."""
        self.answer(self._filled())

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Return what is filled in, or nothing."""
        self.answer(self._filled() if event.button.id == "go" else None)


_LISTED = 8


def _fitting(choices: Sequence[str], typed: str) -> str:
    """Return the choices that hold what is typed, those that begin with it first, a line each."""
    found = sorted((one for one in choices if typed in one), key=lambda one: not one.startswith(typed))
    more = [f"and {len(found) - _LISTED} more"] if len(found) > _LISTED else []
    return "\n".join([*found[:_LISTED], *more]) or "none of those known here"


class Options(OptionList):
    """Options that may have no room on the screen: Textual's own list fails on a page up or down there."""

    def action_page_up(self) -> None:
        """Move up by a page."""
        if self.scrollable_content_region.height:
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        """Move down by a page."""
        if self.scrollable_content_region.height:
            super().action_page_down()  # type: ignore[no-untyped-call]


class Choose(Dialog[int]):
    """A list to choose from, which returns an index."""

    def __init__(self, question: str, options: Sequence[str], chosen: int = 0) -> None:
        super().__init__(question)
        self._options, self._chosen = options, chosen

    def body(self) -> ComposeResult:
        """Make the list."""
        yield Options(*(Option(text) for text in self._options), markup=False, compact=True)

    def on_mount(self) -> None:
        """Put the cursor on what is chosen now."""
        self.query_one(OptionList).highlighted = self._chosen

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the choice."""
        self.answer(event.option_index)


class Reading(Dialog[None]):
    """Titles and texts to read."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "leave", "Back"),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
    ]

    def __init__(self, parts: Sequence[tuple[str, str]]) -> None:
        super().__init__("")
        self._parts = parts

    def compose(self) -> ComposeResult:
        """Make the box."""
        with VerticalScroll(classes="box large help"):
            for title, text in self._parts:
                yield Static(title, classes="help-title", markup=False)
                yield Static(text, markup=False)

    def action_scroll(self, lines: int) -> None:
        """Scroll by lines."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


class Help(Reading):
    """Every key."""

    def __init__(self, groups: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> None:
        wide = [(title, max(len(key) for key, _ in keys), keys) for title, keys in groups]
        super().__init__([
            (title, "\n".join(f"  {key:<{width}}  {what}" for key, what in keys)) for title, width, keys in wide
        ])  # fmt: skip


class Palette(CommandPalette):
    """Textual's command palette, which takes one answer: keys that come after it change nothing."""

    @on(OptionList.OptionSelected)
    @on(Input.Submitted)
    @on(Button.Pressed)
    def drop_after_answer(self, event: OptionList.OptionSelected | Input.Submitted | Button.Pressed) -> None:
        """Drop an answer that comes once the palette is closed: Textual would close the screen below."""
        if not self.is_active:
            event.stop()
            event.prevent_default()

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close the palette unless it is closed."""
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def _action_command_list(self, action: str) -> None:
        """Move in the list of commands where it shows any: Textual's own list fails on a page up where it does not."""
        commands = self.query_one(CommandList)
        if commands.option_count and commands.scrollable_content_region.height:
            super()._action_command_list(action)
