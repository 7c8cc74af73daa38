"""Where everything that commands print passes through, so that no name and no file can steer the terminal."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO

TYPE_CHECKING = False
if TYPE_CHECKING:  # plain commands do without Rich
    from rich.console import Console

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal obeys instead of showing them, those that turn the direction of writing, and halves."""


def cleaned(text: str) -> str:
    r"""Return a text in which characters that a terminal obeys are written as escapes.

    >>> cleaned("\x1b[31mred\n")
    '\\x1b[31mred\n'
    """
    return STEERING.sub(lambda found: repr(found[0])[1:-1], text)


class CleanStream(io.TextIOWrapper):
    """A stream of text that shows what a terminal would obey.

    Attributes
    ----------
    rich_proxied_file : where Rich writes, whose styles are escapes; `new_console` cleans its text.
    """

    def __init__(self, stream: TextIO) -> None:
        lines = stream.isatty()
        super().__init__(stream.buffer, stream.encoding, "backslashreplace", line_buffering=lines, write_through=True)
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write a text, cleaned; return its length."""
        super().write(cleaned(text))
        return len(text)


def clean_streams() -> bool:
    """Make the output and error streams of this process clean ones; where one is closed, a stream to nowhere.

    Returns
    -------
    Whether standard output is open.
    """
    is_open = sys.stdout is not None
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            setattr(sys, name, CleanStream(stream))
    return is_open


def new_console(**options: Any) -> Console:  # noqa: ANN401 - those of Rich's console
    """Return a console of Rich that leaves out what a terminal would obey, wherever it stands in what is printed."""
    from rich.console import Console, ConsoleOptions, RenderableType  # noqa: PLC0415 - plain commands do without
    from rich.segment import Segment  # noqa: PLC0415 - the same

    class CleanConsole(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            """Render what is printed."""
            for segment in super().render(renderable, options):
                if segment.control or not STEERING.search(segment.text):
                    yield segment
                else:
                    yield Segment(STEERING.sub("", segment.text), segment.style)

    return CleanConsole(**options)


def print_styled(text: str) -> None:
    """Print a text that has escapes of its own, and none from elsewhere."""
    print(text, file=getattr(sys.stdout, "rich_proxied_file", sys.stdout))
