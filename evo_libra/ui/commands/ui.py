"""The terminal UI, as a command."""

from __future__ import annotations

from pathlib import Path

from evo_libra.ui.commands.shared import Ascii, Flag, app


@app.command
def ui(results: Path = Path("results"), *, light: Flag = False, ascii_: Ascii = False) -> int:
    """Watch and steer runs in the terminal: live fronts, queue, designs. Leaving it stops nothing.

    Parameters
    ----------
    results:
        Folder of results; runs on other machines may write to it.
    light:
        Begin with the light theme.
    ascii_:
        Draw with ASCII characters only.
    """
    from evo_libra.ui.terminal.app import run_ui

    return run_ui(results, light=light, ascii_only=ascii_)
