"""A server of tools for agents, over standard input and output."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cyclopts import App

from evo_libra.errors import InputError
from evo_libra.installed import require
from evo_libra.ui.commands.shared import app


@app.command
def mcp(folder: Path = Path()) -> int:
    """Serve the commands as tools for agents, over the Model Context Protocol on standard input and output.

    Parameters
    ----------
    folder:
        The only folder whose files the tools read and write; results go to `results` in it.
    """
    require("mcp", extra="agents", purpose="evo-libra mcp")
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder")
    from evo_libra.ui.agents.calls import Place
    from evo_libra.ui.agents.server import serve

    with tempfile.TemporaryDirectory(prefix="evo-libra-mcp-") as temporary:
        serve(Place(folder.resolve(), Path(temporary).resolve()), tool_commands())
    return 0


def tool_commands() -> dict[str, App]:
    """Return the commands that are tools, by their names."""
    from evo_libra.ui.agents.server import TOOLS
    from evo_libra.ui.commands.application import load

    for name in TOOLS:
        load(name)
    return {name: app[name] for name in TOOLS}
