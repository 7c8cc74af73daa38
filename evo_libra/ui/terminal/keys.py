"""The keys of the terminal UI, in one place: footer, help, palette and documentation are made of it."""

from __future__ import annotations

from dataclasses import dataclass

from rich.segment import Segment
from textual import events
from textual.binding import Binding
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget


@dataclass(frozen=True)
class Key:
    """A key.

    Attributes
    ----------
    keys : as Textual names them, joined by commas.
    action : the method that it calls: ``runs.stop`` of a part of the main screen, ``app.quit`` of the program.
    short : what the foot of the screen says; empty where there is no room for it.
    long : what help and palette say.
    """

    keys: str
    action: str
    short: str
    long: str

    @property
    def call(self) -> str:
        """The action as Textual reads it.

        >>> Key("x", "view.log(True)", "", "").call, Key("q", "app.quit", "", "").call
        ("perform('view.log', True)", 'app.quit')
        """
        name, _, arguments = self.action.partition("(")
        if name.startswith("app."):
            return self.action
        return f"perform('{name}', {arguments}" if arguments else f"perform('{name}')"


KEYS: tuple[tuple[str, tuple[Key, ...]], ...] = (
    ("Runs", (
        Key("r", "runs.act('start')", "Start", "start or resume the run, or its batch where no process executes it"),
        Key("p", "runs.act('pause')", "Pause", "pause the run: a checkpoint is kept, others go first"),
        Key("P", "runs.pause_batch", "", "pause or resume all runs of the batch"),
        Key("ctrl+x", "runs.stop", "Stop", "stop the run or its batch; asks first"),
        Key("R", "runs.act('retry')", "Retry", "run again what failed, is stale or was stopped"),
        Key("c", "runs.copy", "Copy", "copy the run, edit the copy and start it; more evaluations extend it"),
        Key("n", "runs.new_batch", "New", "start a problem or an experiment file"),
        Key("slash", "view.filter", "Filter", "filter, such as status:failed seed:3 evaluations>1000 4k"),
        Key("s", "runs.sort", "Sort", "sort the runs by the next column; a click on a column's head sorts, too"),
        Key("m", "runs.mark", "Compare", "add the run to the plot next to the selected one, or remove it"),
        Key("M", "runs.unmark", "", "plot the selected run alone"),
    )),
    ("Plot", (
        Key("o", "view.objectives", "Objectives", "next pair of objectives"),
        Key("O", "view.choose_objectives", "", "choose the objectives"),
        Key("x", "view.log(True)", "Log x", "horizontal axis logarithmic or not"),
        Key("y", "view.log(False)", "Log y", "vertical axis logarithmic or not"),
        Key("a", "view.fit_points", "Fit", "fit the front, then all designs"),
        Key("plus,equals_sign", "view.zoom(0.8)", "", "zoom in, at the selected design; so does the mouse wheel"),
        Key("minus", "view.zoom(1.25)", "", "zoom out"),
        Key("b", "view.baseline", "Baseline", "compare designs with the selected one"),
        Key("B", "view.no_baseline", "", "compare designs with equal bandwidths again"),
        Key("w", "view.which_one", "Which one?", "which design to buy, the sum, and the recommended designs"),
        Key("E", "view.explain", "", "why the selected design is as it is, and what each step away costs"),
        Key("D", "view.diff", "", "the selected design next to the baseline, or next to the knee"),
        Key("F", "view.part", "", "show a part of the front, such as time<5s family:SW8* #3,7"),
        Key("ctrl+y", "view.copy_design", "", "copy the design to the clipboard"),
        Key("e", "view.export", "Export", "write front or plot to a file: png, pdf, svg, csv, json, parquet, txt"),
    )),
    ("Display", (
        Key("1", "panes.focus(1)", "", "runs"),
        Key("2", "panes.focus(2)", "", "plot"),
        Key("3", "panes.focus(3)", "", "details"),
        Key("tab", "view.next_pane(1)", "", "next pane"),
        Key("shift+tab", "view.next_pane(-1)", "", "previous pane"),
        Key("d", "view.tab('design')", "", "details: the selected design"),
        Key("N", "view.tab('network')", "", "details: the design's network as a picture"),
        Key("f", "view.tab('front')", "", "details: the front as a table"),
        Key("v", "view.tab('log')", "", "details: the run's log"),
        Key("z", "view.zoom_pane", "Zoom", "show the pane alone, or all panes"),
        Key("space", "view.freeze", "Freeze", "freeze the display; runs continue"),
        Key("t", "app.light_or_dark", "", "light or dark"),
        Key("escape", "view.back", "", "leave the filter, the zoom"),
    )),
    ("Program", (
        Key("question_mark,f1", "view.help", "Help", "these keys"),
        Key("ctrl+p", "app.command_palette", "", "search for a command"),
        Key("ctrl+z", "app.suspend_process", "", "back to the shell; fg returns"),
        Key("q", "app.quit", "Quit", "leave; batches continue"),
        Key("Q", "runs.stop_and_quit", "", "stop everything and leave; asks first"),
    )),
)  # fmt: skip

