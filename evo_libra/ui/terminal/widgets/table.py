"""A table of which only the visible lines are made: thousands of rows cost as much as those on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from evo_libra.ui.terminal.plot_view import MOST_FRONTS
from evo_libra.ui.terminal.queue_view import GAP, Column, Row, clipped, fitting
from evo_libra.ui.terminal.widgets.strips import Styles

ROLES = (
    "dim", "bar", "running", "queued", "done", "failed", "paused", "interrupted", "stale", "damaged",
    *(f"front-{which}" for which in range(MOST_FRONTS)),
)  # fmt: skip


class Table(ScrollView, can_focus=True):
    """Rows under a head; whole columns are dropped where there is no room for them."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "table--head",
        "table--cursor",
        "table--cursor-focused",
        *(f"table--{role}" for role in ROLES),
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "end(-1)", "First", show=False),
        Binding("end,G", "end(1)", "Last", show=False),
        Binding("enter", "open", "Open", show=False),
    ]

    class Moved(Message):
        """The user has moved the cursor to a row."""

        def __init__(self, table: Table, index: int, key: str) -> None:
            super().__init__()
            self.table, self.index, self.key = table, index, key

        @property
        def control(self) -> Table:
            """The table."""
            return self.table

    class Opened(Moved):
        """The user has opened the row at the cursor."""

    class HeadClicked(Message):
        """The user has clicked the head of a column."""

        def __init__(self, table: Table, column: int) -> None:
            super().__init__()
            self.table, self.column = table, column

        @property
        def control(self) -> Table:
            """The table."""
            return self.table

    def __init__(self, columns: Sequence[Column], *, id: str, ascii_only: bool = False) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id)
        self._columns, self._rows = tuple(columns), tuple[Row, ...]()
        self._shown: Sequence[Row] = self._rows
        self._longest, self.cursor = 0, 0
        self._styles = Styles(self, "table")
        self._cut = "~" if ascii_only else "…"

    def show(self, rows: Sequence[Row], cursor: int, columns: Sequence[Column] | None = None, longest: int = 0) -> None:
        """Show rows.

        Parameters
        ----------
        rows : all of them; only those on the screen are looked at.
        cursor : the row that the cursor is on.
        columns : those of the table, where they change.
        longest : characters of the longest text of the flexible column.
        """
        self._columns = self._columns if columns is None else tuple(columns)
        self._shown, self._longest = rows, longest
        moved, self.cursor = cursor != self.cursor, min(cursor, max(len(rows) - 1, 0))
        self.virtual_size = Size(self.size.width, len(rows) + 1)
        if moved:
            self._keep_in_view()
        self.refresh()

    @property
    def rows(self) -> Sequence[Row]:
        """The rows that are shown."""
        return self._shown

    def on_resize(self) -> None:
        """Drop or take back columns."""
        self.virtual_size = Size(self.size.width, len(self._shown) + 1)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return a line: the head, which does not scroll, or a row."""
        width = self.scrollable_content_region.width
        fits = fitting(self._columns, width, self._longest)
        if y == 0:
            cells = [(self._columns[index].title, index, size, "head") for index, size in fits]
            return self._line(cells, ("head",), width)
        row = y - 1 + self.scroll_offset.y
        if row >= len(self._shown):
            return Strip.blank(width, self._styles())
        found = self._shown[row]
        cursor = "" if row != self.cursor else "cursor-focused" if self.has_focus else "cursor"
        roles = [*found.roles, *[""] * (len(found.cells) - len(found.roles))]
        plain = cursor == "cursor-focused"
        cells = [(found.cells[index], index, size, "" if plain else roles[index]) for index, size in fits]
        return self._line(cells, (cursor,), width)

    def _line(self, cells: Sequence[tuple[str, int, int, str]], under: tuple[str, ...], width: int) -> Strip:
        base, segments = self._styles(*under), []
        for at, (text, index, size, role) in enumerate(cells):
            short = clipped(text, size, self._cut)
            short = short.rjust(size) if self._columns[index].right else short.ljust(size)
            segments.append(Segment(short, self._styles(*under, role)))
            if at < len(cells) - 1:
                segments.append(Segment(" " * GAP, base))
        return Strip(segments).adjust_cell_length(width, base)

    def _keep_in_view(self) -> None:
        height = max(self.size.height - 1, 1)
        top = self.scroll_offset.y
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)

    def _go(self, row: int) -> None:
        row = min(max(row, 0), len(self._shown) - 1)
        if row >= 0 and row != self.cursor:
            self.cursor = row
            self._keep_in_view()
            self.refresh()
            self.post_message(self.Moved(self, row, self._shown[row].key))

    def action_move(self, by: int) -> None:
        """Move the cursor by rows."""
        self._go(self.cursor + by)

    def action_page(self, pages: int) -> None:
        """Move the cursor by pages."""
        self._go(self.cursor + pages * max(self.size.height - 2, 1))

    def action_end(self, direction: int) -> None:
        """Move the cursor to the first or the last row."""
        self._go(0 if direction < 0 else len(self._shown) - 1)

    def action_open(self) -> None:
        """Open the row at the cursor."""
        if self.cursor < len(self._shown):
            self.post_message(self.Opened(self, self.cursor, self._shown[self.cursor].key))

    def on_click(self, event: events.Click) -> None:
        """Go to a row, open it at the second click; tell when a head is clicked."""
        if event.y == 0:
            at = 0
            for index, size in fitting(self._columns, self.scrollable_content_region.width, self._longest):
                if at <= event.x < at + size + GAP:
                    self.post_message(self.HeadClicked(self, index))
                at += size + GAP
            return
        self._go(min(event.y - 1 + self.scroll_offset.y, len(self._shown) - 1))
        if event.chain > 1:
            self.action_open()
