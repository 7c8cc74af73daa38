"""Starting the terminal UI: `run_ui` is what the command calls."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from evo_libra.errors import InputError
from evo_libra.ui.folder import looked_at


def run_ui(results: Path, *, light: bool, ascii_only: bool) -> int:
    """Run the terminal UI until the user leaves it; return the exit code.

    Raises
    ------
    InputError : there is no terminal, or no folder `results`.
    """
    looked_at(results)
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.__stderr__ or sys.stderr)):
        raise InputError("the terminal UI needs a terminal; `evo-libra results` prints the same to a file or a pipe")
    # Nothing that imports make is ever garbage: to look for it takes a sixth of the time until the first plot.
    gc.disable()
    from evo_libra.ui.terminal.app import TerminalUI  # noqa: PLC0415 - Textual takes a while, and may not be needed

    encoding = (sys.stdout.encoding or "ascii").lower()
    app = TerminalUI(results, light=light, ascii_only=ascii_only or not encoding.startswith("utf"))
    app.run()
    return app.return_code or 0
