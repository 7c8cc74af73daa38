"""The layout of help."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from cyclopts.help import HelpPanel
from cyclopts.help.formatters import PlainFormatter
from rich.console import Console, ConsoleOptions

from evo_libra.ui.commands.names import columns, laid_out

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
