"""What the terminal UI draws has no characters that a terminal obeys, whatever names and files say."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from evo_libra.ui.output import STEERING


class CleanLines(LineFilter):
    """Leaves out of each line what a terminal would obey; such characters take no room."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - other filters need it
        """Return the segments of a line, cleaned."""
        if not any(STEERING.search(segment.text) for segment in segments):
            return segments
        return [Segment(STEERING.sub("", segment.text), segment.style, segment.control) for segment in segments]
