"""Lists of lines. Only the visible ones are made: thousands cost as much as those on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from evo_libra.experiment.run.record import STATUSES
from evo_libra.ui.terminal.details import Line
from evo_libra.ui.terminal.plot_view import MAX_FRONTS
from evo_libra.ui.terminal.queue_view import GAP, Row, TableColumn, clipped, distinct, fitting
from evo_libra.ui.terminal.themes import Styles

SHEET_ROLES = ("head", "label", "value", "dim", "good", "bad", "bar")


class Sheet(ScrollView, can_focus=True):
    """A text that is scrolled with the keys of a pager; it posts a message when its width changes."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"sheet--{role}" for role in SHEET_ROLES}
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
        """The lines that are shown."""
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


TABLE_ROLES = (
    "head", "cursor", "cursor-focused", "dim", "bar", *STATUSES, *(f"front-{which}" for which in range(MAX_FRONTS)),
)  # fmt: skip


class Table(ScrollView, can_focus=True):
    """Rows under a head; whole columns are dropped where there is no room for them."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"table--{role}" for role in TABLE_ROLES}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "end(-1)", "First", show=False),
        Binding("end,G", "end(1)", "Last", show=False),
        Binding("enter", "open", "Open", show=False),
    ]

    @dataclass
    class Moved(Message):
        """The user has moved the cursor to a row."""

        table: Table
        index: int
        key: str

    class Opened(Moved):
        """The user has opened the row at the cursor."""

    @dataclass
    class HeadClicked(Message):
        """The user has clicked the head of a column."""

        table: Table
        column: TableColumn

    def __init__(self, columns: Sequence[TableColumn], *, id: str, ascii_only: bool = False) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id)
        self._columns = tuple(columns)
        self.rows: Sequence[Row] = ()
        self._longest, self.cursor = 0, 0
        self._shortened: tuple[int, dict[str, str]] = (0, {})
        self._styles = Styles(self, "table")
        self._cut = "~" if ascii_only else "…"

    def show(
        self, rows: Sequence[Row], cursor: int, columns: Sequence[TableColumn] | None = None, longest: int = 0
    ) -> None:
        """Show rows; `longest` is the characters of the longest text of the flexible column."""
        self._columns = self._columns if columns is None else tuple(columns)
        self.rows, self._longest, self._shortened = rows, longest, (0, {})
        moved, self.cursor = cursor != self.cursor, min(cursor, max(len(rows) - 1, 0))
        self.virtual_size = Size(self.size.width, len(rows) + 1)
        if moved:
            self._keep_in_view()
        self.refresh()

    def on_resize(self) -> None:
        """Drop or take back columns."""
        self.virtual_size = Size(self.size.width, len(self.rows) + 1)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return a line: the head, which does not scroll, or a row."""
        width = self.scrollable_content_region.width
        fits = fitting(self._columns, width, self._longest)
        if y == 0:
            cells = [(self._columns[index].title, index, size, "head") for index, size in fits]
            return self._line(cells, ("head",), width)
        row = y - 1 + self.scroll_offset.y
        if row >= len(self.rows):
            return Strip.blank(width, self._styles())
        found = self.rows[row]
        cursor = "" if row != self.cursor else "cursor-focused" if self.has_focus else "cursor"
        roles = [*found.roles, *[""] * (len(found.cells) - len(found.roles))]
        plain = cursor == "cursor-focused"
        cells = [(found.cells[index], index, size, "" if plain else roles[index]) for index, size in fits]
        return self._line(cells, (cursor,), width)

    def _line(self, cells: Sequence[tuple[str, int, int, str]], under: tuple[str, ...], width: int) -> Strip:
        base, segments = self._styles(*under), []
        for at, (text, index, size, role) in enumerate(cells):
            short = clipped(text, size, self._cut) if self._columns[index].width else self._row_name(text, index, size)
            short = short.rjust(size) if self._columns[index].right else short.ljust(size)
            segments.append(Segment(short, self._styles(*under, role)))
            if at < len(cells) - 1:
                segments.append(Segment(" " * GAP, base))
        return Strip(segments).adjust_cell_length(width, base)

    def _row_name(self, text: str, index: int, size: int) -> str:
        """Return a text of the flexible column, different from that of every other row whose text is another one."""
        if self._shortened[0] != size:
            self._shortened = size, distinct([row.cells[index] for row in self.rows], size, self._cut)
        return self._shortened[1].get(text, clipped(text, size, self._cut))

    def _keep_in_view(self) -> None:
        height = max(self.size.height - 1, 1)
        top = self.scroll_offset.y
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)

    def _go(self, row: int) -> None:
        row = min(max(row, 0), len(self.rows) - 1)
        if row >= 0 and row != self.cursor:
            self.cursor = row
            self._keep_in_view()
            self.refresh()
            self.post_message(self.Moved(self, row, self.rows[row].key))

    def action_move(self, by: int) -> None:
        """Move the cursor by rows."""
        self._go(self.cursor + by)

    def action_page(self, pages: int) -> None:
        """Move the cursor by pages."""
        self._go(self.cursor + pages * max(self.size.height - 2, 1))

    def action_end(self, direction: int) -> None:
        """Move the cursor to the first or the last row."""
        self._go(0 if direction < 0 else len(self.rows) - 1)

    def action_open(self) -> None:
        """Open the row at the cursor."""
        if self.cursor < len(self.rows):
            self.post_message(self.Opened(self, self.cursor, self.rows[self.cursor].key))

    def on_click(self, event: events.Click) -> None:
        """Go to a row, open it at the second click; tell when a head is clicked."""
        if event.y == 0:
            at = 0
            for index, size in fitting(self._columns, self.scrollable_content_region.width, self._longest):
                if at <= event.x < at + size + GAP:
                    self.post_message(self.HeadClicked(self, self._columns[index]))
                at += size + GAP
            return
        self._go(min(event.y - 1 + self.scroll_offset.y, len(self.rows) - 1))
        if event.chain > 1:
            self.action_open()
