"""A text of lines that are drawn as they are: showing another one lays nothing out anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from evo_libra.ui.terminal.details import Line
from evo_libra.ui.terminal.widgets.strips import Styles

ROLES = ("head", "label", "value", "dim", "good", "bad", "bar")


class Sheet(ScrollView, can_focus=True):
    """A text that is scrolled with the keys of a pager; it tells when it has got another width."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"sheet--{role}" for role in ROLES}
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
        self._lines: Sequence[Line] = ()
        self._width, self._styles = 0, Styles(self, "sheet")

    def show(self, lines: Sequence[Line]) -> None:
        """Show a text."""
        if len(lines) != len(self._lines):
            self._lines = lines
            self.virtual_size = Size(self.size.width, len(lines))
            self.refresh()
            return
        changed = [row for row, (new, old) in enumerate(zip(lines, self._lines, strict=True)) if new != old]
        self._lines = lines
        if changed:
            top, width = self.scroll_offset.y, self.size.width
            self.refresh(*(Region(0, row - top, width, 1) for row in changed if 0 <= row - top < self.size.height))

    @property
    def columns(self) -> int:
        """Characters of a line."""
        return max(self.scrollable_content_region.width, 20)

    @property
    def text(self) -> str:
        """What is shown."""
        return "\n".join("".join(text for text, _ in line) for line in self._lines)

    def on_resize(self) -> None:
        """Tell of another width."""
        if self.size.width != self._width:
            self._width = self.size.width
            self.post_message(self.Widened())

    def render_line(self, y: int) -> Strip:
        """Return a line."""
        row, base, width = y + self.scroll_offset.y, self._styles(), self.scrollable_content_region.width
        if row >= len(self._lines):
            return Strip.blank(width, base)
        segments = [Segment(text, self._styles(role)) for text, role in self._lines[row]]
        return Strip(segments).adjust_cell_length(width, base)
