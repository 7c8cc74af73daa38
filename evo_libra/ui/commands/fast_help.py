"""What is answered at once, without the library that parses command lines: help and version.

To import it takes longer than to answer.
"""

from __future__ import annotations

from evo_libra import __version__
from evo_libra.ui.commands.help import columns, laid_out
from evo_libra.ui.commands.names import COMMANDS, FLAGS, SUMMARY

_HELP: tuple[list[str], ...] = ([], ["--help"], ["-h"])


def answer(words: list[str]) -> str | None:
    """Return what a command line is answered with at once; None when it is not one of those.

    Parameters
    ----------
    words : the command line without the program's name.
    """
    if words in _HELP:
        return overview(columns())
    return __version__ if words == ["--version"] else None


def overview(width: int) -> str:
    """Return the help of the program: its commands, one paragraph each.

    Parameters
    ----------
    width : of the terminal, in columns.
    """
    told = {name: text for name, (_, text) in COMMANDS.items()} | FLAGS
    entries = "\n".join(f"  {name}: {text}" for name, text in told.items())
    return laid_out(f"Usage: evo-libra COMMAND\n\n{SUMMARY}\n\nCommands:\n{entries}\n", width)
