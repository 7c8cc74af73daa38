"""What all commands share: the application that they belong to, and options that several have.

Commands import what they need when they are called, so that ``--help`` is quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from evo_libra import __version__
from evo_libra.errors import InputError
from evo_libra.ui.commands.help import HelpLayout
from evo_libra.ui.commands.names import SUMMARY

app = App(
    name="evo-libra",
    help=SUMMARY,
    version=__version__,
    help_format="plaintext",
    help_formatter=HelpLayout(),
    suppress_keyboard_interrupt=False,  # `evo_libra.ui.cli.main` has a word and a code for it
)

Json = Annotated[bool, Parameter(name="--json", negative="")]
Flag = Annotated[bool, Parameter(negative="")]
TrustCode = Annotated[bool, Parameter(name="--trust-code", negative="")]
Out = Annotated[Path, Parameter(name="--out")]
Order = Annotated[str, Parameter(allow_leading_hyphen=True)]
Ascii = Annotated[bool, Parameter(name="--ascii", negative="")]
Assignments = Annotated[tuple[str, ...], Parameter(name="--set", negative="", show_default=False)]

app.register_install_completion_command(add_to_startup=False)


def check_least(option: str, value: int, least: int = 1) -> None:
    """Refuse a value of an option that is too small.

    Raises
    ------
    InputError : it is.
    """
    if not least <= value < 2**63:
        raise InputError(f"--{option}: found {value}; it must be at least {least}")
