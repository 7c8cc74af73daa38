"""The main screen: runs, plot, details."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import DescendantFocus
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static, TabbedContent, TabPane, Tabs

from evo_libra.experiment.run.record import RunRecord
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.ui.terminal import queue_view, view_model
from evo_libra.ui.terminal.details import Breakdown, Design, detail_lines, folded
from evo_libra.ui.terminal.handlers import Answers
from evo_libra.ui.terminal.keys import KEYS
from evo_libra.ui.terminal.plot_view import PlotView
from evo_libra.ui.terminal.queue_view import QUEUE, queue_rows
from evo_libra.ui.terminal.run_actions import RunActions
from evo_libra.ui.terminal.session import Scene
from evo_libra.ui.terminal.view_model import FrontRows, State
from evo_libra.ui.terminal.widgets.keybar import KeyBar
from evo_libra.ui.terminal.widgets.progress_chart import Course
from evo_libra.ui.terminal.widgets.scatter import Scatter
from evo_libra.ui.terminal.widgets.sheet import Sheet
from evo_libra.ui.terminal.widgets.table import Table

_PANE_NAMES = {"queue": "one", "centre": "two", "details": "three"}
_FILTER_HINT = "filter: status:failed seed:3 4k"
_REMEMBERED = 128
_PATIENCE = 0.3  # Seconds until a design is shown without where its worth comes from.
_Key = tuple[str, str, tuple[float, ...]]
_COMPARED = (str, int, tuple, PlotView, Design, RunRecord)


class MainScreen(RunActions, Answers):
    """Runs at the left, plot in the middle, details at the right; fewer of them on narrow terminals."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key.keys, key.action, key.short, show=bool(key.short), id=key.action)
        for _, keys in KEYS
        for key in keys
        if not key.action.startswith("app.")
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (70, "-medium"), (116, "-wide")]  # noqa: RUF012 - as Textual's own
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]  # noqa: RUF012 - the same

    class Wants(Message):
        """What is to be read has changed."""

        def __init__(self, state: State, *, now: bool) -> None:
            super().__init__()
            self.state, self.now = state, now

    def __init__(self, results: Path, *, ascii_only: bool) -> None:
        super().__init__(results, ascii_only=ascii_only)
        self._breakdowns: OrderedDict[_Key, Breakdown] = OrderedDict()
        self._asked: _Key | None = None
        self._pushed: dict[str, tuple[object, ...]] = {}
        self._titles: dict[str, tuple[str, str]] = {}
        self._patience: Timer | None = None
        self._complete = False
        self.set_class(ascii_only, "ascii")

    def compose(self) -> ComposeResult:
        """Make the panes."""
        yield Static("evo-libra", id="title", markup=False)
        with Horizontal(id="panes", classes="one"):
            with Vertical(id="queue", classes="pane active"):
                yield Table(QUEUE, id="runs", ascii_only=self.ascii_only)
                yield Input(placeholder=_FILTER_HINT, id="filter", compact=True, select_on_focus=False)
                yield Static("", id="foot", markup=False)
            with Vertical(id="centre", classes="pane"):
                yield Scatter(id="plot", ascii_only=self.ascii_only)
                yield Course(id="course", ascii_only=self.ascii_only)
                yield Static("", id="status", markup=False)
            with Vertical(id="details", classes="pane"), TabbedContent(initial="design", id="tabs"):
                with TabPane("Design", id="design"):
                    yield Sheet(id="design-sheet")
                with TabPane("Front", id="front-tab"):
                    yield Table((), id="front", ascii_only=self.ascii_only)
                with TabPane("Log", id="log"):
                    yield Sheet(id="log-sheet")
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin with the list of runs."""
        self._entitle("queue", "[1] runs")
        self._entitle("centre", "[2] Pareto front")
        self._entitle("details", "[3] details")
        self.query_one(Tabs).can_focus = False
        self.query_one("#title", Static).update(f"evo-libra: reading {self.results} ...")
        self.query_one("#runs").focus()
        self._complete = True
        if self.scene.every:
            self.show()

    def change(self, state: State, *, now: bool = False) -> None:
        """Take another state and show it."""
        state = view_model.settled(state, self.scene) if self.scene.every else state
        self.state = state
        self.post_message(self.Wants(state, now=now))
        self.show()

    def take(self, scene: Scene) -> None:
        """Take another scene and show it."""
        self.scene = scene
        state = view_model.settled(self.state, scene)
        if state is not self.state:
            self.state = state
            self.post_message(self.Wants(state, now=False))
        self.show()

    def show(self) -> None:
        """Show what has changed since the last time."""
        if not self._complete or not self.query("#plot"):
            return  # not there yet, or not any more
        state, scene = self.state, self.scene
        data = view_model.selected_data(state, scene)
        listed = (scene.runs, scene.names, state.marked, state.run, state.query, state.sort, scene.error)
        points = (scene.data, scene.names, scene.shown, state.plot, state.design, state.baseline)
        self._push("title", (scene.every, state.frozen), self._show_title)
        self._push("runs", listed, self._show_runs)
        self._push("plot", points, self._show_plot)
        self._push("course", (self.run, data.progress, scene.requests.get(state.run, "")), self._show_course)
        self._push("front", (data.front, state.design, state.tab), self._show_front)
        self._push("log", (data.log, state.tab), self._show_log)
        self._show_design()
        tabs = self.query_one(TabbedContent)
        tabs.active = {"design": "design", "front": "front-tab", "log": "log"}[state.tab]

    def _push(self, name: str, made_of: tuple[object, ...], show: Callable[[], None]) -> None:
        """Show a part of the screen if what it is made of has changed."""
        last = self._pushed.get(name)
        if last is None or not all(map(_same, last, made_of)):
            self._pushed[name] = made_of
            show()

    def _entitle(self, pane: str, title: str, subtitle: str = "") -> None:
        """Give a pane titles; all of it is drawn anew if they are others."""
        if self._titles.get(pane) != (title, subtitle):
            self._titles[pane] = title, subtitle
            widget = self.query_one(f"#{pane}")
            widget.border_title, widget.border_subtitle = Content(title), Content(subtitle)

    def _show_title(self) -> None:
        width = self.query_one("#title").size.width
        text = view_model.title(str(self.results), self.scene, width, frozen=self.state.frozen)
        self.query_one("#title", Static).update(self.spelt(text), layout=False)

    def _show_runs(self) -> None:
        scene, state = self.scene, self.state
        marks = view_model.run_styles(state) if state.marked else {}
        rows = queue_rows(scene.runs, scene.names, marks, ascii_only=self.ascii_only)
        cursor = next((at for at, row in enumerate(rows) if row.key == state.run), 0)
        longest = max((len(row.cells[2]) for row in rows), default=0)
        self.query_one("#runs", Table).show(rows, cursor, longest=longest)
        pane = self.query_one("#queue")
        self._entitle("queue", f"[1] {view_model.queue_title(state, scene)}", (scene.error or scene.note).split(";")[0])
        share, words = view_model.queue_foot(scene)
        words = self.spelt(words)
        room = max(pane.size.width - len(words) - 2, 0)
        done = int(share * room)
        line = queue_view.ASCII_LINE if self.ascii_only else queue_view.LINE
        self.query_one("#foot", Static).update(
            Content.assemble((line * done, "$primary"), (line * (room - done), "$panel"), f"  {words}"), layout=False
        )

    def _show_plot(self) -> None:
        self.query_one("#plot", Scatter).show(self.picture())
        name = self.scene.names.get(self.state.run, "")
        self._entitle("centre", f"[2] Pareto front{': ' if name else ''}{name}")

    def _show_course(self) -> None:
        run, data = self.run, view_model.selected_data(self.state, self.scene)
        self.query_one("#course", Course).show(view_model.course_of(run, data.progress))
        status, asked = self.query_one("#status", Static), self.scene.requests.get(self.state.run, "")
        line = view_model.status_line(run, data.progress, asked, status.size.width)
        status.update(self.spelt(line), layout=False)

    def _show_front(self) -> None:
        if self.state.tab != "front":
            return
        data = view_model.selected_data(self.state, self.scene)
        rows = FrontRows(data.front) if data.front is not None else None
        index = view_model.design_index(self.state, data)
        self.query_one("#front", Table).show(rows or (), index or 0, rows.columns if rows else ())

    def _show_log(self) -> None:
        if self.state.tab == "log":
            lines = view_model.selected_data(self.state, self.scene).log
            sheet = self.query_one("#log-sheet", Sheet)
            sheet.show(folded(lines or ["nothing yet"], sheet.columns))
            sheet.scroll_end(animate=False)

    def _show_design(self) -> None:
        design = view_model.selected_design(self.state, self.scene)
        found = self._breakdown(design) if design is not None else None
        if design is not None and found is None:
            # Known in a moment, as a rule: until then, what is there stays.
            if self._patience is None:
                self._patience = self.set_timer(_PATIENCE, self._draw_design)
            return
        if self._patience is not None:
            self._patience.stop()
            self._patience = None
        width = self.query_one("#design-sheet", Sheet).columns
        self._push("design", (design, found, self.state.baseline, width), self._draw_design)

    def _draw_design(self) -> None:
        design = view_model.selected_design(self.state, self.scene)
        sheet = self.query_one("#design-sheet", Sheet)
        if design is None:
            sheet.show([((view_model.selected_data(self.state, self.scene).note, "dim"),)])
            return
        found = self._breakdown(design)
        if found is not None and not design.notation:
            design = replace(design, notation=found.notation)
        lines = detail_lines(design, found, self.state.baseline, sheet.columns, ascii_only=self.ascii_only)
        sheet.show([tuple((self.spelt(text), role) for text, role in line) for line in lines])

    def on_sheet_widened(self) -> None:
        """Fit lines to another width."""
        self._pushed.pop("log", None)
        self.show()

    def _breakdown(self, design: Design) -> Breakdown | None:
        """Return where the worth of a design comes from; None while that is worked out."""
        key = (design.run, design.notation, tuple(design.objectives.values()))
        if key not in self._breakdowns and key != self._asked:
            self._asked = key
            self._work_out(design, key)
        return self._breakdowns.get(key)

    @work(thread=True, exclusive=True, group="breakdown")
    def _work_out(self, design: Design, key: _Key) -> None:
        from evo_libra.ui.terminal.details import break_down  # noqa: PLC0415 - models take a while to import

        found = break_down(RunFolder(self.results / design.run), design)
        self.app.call_from_thread(self._keep, key, found)

    def _keep(self, key: _Key, found: Breakdown) -> None:
        self._breakdowns[key] = found
        self._asked = None
        while len(self._breakdowns) > _REMEMBERED:
            self._breakdowns.popitem(last=False)
        self._show_design()

    def on_resize(self) -> None:
        """Fit the texts to other widths."""
        self.call_after_refresh(self.fit)

    def fit(self) -> None:
        """Fit the texts to the widths of the panes."""
        for part in ("title", "runs", "course"):
            self._pushed.pop(part, None)
        self.show()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Show which pane has the keys."""
        pane = next((node for node in event.widget.ancestors_with_self if node.id in _PANE_NAMES), None)
        if pane is None:
            return
        panes = self.query_one("#panes")
        for name, number in _PANE_NAMES.items():
            panes.set_class(name == pane.id, number)
            self.query_one(f"#{name}").set_class(name == pane.id, "active")


def _same(one: object, other: object) -> bool:
    """Return whether two things are the same; what holds arrays is never made anew without a change."""
    return one is other or (isinstance(one, _COMPARED) and one == other)
