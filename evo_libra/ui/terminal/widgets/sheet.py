"""A text that is scrolled with the keys of a pager."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static


class Sheet(VerticalScroll):
    """A text; it tells when it has got another width."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
        Binding("g", "scroll_home", "First", show=False),
        Binding("G", "scroll_end", "Last", show=False),
    ]

    class Widened(Message):
        """The sheet has another width."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id)
        self._text = Static("", markup=False)
        self._width = 0

    def compose(self) -> ComposeResult:
        """Make the text."""
        yield self._text

    def update(self, text: str | Content) -> None:
        """Show a text."""
        self._text.update(text)

    @property
    def columns(self) -> int:
        """Characters of a line."""
        return max(self.scrollable_content_region.width, 20)

    def on_resize(self) -> None:
        """Tell of another width."""
        if self.size.width != self._width:
            self._width = self.size.width
            self.post_message(self.Widened())
