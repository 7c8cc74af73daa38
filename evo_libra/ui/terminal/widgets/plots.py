"""Live plots: drawn again when their contents change, and only the changed lines go to the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from evo_libra.pictures.plots.series import ASCII, UNICODE, Line, Role, line_of
from evo_libra.ui.terminal.plot_view import MAX_FRONTS, Picture, hint_of
from evo_libra.ui.terminal.themes import Styles

if TYPE_CHECKING:
    from evo_libra.pictures.plots.canvas import Area

_ROLE_NAMES = {
    Role.AXIS: "axis", Role.TICK: "tick", Role.LABEL: "label", Role.CLOUD: "cloud", Role.SELECTED: "selected",
    Role.BASELINE: "baseline", Role.HINT: "hint",
}  # fmt: skip
_ZOOM, _PAN = 0.8, 0.1


class Lines(Widget):
    """Shows lines of a plot, whose roles are coloured by component classes with a prefix."""

    def __init__(self, prefix: str, *, id: str, ascii_only: bool = False) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id)
        self._styles = Styles(self, prefix)
        self.glyphs = ASCII if ascii_only else UNICODE
        self._strips: list[Strip] = []
        self._texts: list[Line] = []

    def paint(self) -> list[Line]:
        """Return what is shown, as large as the widget."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw the lines that have changed."""
        if not self.is_mounted or not self.size.area:
            return
        texts = self.paint()
        same_size = len(texts) == len(self._texts)
        changed = [row for row, text in enumerate(texts) if not same_size or text != self._texts[row]]
        self._texts = texts
        if not same_size:
            self._strips = [self._strip(text) for text in texts]
            self.refresh()
        elif changed:
            for row in changed:
                self._strips[row] = self._strip(texts[row])
            self.refresh(*(Region(0, row, self.size.width, 1) for row in changed))

    def on_resize(self) -> None:
        """Draw at another size."""
        self.redraw()

    def notify_style_update(self) -> None:
        """Take the colours of another theme."""
        super().notify_style_update()
        # The widget has its colours by now, its component classes get theirs next.
        self.call_later(self._recolour)

    def _recolour(self) -> None:
        self._styles.forget()
        self._texts = []
        self.redraw()

    def render_line(self, y: int) -> Strip:
        """Return a line."""
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width, self._styles())

    def role_name(self, role: int) -> str:
        """Return the name of a role."""
        return _ROLE_NAMES.get(Role(role), "") if role < Role.FRONT else f"front-{role - Role.FRONT}"

    def _strip(self, runs: Line) -> Strip:
        return Strip([Segment(text, self._styles(self.role_name(role))) for text, role in runs], self.size.width)


