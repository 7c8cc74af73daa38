"""Starting the terminal UI: `run_ui` is what the command calls."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evo_libra.errors import InputError
from evo_libra.ui.fold_folder import looked_at

if TYPE_CHECKING:
    from evo_libra.ui.terminal.app import TerminalUI

_CRASHED = 1  # what Textual returns after an exception


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
    import asyncio  # noqa: PLC0415 - Textual takes a while, and may not be needed

    from evo_libra.ui.terminal.app import TerminalUI  # noqa: PLC0415 - the same

    encoding = (sys.stdout.encoding or "ascii").lower()
    app = TerminalUI(results, light=light, ascii_only=ascii_only or not encoding.startswith("utf"))
    asyncio.run(show(app))
    return app.return_code or 0


async def show(app: TerminalUI) -> None:
    """Run the UI until it ends; after an exception inside it the process ends at once, with the terminal restored.

    Threads of the UI may wait for something that does not come any more, and Python would wait for them.
    """
    from evo_libra.ui.terminal.fold_hang_up import end_process  # noqa: PLC0415 - as above

    crashed = True
    try:
        await app.run_async()
        crashed = app.return_code == _CRASHED
    finally:
        if crashed:
            error = sys.exc_info()[1]
            if error is not None:  # Textual itself could not end
                sys.excepthook(type(error), error, error.__traceback__)
            end_process(_CRASHED)
