"""The panes of the main screen: what each shows, drawn again when what it is made of has changed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static, TabbedContent

from evo_libra.experiment.run.record import RunRecord
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.ui.terminal import queue_view, view_model
from evo_libra.ui.terminal.board import Board
from evo_libra.ui.terminal.details import Breakdown, Design, Line, detail_lines, folded, picture_lines
from evo_libra.ui.terminal.front_rows import FrontRows
from evo_libra.ui.terminal.plot_view import PlotView
from evo_libra.ui.terminal.widgets.lists import Sheet, Table
from evo_libra.ui.terminal.widgets.plots import ProgressChart, Scatter

if TYPE_CHECKING:
    from pathlib import Path

    from evo_libra.problem.problem import Problem

PANES = {"one": "queue", "two": "centre", "three": "details"}
"""Class of the panes' container while a pane has the keys -> id of the pane."""
TABS = {"design": "design", "network": "network-tab", "front": "front-tab", "log": "log"}
"""Tab of the state -> id of its pane."""
_LISTS = {"design": "#design-sheet", "network": "#network-sheet", "front": "#front", "log": "#log-sheet"}
_REMEMBERED = 128
_PATIENCE = 0.3  # Seconds until a design is shown without its breakdown.
_Key = tuple[str, str, tuple[float, ...]]
_COMPARED = (str, int, tuple, PlotView, Design, RunRecord)


