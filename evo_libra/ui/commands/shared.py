"""Shared parts of commands: the application that they belong to, its layout of help, and options that several have.

Commands import what they need when they are called, so that ``--help`` is quick.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter, Token, convert

from evo_libra.errors import InputError
from evo_libra.ui.commands.names import SUMMARY
from evo_libra.version import __version__

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions

    from evo_libra.ui.commands.help_layout import HelpLayout

_BROKEN = re.compile(r"[+-]?\d*\.0*[1-9]\d*")


class _Help:
    """Lays help out as `evo_libra.ui.commands.help_layout` does, which is imported once a user asks for help."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Print a group of commands or options."""
        self._layout()(console, options, panel)

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:  # noqa: ANN401 - text, or what Rich can print
        """Print how a command is called."""
        self._layout().render_usage(console, options, usage)

    def render_description(self, console: Console, options: ConsoleOptions, description: Any) -> None:  # noqa: ANN401 - the same
        """Print what a command does."""
        self._layout().render_description(console, options, description)

    @staticmethod
    def _layout() -> HelpLayout:
        from evo_libra.ui.commands.help_layout import HelpLayout

        return HelpLayout()


def _converted(wanted: Any, tokens: Sequence[Token]) -> Any:  # noqa: ANN401 - Cyclopts' own
    """Convert the words of an option as Cyclopts does, but refuse to round 8.5 where a whole number is wanted."""
    broken = [token.value for token in tokens if wanted in (int, int | None) and _BROKEN.fullmatch(token.value)]
    if broken:
        raise ValueError(f"found {broken[0]}; a whole number is needed")
    return convert(wanted, tokens)


app = App(
    name="evo-libra",
    help=SUMMARY,
    version=__version__,
    help_format="plaintext",
    help_formatter=_Help(),
    default_parameter=Parameter(converter=_converted),
    suppress_keyboard_interrupt=False,  # `evo_libra.ui.cli.main` has a word and a code for it
)


def check_min(option: str, value: int, minimum: int = 1) -> None:
    """Refuse a value of an option that is too small."""
    if not minimum <= value < 2**63:
        raise InputError(f"--{option}: found {value}; it must be at least {minimum}")


def check_positive(option: str, value: float | None, unit: str) -> None:
    """Refuse a value of an option that is not above 0."""
    if value is not None and not 0 < value < float("inf"):
        raise InputError(f"--{option}: found {value:g}; a number of {unit} above 0 is needed")


def _check_rows(_type: Any, value: int) -> None:  # noqa: ANN401 - Cyclopts' own
    check_min("rows", value)


_RUN = "Folder of a run, or a folder with a single one in it, such as results/gpt3-4k; part of a run's name; or last."
_ON_TOP = "KEY=VALUE, on top of those of the run, such as time.latency_ns=500; may be repeated."
_SET = Parameter(name="--set", negative="", show_default=False)
Flag = Annotated[bool, Parameter(negative="")]
Json = Annotated[Flag, Parameter(name="--json", help="Print one JSON object and nothing else.")]
Out = Annotated[Path, Parameter(name="--out", help="Folder of results.")]
Rows = Annotated[int, Parameter(help="Rows of the table, at most. JSON has all.", validator=_check_rows)]
FrontRows = Annotated[
    Rows, Parameter(help="Rows of the table, at most; they are spread along the front. JSON has all designs.")
]
TrustCode = Annotated[
    Flag, Parameter(help="Run the code of problems and engines that a file names as module:object; else it is refused.")
]
RunName = Annotated[Path, Parameter(help=_RUN)]
ProblemName = Annotated[
    str, Parameter(help="Path of a problem file, name of a problem, or module:object, whose code is run.")
]
MovedProblem = Annotated[
    str | None, Parameter(name="--problem", help="The problem, if its file is no longer where the run found it.")
]
DesignId = Annotated[int | None, Parameter(name="id")]
Assignments = Annotated[
    tuple[str, ...], _SET, Parameter(help="KEY=VALUE, replaces a value of the problem file; may be repeated.")
]
MoreAssignments = Annotated[tuple[str, ...], _SET, Parameter(help=_ON_TOP)]
