"""Commands in a pseudo-terminal, and the screen that they leave there as a terminal emulator reads it."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyte
import pytest
from patience import code_of, wait_for

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals")
termios = pytest.importorskip("termios", reason="there are no terminals")

LINES = 2000
"""Lines of the emulated screen, so that nothing scrolls off; programs are told of 45."""
_OF_TERMINALS = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM")


class Seen(NamedTuple):
    """What a program writes to a terminal, and each screen that differs from the one before, down to the cursor."""

    code: int
    written: bytes
    screens: list[list[str]]

    @property
    def last(self) -> list[str]:
        """The lines of the last screen."""
        return self.screens[-1]


def start(
    words: Sequence[object], *, columns: int = 160, rows: int = 45, **options: str
) -> tuple[subprocess.Popen[bytes], int]:
    """Start a program in a terminal; return it and the other end of its terminal.

    The terminal does not control the program: no SIGHUP comes. Options are variables of its environment.
    """
    inner, outer = pty.openpty()
    termios.tcsetwinsize(outer, (rows, columns))
    environment = {name: value for name, value in os.environ.items() if name not in _OF_TERMINALS}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    program = subprocess.Popen(
        [str(word) for word in words], stdin=outer, stdout=outer, stderr=outer, start_new_session=True,
        env={**environment, "TERM": "xterm-256color", **options},
    )  # fmt: skip
    os.close(outer)
    return program, inner


def chunks_of(inner: int) -> Iterator[bytes]:
    """Yield what a program writes to its terminal until nobody is at the other end any more."""
    with contextlib.suppress(OSError):
        while True:
            wait_for(lambda: select.select([inner], [], [], 0)[0])
            if not (chunk := os.read(inner, 1 << 16)):
                break
            yield chunk


def look(folder: Path, commands: str, *, columns: int, **options: str) -> Seen:
    """Run commands of a shell, until the first that fails, in a terminal of so many columns and in a folder."""
    screen = pyte.Screen(columns, LINES)
    stream = pyte.ByteStream(screen)
    shell = ["bash", "-euo", "pipefail", "-c", f"cd '{folder}'\n{commands}"]
    program, inner = start(shell, columns=columns, HOME=str(folder), **options)
    written, screens = b"", [[""]]
    try:
        for chunk in chunks_of(inner):
            written += chunk
            stream.feed(chunk)
            if (shown := _shown(screen)) != screens[-1]:
                screens.append(shown)
        return Seen(code_of(program), written, screens)
    finally:
        os.close(inner)
        program.kill()


def _shown(screen: pyte.Screen) -> list[str]:
    """Return the lines of a screen down to the cursor, without blanks at their ends; an empty one at its start."""
    rows = (screen.buffer[line] for line in range(screen.cursor.y + 1))
    return ["".join(row[column].data for column in range(screen.columns)).rstrip() for row in rows]
