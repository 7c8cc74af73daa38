"""The course of a run's hypervolume."""

from __future__ import annotations

from typing import ClassVar

from evo_libra.ui.plots.canvas import Canvas, Role
from evo_libra.ui.terminal.scatter_drawing import draw_progress
from evo_libra.ui.terminal.widgets.scatter import Lines


class Course(Lines):
    """Bars from nothing to the run's budget."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"course--{step}" for step in range(8)}

    def __init__(self, *, id: str, ascii_only: bool = False) -> None:  # noqa: A002 - Textual's
        super().__init__("course", id=id, ascii_only=ascii_only)
        self._points: tuple[list[float], list[float], float] = ([], [], 0.0)

    def show(self, points: tuple[list[float], list[float], float]) -> None:
        """Show places, values and the last place; see `evo_libra.ui.terminal.scatter_drawing.course`."""
        self._points = points
        self.redraw()

    def role_name(self, role: int) -> str:
        """Return the name of a role."""
        return f"{role - Role.FRONT}" if role >= Role.FRONT else ""

    def paint(self) -> Canvas:
        """Return the bars."""
        width, height = self.size
        return draw_progress(*self._points, width, height, self.glyphs)