MOVES = (
    ("↑ ↓ j k", "runs, front, log: line by line; plot: ten designs"),
    ("← → h l", "plot: previous and next design"),
    ("g G", "first and last"),
    ("shift+arrows", "plot: pan; so does dragging with the mouse"),
    ("enter", "runs: to the plot; front: select the design"),
    ("click", "selects a run, a design, a key; a second click opens it"),
)
"""Keys of the panes."""

_SPOKEN = {"slash": "/", "plus": "+", "equals_sign": "=", "minus": "-", "question_mark": "?"}


def key_names(keys: str) -> str:
    """Return keys as they are written on keyboards.

    >>> key_names("plus,equals_sign"), key_names("ctrl+x"), key_names("question_mark,f1")
    ('+ =', 'ctrl+x', '? f1')
    """
    return " ".join(_SPOKEN.get(key, key) for key in keys.split(","))


class KeyBar(Widget):
    """The keys at the foot of the screen, which can be clicked: as many as there is room for, none of them cut."""

    COMPONENT_CLASSES = {"keybar--key", "keybar--text"}  # noqa: RUF012 - as Textual's own

    def on_mount(self) -> None:
        """Follow the keys of whatever has the focus."""
        self.screen.bindings_updated_signal.subscribe(self, self._renew)

    def _renew(self, _screen: Screen[object]) -> None:
        self.refresh()

    def _entries(self) -> list[tuple[int, str, Binding]]:
        """Return column, key and binding of what there is room for; help and the palette always are at the end."""
        bindings: dict[str, Binding] = {}
        for active in self.screen.active_bindings.values():
            if active.binding.show and active.enabled:
                bindings.setdefault(active.binding.action, active.binding)
        last = [one for one in bindings.values() if one.action in ("perform('view.help')", "quit", "app.quit")]
        others = [one for one in bindings.values() if one not in last]
        shown = [(self.app.get_key_display(binding), binding) for binding in (*others, *last)]
        wide = [len(key) + 1 + len(binding.description) + 2 for key, binding in shown]
        while shown and sum(wide) - 2 > self.size.width and len(shown) > len(last):
            at = len(shown) - len(last) - 1
            del shown[at], wide[at]
        starts = [sum(wide[:at]) for at in range(len(shown))]
        return [(start, key, binding) for start, (key, binding) in zip(starts, shown, strict=True)]

    def render_line(self, y: int) -> Strip:
        """Return the keys."""
        base = self.rich_style
        if y:
            return Strip.blank(self.size.width, base)
        key_style = base + self.get_component_rich_style("keybar--key", partial=True)
        text_style = base + self.get_component_rich_style("keybar--text", partial=True)
        segments = []
        for _, key, binding in self._entries():
            segments += [Segment(key, key_style), Segment(f" {binding.description}  ", text_style)]
        return Strip(segments).adjust_cell_length(self.size.width, base)

    def on_click(self, event: events.Click) -> None:
        """Press the key that is clicked."""
        for start, key, binding in self._entries():
            if start <= event.x < start + len(key) + 1 + len(binding.description):
                self.app.simulate_key(binding.key)
