"""How help is laid out: plain text, as wide as the terminal, with a hanging indent for what goes on."""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Callable
from typing import Any

from cyclopts.help import HelpPanel
from cyclopts.help.formatters import PlainFormatter
from rich.console import Console, ConsoleOptions

_DEFAULT_COLUMNS = 80
_INDENT = 4


def columns() -> int:
    """Return the width of the terminal; COLUMNS, where that is set, or 80 where there is none."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    for stream in (1, 2, 0):
        try:
            return os.get_terminal_size(stream).columns or _DEFAULT_COLUMNS
        except OSError:
            continue
    return _DEFAULT_COLUMNS


def laid_out(text: str, width: int) -> str:
    r"""Return a text with its lines folded; what goes on is indented four more than what is indented itself.

    >>> print(laid_out("two words and more", 10), laid_out("  two: words and more", 14), sep="\n")
    two words
    and more
      two: words
          and more
    """
    return "\n".join(_folded(line, width) for line in text.split("\n"))


def _folded(line: str, width: int) -> str:
    indent = len(line) - len(line.lstrip())
    following = " " * (indent + _INDENT) if indent else ""
    return textwrap.fill(line, width, subsequent_indent=following, break_long_words=False, break_on_hyphens=False)


_UNFOLDED = 10_000  # Columns: more than any line has.


class HelpLayout(PlainFormatter):
    """Folds lines once, at the width of the terminal; Cyclopts' own folds descriptions without their names first."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Print a group of commands or options."""
        _print(console, lambda wide: super(HelpLayout, self).__call__(wide, options, panel))

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:  # noqa: ANN401 - text, or what Rich can print
        """Print how a command is called."""
        _print(console, lambda wide: super(HelpLayout, self).render_usage(wide, options, usage))

    def render_description(self, console: Console, options: ConsoleOptions, description: Any) -> None:  # noqa: ANN401 - the same
        """Print what a command does."""
        _print(console, lambda wide: super(HelpLayout, self).render_description(wide, options, description))


def _print(console: Console, draw: Callable[[Console], None]) -> None:
    file = io.StringIO()
    draw(Console(file=file, width=_UNFOLDED, no_color=True, highlight=False, markup=False, emoji=False))
    console.print(laid_out(file.getvalue(), columns()), end="", soft_wrap=True, highlight=False, markup=False)
