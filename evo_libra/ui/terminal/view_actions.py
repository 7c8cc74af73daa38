"""Actions of keys on the display, and its export."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.widgets import Input

from evo_libra.errors import InputError, counted
from evo_libra.experiment.run.record import plain_name
from evo_libra.explain.labels import label_of
from evo_libra.pictures.plots.series import ASCII, UNICODE, Glyphs
from evo_libra.ui.tables.output import FIGURES
from evo_libra.ui.terminal import answers, plot_view
from evo_libra.ui.terminal.board import Board
from evo_libra.ui.terminal.keys import KEYS, MOVES, key_names
from evo_libra.ui.terminal.panes import PANES, Panes
from evo_libra.ui.terminal.plot_view import Picture
from evo_libra.ui.terminal.view_model import Tab
from evo_libra.ui.terminal.widgets.dialogs import Choose, Field, Form, Help

if TYPE_CHECKING:
    from evo_libra.front.front import Front

TABLES, TEXT = (".csv", ".json", ".parquet"), (".txt",)
_ENDINGS = ", ".join((*FIGURES, *TABLES, *TEXT))
_WIDTH, _HEIGHT = 110, 36


class ViewActions:
    """Objectives, axes, zoom, panes, filter, export, help; the methods are actions of keys."""

    def __init__(self, board: Board, panes: Panes) -> None:
        self.board, self.panes = board, panes

    def objectives(self) -> None:
        """Take the next pair of objectives."""
        self.board.update(plot=plot_view.next_objectives(self.board.state.plot, self.board.data.objectives))

    def choose_objectives(self) -> None:
        """Choose the objectives of both axes."""
        plot, columns = self.board.state.plot, self.board.data.objectives
        pairs = list(itertools.permutations(columns, 2))
        if not pairs:
            self.board.say("there are no two objectives to choose from yet", "warning")
            return
        now = plot_view.objectives_of(plot, columns)

        def take(at: int) -> None:
            x, y = pairs[at]
            self.board.update(plot=replace(self.board.state.plot, x=x, y=y, window=None))

        names = [f"{label_of(y)} over {label_of(x)}" for x, y in pairs]
        self.board.ask(Choose("Objectives", names, pairs.index(now) if now in pairs else 0), take)

    def log(self, x: bool) -> None:  # noqa: FBT001 - a key's action takes its argument by place
        """Make an axis logarithmic or not."""
        self.board.update(plot=plot_view.toggled_log(self.board.state.plot, x=x))

    def fit_points(self) -> None:
        """Fit the fronts, then all designs."""
        self.board.update(plot=plot_view.next_fit(self.board.state.plot))

    def zoom(self, factor: float) -> None:
        """Zoom at the selected design."""
        from evo_libra.ui.terminal.scatter_drawing import position_in  # noqa: PLC0415 - the first screen lacks NumPy

        self.zoom_at(factor, position_in(self.board.picture()))

    def zoom_at(self, factor: float, at: tuple[float, float]) -> None:
        """Zoom at a place of the plot."""
        self.board.update(plot=plot_view.zoomed(self.board.state.plot, self.board.picture(), factor, at))

    def baseline(self) -> None:
        """Compare designs with the selected one."""
        design = self.board.design
        if design is not None:
            name = f"{design.name}, {self.board.scene.names.get(self.board.state.run, '')}"
            self.board.update(baseline=replace(design, name=name))

    def no_baseline(self) -> None:
        """Compare designs with equal bandwidths."""
        self.board.update(baseline=None)

    def which_one(self) -> None:
        """Show the verdict on the front, and its recommended designs."""
        front = self.board.data.front
        if front is None or not len(front):
            self.board.say("there is no front yet", "warning")
            return
        folder = None if self.board.run is None else self.board.run.folder
        self.board.read_in_thread(partial(answers.which_one, front, folder), "answer")

    def explain(self) -> None:
        """Say why the selected design is as it is."""
        if (address := self._address()) is not None:
            self.board.read_in_thread(partial(answers.why, address), "answer")

    def diff(self) -> None:
        """Show the selected design next to the baseline, or next to the knee."""
        if (address := self._address()) is None or self.board.run is None:
            return
        baseline = self.board.state.baseline
        other = next((run for run in self.board.scene.every if baseline is not None and run.id == baseline.run), None)
        if baseline is None or other is None or not baseline.notation:
            beside = str(self.board.run.folder)
        else:
            beside = f"{other.folder}#{baseline.notation}"
        self.board.read_in_thread(partial(answers.against, beside, address), "answer")

    def _address(self) -> str | None:
        """Return what names the selected design; None for one that is not known yet, which is said."""
        design, run = self.board.design, self.board.run
        if design is None or run is None or not design.notation:
            self.board.say("the design is not known yet", "warning")
            return None
        return f"{run.folder}#{design.notation}"

    def copy_design(self) -> None:
        """Copy the selected design to the clipboard."""
        design = self.board.design
        if design is None or not design.notation:
            self.board.say("the design is not known yet", "warning")
            return
        self.board.screen.app.copy_to_clipboard(design.notation)
        self.board.say(f"copied {design.notation}")

    def part(self) -> None:
        """Choose designs of the front by a query."""
        front = (
            self.board.scene.data[self.board.state.run].front if self.board.state.run in self.board.scene.data else None
        )
        if front is None:
            self.board.say("there is no front yet", "warning")
            return

        def take(answer: dict[str, str]) -> None:
            self.board.attempt(partial(self._take_part, front, answer["part"]))

        hint = "time<5s family:SW8* #3,7; empty for all"
        self.board.ask(
            Form(
                f"{front.noun.capitalize()}s to show",
                [Field("part", "Query", self.board.state.part, hint=hint)],
                "Show",
            ),
            take,
        )

    def _take_part(self, front: Front, query: str) -> None:
        """Show a part of a front; an `InputError` says that the query is none, or that no design fits it."""
        from evo_libra.front.selection import chosen  # noqa: PLC0415 - the first screen lacks NumPy

        if query and not len(chosen(front, query)):
            raise InputError(f"none of {counted(len(front), front.noun)} fits '{query}'")
        self.board.update(part=query)

    def export(self) -> None:
        """Write what is shown to a file."""
        if self.board.run is None:
            return
        name = plain_name(self.board.scene.names.get(self.board.run.id, "front"))

        def take(answer: dict[str, str]) -> None:
            if answer["file"]:
                self.board.say_in_thread(partial(self._export, Path(answer["file"]).expanduser()), "export")

        self.board.ask(
            Form(
                f"Export; the ending chooses the format: {_ENDINGS}", [Field("file", "File", f"{name}.png")], "Export"
            ),
            take,
        )

    def _export(self, path: Path) -> str:
        scene = self.board.scene
        data = [(scene.names[run_id], scene.data[run_id]) for run_id in scene.shown if run_id in scene.data]
        fronts = [(name, one.front) for name, one in data if one.front is not None]
        return export_fronts(path, self.board.picture(), fronts, ascii_only=self.board.ascii_only)

    def next_pane(self, by: int) -> None:
        """Go to the next pane."""
        now = next((at for at, name in enumerate(PANES) if self.panes.node.has_class(name)), 0)
        self.panes.focus((now + by) % len(PANES) + 1)

    def tab(self, tab: Tab) -> None:
        """Show other details of the run."""
        self.board.update(tab=tab)
        self.panes.focus(3)

    def zoom_pane(self) -> None:
        """Show the pane alone, or all."""
        self.panes.node.toggle_class("zoomed")
        self.panes.fit_later()

    def freeze(self) -> None:
        """Let the display stand still, or go on."""
        frozen = self.board.state.frozen
        self.board.change(replace(self.board.state, frozen=not frozen), now=frozen)

    def filter(self) -> None:
        """Go to the filter."""
        self.panes.focus(1)
        line = self.board.screen.query_one("#filter", Input)
        line.add_class("on")
        self.board.screen.call_after_refresh(lambda: line.focus(scroll_visible=False))

    def back(self) -> None:
        """Leave the filter, or the pane that is alone."""
        line, panes = self.board.screen.query_one("#filter", Input), self.panes.node
        if line.has_class("on"):
            line.value = ""
            line.remove_class("on")
            self.board.update(query="")
            self.panes.focus(1)
        elif panes.has_class("zoomed"):
            panes.remove_class("zoomed")
            self.panes.fit_later()

    def help(self) -> None:
        """Show every key."""
        groups = [(title, [(key_names(key.keys), key.long) for key in keys]) for title, keys in KEYS]
        self.board.screen.app.push_screen(Help([*groups, ("Moving", MOVES)]))


def export_fronts(
    path: Path, picture: Picture, fronts: Sequence[tuple[str, Front]], *, ascii_only: bool = False
) -> str:
    """Write what is shown to a file, and return a sentence; the ending of the path chooses the format.

    Endings of `FIGURES` get a figure of the picture, those of `TABLES` the designs, .txt the plot as text.

    Raises
    ------
    InputError : another ending, nothing to export, or the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in (*FIGURES, *TABLES, *TEXT):
        raise InputError(f"cannot export to '{path.name}'; allowed endings: {_ENDINGS}")
    if not fronts:
        raise InputError("there is no front to export yet")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if suffix in FIGURES:
            _figure(path, picture)
        elif suffix in TABLES:
            _table(path, fronts)
        else:
            _text(path, picture, ASCII if ascii_only else UNICODE)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from None
    return f"wrote {path}"


