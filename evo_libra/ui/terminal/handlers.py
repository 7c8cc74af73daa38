"""What the main screen does when its parts tell that something was moved to, opened, clicked, typed."""

from __future__ import annotations

from dataclasses import replace

from textual.widgets import Input, TabbedContent

from evo_libra.ui.terminal import plot_view, view_model
from evo_libra.ui.terminal.view_actions import ViewActions
from evo_libra.ui.terminal.widgets.scatter import Scatter
from evo_libra.ui.terminal.widgets.table import Table

_SORT_COLUMNS = {0: "status", 2: "id", 4: "-evaluations", 5: "-hypervolume", 6: "-front_size", 7: "-wall_s"}


class Answers(ViewActions):
    """Answers to the messages of tables, plot, filter and tabs."""

    def on_table_moved(self, event: Table.Moved) -> None:
        """Select a run, or a design."""
        if event.table.id == "runs":
            self.change(replace(self.state, run=event.key))
            return
        front = view_model.selected_data(self.state, self.scene).front
        if front is not None:
            self.change(view_model.with_design(self.state, front, event.index))

    def on_table_opened(self, event: Table.Opened) -> None:
        """Go from a run to its plot, from a row of the front to its design."""
        if event.table.id == "runs":
            self.action_pane(2)
        else:
            self.action_tab("design")

    def on_table_head_clicked(self, event: Table.HeadClicked) -> None:
        """Sort by a column; the other way round when it is clicked again."""
        sort = _SORT_COLUMNS.get(event.column)
        if event.table.id == "runs" and sort is not None:
            turned = sort.removeprefix("-") if sort.startswith("-") else f"-{sort}"
            self.change(replace(self.state, sort=turned if self.state.sort == sort else sort))

    def on_scatter_stepped(self, event: Scatter.Stepped) -> None:
        """Select another design."""
        data = view_model.selected_data(self.state, self.scene)
        index = view_model.design_index(self.state, data)
        if data.front is not None and index is not None:
            self.change(view_model.with_design(self.state, data.front, index + event.by))

    def on_scatter_picked(self, event: Scatter.Picked) -> None:
        """Select the design that was clicked."""
        front = view_model.selected_data(self.state, self.scene).front
        if front is not None:
            self.change(view_model.with_design(self.state, front, event.index))

    def on_scatter_zoomed(self, event: Scatter.Zoomed) -> None:
        """Zoom at the pointer."""
        self.zoom(event.factor, event.at)

    def on_scatter_panned(self, event: Scatter.Panned) -> None:
        """Pan."""
        self.change(replace(self.state, plot=plot_view.panned(self.state.plot, self.picture(), event.right, event.up)))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while the filter is typed."""
        self.change(replace(self.state, query=event.value))

    def on_input_submitted(self) -> None:
        """Go from the filter to the runs."""
        if not self.state.query:
            self.query_one("#filter").remove_class("on")
        self.query_one("#runs").focus()

    def on_tabbed_content_tab_activated(self, event: TabbedContent.TabActivated) -> None:
        """Show the tab that was clicked."""
        tab = {"design": "design", "front-tab": "front", "log": "log"}[event.pane.id or "design"]
        if tab != self.state.tab:
            self.change(replace(self.state, tab=tab))  # type: ignore[arg-type] # one of the three