class ProgressChart(Lines):
    """The hypervolume of a run as bars from nothing to the run's budget."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"progress--{step}" for step in range(8)}

    def __init__(self, *, id: str, ascii_only: bool = False) -> None:  # noqa: A002 - Textual's
        super().__init__("progress", id=id, ascii_only=ascii_only)
        self._points: tuple[Sequence[float], Sequence[float], float] = ([], [], 0.0)

    def show(self, x: Sequence[float], y: Sequence[float], end: float) -> None:
        """Show places, values and the last place; see `evo_libra.ui.terminal.scatter_drawing.draw_progress`."""
        self._points = x, y, end
        self.redraw()

    def role_name(self, role: int) -> str:
        """Return the name of a role."""
        return f"{role - Role.FRONT}" if role >= Role.FRONT else ""

    def paint(self) -> list[Line]:
        """Return the bars."""
        width, height = self.size
        if not self._points[0]:
            return [line_of(width)] * height
        from evo_libra.ui.terminal.scatter_drawing import draw_progress

        return draw_progress(*self._points, width, height, self.glyphs).lines()


class Scatter(Lines, can_focus=True):
    """A scatter plot that is zoomed and panned with keys and mouse, and in which designs are selected."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"scatter--{name}" for name in _ROLE_NAMES.values()),
        *(f"scatter--front-{which}" for which in range(MAX_FRONTS)),
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", "Previous design", show=False),
        Binding("right,l", "step(1)", "Next design", show=False),
        Binding("up,k", "step(-10)", "Ten back", show=False),
        Binding("down,j", "step(10)", "Ten on", show=False),
        Binding("home,g", "step(-1000000000)", "First design", show=False),
        Binding("end,G", "step(1000000000)", "Last design", show=False),
        Binding("shift+left", "pan(-1, 0)", "Pan left", show=False),
        Binding("shift+right", "pan(1, 0)", "Pan right", show=False),
        Binding("shift+up", "pan(0, 1)", "Pan up", show=False),
        Binding("shift+down", "pan(0, -1)", "Pan down", show=False),
    ]

    @dataclass
    class Stepped(Message):
        """The user goes to another design of the front."""

        by: int

    @dataclass
    class Picked(Message):
        """The user has clicked a design of the selected run's front."""

        index: int

    @dataclass
    class Zoomed(Message):
        """The user zooms; what lies at a place of the plot stays there."""

        factor: float
        at: tuple[float, float]

    @dataclass
    class Panned(Message):
        """The user pans by parts of the plot's width and height."""

        right: float
        up: float

    def __init__(self, *, id: str, ascii_only: bool = False) -> None:  # noqa: A002 - Textual's
        super().__init__("scatter", id=id, ascii_only=ascii_only)
        self._picture: Picture | None = None
        self.area: Area | None = None
        self._dragged: tuple[int, int] | None = None
        self._moved = False

    def show(self, picture: Picture) -> None:
        """Show a picture."""
        self._picture = picture
        self.redraw()

    def paint(self) -> list[Line]:
        """Return the plot, and note where its points go."""
        width, height = self.size
        lines, self.area = [line_of(width)] * height, None
        if self._picture is None:
            return lines
        hint = hint_of(self._picture, width, height)
        if hint is not None:
            lines[height // 2] = line_of(width, *hint)
            return lines
        from evo_libra.ui.terminal.scatter_drawing import draw

        canvas = draw(self._picture, width, height, self.glyphs, colour=not self.app.no_color)
        self.area = canvas.area
        return canvas.lines()

    def action_step(self, by: int) -> None:
        """Go to another design."""
        self.post_message(self.Stepped(by))

    def action_pan(self, right: int, up: int) -> None:
        """Pan by a tenth of the plot."""
        self.post_message(self.Panned(_PAN * right, _PAN * up))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Zoom in on the pointer."""
        self._zoom(event, _ZOOM)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Zoom out from the pointer."""
        self._zoom(event, 1 / _ZOOM)

    def _zoom(self, event: events.MouseEvent, factor: float) -> None:
        event.stop()
        if self.area is not None:
            from evo_libra.ui.terminal.scatter_drawing import place_of

            self.post_message(self.Zoomed(factor, place_of(self.area, event.x, event.y)))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin to drag."""
        if event.button == 1:
            self._dragged, self._moved = (event.x, event.y), False
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Pan with the pointer."""
        area = self.area
        if self._dragged is None or area is None:
            return
        across, down = event.x - self._dragged[0], event.y - self._dragged[1]
        if across or down:
            self._dragged, self._moved = (event.x, event.y), True
            self.post_message(self.Panned(-across / max(area.columns, 1), down / max(area.rows, 1)))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Select the design at the pointer, unless it was dragged."""
        self.release_mouse()
        dragged, self._dragged = self._dragged, None
        if dragged is None or self._moved or self._picture is None or not self._picture.fronts:
            return
        if self.area is not None:
            from evo_libra.ui.terminal.scatter_drawing import nearest

            index = nearest(self.area, self._picture.pickable or self._picture.fronts[0], event.x, event.y)
            if index is not None:
                self.post_message(self.Picked(index))
