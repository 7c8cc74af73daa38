"""The main screen: runs, plot, details."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import DescendantFocus
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, Static, TabbedContent, TabPane, Tabs

from evo_libra.ui.terminal import plot_view, view_model
from evo_libra.ui.terminal.board import Board
from evo_libra.ui.terminal.keys import KEYS, KeyBar
from evo_libra.ui.terminal.panes import TABS, Panes
from evo_libra.ui.terminal.queue_view import QUEUE
from evo_libra.ui.terminal.run_actions import RunActions
from evo_libra.ui.terminal.view_actions import ViewActions
from evo_libra.ui.terminal.view_model import State
from evo_libra.ui.terminal.widgets.lists import Sheet, Table
from evo_libra.ui.terminal.widgets.plots import ProgressChart, Scatter


class MainScreen(Screen[None]):
    """Runs at the left, plot in the middle, details at the right; fewer of them on narrow terminals."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key.keys, key.call, key.short, show=bool(key.short), id=key.action)
        for _, keys in KEYS
        for key in keys
        if not key.action.startswith("app.")
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (70, "-medium"), (116, "-wide")]  # noqa: RUF012 - as Textual's own
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]  # noqa: RUF012 - the same

    @dataclass
    class Wants(Message):
        """The request to the reader has changed."""

        state: State
        now: bool

    def __init__(self, results: Path, *, ascii_only: bool) -> None:
        super().__init__()
        self.board = Board(self, results, ascii_only=ascii_only, changed=self._changed)
        self.panes = Panes(self.board)
        self.runs, self.view = RunActions(self.board), ViewActions(self.board, self.panes)
        self.set_class(ascii_only, "ascii")

    def action_perform(self, action: str, *arguments: Any) -> None:  # noqa: ANN401 - those of the key
        """Do what a key is for: ``runs.stop`` is the method `stop` of `runs`."""
        part, _, method = action.partition(".")
        getattr(getattr(self, part), method)(*arguments)

    def compose(self) -> ComposeResult:
        """Make the panes."""
        ascii_only = self.board.ascii_only
        yield Static("evo-libra", id="title", markup=False)
        with Horizontal(id="panes", classes="one"):
            with Vertical(id="queue", classes="pane active"):
                yield Table(QUEUE, id="runs", ascii_only=ascii_only)
                hint = "filter: status:failed seed:3 4k"
                yield Input(placeholder=hint, id="filter", compact=True, select_on_focus=False)
                yield Static("", id="foot", markup=False)
            with Vertical(id="centre", classes="pane"):
                yield Scatter(id="plot", ascii_only=ascii_only)
                yield ProgressChart(id="progress", ascii_only=ascii_only)
                yield Static("", id="status", markup=False)
            with Vertical(id="details", classes="pane"), TabbedContent(initial="design", id="tabs"):
                with TabPane("Design", id=TABS["design"]):
                    yield Sheet(id="design-sheet")
                with TabPane("Network", id=TABS["network"]):
                    yield Sheet(id="network-sheet")
                with TabPane("Front", id=TABS["front"]):
                    yield Table((), id="front", ascii_only=ascii_only)
                with TabPane("Log", id=TABS["log"]):
                    yield Sheet(id="log-sheet")
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin with the list of runs."""
        for pane, title in (("queue", "[1] runs"), ("centre", "[2] Pareto front"), ("details", "[3] details")):
            self.panes.entitle(pane, title)
        self.query_one(Tabs).can_focus = False
        self.query_one("#title", Static).update(f"evo-libra: reading {self.board.results} ...")
        self.query_one("#runs").focus()
        self.panes.complete = True
        if self.board.scene.every:
            self.panes.show()

    def _changed(self, state: State, now: bool) -> None:  # noqa: FBT001 - the board's call
        self.post_message(self.Wants(state, now=now))
        self.panes.show()

    def on_sheet_widened(self) -> None:
        """Fit lines to another width."""
        self.panes.fit("log")

    def on_resize(self) -> None:
        """Fit the texts to other widths."""
        self.panes.fit_later()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Show which pane has the keys."""
        self.panes.mark_active(event.widget)

    def on_table_moved(self, event: Table.Moved) -> None:
        """Select a run, or a design."""
        if event.table.id == "runs":
            self.board.update(run=event.key)
        else:
            self.board.select(event.index)

    def on_table_opened(self, event: Table.Opened) -> None:
        """Go from a run to its plot, from a row of the front to its design."""
        if event.table.id == "runs":
            self.panes.focus(2)
        else:
            self.view.tab("design")

    def on_table_head_clicked(self, event: Table.HeadClicked) -> None:
        """Sort by a column; in the opposite order when it is clicked again."""
        sort, now = event.column.sort, self.board.state.sort
        if sort:
            turned = sort.removeprefix("-") if sort.startswith("-") else f"-{sort}"
            self.board.update(sort=turned if now == sort else sort)

    def on_scatter_stepped(self, event: Scatter.Stepped) -> None:
        """Select another design."""
        index = view_model.design_index(self.board.state, self.board.data)
        if index is not None:
            self.board.select(index + event.by)

    def on_scatter_picked(self, event: Scatter.Picked) -> None:
        """Select the design that was clicked."""
        self.board.select(event.index)

    def on_scatter_zoomed(self, event: Scatter.Zoomed) -> None:
        """Zoom at the pointer."""
        self.view.zoom_at(event.factor, event.at)

    def on_scatter_panned(self, event: Scatter.Panned) -> None:
        """Pan."""
        self.board.update(plot=plot_view.panned(self.board.state.plot, self.board.picture(), event.right, event.up))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while the filter is typed."""
        self.board.update(query=event.value)

    def on_input_submitted(self) -> None:
        """Go from the filter to the runs."""
        if not self.board.state.query:
            self.query_one("#filter").remove_class("on")
        self.query_one("#runs").focus()

    def on_tabbed_content_tab_activated(self, event: TabbedContent.TabActivated) -> None:
        """Show the tab that was clicked; a message that a later change of tabs has overtaken says nothing any more."""
        if event.pane.id != event.tabbed_content.active:
            return
        tab = next(tab for tab, pane in TABS.items() if pane == (event.pane.id or "design"))
        if tab != self.board.state.tab:
            self.board.update(tab=tab)
