"""The main screen's actions on what is shown."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

from textual import work
from textual.widgets import Input

from evo_libra.errors import InputError
from evo_libra.ui.terminal import export, plot_view, view_model
from evo_libra.ui.terminal.base import Base
from evo_libra.ui.terminal.keys import KEYS, MOVES, key_names
from evo_libra.ui.terminal.plot_view import Picture
from evo_libra.ui.terminal.scatter_drawing import position_in
from evo_libra.ui.terminal.view_model import Tab
from evo_libra.ui.terminal.widgets.dialogs import Choose, Field, Form, Help
from evo_libra.ui.texts import label_of

_LISTS = {"design": "#design-sheet", "front": "#front", "log": "#log-sheet"}
_PANES = ("one", "two", "three")


class ViewActions(Base):
    """Objectives, axes, zoom, panes, filter, export, help."""

    def picture(self) -> Picture:
        """Return what the plot shows now."""
        return view_model.picture(self.state, self.scene)

    def action_objectives(self) -> None:
        """Take the next pair of objectives."""
        columns = view_model.objective_columns(self.state, self.scene)
        self.change(replace(self.state, plot=plot_view.next_objectives(self.state.plot, columns)))

    def action_choose_objectives(self) -> None:
        """Choose the objectives of both axes."""
        columns = view_model.objective_columns(self.state, self.scene)
        pairs = list(itertools.permutations(columns, 2))
        if not pairs:
            self.say("there are no two objectives to choose from yet", "warning")
            return
        now = plot_view.objectives_of(self.state.plot, columns)

        def take(at: int | None) -> None:
            if at is not None:
                self.change(replace(self.state, plot=plot_view.with_objectives(self.state.plot, *pairs[at])))

        names = [f"{label_of(y)} over {label_of(x)}" for x, y in pairs]
        self.app.push_screen(Choose("Objectives", names, pairs.index(now) if now in pairs else 0), take)

    def action_log(self, x: bool) -> None:  # noqa: FBT001 - a key's action takes its argument by place
        """Make an axis logarithmic or not."""
        self.change(replace(self.state, plot=plot_view.toggled_log(self.state.plot, x=x)))

    def action_fit(self) -> None:
        """Fit the fronts, then all designs."""
        self.change(replace(self.state, plot=plot_view.next_fit(self.state.plot)))

    def action_zoom(self, factor: float) -> None:
        """Zoom at the selected design."""
        picture = self.picture()
        self.zoom(factor, position_in(picture))

    def zoom(self, factor: float, at: tuple[float, float]) -> None:
        """Zoom at a place of the plot."""
        self.change(replace(self.state, plot=plot_view.zoomed(self.state.plot, self.picture(), factor, at)))

    def action_baseline(self) -> None:
        """Compare designs with the selected one."""
        design = view_model.selected_design(self.state, self.scene)
        if design is not None:
            name = f"{design.name}, {self.scene.names.get(self.state.run, '')}"
            self.change(replace(self.state, baseline=replace(design, name=name)))

    def action_no_baseline(self) -> None:
        """Compare designs with equal bandwidths."""
        self.change(replace(self.state, baseline=None))

    def action_copy_design(self) -> None:
        """Copy the selected design to the clipboard."""
        design = view_model.selected_design(self.state, self.scene)
        if design is None or not design.notation:
            self.say("the design is not known yet", "warning")
            return
        self.app.copy_to_clipboard(design.notation)
        self.say(f"copied {design.notation}")

    def action_export(self) -> None:
        """Write what is shown to a file."""
        if self.run is None:
            return
        fields = [Field("file", "File", export.default_path(self.scene.names.get(self.run.id, "front")))]
        endings = ", ".join((*export.FIGURES, *export.TABLES, *export.TEXT))

        def take(answer: dict[str, str] | None) -> None:
            if answer is not None and answer["file"]:
                self._export(Path(answer["file"]).expanduser())

        self.app.push_screen(Form(f"Export; the ending chooses the format: {endings}", fields, "Export"), take)

    @work(thread=True, group="export")
    def _export(self, path: Path) -> None:
        scene = self.scene
        fronts = [
            (scene.names[run_id], front)
            for run_id in scene.shown
            if run_id in scene.data and (front := scene.data[run_id].front) is not None
        ]
        try:
            self.say_later(export.export(path, self.picture(), fronts, ascii_only=self.ascii_only))
        except InputError as error:
            self.say_later(str(error), "error")

    def action_pane(self, number: int) -> None:
        """Go to a pane."""
        panes = self.query_one("#panes")
        for at, name in enumerate(_PANES, start=1):
            panes.set_class(at == number, name)
        self.call_after_refresh(self.fit)
        target = ("#runs", "#plot", _LISTS[self.state.tab])[number - 1]
        self.call_after_refresh(lambda: self.query_one(target).focus(scroll_visible=False))

    def action_next_pane(self, by: int) -> None:
        """Go to the next pane."""
        panes = self.query_one("#panes")
        now = next((at for at, name in enumerate(_PANES) if panes.has_class(name)), 0)
        self.action_pane((now + by) % len(_PANES) + 1)

    def action_tab(self, tab: Tab) -> None:
        """Show other details of the run."""
        self.change(replace(self.state, tab=tab))
        self.action_pane(3)

    def action_zoom_pane(self) -> None:
        """Show the pane alone, or all."""
        self.query_one("#panes").toggle_class("zoomed")
        self.call_after_refresh(self.fit)

    def action_freeze(self) -> None:
        """Let the display stand still, or go on."""
        self.change(replace(self.state, frozen=not self.state.frozen), now=self.state.frozen)

    def action_filter(self) -> None:
        """Go to the filter."""
        self.action_pane(1)
        line = self.query_one("#filter", Input)
        line.add_class("on")
        self.call_after_refresh(lambda: line.focus(scroll_visible=False))

    def action_back(self) -> None:
        """Leave the filter, or the pane that is alone."""
        line, panes = self.query_one("#filter", Input), self.query_one("#panes")
        if line.has_class("on"):
            line.value = ""
            line.remove_class("on")
            self.change(replace(self.state, query=""))
            self.action_pane(1)
        elif panes.has_class("zoomed"):
            panes.remove_class("zoomed")
            self.call_after_refresh(self.fit)

    def action_help(self) -> None:
        """Show every key."""
        groups = [(title, [(key_names(key.keys), key.long) for key in keys]) for title, keys in KEYS]
        self.app.push_screen(Help([*groups, ("Moving", MOVES)]))