def _figure(path: Path, picture: Picture) -> None:
    from evo_libra.pictures.plots.figure import front_figure  # noqa: PLC0415 - Matplotlib takes a third of a second

    front_figure(
        picture.fronts, x_label=picture.x_label, y_label=picture.y_label,
        log_x=picture.x.log, log_y=picture.y.log, path=path,
    )  # fmt: skip


def _text(path: Path, picture: Picture, glyphs: Glyphs) -> None:
    from evo_libra.ui.terminal.scatter_drawing import draw  # noqa: PLC0415 - the first screen does not wait for NumPy

    path.write_text(draw(picture, _WIDTH, _HEIGHT, glyphs, colour=False).plain() + "\n", encoding="utf-8")


def _table(path: Path, fronts: Sequence[tuple[str, Front]]) -> None:
    import polars as pl  # noqa: PLC0415 - fronts are there already, and so is Polars

    from evo_libra.explain.bill_table import frame_csv  # noqa: PLC0415 - the same

    named = [front.frame.select(pl.lit(name).alias("run"), pl.all()) for name, front in fronts]
    table = fronts[0][1].frame if len(fronts) == 1 else pl.concat(named, how="diagonal_relaxed")
    if path.suffix.lower() == ".csv":
        path.write_text(frame_csv(table), encoding="utf-8")
    elif path.suffix.lower() == ".parquet":
        table.write_parquet(path)
    else:
        path.write_text(json.dumps(table.to_dicts(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