class Panes:
    """Draws runs, plot and details; a part is drawn again when what it is made of has changed."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.complete = False
        self.asked: _Key | None = None
        self._breakdowns: OrderedDict[_Key, Breakdown] = OrderedDict()
        self._last_problem: dict[Path, Problem | None] = {}
        self._pushed: dict[str, tuple[object, ...]] = {}
        self._titles: dict[str, tuple[str, str]] = {}
        self._patience: Timer | None = None

    @property
    def node(self) -> Widget:
        """The container of the panes."""
        return self.board.screen.query_one("#panes")

    @property
    def there(self) -> bool:
        """Whether the panes are drawn: not yet, or not any more where the program ends while a thread works."""
        return self.complete and bool(self.board.screen.query("#plot"))

    def _text(self, name: str) -> Static:
        return self.board.screen.query_one(name, Static)

    def show(self) -> None:
        """Show what has changed since the last time."""
        if not self.there:
            return
        state, scene, data = self.board.state, self.board.scene, self.board.data
        listed = (scene.runs, scene.names, state.marked, state.run, state.query, state.sort, scene.error)
        points = (scene.data, scene.names, scene.shown, state.plot, state.design, state.baseline, state.part)
        progress = (self.board.run, data.progress, scene.requests.get(state.run, ""))
        self._push("title", (scene.every, state.frozen), self._show_title)
        self._push("runs", listed, self._show_runs)
        self._push("plot", points, self._show_plot)
        self._push("progress", progress, self._show_progress)
        self._push("front", (data.front, state.design, state.tab), self._show_front)
        self._push("log", (data.log, state.tab), self._show_log)
        self._show_design()
        self.board.screen.query_one(TabbedContent).active = TABS[state.tab]

    def _push(self, name: str, made_of: tuple[object, ...], show: Callable[[], None]) -> None:
        """Show a part of the screen if what it is made of has changed."""
        last = self._pushed.get(name)
        if last is None or not all(map(_same, last, made_of)):
            self._pushed[name] = made_of
            show()

    def entitle(self, pane: str, title: str, subtitle: str = "") -> None:
        """Give a pane titles; other titles draw all of the pane again."""
        if self._titles.get(pane) != (title, subtitle):
            self._titles[pane] = title, subtitle
            widget = self.board.screen.query_one(f"#{pane}")
            widget.border_title, widget.border_subtitle = Content(title), Content(subtitle)

    def _show_title(self) -> None:
        line, state = self._text("#title"), self.board.state
        text = view_model.title(str(self.board.results), self.board.scene, line.size.width, frozen=state.frozen)
        line.update(self.board.spelt(text), layout=False)

    def _show_runs(self) -> None:
        scene, state = self.board.scene, self.board.state
        marks = view_model.run_styles(state) if state.marked else {}
        rows = queue_view.queue_rows(scene.runs, scene.names, marks, ascii_only=self.board.ascii_only)
        cursor = next((at for at, row in enumerate(rows) if row.key == state.run), 0)
        longest = max((len(scene.names[run.id]) for run in scene.runs), default=0)
        self.board.screen.query_one("#runs", Table).show(rows, cursor, longest=longest)
        self.entitle("queue", f"[1] {view_model.queue_title(state, scene)}", (scene.error or scene.note).split(";")[0])
        share, words = view_model.queue_foot(scene)
        words = self.board.spelt(words)
        room = max(self.board.screen.query_one("#queue").size.width - len(words) - 2, 0)
        done = int(share * room)
        line = queue_view.ASCII_LINE if self.board.ascii_only else queue_view.LINE
        self._text("#foot").update(
            Content.assemble((line * done, "$primary"), (line * (room - done), "$panel"), f"  {words}"), layout=False
        )

    def _show_plot(self) -> None:
        self.board.screen.query_one("#plot", Scatter).show(self.board.picture())
        name, part = self.board.scene.names.get(self.board.state.run, ""), self.board.state.part
        self.entitle("centre", f"[2] Pareto front{': ' if name else ''}{name}", part)

    def _show_progress(self) -> None:
        run, progress = self.board.run, self.board.data.progress
        self.board.screen.query_one(ProgressChart).show(*view_model.progress_of(run, progress))
        status, asked = self._text("#status"), self.board.scene.requests.get(self.board.state.run, "")
        line = view_model.status_line(run, progress, asked, status.size.width)
        status.update(self.board.spelt(line), layout=False)

    def _show_front(self) -> None:
        if self.board.state.tab == "front":
            data = self.board.data
            rows = FrontRows(data.front) if data.front is not None else None
            index = view_model.design_index(self.board.state, data)
            self.board.screen.query_one("#front", Table).show(rows or (), index or 0, rows.columns if rows else ())

    def _show_log(self) -> None:
        if self.board.state.tab == "log":
            sheet = self.board.screen.query_one("#log-sheet", Sheet)
            sheet.show(folded(self.board.data.log or ["nothing yet"], sheet.columns))
            sheet.scroll_end(animate=False)

    def _show_design(self) -> None:
        design = self.board.design
        found = self._breakdown(design) if design is not None else None
        if design is not None and found is None:
            # Known in a moment, as a rule: until then, what is there stays.
            if self._patience is None:
                self._patience = self.board.screen.set_timer(_PATIENCE, self._draw_design)
            return
        if self._patience is not None:
            self._patience.stop()
            self._patience = None
        widths = tuple(self._sheet(tab).columns for tab in ("design", "network"))
        self._push("design", (design, found, self.board.state.baseline, widths), self._draw_design)

    def _sheet(self, tab: str) -> Sheet:
        return self.board.screen.query_one(_LISTS[tab], Sheet)

    def _draw_design(self) -> None:
        design, sheet, drawn = self.board.design, self._sheet("design"), self._sheet("network")
        if design is None:
            for one in (sheet, drawn):
                one.show([((self.board.data.note, "dim"),)])
            return
        found = self._breakdown(design)
        if found is not None and not design.notation:
            design = replace(design, notation=found.notation)
        ascii_only = self.board.ascii_only
        drawn.show(self._spelt(picture_lines(found, drawn.columns, ascii_only=ascii_only)))
        lines = detail_lines(design, found, self.board.state.baseline, sheet.columns, ascii_only=ascii_only)
        sheet.show(self._spelt(lines))

    def _spelt(self, lines: Sequence[Line]) -> list[Line]:
        return [tuple((self.board.spelt(text), role) for text, role in line) for line in lines]

    def _breakdown(self, design: Design) -> Breakdown | None:
        """Return the breakdown of a design; None while that is worked out."""
        key = (design.run, design.notation, tuple(design.objectives.values()))
        if key not in self._breakdowns and key != self.asked:
            self.asked = key
            self.board.in_thread(partial(self._work_out, design, key), "breakdown", exclusive=True)
        return self._breakdowns.get(key)

    def _work_out(self, design: Design, key: _Key) -> None:
        from evo_libra.ui.terminal.breakdown import break_down  # noqa: PLC0415 - the first screen does not wait for NumPy

        found = break_down(RunFolder(self.board.results / design.run), design, self._last_problem)
        self.board.screen.app.call_from_thread(self._keep, key, found)

    def _keep(self, key: _Key, found: Breakdown) -> None:
        self._breakdowns[key] = found
        self.asked = None
        while len(self._breakdowns) > _REMEMBERED:
            self._breakdowns.popitem(last=False)
        if self.there:
            self._show_design()

    def fit(self, *parts: str) -> None:
        """Fit parts of the screen to another width."""
        for part in parts:
            self._pushed.pop(part, None)
        self.show()

    def fit_later(self) -> None:
        """Fit the texts once the panes have their widths."""
        self.board.screen.call_after_refresh(self.fit, "title", "runs", "progress")

    def focus(self, number: int) -> None:
        """Go to a pane."""
        for at, name in enumerate(PANES, start=1):
            self.node.set_class(at == number, name)
        self.fit_later()
        target = ("#runs", "#plot", _LISTS[self.board.state.tab])[number - 1]
        self.board.screen.call_after_refresh(lambda: self.board.screen.query_one(target).focus(scroll_visible=False))

    def mark_active(self, focused: Widget) -> None:
        """Show which pane has the keys."""
        active = next((node.id for node in focused.ancestors_with_self if node.id in PANES.values()), None)
        for name, pane in PANES.items() if active else ():
            self.node.set_class(pane == active, name)
            self.board.screen.query_one(f"#{pane}").set_class(pane == active, "active")


def _same(one: object, other: object) -> bool:
    """Return whether two things are the same; what holds arrays is another object only after a change."""
    return one is other or (isinstance(one, _COMPARED) and one == other)
