"""What is answered at once, without the library that parses command lines: help and version.

To import it takes longer than to answer.
"""

from __future__ import annotations

import os
import textwrap

from evo_libra import __version__
from evo_libra.ui.commands.names import COMMANDS, FLAGS, SUMMARY

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
    texts = {name: text for name, (_, text) in COMMANDS.items()} | FLAGS
    entries = "\n".join(f"  {name}: {text}" for name, text in texts.items())
    return laid_out(f"Usage: evo-libra COMMAND\n\n{SUMMARY}\n\nCommands:\n{entries}\n", width)
